"""Compositions: from the laws of single privacy losses to the trade-off curve of all steps.

- `compose` picks the way: a closed form, the `contour` engine, a `convolution`, or bounds;
- `loss_laws`, `laplace_loss`, `subsampled_gaussian` and `loss_quadrature` are privacy losses by
  their moments; `infinite_loss` is the mass δ∞ of outputs that only one world has;
- `moment_bounds` hold where no engine has the digits;
- `subsampling`, `shuffling` and `group_privacy` change one step's curve; `announced` is one of
  several steps, drawn at random;
- `random_allocation` is an epoch in which a record takes part in one step.
"""
