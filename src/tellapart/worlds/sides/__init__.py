"""Is a value at most a cut? Both hypotheses lie on one side of it, so that a threshold is best."""
