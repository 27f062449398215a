"""Releases over time about people whose states hang together: what all of them reveal about one.

Each release at time t is ε_t-differentially private by itself. The state of the target moves as a
Markov chain, which the attacker knows; so releases about other times speak about this one, too.
All leakages are upper bounds, rounded up; all budgets are rounded down.

References: Cao, Yoshikawa, Xiao, Xiong (ICDE 2017; TKDE 2019) for the leakages and their suprema.
"""

from tellapart.worlds.streams._chains import ZeroCell, reversed_chain, zero_cells
from tellapart.worlds.streams._leakage import Leakage, leakage
from tellapart.worlds.streams._spending import allocate, budget, carried_over, supremum

__all__ = [
    "Leakage",
    "ZeroCell",
    "allocate",
    "budget",
    "carried_over",
    "leakage",
    "reversed_chain",
    "supremum",
    "zero_cells",
]
