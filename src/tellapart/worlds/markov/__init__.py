"""Markov chains: correlated records in a row, and what noise on their sum gives away.

- `chain` is the model; `transitions`, `known_reversal` and `segment_sums` are its parts;
- `step`, `temporal`, `directional` and `message_passing` carry leakage over one transition;
- `window_bound`, `partial_knowledge`, `given_neighbours`, `laplace_tails`, `record_epsilons` and
  `beliefs` bound what an output tells of a record;
- `quilts` sets noise by Markov quilts, `streams` adds up releases over time;
- `sequences`, `fitting`, `chain_sets`, `boxes`, `bounds` and `least_noise` are for chains that are
  known from data alone.
"""
