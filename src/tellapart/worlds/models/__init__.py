"""Data models: how records are correlated, and the law of an answer to those who know a secret.

`base` says what every model answers; `table`, `independent`, `exchangeable`, `tree` and `gaussian`
are models, `tellapart.worlds.markov` has chains; `queries` and `secrets` are asked of them, `laws`
come back; `fitted_tables` and `table_sets` are what data leave open.
"""

from typing import TYPE_CHECKING

from tellapart import _moved

if not TYPE_CHECKING:  # a checker would take every name for one that exists
    __getattr__ = _moved.names(__name__)
