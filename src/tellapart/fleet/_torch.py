"""PyTorch, or the words that say how to get it."""

from __future__ import annotations

from tellapart.errors import Unsupported

try:
    import torch
except ImportError as missing:
    raise Unsupported("training a fleet needs: pip install 'tellapart[torch]'") from missing

__all__ = ["torch"]
