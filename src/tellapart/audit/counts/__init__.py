"""Statistics of counts, pure functions: what the rates of one attack prove about ε, δ and μ.

`attack_counts` are what is counted. `clopper_pearson`, `buehler` (on `exact_tails`), `score` and
`credible` bounds, gathered in `intervals`; `rank_test` for thresholds at ranks, `confidence_band`
for all of them; `one_run_guesses` for audits of one run; `coverage` says how often a method without
a guarantee claims too much.
"""
