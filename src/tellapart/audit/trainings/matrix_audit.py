"""Audits of a matrix of models by records with its inclusion mask, as shadow models leave it.

Three readings, each with the null hypothesis that it refutes:

- `Matrix.one_run`: one row. The model's training keeps the claim for each record whose coin it was
  (Steinke et al. 2023, Theorem 5.2; Mahloujifar et al. 2024, Theorem 4.2). Records may have
  anything in common.
- `Matrix.pooled`: all cells of the held-out rows, as one run. K trainings that share nothing are
  one mechanism M(S) = (M(S_1), ..., M(S_K)), and turning the coin of record j in model k changes
  one of its parts alone: T(M(S), M(S')) = T(M(S_k), M(S_k')) is the curve of one training. So the
  same theorems hold for the K·m coins together, as long as these are fair and independent of each
  other. To read the same guesses as K·m independent trials would not be valid: records of one
  model share its training.
- `Matrix.by_record`: one column, many runs. Each held-out model is one independent draw of the
  record's score, in or out, averaged over the coins of all other records; a mixture of pairs that
  keep a curve keeps it (joint convexity of the hockey-stick divergence).

An attack that learns does so on other rows than those that are judged. Which coins of a judged row
are fair given those other rows depends on the design, and is proven in `inclusion`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.evidence.base import promised
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.one_run_audit import GuessEvidence, one_run
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.trainings import inclusion as masks
from tellapart.audit.trainings import matrix_files
from tellapart.audit.trainings.attacks import Rmia
from tellapart.audit.trainings.inclusion import Coins, MaskTest
from tellapart.audit.trainings.lira import Lira
from tellapart.audit.trainings.matrix_files import Outputs
from tellapart.audit.trainings.membership_game import MembershipGame, Played, Targets
from tellapart.audit.trainings.training_audit import Attacking, attack_scores, game_evidence
from tellapart.data import columns, scores_and_labels
from tellapart.data.ranked import Mask, Whole
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.subject import Subject
from tellapart.neighbours import Neighbours

# The share of the models on which an attack is fitted.
_TO_FIT = 0.5
_AS_ONE = (
    "The one run is that of all models judged together; each canary is a record in one of them."
)
_READ_AS = {
    Outputs.CONFIDENCE: "confidences",
    Outputs.LOSS: "losses",
    Outputs.LOGIT: "logits",
    Outputs.SCORE: "scores",
}
# Confidences closer to 0 or 1 have no logit in float32.
_CLOSEST = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Matrix:
    """What each of many models says of each of many records, and who was in whose training set.

    One row for each model, one column for each record; a third axis is of augmentations, which are
    averaged. ``inclusion`` has the same rows and columns: True where the record was in the model's
    training set. ``coins`` says how that was drawn (with chance ``prior`` if independent); a mask
    that was plainly not drawn so is refused. A row must be of its model alone: give outputs, not
    scores of an attack that was fitted on the other rows. ``population``: outputs on records that
    train no model, for `attacks.Rmia`; without it the records themselves.

    >>> import numpy as np
    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> rng = np.random.default_rng(0)
    >>> mask = rng.random((40, 500)) < 0.5
    >>> logits = rng.normal(size=mask.shape) + 3.0 * mask
    >>> matrix = audit.Matrix(logits, mask, audit.Coins.INDEPENDENT, audit.Outputs.LOGIT)
    >>> matrix
    Matrix(40 models, 500 records, logit, coins independent)
    >>> claim = ta.guarantee(epsilon=2, delta=1e-5)
    >>> matrix.pooled(attack=audit.attacks.Lira(), claim=claim).refutes(claim)
    True
    """

    scores: NDArray[Any]
    inclusion: Mask
    coins: Coins
    outputs: Outputs = Outputs.SCORE
    orientation: Orientation = Orientation.HIGHER
    prior: float = 0.5
    population: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        _checks.member(Coins, coins=self.coins)
        _checks.member(Outputs, outputs=self.outputs)
        _checks.member(Orientation, orientation=self.orientation)
        if self.orientation is Orientation.EITHER or (
            self.outputs is not Outputs.SCORE and self.orientation is not Orientation.HIGHER
        ):
            rule = (
                "be left out unless outputs are scores (--outputs score, in Python "
                "outputs=audit.Outputs.SCORE): a loss is lower for members, the others are higher"
            )
            _checks.refuse("orientation", rule, self.orientation.value)
        prior = _checks.inside_unit(prior=self.prior)
        if prior != 0.5 and self.coins is not Coins.INDEPENDENT:
            _checks.refuse("prior", "be left out unless coins=Coins.INDEPENDENT", prior)
        columns.same_order("inclusion", self.inclusion, "scores", self.scores)
        mask = masks.mask_of(self.inclusion)
        values = _numbers(scores=self.scores)
        if values.ndim not in (2, 3) or values.shape[:2] != mask.shape:
            rule = f"have one row a model and one column a record, as inclusion has: {mask.shape}"
            _checks.refuse("scores", rule, values.shape)
        for name, value in (("scores", values), ("inclusion", mask), ("prior", prior)):
            object.__setattr__(self, name, value)
        self._check_range("scores", values)
        if self.population is not None:
            others = _numbers(population=self.population)
            if others.ndim not in (2, 3) or len(others) != len(values) or not others.shape[1]:
                rule = f"have one row for each of {len(values)} models, as scores has"
                _checks.refuse("population", rule, others.shape)
            self._check_range("population", others)
            object.__setattr__(self, "population", others)
        _ = self.mask_test  # refuses a mask that was not drawn so

    def _check_range(self, name: str, values: NDArray[Any]) -> None:
        least, most = float(values.min()), float(values.max())
        if self.outputs is Outputs.CONFIDENCE and not 0 <= least <= most <= 1:
            rule = "be probabilities with outputs=Outputs.CONFIDENCE"
            _checks.refuse(name, rule, least if least < 0 else most)
        if self.outputs is Outputs.LOSS and least < 0:
            _checks.refuse(name, "be losses, at least 0, with outputs=Outputs.LOSS", least)

    @cached_property
    def mask_test(self) -> MaskTest:
        """What is least likely about the mask under the stated coins, and its p-value."""
        kept = np.unique(self._first)
        return masks.check_mask(self.inclusion[kept], self.coins, self.prior)

    @classmethod
    def read(cls, path: str | os.PathLike[str], **options: Any) -> Matrix:
        """A matrix from a file or folder: .npz, .npy, .parquet, or what an attack tool left.

        ``coins`` must be given; ``inclusion`` is the path of the mask where it has a file of its
        own; further options are those of `Matrix`. See `tellapart.audit.trainings.matrix_files`.
        """
        contents = matrix_files.read(path, options.pop("inclusion", None))
        return cls(**_with_coins(contents | options))

    @classmethod
    def from_tables(
        cls, members: Any, non_members: Any, population: Any = None, **options: Any
    ) -> Matrix:
        """PrivacyGuard's tables for RMIA: its target model and reference models, as one matrix.

        Members and non-members of the target model, with columns score_orig, score_ref_0,
        member_ref_0 and so on, as frames or dicts of columns.
        """
        contents = matrix_files.privacy_guard(members, non_members, population)
        return cls(**(contents | options))

    @property
    def models(self) -> int:
        """How many models there are."""
        return len(self.inclusion)

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.inclusion.shape[1])

    def __repr__(self) -> str:
        many = f", {self.scores.shape[2]:,} augmentations" if self.scores.ndim == 3 else ""
        return (
            f"Matrix({self.models:,} models, {self.records:,} records{many}, "
            f"{self.outputs.value}, coins {self.coins.value})"
        )

    def select(
        self,
        models: Iterable[int] | slice = slice(None),
        records: Iterable[int] | slice = slice(None),
    ) -> Matrix:
        """Some of the models and records, chosen without looking at their scores."""
        rows, columns = (
            each if isinstance(each, slice) else np.asarray(list(each), dtype=np.intp)
            for each in (models, records)
        )
        others = None if self.population is None else self.population[rows]
        return replace(
            self,
            scores=self.scores[rows][:, columns],
            inclusion=self.inclusion[rows][:, columns],
            population=others,
        )

    def one_run(
        self,
        model: int = 0,
        confidence: float = 0.95,
        *,
        attack: Attacking = None,
        claim: Subject | None = None,
        seed: int = 0,
    ) -> GuessEvidence:
        """What one model shows, its records as canaries and all others as shadow models.

        The ``claim`` fixes how many records to guess, as in `audit.one_run`. ``seed`` draws what
        the design needs to be drawn. Choose both and ``model`` before scores are seen: another one
        is another test.
        """
        row = _checks.whole(0, self.models - 1, model=model)
        self._refuse_one_record("one_run")
        others = np.flatnonzero(self._first != self._first[row])
        if self.coins is Coins.BALANCED:  # the rest must leave the row's coins open
            others = others[: int(_TO_FIT * others.size)]
        learnt = others if hasattr(attack, "fit") else others[:0]
        about = f"About model {row}, with {self._how(learnt)}."
        return self._guessed(np.array([row]), learnt, attack, confidence, claim, seed, about)

    def pooled(
        self,
        confidence: float = 0.95,
        *,
        attack: Attacking = None,
        claim: Subject | None = None,
        seed: int = 0,
    ) -> GuessEvidence:
        """What all records of all held-out models show together, read as one run.

        An ``attack`` that learns does so on the first half of the models, and the others are
        judged. Their trainings must share nothing but the recipe.
        """
        self._refuse_one_record("pooled")
        if self.coins is Coins.BALANCED:
            raise Unsupported(
                "with balanced coins the rows of held-out models tell each other's, so that they "
                "are no independent coins together: use matrix.one_run(model) (--design one-run)"
            )
        learnt, asked = self._divided(attack)
        about = (
            f"About {asked.size:,} models together, with {self._how(learnt)}: as one mechanism "
            "whose canaries are the records of each model."
        )
        return self._guessed(asked, learnt, attack, confidence, claim, seed, about)

    def by_record(
        self, confidence: float = 0.95, *, attack: Attacking = None, delta: float = 0.0
    ) -> RankEvidence:
        """What the models show about one record, the most exposed, chosen on other models.

        The record is chosen on the first models and certified on the rest, as `game_evidence` does.
        """
        if self.coins is Coins.BALANCED:
            raise Unsupported(
                "with balanced coins models are no independent runs, as the coins of each record "
                "add up to one number: use matrix.one_run(model) (--design one-run)"
            )
        rows = np.unique(self._first)
        inside = self.inclusion[rows]
        usable: Mask = np.ones(self.records, dtype=np.bool_)
        if self.coins is Coins.ONE_RECORD:
            usable = np.asarray(inside.any(axis=0) & ~inside.all(axis=0))
        # Where an attack learns, each half of the models set aside is scored by the other, too. To
        # leave out records by their coins in the models that judge would be to choose by them.
        for half in np.array_split(inside[: int(_TO_FIT * rows.size)], 2):
            usable = usable & self._fittable(attack, half)
        records = np.flatnonzero(usable)
        if not records.size:
            raise Unsupported("no record was in and out of enough models to be audited by itself")
        played = self._played(attack, rows, records)
        judged = game_evidence(played, confidence, attack=_scaled(attack), delta=delta)
        evidence = cast(RankEvidence, judged)  # as of one target at a time
        said = " ".join(filter(None, [evidence.about, self._said]))
        trust = (*evidence.assumptions, *self._assumptions)
        return replace(evidence, about=said, neighbours=self._neighbours, assumptions=trust)

    # -- how a reading comes about -------------------------------------------------------------

    @cached_property
    def _first(self) -> Whole:
        return masks.first_of_each(self.inclusion, self.coins, self.prior)

    @property
    def _neighbours(self) -> Neighbours:
        fixed = self.coins is Coins.FIXED_SIZE
        return Neighbours.REPLACE if fixed else Neighbours.ADD_REMOVE

    @property
    def _said(self) -> str:
        """What goes with every verdict: the neighbours, models in pairs, and an odd mask."""
        read_as = f"Numbers were read as {_READ_AS[self.outputs]}"
        if self.outputs is Outputs.SCORE:
            read_as += f", {self.orientation.meaning}"
        compared = f"{read_as}. Neighbours: {self._neighbours.value}."
        pairs = self.models - np.unique(self._first).size
        paired = (
            f" {pairs:,} models have the coins of another one, or the opposite ones: of such "
            "models one is judged, by an attack that was fitted on none of them."
        )
        return " ".join(filter(None, [compared + (paired if pairs else ""), self.mask_test.remark]))

    @property
    def _assumptions(self) -> tuple[str, ...]:
        return (
            f"Training sets were drawn with {self.coins.value} coins, as stated; the mask does not "
            "contradict it, which is no proof.",
            "Models were trained independently of each other, and each row is of its model alone: "
            "no attack that was fitted on other rows made it.",
        )

    def _how(self, learnt: Whole) -> str:
        fitted = f"an attack fitted on {learnt.size:,} other models"
        return fitted if learnt.size else "the numbers as scores"

    def _refuse_one_record(self, method: str) -> None:
        if self.coins is Coins.ONE_RECORD:
            raise Unsupported(
                f"{method} guesses the coins of many records, and one alone has one: use by_record"
            )

    def _divided(self, attack: Attacking) -> tuple[Whole, Whole]:
        """Models to learn from, and the first of each of the other kinds, which are judged."""
        kinds = np.unique(self._first)
        aside = int(_TO_FIT * kinds.size) if hasattr(attack, "fit") else 0
        return np.flatnonzero(np.isin(self._first, kinds[:aside])), kinds[aside:]

    def _fittable(self, attack: Attacking, learnt: Mask) -> Mask:
        if isinstance(attack, Lira | Rmia):
            return attack.fittable(learnt)
        return np.ones(self.records, dtype=np.bool_)

    def _guessed(
        self,
        asked: Whole,
        learnt: Whole,
        attack: Attacking,
        confidence: float,
        claim: Subject | None,
        seed: int,
        about: str,
    ) -> GuessEvidence:
        if not asked.size or (hasattr(attack, "fit") and not learnt.size):
            _checks.refuse(
                "models", "leave some to fit the attack on and some to judge", self.models
            )
        # Which records are left out depends on the models that are not judged alone.
        records = np.flatnonzero(self._fittable(attack, self.inclusion[learnt]))
        if not records.size:
            raise Unsupported("no record was in and out of enough models to fit the attack on")
        rows = np.concatenate([learnt, asked])
        played = self._played(attack, rows, records)
        places = np.arange(rows.size)
        kept = attack_scores(played, _scaled(attack), places[: learnt.size], places[learnt.size :])
        inside = played.inclusion[learnt.size :]
        rng = np.random.default_rng([_checks.whole(0, seed=seed), 20])
        if self.coins is Coins.FIXED_SIZE:
            canaries = _paired(kept, inside, rng)
        else:
            fair = masks.fair_cells(inside, self._priors(learnt, records), rng)
            canaries = kept[fair], inside[fair]
        # Guesses are planned for what will be judged; a claim about other neighbours ends here.
        asked_of = None if claim is None else promised(claim, self._neighbours)
        evidence = cast(
            GuessEvidence, one_run(Scores.from_rows(*canaries), confidence, claim=asked_of)
        )
        left = self.records - records.size
        fewer = f" {left:,} records were in or out of too few models to be fitted." if left else ""
        said = f"{about}{fewer} {self._said}"
        trust = (*self._assumptions, *((_AS_ONE,) if asked.size > 1 else ()))
        return replace(evidence, about=said, neighbours=self._neighbours, assumptions=trust)

    def _priors(self, learnt: Whole, records: Whole) -> Array | float:
        """The chance of each coin, given the rows of the models that were learnt from."""
        if self.coins is Coins.INDEPENDENT:
            return self.prior
        known = self.inclusion[np.ix_(learnt, records)].sum(axis=0)
        total = self.inclusion[:, records].sum(axis=0)
        return np.asarray((total - known) / (self.models - learnt.size))

    def _played(self, attack: Attacking, rows: Whole, records: Whole) -> Played:
        """Outputs of these models and records, in the make that the attack reads."""
        whole = records.size == self.records
        values = self.scores[rows] if whole else self.scores[np.ix_(rows, records)]
        raw = self._read_by(attack, values)
        others = raw[:, :0]
        if isinstance(attack, Rmia):
            given = self.scores if self.population is None else self.population
            others = self._read_by(attack, given[rows])
        count = self.records + others.shape[1]
        aside = tuple(range(self.records, count))
        game = MembershipGame(count, Targets(records.tolist()), rows.size, population=aside)
        mask = self.inclusion[np.ix_(rows, records)]
        return Played(game, mask, raw, others, np.zeros(rows.size))

    def _read_by(self, attack: Attacking, values: NDArray[Any]) -> Array:
        """Probabilities for RMIA, logits for LiRA, else scores that are higher for members."""
        numbers = np.asarray(values, dtype=np.float64)
        if isinstance(attack, Rmia):
            numbers = self._confidences(numbers)
        elif isinstance(attack, Lira) and self.outputs in (Outputs.CONFIDENCE, Outputs.LOSS):
            p = np.clip(self._confidences(numbers), _CLOSEST, 1 - _CLOSEST)
            numbers = np.log(p) - np.log1p(-p)
        elif self.outputs is Outputs.LOSS or self.orientation is Orientation.LOWER:
            numbers = -numbers
        return np.asarray(numbers.mean(axis=2) if numbers.ndim == 3 else numbers)

    def _confidences(self, numbers: Array) -> Array:
        if self.outputs is Outputs.SCORE:
            raise Unsupported(
                "RMIA reads probabilities of the right label: say what the numbers are, with "
                "outputs=Outputs.CONFIDENCE, LOSS or LOGIT"
            )
        if self.outputs is Outputs.CONFIDENCE:
            return numbers
        return np.asarray(np.exp(-numbers) if self.outputs is Outputs.LOSS else expit(numbers))


def _with_coins(known: dict[str, Any]) -> dict[str, Any]:
    if "coins" not in known:
        kinds = ", ".join(each.value for each in Coins)
        raise InvalidArgument(
            f"coins must be given: how the training sets were drawn, one of {kinds} (--coins "
            "independent, in Python coins=audit.Coins.INDEPENDENT)"
        )
    return known


def _numbers(**named: ArrayLike) -> NDArray[Any]:
    """Finite numbers, held as they came: float32 stays so."""
    ((name, given),) = named.items()
    values = scores_and_labels.plain_array(given)
    if np.ma.is_masked(values):
        _checks.refuse(name, "be numbers, none of them missing", "a masked array")
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or not values.size:
        shown = values.dtype if values.size else values.shape
        _checks.refuse(name, "be an array of numbers", shown)
    if values.dtype.kind in "iu" and max(abs(int(values.min())), int(values.max())) > 2**53:
        rule = "be at most 2^53 in size where they are whole: subtract the least one first"
        _checks.refuse(name, rule, int(values.max()))
    bad = ~np.isfinite(values)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        place = ", ".join(str(int(k)) for k in at)
        _checks.refuse(name, "be finite numbers", f"{values[at]} at [{place}]")
    return values


def _scaled(attack: Attacking) -> Attacking:
    """LiRA that reads logits, as the matrix gives them."""
    return replace(attack, scaled=True) if isinstance(attack, Lira) else attack


def _paired(kept: Array, inside: Mask, rng: np.random.Generator) -> tuple[Array, Mask]:
    """For each model, differences of matched records' scores, and whether the first was in."""
    parts = []
    for scores, row in zip(kept, inside, strict=True):
        pairs = masks.matched(row, rng)
        parts.append((scores[pairs.first] - scores[pairs.second], pairs.first_in))
    return np.concatenate([part for part, _ in parts]), np.concatenate([side for _, side in parts])
