"""Privacy frameworks beyond DP, each as the exact test that its definition speaks of."""

from tellapart.worlds.frameworks.blowfish import blowfish
from tellapart.worlds.frameworks.standing import Side, Standing

__all__ = ["Side", "Standing", "blowfish"]
