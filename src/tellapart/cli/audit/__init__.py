"""`tellapart audit`: the command, and what it can be given.

- `command`: the command itself, and which test its options ask for;
- `score_files`, `counts` and `matrix`: what an attack came to, in files or in numbers;
- `method`: confidence, thresholds and numbers of guesses.
"""
