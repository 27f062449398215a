"""Evidence: what samples show about a mechanism, one module for each kind of test.

`base` says what every kind answers. At one threshold: `count`, by Buehler's test or a Bayesian
bound; at ranks: `rank` (looking where `thresholds` says); at several cuts: `cuts`; at all
thresholds: `band`; one-run guesses: `guess`; bets that may stop at any time: `sequential_test` on
`e_process`; targets reconstructed: `reconstruction_counts`; `joint` adds levels up (Bonferroni).
"""
