"""Evidence: what samples show about a mechanism, one module for each kind of test.

`base` says what every kind answers. At one threshold: `count`; at ranks: `rank` (looking where
`thresholds` says, or at a `held_out_rank`), `cuts`, `band`; one-run guesses: `guess`; bets that
may stop at any time: `wager` on `e_process`; `bayes` is shown beside, and `joint` adds levels up.
"""
