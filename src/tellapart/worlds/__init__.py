"""What an adversary knows beforehand, and what it asks."""

from tellapart.worlds import streams
from tellapart.worlds.adversary import Adversary, PriorRange
from tellapart.worlds.one_sided import OneSided

__all__ = ["Adversary", "OneSided", "PriorRange", "streams"]
