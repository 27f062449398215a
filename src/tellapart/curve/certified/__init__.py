"""Certified brackets: two curves between which a composition lies, every error counted.

`discretise` puts one step on a grid, pessimistically and optimistically (connect the dots),
`tilts` says where the grid must be fine, `brackets` convolves and hands both sides out.
"""
