"""Individual accounting: a pot for each record, spent by its own contributions (Rényi filter)."""
