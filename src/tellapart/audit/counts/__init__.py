"""Statistics of counts: Clopper-Pearson, Buehler, score and credible bounds, one-run guesses."""
