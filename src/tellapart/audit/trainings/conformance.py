"""Conformance tests of one DP-SGD training: whether noise, clipping and batches are as stated.

The null hypothesis is simple: what each step released, less the clipped sum, is fresh noise
N(0, σ²C²·I), and batches are Poisson samples at the rate stated. Every test has its exact law (χ²,
F, normal, binomial, and Beta for the correlation of two directions), so that Bonferroni's sum is
all that is lost. A failure refutes the stated mechanism, not (ε, δ)-DP: another mechanism may have
been run that is as private.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, fdtr, fdtrc, gammainc, gammaincc, ndtr

from tellapart._checks import Array
from tellapart._numeric.binomial import lower_tail, upper_tail
from tellapart._numeric.text import short
from tellapart.mechanisms.base import Mechanism

# Correlations of noise are looked for in so many dimensions, between so many first steps.
DIMENSIONS, KEPT_STEPS = 4_096, 2_000
# A correlation in fewer dimensions than this is large by chance.
_FEWEST = 16
_AT_ONCE = 1 << 16
_NO_NOISE = 1e-5


@dataclass(frozen=True)
class StatedTraining:
    """What a claim states of a training: noise in clipping norms, rate, steps; and of whom."""

    claim: Mechanism
    noise: float
    rate: float
    steps: int
    records: int
    layers: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class ConformanceCheck:
    """One test of conformance; ``p_value`` is corrected for all that it looked at itself.

    A fact that no chance could explain has the p-value 0.
    """

    name: str
    words: str
    p_value: float
    fact: bool = False


@dataclass(eq=False)
class TrainingSums:
    """Running sums of what a training released: as much as the tests need, and no residuals."""

    stated: StatedTraining
    squares: Array = field(init=False)
    by_step: list[float] = field(default_factory=list)
    sketches: list[Array] = field(default_factory=list)
    gains: dict[str, list[float]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    drawn: NDArray[np.int64] = field(init=False)
    facts: list[ConformanceCheck] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.squares = np.zeros(len(self.stated.layers))
        self.drawn = np.zeros(self.stated.records, dtype=np.int64)
        ends = np.cumsum(self.stated.layers)
        self._layers = [
            slice(int(a), int(b)) for a, b in zip(ends - self.stated.layers, ends, strict=True)
        ]
        self._parts = _parts(self.stated.layers)

    def add(self, noise: Array, size: int, batch: Sequence[int] | None) -> None:
        """Take in the noise of one step, in units of what is stated, and the batch it was on."""
        own = np.array([_square(noise[layer]) for layer in self._layers])
        self.squares += own
        self.by_step.append(float(own.sum()))
        if len(self.sketches) < KEPT_STEPS:
            self.sketches.append(
                np.concatenate([_sketch(noise[a:b], k) for a, b, k in self._parts])
            )
        self.sizes.append(size)
        if batch is not None and len(batch):
            np.add.at(self.drawn, np.asarray(batch), 1)

    def add_gain(self, kind: str, beyond: Array) -> None:
        """Take in by how much more than the clipping norm canaries of a kind moved the release."""
        kept = self.gains.setdefault(kind, [0.0, 0.0])
        kept[0] += float(beyond.sum())
        kept[1] += beyond.size

    def parts(self) -> Iterator[tuple[str, slice]]:
        """Where in the sketches each part of the model lies, and its name."""
        ends = np.cumsum([k for _, _, k in self._parts])
        yield "", slice(0, int(ends[-1]))
        if len(self._parts) > 1:
            for at, (end, (_, _, k)) in enumerate(zip(ends, self._parts, strict=True)):
                yield f" (part {at} of the model)", slice(int(end) - k, int(end))


def checks(sums: TrainingSums) -> tuple[ConformanceCheck, ...]:
    """Every test, with its p-value; facts first."""
    facts = list(sums.facts)
    if not np.all(np.isfinite(sums.by_step)):
        facts.append(fact("numbers", "the release of a step holds NaN or infinity"))
    made, stated = len(sums.by_step), sums.stated.steps
    if made > stated:
        facts.append(fact("steps", f"{made:,} steps were made where {stated:,} are stated"))
    return (*facts, *_noise(sums), *_gains(sums), *_batches(sums))


def corrected(tests: Sequence[ConformanceCheck]) -> list[float]:
    """p-values for all tests together (Bonferroni); facts need no correction."""
    many = sum(not test.fact for test in tests)
    return [0.0 if test.fact else min(many * test.p_value, 1.0) for test in tests]


def fact(name: str, words: str) -> ConformanceCheck:
    """What no chance explains."""
    return ConformanceCheck(name, words, 0.0, fact=True)


# -- noise -----------------------------------------------------------------------------------------


def _noise(sums: TrainingSums) -> Iterator[ConformanceCheck]:
    stated, steps = sums.stated, len(sums.by_step)
    sizes = np.array(stated.layers, dtype=float)
    by_layer = _two_sided_chi2(sums.squares, steps * sizes)
    worst = int(np.argmin(by_layer))
    ratio = math.sqrt(sums.squares[worst] / (steps * sizes[worst])) if steps else 1.0
    words = f"{stated.names[worst]} has {_times(ratio)}"
    yield ConformanceCheck("noise of a layer", words, _any_of(by_layer[worst], len(sizes)))

    total, squares = float(sizes.sum()), np.array(sums.by_step)
    by_step = _two_sided_chi2(squares, np.full(steps, total))
    worst = int(np.argmin(by_step))
    ratio = math.sqrt(squares[worst] / total)
    words = f"step {worst + 1} has {_times(ratio)}"
    yield ConformanceCheck("noise of a step", words, _any_of(by_step[worst], steps))
    yield _alike(sums)
    yield _size_shows(sums, squares, total)


def _times(ratio: float) -> str:
    if not math.isfinite(ratio):
        return "noise that is not a number"
    # What is left where there is none is rounding.
    return f"{short(ratio, 3)} times the noise stated" if ratio > _NO_NOISE else "no noise"


def _two_sided_chi2(squares: Array, freedom: Array) -> Array:
    known = np.nan_to_num(squares, nan=np.inf, posinf=np.inf)
    below, above = gammainc(freedom / 2, known / 2), gammaincc(freedom / 2, known / 2)
    return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))


def _alike(sums: TrainingSums) -> ConformanceCheck:
    """The largest correlation of two steps' noise: its square is Beta(1/2, (k − 1)/2)."""
    name = "noise of two steps alike"
    sketches = np.array(sums.sketches)
    steps = len(sketches)
    parts = [(said, cut) for said, cut in sums.parts() if cut.stop - cut.start >= _FEWEST]
    if steps < 2 or not parts or not np.all(np.isfinite(sketches)):
        return ConformanceCheck(name, "nothing to compare", 1.0)
    best = (1.0, 0.0, (0, 0), "")
    for said, cut in parts:
        unit = sketches[:, cut].astype(float)
        norms = np.linalg.norm(unit, axis=1, keepdims=True)
        unit /= np.where(norms > _NO_NOISE * math.sqrt(unit.shape[1]), norms, np.inf)
        gram = np.abs(unit @ unit.T)
        np.fill_diagonal(gram, 0.0)
        pair = np.unravel_index(int(np.argmax(gram)), gram.shape)
        largest = min(float(gram[pair]), 1.0)
        p_value = float(betainc((cut.stop - cut.start - 1) / 2, 0.5, 1 - largest**2))
        best = min(best, (p_value, largest, (int(pair[0]), int(pair[1])), said))
    p_value, largest, (first, second), said = best
    words = (
        f"steps {first + 1} and {second + 1} have noise with correlation {short(largest, 3)}{said}"
    )
    return ConformanceCheck(name, words, _any_of(p_value, len(parts) * steps * (steps - 1) // 2))


def _size_shows(sums: TrainingSums, squares: Array, total: float) -> ConformanceCheck:
    """Batches above their median size against the others: the ratio of their noises is F."""
    sizes = np.array(sums.sizes)
    large = sizes > np.median(sizes)
    many, few = int(large.sum()), int((~large).sum())
    name = "batch size shows in the noise"
    if not many or not few or not np.all(np.isfinite(squares)):
        return ConformanceCheck(name, "all batches have one size", 1.0)
    above, below = squares[large].mean(), squares[~large].mean()
    if not below:
        return ConformanceCheck(name, "small batches have no noise", 0.0 if above else 1.0)
    ratio, freedom = above / below, (many * total, few * total)
    p_value = min(2 * min(fdtr(*freedom, ratio), fdtrc(*freedom, ratio)), 1.0)
    words = f"large batches have {short(math.sqrt(ratio), 3)} times the noise of small ones"
    return ConformanceCheck(name, words, float(p_value))


# -- clipping --------------------------------------------------------------------------------------


def _gains(sums: TrainingSums) -> Iterator[ConformanceCheck]:
    for kind, (beyond, many) in sums.gains.items():
        gain = 1 + beyond / max(many, 1.0)
        words = f"canaries {kind} move the release by {short(gain, 3)} clipping norms, not 1"
        if not math.isfinite(beyond):
            yield ConformanceCheck(f"canaries {kind}", words, 0.0)
            continue
        score = abs(beyond) / (sums.stated.noise * math.sqrt(max(many, 1.0)))
        yield ConformanceCheck(f"canaries {kind}", words, min(float(2 * ndtr(-score)), 1.0))


# -- batches ---------------------------------------------------------------------------------------


def _batches(sums: TrainingSums) -> Iterator[ConformanceCheck]:
    stated, steps = sums.stated, len(sums.sizes)
    total, chances = sum(sums.sizes), steps * stated.records
    words = (
        f"{short(total / chances, 3)} of the records are drawn in a step, "
        f"{short(stated.rate, 3)} are stated"
    )
    # Fewer records at the same noise are no worse: only too many refute.
    yield ConformanceCheck("sampling rate", words, float(upper_tail(total, chances, stated.rate)))

    most = int(sums.drawn.max(initial=0))
    above = float(upper_tail(most, steps, stated.rate))
    words = f"one record is in {most} of {steps} batches"
    yield ConformanceCheck("a record drawn too often", words, _any_of(above, stated.records))

    middle, reach, chance = central_sizes(stated.records, stated.rate)
    central = int(np.sum(np.abs(np.array(sums.sizes) - middle) <= reach))
    words = (
        f"{central} of {steps} batches have {_span(middle, reach)} records, "
        f"{short(chance * steps, 3)} are expected of Poisson samples"
    )
    yield ConformanceCheck("batch sizes", words, _two_sided_binomial(central, steps, chance))


def central_sizes(records: int, rate: float) -> tuple[int, int, float]:
    """Sizes that about half of all Poisson batches have: their middle, their reach, how likely."""
    middle = round(records * rate)
    low, high = 0, records
    while high - low > 1:  # the chance grows with the reach
        half = (low + high) // 2
        low, high = (half, high) if _within(records, rate, middle, half) < 0.5 else (low, half)
    reach = min((low, high), key=lambda reach: abs(_within(records, rate, middle, reach) - 0.5))
    return middle, reach, _within(records, rate, middle, reach)


def _within(records: int, rate: float, middle: int, reach: int) -> float:
    return float(
        lower_tail(middle + reach, records, rate) - lower_tail(middle - reach - 1, records, rate)
    )


def _span(middle: int, reach: int) -> str:
    return f"{middle - reach} to {middle + reach}" if reach else f"{middle}"


def _two_sided_binomial(count: int, of: int, rate: float) -> float:
    return min(2 * float(min(lower_tail(count, of, rate), upper_tail(count, of, rate))), 1.0)


def _any_of(p_value: float, many: int) -> float:
    return min(float(p_value) * max(many, 1), 1.0)


# -- sketches --------------------------------------------------------------------------------------


def _parts(layers: tuple[int, ...], most: int = 16) -> list[tuple[int, int, int]]:
    """At most so many runs of layers: where each begins and ends, and its dimensions kept."""
    ends = np.cumsum(layers)
    cuts = np.array_split(np.arange(len(layers)), min(len(layers), most))
    bounds = [(int(ends[cut[0]] - layers[cut[0]]), int(ends[cut[-1]])) for cut in cuts]
    return [(a, b, min(b - a, DIMENSIONS // len(cuts))) for a, b in bounds]


def _sketch(noise: Array, dimensions: int) -> Array:
    """Coordinates summed up by their remainder: orthonormal rows, so that noise stays noise."""
    rows = -(-noise.size // dimensions)
    full = np.zeros(rows * dimensions, dtype=noise.dtype)
    full[: noise.size] = noise
    counts = np.full(dimensions, rows)
    counts[noise.size - (rows - 1) * dimensions :] -= 1
    sums = full.reshape(rows, dimensions).sum(axis=0, dtype=float)
    return np.asarray(sums / np.sqrt(counts), dtype=np.float32)


def _square(noise: Array) -> float:
    """The sum of squares, in double precision without a copy of all."""
    total = 0.0
    for start in range(0, noise.size, _AT_ONCE):
        part = noise[start : start + _AT_ONCE].astype(float)
        total += float(part @ part)
    return total
