"""Decisions on noise that can be defended: a file, its answer, and consistency questions.

- `fields`: every key of a decision file, declared once; `record`: the file as a record;
- `toml_text`: reading, writing and beginning a file, with its comments kept;
- `unit`: mechanisms under a neighbouring relation, for all records of one unit of privacy;
- `correlation`: mechanisms where the records of one person are correlated by a model;
- `solving`: the noise that keeps the limits of every attacker, or why there is none; `answer`:
  the record of it; `limits`: each limit and attacker beside the baseline; `utility_limits`: how far
  off the release may be; `alternatives`: other mechanisms, and sensitivity analysis;
- `open_questions`: what in a decision contradicts itself, as questions;
- `missing`: what nobody has answered yet;
- `evidence`: what audits and probes came to; `checking`: whether a decision stands.
"""

from tellapart.decision.open_questions import questions
from tellapart.decision.record import Decision
from tellapart.decision.toml_text import dumps, parse, read, template, write

__all__ = ["Decision", "dumps", "parse", "questions", "read", "template", "write"]
