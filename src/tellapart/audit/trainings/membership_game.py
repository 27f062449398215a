"""The membership inference game: coins draw who trains which model, and an attack guesses them.

>>> import numpy as np
>>> from tellapart.audit import MembershipGame, Targets
>>> def train(people, seed):                 # a sum with Laplace noise is its own score
...     return [people.sum() + np.random.default_rng(seed).laplace(0, 1)]
>>> game = MembershipGame(np.array([1.0, 0.0, 0.0]), Targets(0), models=200, seed=7)
>>> game.play(train).scores(target=0)
Scores(100 members, 100 non-members, 200 runs, higher means member)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks, _progress, run
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit import checkpoints
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.trainings import shadow_models
from tellapart.audit.trainings.inclusion import Coins, check_mask, mask_of
from tellapart.audit.trainings.shadow_models import Places
from tellapart.audit.trainings.store import ModelStore
from tellapart.data import columns
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, init=False)
class Targets:
    """Some named examples go in or out by coins of their own; all others are always in.

    ``at`` is the place of one example or of several; each is in with probability ``prior``.

    >>> from tellapart import audit
    >>> audit.MembershipGame(5, audit.Targets(at=2), models=4).inclusion.astype(int).tolist()
    [[1], [1], [0], [0]]
    """

    at: tuple[int, ...]
    prior: float

    def __init__(self, at: int | Iterable[int] = 0, prior: float = 0.5) -> None:
        object.__setattr__(self, "at", _places(targets=at))
        object.__setattr__(self, "prior", _checks.inside_unit(prior=prior))


@dataclass(frozen=True, init=False)
class Replaced:
    """Some named examples are in, or others stand in their place: all data sets have one size.

    The first of ``by`` replaces the first of ``at`` where that one's coin says out, and is in no
    other data; a target is in with probability ``prior``. This is the game for claims about
    neighbours that replace a record.

    >>> from tellapart import audit
    >>> game = audit.MembershipGame(5, audit.Replaced(at=0, by=4), models=2)
    >>> game.inclusion.shape
    (2, 1)
    """

    at: tuple[int, ...]
    by: tuple[int, ...]
    prior: float

    def __init__(
        self, at: int | Iterable[int], by: int | Iterable[int], prior: float = 0.5
    ) -> None:
        targets, others = _places(targets=at), _places(by=by)
        if len(others) != len(targets) or set(others) & set(targets):
            rule = f"name another example for each of {len(targets)} targets, which is none itself"
            _checks.refuse("by", rule, list(others))
        object.__setattr__(self, "at", targets)
        object.__setattr__(self, "by", others)
        object.__setattr__(self, "prior", _checks.inside_unit(prior=prior))


@dataclass(frozen=True)
class Pool:
    """Every example goes in or out by a coin of its own, and all of them are targets.

    >>> from tellapart import audit
    >>> audit.MembershipGame(5, audit.Pool(), models=2).inclusion.shape
    (2, 5)
    """

    prior: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _checks.inside_unit(prior=self.prior))


Design = Targets | Replaced | Pool


def named_places(design: Design) -> dict[str, tuple[int, ...]]:
    """The places that a design names, by what they are named for."""
    places = {} if isinstance(design, Pool) else {"targets": design.at}
    return places | {"by": design.by} if isinstance(design, Replaced) else places


def trained_on(
    design: Design, size: int, targets: Places, coins: NDArray[np.bool_], aside: Iterable[int]
) -> Places:
    """The places of the examples in one training set; a stand-in stands where its target would."""
    inside = np.full(size, not isinstance(design, Pool))
    inside[list(aside)] = False
    if not isinstance(design, Replaced):
        inside[targets] = coins
        return np.flatnonzero(inside)
    at, by = np.array(design.at, dtype=np.intp), np.array(design.by, dtype=np.intp)
    inside[by] = False
    place = np.arange(size)
    place[at[~coins]] = by[~coins]
    return np.asarray(place[inside])


def same_neighbours(claim: object, design: Design) -> None:
    """Refuse a claim about other neighbours than those that the design compares."""
    if not isinstance(claim, Mechanism):
        return
    if claim.neighbours is Neighbours.REPLACE and not isinstance(design, Replaced):
        raise Unsupported(
            "the claim is about neighbours that replace a record, and these targets are in or out: "
            "use targets=audit.Replaced(at, by), which puts another example in a target's place"
        )
    if claim.neighbours is Neighbours.ZERO_OUT:
        raise Unsupported(
            "the claim is about neighbours that zero out a record, and no design blanks a target: "
            "audit a step with audit.step(..., public_size=True), or claim what holds for added "
            "or replaced records"
        )
    if claim.neighbours is Neighbours.ADD_REMOVE and isinstance(design, Replaced):
        raise Unsupported(
            "the claim is about neighbours that add or remove a record, and audit.Replaced does "
            "both at once: use audit.Targets(at), or claim what holds for a replaced record, as a "
            "curve or by a mechanism with neighbours=Neighbours.REPLACE"
        )


def _places(**given: Any) -> tuple[int, ...]:
    ((name, at),) = given.items()
    every = tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)
    places = tuple(_checks.whole(0, **{name: place}) for place in every)
    if not places or len(set(places)) < len(places):
        _checks.refuse(name, "be places of examples, each named once", list(places))
    return places


__all__ = ["Design", "MembershipGame", "Pool", "Replaced", "Score", "Targets", "Train"]


_MODELS, _EXAMPLES = 32, 64


def drawn(seed: int, purpose: int, models: range, examples: Places) -> Array:
    """Uniform numbers, one row for each model and one column for each example."""
    uniforms = np.empty((len(models), examples.size))
    wanted, which = np.unique(examples // _EXAMPLES, return_inverse=True)
    columns = [np.flatnonzero(which == k) for k in range(wanted.size)]
    for tile in range(models.start // _MODELS, -(-models.stop // _MODELS)):
        first = max(models.start, tile * _MODELS)
        last = min(models.stop, (tile + 1) * _MODELS)
        inside = slice(first - tile * _MODELS, last - tile * _MODELS)
        rows = slice(first - models.start, last - models.start)
        for block, some in zip(wanted.tolist(), columns, strict=True):
            numbers = run.generator((seed, purpose, tile, block)).random((_MODELS, _EXAMPLES))
            uniforms[rows, some] = numbers[inside][:, examples[some] % _EXAMPLES]
    return uniforms


Train = Callable[[Any, int], Any]
Score = Callable[[Any, Any], ArrayLike]


# What is drawn for different purposes shares nothing.
_COINS, _SEEDS = 0, 1
# Odd, so that no two models of a game share a seed.
_STRIDE = 2654435761
_FIRST = Targets(0)


@dataclass(frozen=True, eq=False, repr=False)
class MembershipGame:
    """Who is in the training data of each model, drawn by coins that depend on the seed alone.

    ``data``: arrays, a tuple as (X, y), a list, a frame, a PyTorch data set, or the number of
    examples. ``population``: places of examples that train no model and are scored all the same,
    for attacks that compare with them.

    >>> from tellapart import audit
    >>> game = audit.MembershipGame([3.0, 1.0, 4.0], audit.Targets(at=2), models=6)
    >>> played = game.play(lambda data, seed: sum(data), lambda model, example: model)
    >>> played.raw.shape
    (6, 1)
    """

    data: Any
    design: Design = _FIRST
    models: int = 1_000
    seed: int = 0
    population: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        count = shadow_models.data_size(self.data)
        kinds = "audit.Targets(...), audit.Replaced(...) or audit.Pool()"
        _checks.instance(Design, kinds, design=self.design)
        object.__setattr__(self, "models", _checks.whole(1, 10**7, models=self.models))
        object.__setattr__(self, "seed", _checks.whole(0, 2**62, seed=self.seed))
        _checks.instance(Iterable, "places of examples, listed", population=self.population)
        aside = tuple(_checks.whole(0, population=place) for place in self.population)
        object.__setattr__(self, "population", aside)
        named = named_places(self.design)
        for name, places in (named | {"population": aside}).items():
            if places and max(places) >= count:
                _checks.refuse(name, f"be places below {count}, the number of examples", places)
        others = {place for places in named.values() for place in places}
        if others & set(aside) or len(set(aside)) < len(aside):
            _checks.refuse("population", "name examples once that are no targets", aside)
        if not self.targets.size:
            _checks.refuse("population", "leave some examples to be targets", len(aside))

    @property
    def size(self) -> int:
        """How many examples the data have."""
        return shadow_models.data_size(self.data)

    @cached_property
    def targets(self) -> NDArray[np.intp]:
        """The places of the examples that are in or out by a coin, in order of the scores."""
        if not isinstance(self.design, Pool):
            return np.array(self.design.at, dtype=np.intp)
        return np.setdiff1d(np.arange(self.size), np.array(self.population, dtype=np.intp))

    def coins(self, model: int) -> NDArray[np.bool_]:
        """Which targets are in the training data of one model.

        An example's coin depends on the seed, the model and the example's place alone.
        """
        place = self._of(model)
        return np.asarray(self._inside(range(place, place + 1))[0])

    @property
    def inclusion(self) -> NDArray[np.bool_]:
        """One row for each model, one column for each target: who is in."""
        return self._inside(range(self.models))

    def _inside(self, models: range) -> NDArray[np.bool_]:
        numbers = drawn(self.seed, _COINS, models, self.targets)
        return np.asarray(numbers < self.design.prior)

    def training_places(self, model: int) -> NDArray[np.intp]:
        """The places of the examples that train one model, in order."""
        coins = self.coins(model)
        return trained_on(self.design, self.size, self.targets, coins, self.population)

    def training_seed(self, model: int) -> int:
        """The whole number below 2³² that one training is handed; no two models share it."""
        first = int(run.generator((self.seed, _SEEDS)).integers(2**32))
        return (first + self._of(model) * _STRIDE) % 2**32

    def _of(self, model: int) -> int:
        return _checks.whole(0, self.models - 1, model=model)

    def play(
        self,
        train: Train,
        score: Score | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        progress: run.Progress | bool = False,
    ) -> Played:
        """Train every model and score the targets, on the workers joblib is told of.

        ``train(dataset, seed)`` gives a model, which ``score(model, examples)`` turns into one
        number for each target, larger where it looks like a member; without ``score`` it gives
        these numbers itself. With ``folder`` every finished model is kept, and a game that was
        killed goes on where it stopped; all workers must see it. It belongs to one training
        function, known by its name, its code and its plain settings. ``progress=True`` shows a
        bar with the time left at terminals, and a line a minute elsewhere; a function is told which
        share of the models was begun, and 1 at the end.
        """
        _checks.function(train=train)
        if score is not None:
            _checks.function(score=score)
        if not isinstance(progress, bool):
            _checks.function(progress=progress)
        kept = None if folder is None else ModelStore.opened(folder, self._manifest(train, score))
        with _progress.shown(progress, "models", self.models) as tell:
            rows = shadow_models.trained_rows(self, train, score, kept, tell)
        split = self.targets.size
        return Played(self, self.inclusion, rows[:, :split], rows[:, split:-1], rows[:, -1])

    def with_outputs(
        self,
        raw: ArrayLike,
        population: ArrayLike | None = None,
        *,
        inclusion: ArrayLike | None = None,
    ) -> Played:
        """A game whose models were trained elsewhere, many at once say, with these coins.

        One row for each model and one column for each target, in the order of `targets`. Where the
        coins were others than this game's, ``inclusion`` says who was in; a mask that independent
        coins of the design's prior plainly did not give is refused (`audit.Matrix` takes others).
        """
        columns.same_order("inclusion", inclusion, "raw", raw)
        wanted = {
            "raw": (self.models, self.targets.size),
            "population": (self.models, len(self.population)),
        }
        given: dict[str, Any] = {"raw": raw, "population": np.empty(wanted["population"])}
        if population is not None or self.population:
            given["population"] = population
        outputs = {name: _checks.reals(**{name: value}) for name, value in given.items()}
        for name, values in outputs.items():
            if values.shape != wanted[name] or not np.isfinite(values).all():
                _checks.refuse(name, f"be finite numbers of shape {wanted[name]}", values.shape)
        inside = self.inclusion if inclusion is None else self._foreign(inclusion)
        return Played(self, inside, **outputs, seconds=np.zeros(self.models))

    def _foreign(self, inclusion: ArrayLike) -> NDArray[np.bool_]:
        """A mask that coins of this design may have given."""
        mask = mask_of(inclusion)
        if mask.shape != (self.models, self.targets.size):
            rule = f"have one row a model, one column a target: {(self.models, self.targets.size)}"
            _checks.refuse("inclusion", rule, mask.shape)
        check_mask(mask, Coins.INDEPENDENT, self.design.prior)
        return mask

    def _manifest(self, train: Train, score: Score | None) -> dict[str, Any]:
        return {
            "game": "membership",
            "design": type(self.design).__name__,
            "prior": self.design.prior,
            "targets": "all",
            **{name: list(places) for name, places in named_places(self.design).items()},
            "population": list(self.population),
            "models": self.models,
            "seed": self.seed,
            "examples": self.size,
            "data": checkpoints.data_fingerprint(self.data),
            "train": checkpoints.function_name(train),
            "score": None if score is None else checkpoints.function_name(score),
            "code": checkpoints.code_fingerprint(train) + checkpoints.code_fingerprint(score),
            "versions": checkpoints.versions(),
        }

    def __repr__(self) -> str:
        coins = (
            f"{self.targets.size:,} of {self.size:,} examples by coins of "
            f"{short(self.design.prior)}"
        )
        return f"MembershipGame({coins}, {self.models:,} models, seed {self.seed})"


@dataclass(frozen=True, eq=False, repr=False)
class Played:
    """A game that was played: who was in, and what each model's score was of each target.

    ``raw`` and ``inclusion`` have one row for each model and one column for each target;
    ``population`` one column for each example of the game's population; ``seconds`` is how long
    each training took where it was made.
    """

    game: MembershipGame
    inclusion: NDArray[np.bool_]
    raw: Array
    population: Array
    seconds: Array

    def scores(self, target: int = 0, orientation: Orientation = Orientation.HIGHER) -> Scores:
        """The scores of one target, one for each model, for `many_runs`."""
        place = _checks.whole(0, self.raw.shape[1] - 1, target=target)
        return column_scores(self.raw[:, place], self.inclusion[:, place], orientation)

    def of_model(self, model: int, orientation: Orientation = Orientation.HIGHER) -> Scores:
        """The scores that one model gives all targets, for `one_run` or `metrics`."""
        place = _checks.whole(0, len(self.raw) - 1, model=model)
        _require_fair_coins(self.game)
        inside = self.inclusion[place]
        if inside.all() or not inside.any():
            _checks.refuse("model", "have targets on both sides, in and out", place)
        runs = np.full(inside.size, place)
        return Scores.from_rows(self.raw[place], inside, runs, orientation=orientation)

    def __repr__(self) -> str:
        time = float(np.median(self.seconds))
        return (
            f"Played({self.game!r}, {short(time, 3)} s a model, "
            f"{short(self.seconds.sum(), 3)} s in all)"
        )


def _require_fair_coins(game: MembershipGame) -> None:
    """Raise unless the coins are fair, as guesses of one run's coins need."""
    if game.design.prior != 0.5:
        raise Unsupported(
            f"one run is audited with fair coins, and these have prior {short(game.design.prior)}: "
            "play with prior 0.5, or use scores(target) with many_runs"
        )


def column_scores(
    values: Array, inside: NDArray[np.bool_], orientation: Orientation = Orientation.HIGHER
) -> Scores:
    """Scores of one target over models; a target that was always in, or never, has no sides."""
    if inside.all() or not inside.any():
        side = "in" if inside.all() else "out of"
        raise InvalidArgument(
            f"models must be enough for coins to fall both ways: the target was {side} all "
            f"{inside.size} of them"
        )
    return Scores.from_rows(values, inside, np.arange(inside.size), orientation=orientation)
