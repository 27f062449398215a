"""The founding paper's table and figures, made anew (extra ``plot`` for the figures)."""
