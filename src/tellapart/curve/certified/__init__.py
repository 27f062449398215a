"""Certified brackets: two curves between which a composition lies, every error counted."""
