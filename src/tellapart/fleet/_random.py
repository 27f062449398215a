"""Random numbers that depend on the seed, the model and the step alone, the same on any device.

A block of 64 models has a 64-bit key for each step and purpose, from NumPy's `SeedSequence`. A
number is a hash of its place in the block and of the key: integers that wrap, so that a CPU and a
GPU draw the same bits. The hash is Wellons's triple32, with the second half of the key added after
its first product. Good enough for statistics; nobody should keep a secret by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.errors import Unsupported
from tellapart.fleet._torch import torch

# The numbers of some models of a fleet.
Models = NDArray[np.int64]

BLOCK = 64
# What numbers are drawn for; each has keys of its own.
START, SAMPLING, NOISE, CANARIES = range(4)

_MOST = 2**31 // BLOCK


def keys(seed: Sequence[int], purpose: int, models: Models, steps: int, device: Any) -> Any:
    """The keys of these models: steps × 2 × models × 1 words, equal within a block."""
    first, *places = seed
    blocks, of_model = np.unique(models // BLOCK, return_inverse=True)
    drawn = np.empty((blocks.size, 2 * steps), dtype=np.uint32)
    for row, block in enumerate(blocks.tolist()):
        source = np.random.SeedSequence(first, spawn_key=(*places, purpose, block))
        drawn[row] = source.generate_state(2 * steps)
    by_step = drawn.view(np.int32).reshape(blocks.size, steps, 2).transpose(1, 2, 0)
    on_device = torch.from_numpy(by_step.copy()).to(device)
    return on_device[:, :, torch.from_numpy(of_model).to(device)].unsqueeze(-1)


def counters(models: Models, count: int, device: Any) -> Any:
    """The places in its block of each of a model's ``count`` numbers."""
    if count > _MOST:
        raise Unsupported(
            f"a model draws {count:,} random numbers at once, more than {_MOST:,}: take fewer "
            "examples or fewer weights"
        )
    rows = torch.from_numpy((models % BLOCK).astype(np.int32)).to(device)
    return rows[:, None] * count + torch.arange(count, device=device, dtype=torch.int32)


def words(places: Any, first: Any, second: Any) -> Any:
    """A 32-bit word for each place under a key, as signed integers."""
    x = places ^ first
    x ^= (x >> 17) & 0x7FFF
    x *= -0x12A52B45  # 0xED5AD4BB
    x += second
    x ^= (x >> 11) & 0x1FFFFF
    x *= -0x53B3E4AF  # 0xAC4C1B51
    x ^= (x >> 15) & 0x1FFFF
    x *= 0x31848BAB
    x ^= (x >> 14) & 0x3FFFF
    return x


def coins(places: Any, first: Any, second: Any, limit: int) -> Any:
    """True with the probability that `limit_of` turned into a limit."""
    return words(places, first, second) < limit


def limit_of(probability: float) -> int:
    """Words below it have this probability, to 2^-33; of a probability below 1."""
    return min(round(probability * 2**32), 2**32 - 1) - 2**31


def normals(places: Any, first: Any, second: Any) -> Any:
    """Standard normal numbers by Box and Muller, none beyond 6.7 deviations."""
    half = places.shape[1] // 2
    drawn = words(places, first, second)
    radius = (drawn[:, :half] & 0x7FFFFFFF).to(torch.float32)
    radius.add_(0.5).mul_(2.0**-31).log_().mul_(-2.0).sqrt_()
    angle = drawn[:, half:].to(torch.float32).mul_(math.pi * 2.0**-31)
    normals = torch.empty(drawn.shape, dtype=torch.float32, device=drawn.device)
    torch.mul(radius, torch.cos(angle), out=normals[:, :half])
    torch.mul(radius, angle.sin_(), out=normals[:, half:])
    return normals
