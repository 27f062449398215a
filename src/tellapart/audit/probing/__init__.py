"""Black-box probing: call a mechanism on two inputs, find an event, certify it on other calls.

- `calling`: how a mechanism is called, often and anywhere, and whether calls are independent;
- `features`: from outputs of any kind to columns of numbers;
- `exchangeability`: whether calls made apart, or in a fresh process, have the same law;
- `scorers` and `classifiers` score outputs, `events` picks a distinguishing event;
- `probe_run` is the way through, sequential or not; `remote_counts` counts on the workers;
- `floating_point` and `float_samplers`: what the last bits of floats reveal.
"""
