"""Audits of trainings: the membership inference game, shadow models, canaries, single steps.

- `membership_game` with its `designs`, `datasets`, `store` and `playing`; `played` is the outcome;
- `attacks` gathers `lira` and `rmia`; `evidence_of_game` counts on models nothing was chosen on;
- `training_audit` is the front door, `models_needed` says how many models it takes;
- `canaries` are for one run; `step_audit`, `step_pairs` and `step_scores` for single DP-SGD steps.
"""
