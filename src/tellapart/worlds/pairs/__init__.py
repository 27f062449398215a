"""Trade-off curves of two laws of a true answer (two secrets), seen through one release.

- `curves` picks the pair for a release, and has the extreme likelihood ratios;
- `laplace` and `gaussian` (on `normal_mixtures`) are pairs of mixtures by `level_sets`,
  `normal_laplace` normal answers, `finite_outputs` channels, `vectors` several answers;
- `integrals`: Rényi divergence and mutual information; `one_sided`: is a value at most a cut?
"""
