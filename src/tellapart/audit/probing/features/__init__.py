"""Features: from outputs of any kind to columns of numbers.

`reading` takes one output apart, `frames` lays many side by side, `extract` gives the `columns`.
"""
