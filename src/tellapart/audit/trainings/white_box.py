"""White-box auditing of one whole training: canary gradients in by fresh coins at every step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks, run
from tellapart._checks import Array
from tellapart.audit.trainings.conformance import (
    StatedTraining,
    TrainingSums,
    checks,
    fact,
)
from tellapart.audit.trainings.step_audit import flat
from tellapart.audit.trainings.step_bets import StepBets
from tellapart.audit.trainings.watch_verdict import WatchVerdict
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.combine import Repeated, Sampled
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.subject import Subject
from tellapart.neighbours import Neighbours

# How many times the clipping norm a canary has, and how many have a part in every layer.
LONG, EVERYWHERE = 10.0, 5
# Bets are placed on at most so many blocks of layers, beside those on all of the model.
BLOCKS = 16
# Coins come from a stream of their own: the training may well draw from default_rng(seed).
_COINS = 0x636F696E
_IN_ONE, _IN_ALL = "in one coordinate", "in every layer"


@dataclass(frozen=True, eq=False)
class StepCanaries:
    """The canaries of one step: unit vectors with few coordinates each, and their coins.

    Entry k says that canary ``rows[k]`` has ``entries[k]`` in coordinate ``places[k]``. No two
    share a coordinate, so that they are orthonormal.
    """

    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    entries: Array
    coins: NDArray[np.bool_]
    groups: NDArray[np.intp]

    def along(self, vector: Array) -> Array:
        """The part of a vector along each canary."""
        parts = vector[self.places] * self.entries
        return np.asarray(np.bincount(self.rows, parts, len(self.coins)), dtype=float)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which entries are of canaries that are in."""
        return self.coins[self.rows]

    def member_rows(self) -> NDArray[np.intp]:
        """For each entry of a canary that is in: its place among those that are in."""
        return (np.cumsum(self.coins) - 1)[self.rows[self.inside]]


@dataclass(eq=False, repr=False)
class UpdateWatch:
    """A training that is watched: hand its steps `canaries`, and tell it what they released."""

    stated: StatedTraining
    clip: float
    expected_batch: float
    many: int
    confidence: float
    conformance: float
    rng: np.random.Generator
    sums: TrainingSums = field(init=False)
    remarks: list[str] = field(default_factory=list)
    _drawn: StepCanaries | None = field(default=None, init=False)
    _last: Array | None = field(default=None, init=False)
    _seen: list[tuple[NDArray[Any], ...]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.sums = TrainingSums(self.stated)
        sizes = np.array(self.stated.layers)
        # Canaries with a part in every layer take up to half of a small one.
        self._shared = np.minimum(EVERYWHERE, np.maximum(sizes // 2, 1)) * (len(sizes) > 1)
        self._room = sizes - self._shared
        self._starts = np.cumsum(sizes) - sizes
        blocks = np.array_split(np.arange(len(sizes)), min(len(sizes), BLOCKS))
        self._block = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])

    def __repr__(self) -> str:
        return f"UpdateWatch({len(self._seen):,} of {self.stated.steps:,} steps seen)"

    @property
    def dimension(self) -> int:
        """How many coordinates a gradient has."""
        return sum(self.stated.layers)

    def draw(self) -> StepCanaries:
        """Fresh canaries for the next step, in fresh coordinates, in by fresh fair coins."""
        rows, places, entries, groups = [], [], [], []
        alone = self._spread()
        layers = len(alone)
        everywhere = int(self._shared.max())
        # How many layers each of them has a part in.
        parts = (self._shared[:, None] > np.arange(max(everywhere, 1))).sum(axis=0)
        count = 0
        for layer in range(layers):
            shared = int(self._shared[layer])
            taken = self.rng.choice(
                self.stated.layers[layer], shared + int(alone[layer]), replace=False, shuffle=True
            )
            coordinates = self._starts[layer] + taken
            rows += [*range(shared), *range(everywhere + count, everywhere + count + alone[layer])]
            places += coordinates.tolist()
            signs = self.rng.choice([-1.0, 1.0], len(taken))
            lengths = [*(1 / np.sqrt(parts[:shared])), *np.ones(int(alone[layer]))]
            entries += (signs * lengths).tolist()
            groups += [int(self._block[layer])] * int(alone[layer])
            count += int(alone[layer])
        total = everywhere + count
        self._drawn = StepCanaries(
            np.array(rows, dtype=np.intp),
            np.array(places, dtype=np.intp),
            np.array(entries),
            self.rng.random(total) < 0.5,
            np.array([-1] * everywhere + groups, dtype=np.intp),
        )
        return self._drawn

    def _spread(self) -> NDArray[np.intp]:
        """How many canaries of one coordinate each layer has: as even as there is room."""
        left = min(self.many, int(self._room.sum()))
        spread = np.zeros(len(self._room), dtype=np.intp)
        while left:
            open_ = np.flatnonzero(spread < self._room)
            take = self.rng.permutation(open_)[:left]
            spread[take] += 1
            left -= len(take)
        return spread

    def canaries(self) -> Array:
        """The rows to add to the per-example gradients of the next step, ten clips long each."""
        drawn = self.draw()
        rows = np.zeros((int(drawn.coins.sum()), self.dimension))
        inside = drawn.inside
        rows[drawn.member_rows(), drawn.places[inside]] = LONG * self.clip * drawn.entries[inside]
        return rows

    def saw(self, update: Any, gradients: ArrayLike, batch: Sequence[int] | None = None) -> None:
        """Tell what the step released that was handed the last `canaries`.

        ``gradients`` are the per-example gradients of its batch without the canaries, one row
        each, as they are before clipping; ``batch`` has the numbers of its records, from 0.
        """
        rows = np.asarray(gradients, dtype=float)
        rows = rows.reshape(len(rows), -1) if rows.size else np.zeros((0, self.dimension))
        if rows.shape[1] != self.dimension:
            rule = f"have rows of {self.dimension} numbers, as layers have"
            _checks.refuse("gradients", rule, rows.shape)
        released = flat(update)
        if released.shape != (self.dimension,):
            _checks.refuse("update", f"have {self.dimension} numbers", released.shape)
        if batch is not None and len(batch) != len(rows):
            rule = f"name the record of each of {len(rows)} rows of gradients"
            _checks.refuse("batch", rule, list(batch))
        norms = np.linalg.norm(rows, axis=1)
        scale = np.minimum(1.0, self.clip / np.maximum(norms, 1e-300))
        self.record(released * self.expected_batch - scale @ rows, len(rows), batch)

    def record(self, rest: Array, size: int, batch: Sequence[int] | None) -> None:
        """Take in one step: its release, as a sum, less the clipped gradients of its records.

        Overwrites ``rest`` with the noise that is left without the canaries.
        """
        drawn = self._drawn
        if drawn is None:
            raise Unsupported("canaries come before a step: call watch.canaries() and add its rows")
        last = self.stated.records - 1
        numbers = np.asarray([] if batch is None else batch)
        if numbers.size and not (
            numbers.dtype.kind in "iu" and 0 <= numbers.min() <= numbers.max() <= last
        ):
            _checks.refuse("batch", f"number records from 0 to {last}", list(numbers))
        self._drawn = None
        unit = self.clip
        reading = drawn.along(rest) / unit
        inside = drawn.inside
        rest[drawn.places[inside]] -= unit * drawn.entries[inside]
        before = np.zeros(len(reading))
        if self._last is not None:
            before = drawn.along(self._last) * self.stated.noise
        rest /= unit * self.stated.noise
        self.sums.add(rest, size, batch)
        for kind, chosen in ((_IN_ONE, drawn.groups >= 0), (_IN_ALL, drawn.groups < 0)):
            if chosen.any():
                self.sums.add_gain(kind, reading[chosen & drawn.coins] - 1)
        self._last = rest
        self._seen.append((reading, before, drawn.coins, drawn.groups))

    def refute(self, name: str, words: str) -> None:
        """Note a fact that no chance explains and that contradicts the mechanism stated."""
        if all(known.name != name for known in self.sums.facts):
            self.sums.facts.append(fact(name, words))

    def verdict(self) -> WatchVerdict:
        """What the steps so far show: the bets whenever and however often one asks.

        The tests of conformance hold at their level for one verdict, at a time they do not decide.
        """
        if not self._seen:
            raise Unsupported("no step was watched yet: train first, then ask for the verdict")
        reading, before, coins, groups = (np.array(rows) for rows in zip(*self._seen, strict=True))
        # Every part of the model that canaries may be in, so that stakes do not follow the draws.
        labels = tuple(range(-1 if self._shared.any() else 0, int(self._block[-1]) + 1))
        bets = StepBets(reading, before, coins, groups, self.stated.noise, labels)
        return WatchVerdict(
            self.stated,
            bets,
            checks(self.sums),
            self.confidence,
            self.conformance,
            tuple(self.remarks),
        )


def watch_updates(
    layers: Sequence[int],
    *,
    claim: Subject,
    clip: float,
    records: int,
    expected_batch: float = 1.0,
    names: Sequence[str] | None = None,
    canaries: int = 40,
    confidence: float = 0.95,
    conformance: float | None = None,
    seed: int = 0,
) -> UpdateWatch:
    """Audit one whole training whose steps you can see, with any framework.

    Before each step, `canaries()` has rows to add to its per-example gradients; after it, `saw()`
    is told what was released. ``layers`` has the number of coordinates of each layer, ``records``
    the size of the data set, and ``expected_batch`` what sums are divided by. ``canaries`` have one
    coordinate each; five more have a part in every layer.

    The level 1 − ``confidence`` is the chance of any false refutation; of it ``conformance`` goes
    to the tests of the stated mechanism, the rest to the bets: 0.001 unless told, or half of the
    level where that is less.

    >>> import numpy as np
    >>> import tellapart as ta
    >>> rng = np.random.default_rng(1)
    >>> claim = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.5, steps=40)
    >>> watch = watch_updates([300], claim=claim, clip=1.0, records=20)
    >>> for _ in range(40):
    ...     batch = np.flatnonzero(rng.random(20) < 0.5)
    ...     gradients = rng.normal(size=(len(batch), 300))
    ...     rows = np.vstack([gradients, watch.canaries()])
    ...     rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    ...     watch.saw(rows.sum(axis=0) + rng.normal(0, 0.5, 300), gradients, batch)  # not 1.0
    >>> verdict = watch.verdict()
    >>> verdict.refuted, verdict.refuting[:2]
    (True, ('bets on each step', 'noise of a layer'))

    See Also
    --------
    tellapart.audit.watch : the same for Opacus, in your own loop
    tellapart.audit.step : a single step, called many times
    """
    listed = list(layers) if np.ndim(layers) == 1 else []
    if not listed:
        _checks.refuse("layers", "list how many coordinates each layer has", layers)
    sizes = tuple(_checks.whole(1, 10**10, layers=size) for size in listed)
    titles = tuple(names) if names is not None else tuple(f"layer {k}" for k in range(len(sizes)))
    if isinstance(names, str) or len(titles) != len(sizes):
        _checks.refuse("names", f"name each of {len(sizes)} layers", names)
    noise, rate, steps = read_claim(claim)
    sure = _checks.inside_unit(confidence=confidence)
    if conformance is None:
        strict = usual_conformance(1 - sure)
    else:
        strict = _checks.inside_unit(conformance=conformance)
    if strict >= (1 - sure) * (1 - 1e-9):
        _checks.refuse("conformance", "be a part of the level 1 − confidence", conformance)
    return UpdateWatch(
        StatedTraining(
            cast(Mechanism, claim),
            noise,
            rate,
            steps,
            _checks.whole(1, records=records),
            sizes,
            titles,
        ),
        _checks.finite_above_zero(clip=clip),
        _checks.finite_above_zero(expected_batch=expected_batch),
        _checks.whole(1, 10**4, canaries=canaries),
        sure,
        strict,
        run.generator((_checks.whole(0, 2**62, seed=seed), _COINS)),
    )


# The level of the tests of conformance, where that of all leaves room.
_CONFORMANCE = 0.001


def usual_conformance(level: float) -> float:
    """Of a level, what the tests of conformance get unless told."""
    return min(_CONFORMANCE, level / 2)


def read_claim(claim: Subject) -> tuple[float, float, int]:
    """Noise multiplier, sampling rate and number of steps of a claim of DP-SGD."""
    step = claim.base if isinstance(claim, Repeated) else claim
    steps = claim.times if isinstance(claim, Repeated) else 1
    rate = 1.0
    if isinstance(step, Sampled):
        if step.scheme is not Sampling.POISSON:
            rule = "be on Poisson batches, the only ones that are checked: scheme=POISSON"
            _checks.refuse("claim", rule, claim)
        rate, step = step.rate, step.base
    if not isinstance(step, Gaussian) or math.isinf(step.sigma) or rate <= 0:
        rule = "state the training: ta.dp_sgd(noise_multiplier, sampling_rate, steps), Poisson"
        _checks.refuse("claim", rule, claim)
    if step.neighbours is Neighbours.REPLACE:
        rule = "be about a record added, removed or zeroed out, as canaries are, not replaced"
        _checks.refuse("claim", rule, claim)
    return step.sigma / step.sensitivity, rate, steps
