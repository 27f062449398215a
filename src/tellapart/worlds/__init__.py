"""What an adversary knows beforehand."""

from tellapart.worlds.adversary import Adversary, PriorRange

__all__ = ["Adversary", "PriorRange"]
