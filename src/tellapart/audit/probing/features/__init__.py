"""Features: from outputs of any kind to columns of numbers.

`reading` takes one output apart, `frames` lays many side by side as `cells`, `extract` gives the
`columns`; `true_answers` guesses at the answers and the noise behind them.
"""
