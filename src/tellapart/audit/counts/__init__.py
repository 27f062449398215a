"""Statistics of counts, pure functions: what the rates of one attack prove about ε, δ and μ.

`clopper_pearson`, `buehler` (on `outcome_orders` and `exact_tails`), `score` and `credible` bounds,
gathered in `intervals`; `rank_test` and `confidence_band` for thresholds at ranks;
`one_run_guesses` and `one_run_curves` for audits of one run; `coverage` says how often a method
without a guarantee claims too much.
"""
