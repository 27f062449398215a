"""White-box audits of single DP-SGD steps: worst-case gradients in, updates out."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tellapart import _checks, _progress, deadline, run
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.alternatives import planned_finding
from tellapart.audit.evidence.base import Finding, strongest
from tellapart.audit.evidence.joint import together
from tellapart.audit.level_budget import Entry
from tellapart.audit.probing import pace
from tellapart.audit.probing.calling.caller import asked_for, detect_convention
from tellapart.audit.probing.probe_run import (
    FEWEST,
    fewest_calls,
    planned_power,
    probe_scores,
    refuse_unable,
)
from tellapart.audit.trainings.step_pairs import (
    StepPair,
    StepSetting,
    family,
    most_telling_first,
)
from tellapart.audit.verdict import Verdict, WithVerdict, describe
from tellapart.errors import LimitReached, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.mechanisms.training import dp_sgd
from tellapart.neighbours import Neighbours

_SCORE = re.compile(r"output\[(\d+)\]")
# Keeps the one call that tells how many releases there are apart from all that are kept.
_TRIAL = 2**32 - 5


@dataclass(frozen=True, repr=False)
class StepAudit(WithVerdict):
    """What a step gave away under each pair of neighbouring gradients, and the joint verdict.

    ``shown`` has the verdict on each pair by itself, at its share of the level; ``verdict`` is
    that of all pairs together, at the confidence asked for. ``left_out`` are the pairs that a
    budget did not suffice for: some only where another pair refutes the claim.
    """

    verdict: Verdict
    pairs: tuple[StepPair, ...]
    shown: tuple[Verdict, ...]
    left_out: tuple[StepPair, ...] = ()

    @property
    def refuting(self) -> tuple[StepPair, ...]:
        """The pairs that refute the claim; what the first of them shows explains the others."""
        both = zip(self.pairs, self.shown, strict=True)
        return tuple(pair for pair, verdict in both if verdict.refuted)

    @property
    def hint(self) -> str:
        """What usually is wrong where these pairs refute a claim: a guess, not a proof."""
        unless = "; or a simpler mistake, which a pair left out would show" if self.left_out else ""
        return self.refuting[0].hint + unless if self.refuted else ""

    def __repr__(self) -> str:
        return f"StepAudit({self.headline})"

    def __str__(self) -> str:
        lines = [self.headline]
        for pair, verdict in zip(self.pairs, self.shown, strict=True):
            said = (
                "does not refute it" if verdict.could_refute else "has too few calls to refute it"
            )
            said = "cannot refute a claim that allows everything" if verdict.allows_all else said
            said = "refutes the claim" if verdict.refuted else said
            bound = verdict.epsilon_lower().value
            lines.append(
                f"- {pair.name} ({pair.words}): {said}, ε ≥ {short(bound, 4, up=False)} shown"
            )
        if self.verdict.finding is not None:
            lines += [f"Where: {self.verdict.finding}.", f"Hint, not proof: {self.hint}."]
        else:
            lines.append(self.verdict.means)
        lines += [*self.verdict.remarks, self.evidence.ledger.in_short]
        return "\n".join(lines)


def step(
    step: Callable[..., Any],
    *,
    clip: float,
    noise_multiplier: float,
    sampling_rate: float = 1.0,
    steps: int = 1,
    claim: Subject | None = None,
    layers: Sequence[int] = (10, 10),
    expected_batch: float = 1.0,
    records: int = 4,
    public_size: bool = False,
    nan: bool = False,
    only: Collection[str] | None = None,
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    seconds: float | None = None,
    progress: run.Progress | bool | None = None,
) -> StepAudit:
    """Whether a private training step keeps its claim under the worst gradients known.

    ``step(gradients)`` is handed one row per record, which it may sample, clips, sums and noises;
    with parameters ``rng`` or ``size`` it is handed a generator or asked for batches, as in
    `probe`. It returns the update, or all ``steps`` of them one after another, in the order of
    ``layers``, which has the number of coordinates of each. ``expected_batch`` is what sums are
    divided by.

    The claim is that of `dp_sgd` unless told. Neighbours have one record more, of ``records``;
    with ``public_size``, one whose gradient is not zero, as where records are replaced. ``nan``
    tries a gradient that is NaN; ``only`` keeps the pairs of these names. Every pair is probed
    with ``samples`` calls on each input, for an equal share of the level: 10,000 unless told, or as
    many as take about a minute in all, which a warning then says. ``seconds`` is a budget, as in
    `probe`, and the most telling pairs come first: those that it does not suffice for are left out,
    and named, where another pair refutes the claim; where none does, that is no verdict.
    ``progress`` is told which share of the pairs was begun, as in `probe`.

    >>> import numpy as np
    >>> def release(gradients, rng, size=None):              # forgets to clip
    ...     total = gradients.sum(axis=0)
    ...     return rng.normal(total, 1.0, total.shape if size is None else (size, *total.shape))
    >>> audited = step(release, clip=1.0, noise_multiplier=1.0)
    >>> audited.refuted, audited.refuting[0].name
    (True, 'long canary')

    See Also
    --------
    tellapart.zoo.TRAINING : steps to try it on
    """
    _checks.function(step=step)
    setting = _setting(layers, clip, records, public_size, nan)
    noise = _checks.finite_above_zero(noise_multiplier=noise_multiplier)
    rate = _checks.probability(sampling_rate=sampling_rate)
    if rate == 0:
        _checks.refuse("sampling_rate", "be greater than 0", sampling_rate)
    many = _checks.whole(1, 10**6, steps=steps)
    unit = setting.clip / _checks.finite_above_zero(expected_batch=expected_batch)
    promise = dp_sgd(noise, rate, many) if claim is None else claim
    curve_of(promise, "claim")
    _same_neighbours(promise, setting)
    at_most = None if samples is None else _checks.whole(FEWEST, 10**9, samples=samples)
    level = 1 - _checks.inside_unit(confidence=confidence)
    key = _checks.whole(0, 2**62, seed=seed)
    pairs = _kept(family(setting), only)
    takes_rng, takes_size, needs_size = asked_for(step)
    asked: dict[str, Any] = {"rng": run.generator((key, _TRIAL))} if takes_rng else {}
    shown: dict[int, Verdict] = {}
    share = level / len(pairs)
    purse = pace.Purse(seconds, hint="or keep fewer pairs by only=")
    fewest = FEWEST if at_most or not purse.limited else fewest_calls(promise, share)
    purse.needed = len(pairs) * pace.in_all(at_most or fewest, batches=takes_size)
    with pace.spending(purse):
        deadline.before_call()
        releases = releases_of(step, pairs[0], asked | ({"size": 1} if needs_size else {}))
        looks = [StepScores(pair.direction, noise, rate, unit) for pair in pairs]
        calls = at_most or _affordable(
            ScoredStep(step, looks[0]), pairs, promise, share, key, fewest, purse
        )
        purse.needed = len(pairs) * pace.in_all(calls, batches=takes_size)
        with _progress.shown(progress, "pairs", len(pairs)) as tell:
            for done, place in enumerate(most_telling_first(pairs, setting.clip)):
                if tell is not None:
                    tell(done / len(pairs))
                pair, look = pairs[place], looks[place]
                try:
                    verdict = probe_scores(
                        ScoredStep(step, look),
                        (pair.absent, pair.present),
                        claim=promise,
                        samples=calls,
                        confidence=1 - share,
                        seed=_own(key, place),
                        expected=look.expected,
                    )
                except LimitReached:
                    if not purse.limited or purse.left > 0:
                        raise
                    break
                shown[place] = _with_names(verdict, look.names(releases))
        left_out = tuple(pair for place, pair in enumerate(pairs) if place not in shown)
        if left_out and not any(verdict.refuted for verdict in shown.values()):
            names = ", ".join(pair.name for pair in left_out)
            purse.hint += f". Pairs probed: {len(shown)} of {len(pairs)}, without {names}"
            purse.refuse()
    probed = tuple((pairs[place], shown[place]) for place in sorted(shown))
    return _joint(promise, probed, left_out, share, purse)


_USUAL = 10_000


def step_pairs() -> tuple[StepPair, ...]:
    """The pairs of gradients that are probed unless told otherwise, for a clipping norm of 1."""
    return family(StepSetting(layers=(10, 10), clip=1.0, records=4, public_size=False, nan=False))


def _affordable(
    step: Callable[..., Any],
    pairs: Sequence[StepPair],
    claim: Subject,
    level: float,
    seed: int,
    fewest: int,
    purse: pace.Purse,
) -> int:
    """How many calls on each input of every pair fit into the time allowed, and a notice."""
    first = pairs[0]
    caller = detect_convention(step, first.absent, first.present, seed=seed)
    each = pace.seconds_a_call(caller, first.absent, seed)
    if purse.limited:
        if pace.fitting(caller, each, purse.plannable) < fewest:
            purse.refuse(each)
        return max(pace.fitting(caller, each, purse.plannable / len(pairs), _USUAL), fewest)
    all_of_them = 2 * len(pairs) * each
    calls = pace.affordable(all_of_them, pace.MINUTE, _USUAL)
    if calls < _USUAL:
        total = calls * all_of_them
        size = (
            f"{calls:,} calls on each input of {len(pairs)} pairs, about "
            f"{_progress.in_words(total)} in all"
        )
        refuse_unable(claim, calls, level, size)
        least = ", the least that is made unless told" if pace.takes_long(total) else ""
        finds = planned_finding(claim, planned_power(claim, calls, level, roughly=True))
        warnings.warn(
            f"one step takes {short(each, 2)} s: {size}{least}, where a pair that shows it "
            f"{finds}; {_USUAL:,} are usual. samples=N takes as many as you say, seconds=S as "
            "many as fit; only= keeps fewer pairs, and a step that takes size= is called in "
            "batches",
            pace.SlowProbe,
            stacklevel=3,
        )
    return calls


def _setting(
    layers: Sequence[int], clip: float, records: int, public_size: bool, nan: bool
) -> StepSetting:
    if not isinstance(layers, Sequence) or not layers:
        _checks.refuse("layers", "list how many coordinates each layer has", layers)
    sizes = tuple(_checks.whole(1, 10**6, layers=size) for size in layers)
    norm = _checks.finite_above_zero(clip=clip)
    return StepSetting(sizes, norm, _checks.whole(2, records=records), bool(public_size), bool(nan))


def _same_neighbours(claim: Subject, setting: StepSetting) -> None:
    same_size = isinstance(claim, Mechanism) and claim.neighbours is not Neighbours.ADD_REMOVE
    if same_size and not setting.public_size:
        change = "zero out" if claim.neighbours is Neighbours.ZERO_OUT else "replace"
        raise Unsupported(
            f"the claim is about neighbours that {change} a record, and these have one record "
            "more: use public_size=True, where a gradient of zeros is replaced"
        )


def _kept(pairs: tuple[StepPair, ...], only: Collection[str] | None) -> tuple[StepPair, ...]:
    if only is None:
        return pairs
    names = [pair.name for pair in pairs]
    some = isinstance(only, Collection) and not isinstance(only, str) and len(only) > 0
    if not some or not set(only) <= set(names):
        _checks.refuse("only", f"name some of {', '.join(names)}", only)
    return tuple(pair for pair in pairs if pair.name in only)


def _own(seed: int, place: int) -> int:
    """A seed of its own for every pair."""
    return int(run.generator((seed, _TRIAL, place)).integers(2**62))


def _with_names(verdict: Verdict, names: list[str]) -> Verdict:
    """The finding, with scores by their names."""
    if verdict.finding is None:
        return verdict
    return replace(verdict, finding=_named(verdict.finding, names))


def _named(finding: Finding, names: list[str]) -> Finding:
    where = _SCORE.sub(lambda match: names[int(match[1])], finding.where)
    return replace(finding, where=where)


def _joint(
    claim: Subject,
    probed: tuple[tuple[StepPair, Verdict], ...],
    left_out: tuple[StepPair, ...],
    share: float,
    purse: pace.Purse,
) -> StepAudit:
    """All pairs as one; those left out keep their share of the level, as the clock chose them."""
    evidence = together({pair.name: verdict.evidence for pair, verdict in probed})
    remarks: tuple[str, ...] = ()
    if left_out:
        unused = tuple(Entry(f"{pair.name}: not probed", 1, share) for pair in left_out)
        ledger = evidence.ledger
        level = ledger.level + share * len(left_out)
        ledger = replace(ledger, level=level, entries=(*ledger.entries, *unused))
        evidence = replace(evidence, ledger=ledger)
        names = ", ".join(pair.name for pair in left_out)
        remarks = (
            f"seconds={short(purse.given)} did not suffice for {len(left_out)} of "
            f"{len(probed) + len(left_out)} pairs, which were not probed: {names}.",
        )
    most = strongest(
        replace(verdict.finding, where=f"{pair.name}: {verdict.finding.where}")
        for pair, verdict in probed
        if verdict.finding is not None
    )
    joint = Verdict(claim, evidence, most, describe(claim), remarks=remarks)
    pairs, shown = zip(*probed, strict=True)
    return StepAudit(joint, pairs, shown, left_out)


# Of many releases so many are looked at by themselves, and the last one.
_FIRST = 4
# The places of two scores.
_SUM, _LIKELIHOOD = 0, 3


@dataclass(frozen=True, eq=False)
class StepScores:
    """Where an attacker looks: along one direction, with the claimed step in mind."""

    direction: Array
    noise: float  # in units of the clipping norm
    rate: float  # how often a record is in a batch
    unit: float  # what a clipped gradient adds to a release

    def __call__(self, releases: Array) -> Array:
        """Scores of many outputs at once, each of one release or several of a dimension."""
        with np.errstate(all="ignore"):
            along = releases @ self.direction / self.unit
            squares = np.square(releases / self.unit)
            scores = [
                along.sum(axis=-1),
                np.where(np.isnan(squares), 0.0, squares).mean(axis=(-1, -2)),
                (releases[:, 0, 0] - releases[:, 0, -1]) / self.unit,
            ]
            if self.rate < 1:
                scores.append(self._likelihood(along))
            if along.shape[-1] > 1:
                few = along[:, :_FIRST]
                scores += [few[:, 0] - few[:, 1], along[:, -1], along.max(axis=-1), *few.T]
        return np.stack(scores, axis=-1)

    def _likelihood(self, along: Array) -> Array:
        """How much likelier the releases are with the canary, were the claim exact."""
        there = np.log(self.rate) + (along - 0.5) / self.noise**2
        return np.asarray(np.logaddexp(np.log1p(-self.rate), there).sum(axis=-1))

    @property
    def expected(self) -> int:
        """The place of the score that shows most if the step is as claimed but for its noise."""
        return _SUM if self.rate == 1 else _LIKELIHOOD

    def names(self, releases: int) -> list[str]:
        """What each score is."""
        names = ["sum along the canary", "mean square", "first less last coordinate"]
        if self.rate < 1:
            names.append("likelihood of the canary")
        if releases > 1:
            names += ["first less second release", "last release", "largest release"]
            names += [f"release {k + 1}" for k in range(min(releases, _FIRST))]
        return names


@dataclass(frozen=True, eq=False)
class ScoredStep:
    """A step whose releases are boiled down to scores: a mechanism that a probe can call.

    What is computed from an output gives away no more than the output does.
    """

    step: Callable[..., Any]
    look: StepScores

    def __call__(self, gradients: Array, **asked: Any) -> Any:
        """One row of scores, or with ``size`` as many."""
        output = self.step(gradients, **asked)
        dimension = self.look.direction.size
        size = asked.get("size")
        if size is None:
            return self.look(flat(output).reshape(1, -1, dimension))[0]
        return self.look(rows(output, size).reshape(size, -1, dimension))

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """As the step has it: a probe asks for a generator and for batches by name."""
        return inspect.signature(self.step)


def flat(output: Any) -> Array:
    """All numbers of an output, layer by layer where it is a list or a dictionary of layers."""
    if isinstance(output, Mapping):
        output = list(output.values())
    if isinstance(output, Iterable) and isinstance(output, list | tuple):
        return np.concatenate([flat(layer) for layer in output]) if output else np.zeros(0)
    if hasattr(output, "detach"):  # PyTorch's, which may carry a gradient
        output = output.detach().cpu().numpy()
    return np.asarray(output, dtype=np.float64).ravel()


def rows(output: Any, size: int) -> Array:
    """The numbers of many outputs, a row each: a batch, one of each layer, or a list of outputs."""
    if isinstance(output, Mapping):
        output = list(output.values())
    if isinstance(output, list | tuple) and not _one_by_one(output, size):
        return np.hstack([rows(layer, size) for layer in output])
    return flat(output).reshape(size, -1)


def _one_by_one(output: Any, size: int) -> bool:
    """Whether a list holds outputs; otherwise it holds the batches of layers."""
    return len(output) == size and not all(
        getattr(layer, "shape", ())[:1] == (size,) for layer in output
    )


def releases_of(step: Callable[..., Any], pair: StepPair, asked: dict[str, Any]) -> int:
    """How many releases a step makes, from one call that is thrown away."""
    dimension = pair.direction.size
    try:
        numbers = flat(step(pair.absent.copy(), **asked))
    except (TypeError, ValueError) as error:
        _checks.refuse("step", f"be a function of gradients that returns numbers ({error})", step)
    if numbers.size == 0 or numbers.size % dimension:
        rule = f"release {dimension} numbers, as layers have, or a multiple of it"
        _checks.refuse("what step returns", rule, numbers.size)
    return numbers.size // dimension
