"""Markov chains: correlated records in a row, and what noise on their sum gives away.

- The engine: `chain` is the model, `transitions` the matrices as given, `marginals` the laws of its
  records, `reversal` the chain run backwards, `step` leakage through one transition;
- `bounds`, `window_bound`, `partial_knowledge`, `given_neighbours`, `laplace_tails` and
  `record_epsilons` bound what an output tells of a record;
- `quilts` sets noise by Markov quilts, `streams` adds up releases over time;
- `sequences`, `fitting` and `chain_sets` are for chains that are known from data alone.
"""
