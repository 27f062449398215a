"""Data models fitted to real data, with all that the data leave open.

A model that is only estimated protects too little about half the time: noise is chosen for a set
of models instead, which holds the true one with a stated confidence.
"""

from tellapart.worlds.fitting.bounds import chain_epsilon_bound, chain_scale_bound
from tellapart.worlds.fitting.chains import FittedChain, fit_chain
from tellapart.worlds.fitting.sets import ChainSet
from tellapart.worlds.fitting.table_sets import TableSet, table_epsilon_bound, table_scale_bound
from tellapart.worlds.fitting.tables import FittedTable, fit_table

__all__ = [
    "ChainSet",
    "FittedChain",
    "FittedTable",
    "TableSet",
    "chain_epsilon_bound",
    "chain_scale_bound",
    "fit_chain",
    "fit_table",
    "table_epsilon_bound",
    "table_scale_bound",
]
