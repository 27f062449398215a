"""Black-box probing: call a mechanism on two inputs, find an event, certify it on other calls.

- `calling`: how a mechanism is called, often and anywhere, and whether calls are independent;
- `features`: from outputs of any kind to columns of numbers;
- `readings`, `scorers`, `linear_scorer` and `classifiers` score outputs, `events` picks one;
- `probe_run` is the way through, `until_decided` stops early, `remote_counts` counts elsewhere;
- `floating_point` and `doubles`: what the last bits of floats reveal.
"""
