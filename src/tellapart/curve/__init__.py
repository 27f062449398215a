"""Trade-off functions (f-DP): how curves are made, combined, compared and stored.

- `base` is the hub type; `closed`, `atomic`, `discrete_gaussian`, `planar_laplace`,
  `truncated_laplace`, `loss_tails` and `densities` are curves of single mechanisms;
- `guarantees` are promises in (ε, δ), GDP, Rényi DP or zCDP; `region` their pairs of errors;
- `composition`: privacy loss, amplification by subsampling and shuffling, group privacy;
- `certified`: brackets by discretisation (connect the dots), every error counted;
- `algebra` compares curves, `gdp` sums one up by a single μ, `exchange` stores them.
"""
