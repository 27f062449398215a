"""Audits of trainings: the membership inference game, shadow models, canaries, steps, watching.

- `membership_game` and its designs; `shadow_models` are trained into a `store`;
- `attacks`: by loss, RMIA and `lira`;
- `training_audit` is the front door: it counts on models on which nothing was chosen, and says how
  many models it takes;
- `matrix_audit` reads matrices of models by records (`matrix_files`) by the coins of their mask,
  which `inclusion` tests;
- `canaries` are for one run; `step_audit` and `step_pairs` for single DP-SGD steps;
- `white_box` watches one whole training, `opacus_watch` one with Opacus (`gradient_check`: each
  record alone); `step_bets` and `conformance` are its tests, `watch_verdict` what they show, and
  `watch_power` what they would find.
"""
