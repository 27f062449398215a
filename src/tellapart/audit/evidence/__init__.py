"""Evidence: what samples show about a mechanism, one module for each kind of test."""
