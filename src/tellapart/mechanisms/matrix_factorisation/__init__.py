"""Matrix factorisation (DP-FTRL): trainings with correlated noise.

`strategies`: how noise is correlated (identity, tree, banded, BLT, BISR), as strategy matrices.
`participation`: how far a record moves all answers, over the ways to take part.
`correlated_noise`: the mechanisms, plain and on samples.
"""
