"""Evidence: what samples show about a mechanism, one module for each kind of test.

`base` says what every kind answers. At one threshold: `count`; at ranks: `rank` (looking where
`thresholds` says), `cuts`, `band`; one-run guesses: `guess`; bets that may stop at any time:
`sequential_test` on `e_process`; `bayes` is shown beside, and `joint` adds levels up (Bonferroni).
"""
