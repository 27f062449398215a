"""Shadow models: trained on parts of the data, wherever there are workers, and kept at once."""

from __future__ import annotations

import functools
import math
import numbers
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline, run
from tellapart._checks import Array
from tellapart.audit.trainings.store import ModelStore
from tellapart.errors import BadScores, LimitReached, TrainingStopped

Places = NDArray[np.intp]


def data_size(data: Any) -> int:
    """How many examples there are; a whole number stands for that many, known by their places."""
    if isinstance(data, numbers.Real):
        return _checks.whole(1, 2**40, data=data)
    if isinstance(data, tuple):
        sizes = [_length(part) for part in data]
        if not sizes or len(set(sizes)) > 1:
            _checks.refuse("data", "be a tuple of columns of one length", sizes)
        return _positive(sizes[0])
    return _positive(_length(data))


def take_examples(data: Any, places: Places) -> Any:
    """The examples at these places, in the make of the data.

    A tuple, as (X, y), is taken column by column; a PyTorch data set becomes a Subset; a whole
    number gives the places themselves.
    """
    if isinstance(data, numbers.Real):
        return places
    if isinstance(data, tuple):
        return tuple(take_examples(part, places) for part in data)
    if hasattr(data, "iloc"):
        return data.iloc[places]
    if hasattr(data, "shape"):
        return data[places]
    if _is_torch_data(data):
        from torch.utils.data import Subset

        return Subset(data, places.tolist())
    return [data[place] for place in places.tolist()]


def _length(data: Any) -> int:
    shape = getattr(data, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    indexed = hasattr(data, "__len__") and hasattr(data, "__getitem__") and shape is None
    if not indexed or isinstance(data, Mapping | str | bytes):
        rule = "be indexed examples: arrays, a tuple of them, a list, a frame, or their number"
        _checks.refuse("data", rule, data)
    return len(data)


def _positive(count: int) -> int:
    if count == 0:
        _checks.refuse("data", "not be empty", count)
    return count


def _is_torch_data(data: Any) -> bool:
    torch = sys.modules.get("torch.utils.data")
    return torch is not None and isinstance(data, torch.Dataset)


if TYPE_CHECKING:
    from tellapart.audit.trainings.membership_game import MembershipGame, Score, Train


Restore = Callable[[], Any]
# Keeps these numbers apart from those that a training draws from the seed itself.
_SHARED = 2**32 - 6


@contextmanager
def put_back() -> Iterator[None]:
    """Leave the shared generators as they were."""
    before = list(_states()) if _alone() else []
    try:
        yield
    finally:
        for restore in before:
            restore()


def seed_shared(seed: int) -> None:
    """Seed what is shared; left alone beside other threads, whose numbers these would become."""
    if not _alone():
        return
    own = np.random.SeedSequence(seed, spawn_key=(_SHARED,)).generate_state(3).tolist()
    random.seed(own[0])
    np.random.seed(own[1])
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(own[2])  # what manual_seed does besides takes longer
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(own[2])


def _alone() -> bool:
    return threading.current_thread() is threading.main_thread()


def _states() -> Iterator[Restore]:
    """How to put each generator back to where it is now."""
    python, legacy = random.getstate(), np.random.get_state()
    yield lambda: random.setstate(python)
    yield lambda: np.random.set_state(legacy)
    torch = sys.modules.get("torch")
    if torch is None:
        return
    on_cpu = torch.get_rng_state()
    yield lambda: torch.set_rng_state(on_cpu)
    if torch.cuda.is_initialized():
        on_gpus = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(on_gpus)


# The data travel to a worker once for each block of models.
_BLOCKS = 200


@dataclass(frozen=True)
class ShadowTraining:
    """All that a worker must know to train any model of the game."""

    game: MembershipGame
    train: Train
    score: Score | None
    kept: ModelStore | None

    def block(self, models: list[int], rng: np.random.Generator) -> Array:
        """Rows of several models; each depends on the game's seed and its own place alone."""
        with put_back():
            return np.array([self.one(model) for model in models])

    def one(self, model: int) -> Array:
        """One model's scores of targets and population, and the seconds it took.

        One that is kept is not trained again, be it that a worker died and all was begun anew.
        """
        before = self.resumed(model)
        if before is not None:
            return before
        deadline.before_call()
        seed = self.game.training_seed(model)
        started = time.perf_counter()
        try:
            seed_shared(seed)
            given = self._scored(self.game.training_places(model), seed)
        except Exception as error:
            if isinstance(error, TrainingStopped):
                raise
            self._stopped(model, f"raised {type(error).__name__}: {error}", error)
        scores = self._checked(given, model)
        row = np.append(scores, time.perf_counter() - started)
        if self.kept is not None:
            try:
                self.kept.write(model, self._rows(model, row))
            except OSError as error:
                self._stopped(model, f"could not be written: {error}", error)
        return row

    @property
    def asked(self) -> Any:
        """The places of the examples that are scored: targets, then population."""
        return np.append(self.game.targets, np.array(self.game.population, dtype=np.intp))

    def _scored(self, places: Any, seed: int) -> Any:
        trained = self.train(take_examples(self.game.data, places), seed)
        if self.score is None:
            return trained
        return self.score(trained, take_examples(self.game.data, self.asked))

    def _checked(self, given: Any, model: int) -> Array:
        """One finite number for each example that is scored, or an error that names the model."""
        if hasattr(given, "detach"):
            given = given.detach().cpu().numpy()
        try:
            array = np.asarray(given)
        except ValueError:  # rows of different lengths
            array = np.empty(0, dtype=object)
        if array.dtype.kind not in "iuf":
            hint = "" if self.score else " (give score=, which makes numbers of a model)"
            self._bad(model, f"be numbers{hint}, got {type(given).__name__}")
        scores = array.astype(np.float64).reshape(-1)
        wanted = self.asked.size
        if scores.size != wanted:
            self._bad(model, f"be {wanted}, one for each example asked, got {scores.size}")
        wrong = ~np.isfinite(scores)
        if wrong.any():
            at = int(np.argmax(wrong))
            self._bad(model, f"be finite, got {scores[at]} for example {self.asked[at]}")
        return scores

    def _rows(self, model: int, row: Array) -> Array:
        inside = np.append(self.game.coins(model), np.zeros(len(self.game.population), bool))
        seed, seconds = (
            np.full(row.size - 1, value) for value in (self.game.training_seed(model), row[-1])
        )
        return np.column_stack([self.asked, inside, seed, row[:-1], seconds]).astype(np.float64)

    def resumed(self, model: int) -> Array | None:
        """A kept model's row; None where it is missing, half-written or of another model."""
        rows = None if self.kept is None else self.kept.read(model)
        if rows is None or rows.shape != (self.asked.size, 5):
            return None
        row = np.append(rows[:, 3], rows[0, 4])
        expected = self._rows(model, row)[:, :3]
        same = np.array_equal(rows[:, :3], expected) and np.isfinite(row).all()
        return row if same else None

    def _who(self, model: int) -> str:
        return f"model {model} (seed {self.game.training_seed(model)})"

    def _safe(self) -> str:
        if self.kept is None:
            return "nothing is kept, as no folder was given"
        return f"{self.kept.count()} finished models are kept in {self.kept.folder}"

    def _stopped(self, model: int, what: str, error: Exception) -> NoReturn:
        raise TrainingStopped(f"{self._who(model)} {what}; {self._safe()}") from error

    def _bad(self, model: int, rule: str) -> NoReturn:
        raise BadScores(f"scores of {self._who(model)} must {rule}; {self._safe()}")


def trained_rows(
    game: MembershipGame,
    train: Train,
    score: Score | None,
    kept: ModelStore | None,
    progress: run.Progress | None,
) -> Array:
    """One row for each model: what is kept already, and the rest trained now.

    Where a budget of seconds ends before all are trained, rows of the last ones are NaN; unless
    there is a folder, with which the rest can be trained later.
    """
    training = ShadowTraining(game, train, score, kept)
    known = {
        model: row for model in range(game.models) if (row := training.resumed(model)) is not None
    }
    todo = [model for model in range(game.models) if model not in known]
    step = max(-(-len(todo) // _BLOCKS), 1)
    blocks = [todo[first : first + step] for first in range(0, len(todo), step)]
    tell = _onward(progress, len(known) / game.models)
    if kept is None and math.isfinite(deadline.left_for_calls()):
        made = list(_while_time_is_left(training, blocks, tell))
    else:
        made = run.map(training.block, blocks, game.seed, tell)
    for block, rows in zip(blocks, made, strict=False):
        known.update(zip(block, rows, strict=True))
    if progress is not None:
        progress(1.0)
    missing = np.full(training.asked.size + 1, np.nan)
    return np.array([known.get(model, missing) for model in range(game.models)])


# So many groups of blocks are trained one after the other where time may end: one is lost at most.
_GROUPS = 50


def _while_time_is_left(
    training: ShadowTraining, blocks: list[list[int]], tell: Callable[[float], None] | None
) -> Iterator[Array]:
    """Rows of the first blocks, up to those in which the budget ended; its error if in the first.

    The numbers of a model are its own, in whatever group it is.
    """
    size = max(-(-len(blocks) // _GROUPS), 1)
    for start in range(0, len(blocks), size):
        part = None if tell is None else functools.partial(_within, tell, start, size, len(blocks))
        try:
            yield from run.map(
                training.block, blocks[start : start + size], training.game.seed, part
            )
        except LimitReached:
            if not start or deadline.left_for_calls() > 0:
                raise
            return


def _within(tell: Callable[[float], None], start: int, size: int, total: int, share: float) -> None:
    tell((start + share * min(size, total - start)) / total)


def _onward(progress: run.Progress | None, done: float) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda share: progress(done + (1 - done) * share)
