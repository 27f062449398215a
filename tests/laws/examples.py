"""How many examples a law is given: all of them when looking for trouble, else a part."""

from hypothesis import settings


def examples(most: int) -> int:
    """So many of each hundred that the profile asks for, and three at least."""
    return max(most * settings.default.max_examples // 100, min(most, 3))
