"""Audits of trainings: the membership inference game, shadow models, canaries, single steps.

- `membership_game` with its `designs` and `datasets`; `shadow_models` are trained into a `store`;
- `attacks` gathers `lira` and `rmia`; `evidence_of_game` counts on models nothing was chosen on;
- `training_audit` is the front door, and says how many models it takes;
- `canaries` are for one run; `step_audit` and `step_pairs` for single DP-SGD steps.
"""
