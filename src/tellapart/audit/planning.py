"""Planning an audit: power, sample size and time of each experimental design, before any data.

Power needs no data. What a test of n samples would find, were the noise x times too small, follows
from the claim, n and the level alone; here x is the smallest with a power of 90 %, for the *best*
attack on the claim's own noise. A weaker attack, as one on the loss of a model is, finds less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property

from tellapart import _checks, _progress, deadline
from tellapart._numeric.solve import first_whole
from tellapart._numeric.text import short
from tellapart.audit.alternatives import (
    SURE,
    AlternativeHypotheses,
    against_alternatives,
    alternative,
    weakest_found,
)
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.evidence.sequential_test import FIRST_PAIRS
from tellapart.audit.many_run_audit import at_ranks, unseen_scores
from tellapart.audit.models_needed import (
    MOST_MODELS,
    curve_needs_less,
    models_needed,
    refutable,
)
from tellapart.audit.one_run_audit import STATE_IT, one_run
from tellapart.audit.probing import pace
from tellapart.audit.probing.probe_run import FEWEST, could_refute, planned_power
from tellapart.audit.probing.sequential_power import SequentialPlan, sequential_plan
from tellapart.audit.trainings.step_audit import step_pairs
from tellapart.audit.trainings.watch_power import LAYER, LAYERS, MOST_STEPS, leak_found, noise_found
from tellapart.audit.trainings.white_box import read_claim, usual_conformance
from tellapart.audit.verdict import describe
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.noise import Gaussian
from tellapart.mechanisms.subject import Subject, curve_of

# The leak whose price is told: a fifth too little noise is what a slip of a constant makes.
SLIP = 1.2
# The large leak for which it is told how soon a sequential test stops: half of the noise.
HALVED = 2.0
# Beyond so many samples nobody plans; how finely their number is found.
_MOST, _FINE = 3_000_000, 1.1
# In steps of this ratio it is looked for first.
_FAR = 4
# What may exceed a budget by rounding.
_ROUNDING = 1 + 1e-9
# The confidence of all audits unless told.
_USUAL = 0.95
# The digits of a leak that are shown.
_SHOWN = 3
# A training that is watched takes so many times as long, at most.
WATCHED = 2.5


class Access(Enum):
    """What an auditor can do with the code: the more can be seen, the less has to be run.

    STEPS: see every step of a training, as with Opacus. STEP: call a step on gradients of one's
    choice. FUNCTION: call the mechanism on inputs of one's choice. TRAININGS: train many models.
    ONE_RUN: train once, with canaries.
    """

    STEPS = "steps"
    STEP = "step"
    FUNCTION = "function"
    TRAININGS = "trainings"
    ONE_RUN = "one-run"


@dataclass(frozen=True)
class StoppingTime:
    """After how much a sequential test stops on average, where a mechanism leaks so much."""

    leak: str
    count: int
    seconds: float

    def data(self) -> dict[str, object]:
        """The same as JSON."""
        return {"leak": self.leak, "count": self.count, "seconds": self.seconds}


@dataclass(frozen=True)
class PlannedDesign:
    """One way to audit a claim within a budget: how much to run, and what that would find."""

    access: Access
    function: str  # of `tellapart.audit`, which is to be called with these
    arguments: tuple[str, ...]
    options: Mapping[str, int | float]
    count: int  # calls on each input, models, canaries or steps
    unit: str
    seconds: float
    detectable: float | None  # how many times too little noise is found with 90 % probability
    alternative: str  # that leak in words
    slip: str  # the leak of `SLIP` in words
    blind: str  # what this design cannot see
    price: tuple[int, float] | None = None  # count and seconds to find `SLIP`
    could_refute: bool = True  # whether any outcome could
    stops: tuple[StoppingTime, ...] = ()  # of a sequential test; ``count`` is the most it takes
    not_private: float | None = (
        None  # the same as ``detectable``, by the bets of a watched training
    )

    @property
    def call(self) -> str:
        """What to type in Python."""
        options = (f"{name}={value!r}" for name, value in self.options.items())
        return f"audit.{self.function}({', '.join([*self.arguments, *options])})"

    @property
    def size(self) -> str:
        """How much is run, in words."""
        return _many(self.count, self.unit)

    @property
    def finds(self) -> str:
        """The smallest leak found with 90 % probability, in words."""
        if not self.could_refute:
            return f"Power: none, as no outcome of {self.size} could refute the claim"
        if self.detectable is None:
            return f"Power: below 90 % even for {self.alternative}"
        return f"Power: 90 % for {self.alternative}"

    @property
    def costs(self) -> str:
        """What it takes to find a leak of `SLIP`, in words."""
        if self.price is None:
            return f"No number of {self.unit} within reach finds {self.slip}"
        count, seconds = self.price
        return f"To find {self.slip}: {_many(count, self.unit)}, {_about(seconds)}"

    @property
    def lasts(self) -> tuple[str, ...]:
        """When it stops on average, in words; nothing where the number is fixed."""
        return tuple(
            f"Stops on average after {_many(stop.count, self.unit)}, {_about(stop.seconds)}, for "
            f"{stop.leak}"
            for stop in self.stops
        )

    def data(self) -> dict[str, object]:
        """The same as JSON."""
        return {
            "access": self.access.value,
            "call": self.call,
            "count": self.count,
            "unit": self.unit,
            "seconds": self.seconds,
            "detectable": self.detectable,
            "could_refute": self.could_refute,
            "price": None if self.price is None else dict(zip(_PRICE, self.price, strict=True)),
            "stops": [stop.data() for stop in self.stops],
            "not_private": self.not_private,
            "blind": self.blind,
        }


_PRICE = ("count", "seconds")
# The chance to find noise so many times too small.
Power = Callable[[float], float]
# Gauss and Hermite's rule: by how much the number of heads is off, and how much that counts.
_HERMITE = ((-1.0, 1 / 6), (0.0, 2 / 3), (1.0, 1 / 6))
_HALF = ((0.0, 1.0),)


@dataclass(frozen=True)
class AuditPlan:
    """What each design would show of a claim within a budget of time; the best one first.

    Designs that take longer than the budget come last, and say so.
    """

    claim: str
    confidence: float
    budget: float
    designs: tuple[PlannedDesign, ...]
    remarks: tuple[str, ...] = ()

    @property
    def best(self) -> PlannedDesign:
        """The design that finds the smallest departure from the claim within the budget.

        If none is within it, of those beyond.
        """
        return self.designs[0]

    def __str__(self) -> str:
        lines = [f"Plan: {self.best.call}: {self.takes(self.best)}.", *self.shows(self.best)]
        lines += [
            " ".join([f"Instead, {each.call}: {self.takes(each)}.", *self.shows(each)])
            for each in self.designs[1:]
        ]
        return "\n".join([*lines, *self.notes])

    def takes(self, design: PlannedDesign) -> str:
        """How much of it is run, how long that takes, and that it is too long."""
        size = f"{design.size}, {_about(design.seconds)}"
        if _within(design, self.budget):
            return size
        return f"{size}, more than the budget of {_progress.in_words(self.budget)}"

    @staticmethod
    def shows(design: PlannedDesign) -> tuple[str, ...]:
        """What a design finds, what it would take to find more, and what it cannot see."""
        words = (design.finds, design.costs, *design.lasts, f"Not seen: {design.blind}")
        return tuple(f"{each}." for each in words)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is true of all designs."""
        claim = (
            f"For the claim {self.claim}, at {percent(self.confidence)} confidence, by the best "
            "attack on such a leak; a weaker attack finds less"
        )
        return tuple(f"{each}." for each in (claim, *self.remarks))

    def data(self) -> dict[str, object]:
        """The plan as JSON."""
        return {
            "claim": self.claim,
            "confidence": self.confidence,
            "budget": self.budget,
            "designs": [each.data() for each in self.designs],
            "remarks": list(self.remarks),
        }


def plan(
    claim: Subject,
    *,
    seconds: float,
    budget: float = 60.0,
    available: Access | Iterable[Access] = Access.FUNCTION,
    canaries: int = 1_000,
    confidence: float = _USUAL,
) -> AuditPlan:
    """What an audit could show, how long it takes, and what it misses, before anything is run.

    ``seconds`` is the time of one call or one training, ``budget`` that of the whole audit.
    ``available`` is what can be done with the code: see `Access`. Beside trainings, a step takes
    its share of one. A training with ``canaries`` puts so many in by fair coins.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> planned = audit.plan(ta.Laplace.with_epsilon(1), seconds=0.015)
    >>> planned.best.count, round(planned.best.detectable, 1)
    (1768, 1.2)

    See Also
    --------
    tellapart.audit.probe : calls a function
    tellapart.audit.step : calls one step of a training
    tellapart.audit.training : trains many models
    tellapart.audit.watch : watches the steps of one training
    """
    question = _Question(
        claim,
        _checks.finite_above_zero(seconds=seconds),
        _checks.finite_above_zero(budget=budget),
        _checks.inside_unit(confidence=confidence),
    )
    if isinstance(available, Access):
        available = [available]
    accesses = set(available) if isinstance(available, Iterable) else set()
    if not accesses or not all(isinstance(each, Access) for each in accesses):
        rule = "be one or more of " + ", ".join(f"audit.Access.{each.name}" for each in Access)
        _checks.refuse("available", rule, available)
    count = _checks.whole(10, _MOST, canaries=canaries)
    ways: dict[Access, tuple[Callable[[], PlannedDesign | None], ...]] = {
        Access.STEPS: (question.watched,),
        Access.STEP: (lambda: question.stepped(beside_trainings=bool(accesses & _TRAININGS)),),
        Access.FUNCTION: (question.probed, question.until_decided),
        Access.TRAININGS: (question.trained,),
        Access.ONE_RUN: (lambda: question.in_one_run(count),),
    }
    designs: list[PlannedDesign] = []
    without: dict[str, None] = {}
    for way in (way for access in Access if access in accesses for way in ways[access]):
        try:
            design = way()
        except Unsupported as error:
            without[str(error)] = None
            continue
        designs += [] if design is None else [design]
    if not designs:
        raise Unsupported(next(iter(without)))
    designs.sort(
        key=lambda design: (
            not _within(design, budget),
            float(short(design.detectable or math.inf, _SHOWN)),  # alike where they are shown alike
            design.seconds,
        )
    )
    remarks = (*question.remarks(accesses, designs), *(f"Not planned: {why}" for why in without))
    return AuditPlan(describe(claim), confidence, budget, tuple(designs), remarks)


@dataclass(frozen=True)
class _Question:
    claim: Subject
    seconds: float
    budget: float
    confidence: float

    @property
    def level(self) -> float:
        """What all tests together may err by."""
        return 1 - self.confidence

    # -- one way each ------------------------------------------------------------------------

    def stepped(self, beside_trainings: bool) -> PlannedDesign:
        """Calls of one step under each pair of gradients, any of which may show its noise."""
        noise, _, steps = self._training("to call a step")
        claim = Gaussian(noise)
        leaks = alternative(claim)
        pairs = step_pairs()
        moved = sum(pair.moves(1.0) for pair in pairs)
        each = len(pairs) * self.seconds / (steps if beside_trainings else 1)
        count = self._affordable(_calls(each), FEWEST)

        def power(calls: int, roughly: bool) -> Power:
            level = self.level / len(pairs)
            alone = planned_power(claim, calls, level, roughly=roughly, leaks=leaks)
            return lambda strength: 1 - (1 - alone(strength)) ** moved

        return self._counted(
            Access.STEP,
            "step",
            ("step", "clip=...", f"noise_multiplier={short(noise)}"),
            {"samples": count},
            count,
            f"calls on each input of {len(pairs)} pairs",
            _calls(each),
            power,
            "how batches are drawn, and what later steps do otherwise (audit.watch sees both)",
            lambda calls: could_refute(claim, calls, self.level / len(pairs)),
        )

    def probed(self) -> PlannedDesign:
        """Calls on two inputs; some of them serve to find the event."""
        takes = _calls(self.seconds)
        count = self._affordable(takes, FEWEST)
        return self._counted(
            Access.FUNCTION,
            "probe",
            ("...",),
            {"samples": count},
            count,
            "calls on each input",
            takes,
            lambda calls, roughly: planned_power(
                self.claim, calls, self.level, roughly=roughly, leaks=self._leaks
            ),
            _OTHER_INPUTS,
            lambda calls: could_refute(self.claim, calls, self.level),
        )

    def until_decided(self) -> PlannedDesign | None:
        """Calls until decided; None where the claim is not of (ε, δ) alone."""
        claimed = curve_of(self.claim, "claim")
        if not isinstance(claimed, GuaranteeCurve):
            return None
        takes = _calls(self.seconds)
        count = self._affordable(takes, 2 * FIRST_PAIRS)

        def played(strength: float, calls: int = count, roughly: bool = False) -> SequentialPlan:
            return sequential_plan(claimed, strength, calls, self.level, roughly=roughly)

        design = self._counted(
            Access.FUNCTION,
            "probe",
            ("...",),
            {"samples": count, "until_decided": True},
            count,
            "calls on each input",
            takes,
            lambda calls, roughly: lambda strength: played(strength, calls, roughly).power,
            _OTHER_INPUTS,
            lambda calls: could_refute(self.claim, calls, self.level, until_decided=True),
        )
        stops = []
        weakest = design.detectable or math.inf
        for strength in sorted({weakest, HALVED}):
            if not weakest <= strength < math.inf:  # it stops as it gives up
                continue
            calls = math.ceil(played(strength).calls)
            leak = self._leaks.words(strength)
            stops.append(StoppingTime(leak, calls, takes(calls)))
        return replace(design, stops=tuple(stops))

    def trained(self) -> PlannedDesign:
        """Models with one target in or out."""

        def takes(models: int) -> float:
            return models * self.seconds

        count = self._affordable(takes, 2)
        return self._counted(
            Access.TRAININGS,
            "training",
            ("...",),
            {"models": count},
            count,
            "models",
            takes,
            self._by_coins,
            "what the attack's score does not show: an attack on the loss is far weaker than the "
            "best one",
            lambda count: refutable(self.claim, count, 0.5, self.level),
        )

    def in_one_run(self, canaries: int) -> PlannedDesign:
        """One training with canaries; its time does not grow with them."""

        @cache
        def evidence(count: int) -> Evidence:
            return one_run(unseen_scores(count), self.confidence, claim=self._leaks.claimed)

        @cache
        def power(count: int) -> Power:
            return self._against(evidence(count))

        return self._counted(
            Access.ONE_RUN,
            "one_run",
            ("scores", "claim=..."),
            {},
            canaries,
            "canaries",
            lambda count: self.seconds,
            lambda count, roughly: power(count),
            "leaks on records unlike the canaries, and what their scores do not show: an attack on "
            "the loss is far weaker than the best one",
            lambda count: evidence(count).could_refute(self.claim),
        )

    def watched(self) -> PlannedDesign:
        """One training whose steps are seen: the noise of a layer as stated, each step private."""
        noise, _, steps = self._training("to watch steps")
        level = usual_conformance(self.level)
        needed = first_whole(lambda count: noise_found(count, level) <= SLIP, 1, 10**6)
        detectable, leak = noise_found(steps, level), leak_found(noise, steps, self.level - level)
        return PlannedDesign(
            Access.STEPS,
            "watch",
            ("optimizer", "loader", "claim=...", "clip=..."),
            self._options({}),
            steps,
            "steps of one training",
            WATCHED * self.seconds,
            detectable,
            f"noise {short(detectable, 3)} times too small in a layer of {LAYER} weights, one of "
            f"{LAYERS} at most (not as stated, level {short(level)}){_by_bets(leak, steps)}",
            f"noise {SLIP} times too small there",
            "per-sample gradients that mix records, beyond its check of them; and the audited run "
            "is not the production model",
            (needed, WATCHED * self.seconds * needed / steps),
            not_private=leak,
        )

    # -- what they share ---------------------------------------------------------------------

    def _options(self, of_design: Mapping[str, int | float]) -> Mapping[str, int | float]:
        """Those of a design, and the confidence where it is not the usual one."""
        if self.confidence == _USUAL:
            return of_design
        return {**of_design, "confidence": self.confidence}

    @cached_property
    def _leaks(self) -> AlternativeHypotheses:
        return alternative(self.claim)

    def _training(self, purpose: str) -> tuple[float, float, int]:
        """Noise multiplier, sampling rate and number of steps of the claim."""
        try:
            return read_claim(self.claim)
        except InvalidArgument:
            raise Unsupported(
                f"{purpose}, the claim must state the training (ta.dp_sgd, or on the command line "
                "dpsgd with --noise-multiplier, --sampling-rate and --steps, on Poisson batches), "
                f"got {describe(self.claim)}"
            ) from None

    def _affordable(self, takes: Callable[[int], float], fewest: int) -> int:
        """As many as the budget allows, and no fewer than those."""
        if takes(fewest + 1) > self.budget * _ROUNDING:
            return fewest
        return first_whole(lambda k: takes(k) > self.budget * _ROUNDING, fewest, _MOST) - 1

    def _by_coins(self, models: int, roughly: bool) -> Power:
        """Of models with the target in by fair coins: the mean over how many of them it is in."""
        spread = math.sqrt(3 * models) / 2
        each = []
        for deviations, weight in _HALF if roughly else _HERMITE:
            members = min(max(round(models / 2 + deviations * spread), 1), max(models - 1, 1))
            evidence = at_ranks(unseen_scores(models, members), self.level)
            each.append((self._against(evidence), weight))
        return lambda strength: sum(weight * power(strength) for power, weight in each)

    def _against(self, evidence: Evidence) -> Power:
        return against_alternatives(self._leaks, evidence.power_against(self._leaks.claimed))

    def _counted(
        self,
        access: Access,
        function: str,
        arguments: tuple[str, ...],
        options: Mapping[str, int | float],
        count: int,
        unit: str,
        takes: Callable[[int], float],
        power: Callable[[int, bool], Power],
        blind: str,
        possible: Callable[[int], bool],
    ) -> PlannedDesign:
        leaks = self._leaks
        exactly, roughly = power(count, False), power(count, True)
        detected, strength = weakest_found(exactly, None if roughly is exactly else roughly)
        needed = self._price(power, finely=takes(2) > takes(1))
        return PlannedDesign(
            access,
            function,
            arguments,
            self._options(options),
            count,
            unit,
            takes(count),
            strength if detected else None,
            leaks.words(strength),
            leaks.words(SLIP),
            blind,
            None if needed is None else (needed, takes(needed)),
            detected or possible(count),
        )

    def _price(self, power: Callable[[int, bool], Power], finely: bool) -> int | None:
        """From how many samples on a leak of `SLIP` is found; None where no number is enough.

        Where more of them take no longer, their number is told to a factor of two.
        """

        def found(count: int) -> bool:
            deadline.check()
            return power(count, True)(SLIP) >= SURE

        # On one grid and one way, so that the price depends on the claim and the level alone.
        ratio = _FINE if finely else 2.0

        def place(count: float) -> int:
            return int(math.log(count / FEWEST, ratio) + 1e-9)

        def size(k: int) -> int:
            return round(FEWEST * ratio**k)

        most, stride = place(_MOST), place(_FAR * FEWEST)
        low, high = 0, stride
        while not found(size(high)):
            if high == most:
                return None
            low, high = high, min(high + stride, most)
        return size(first_whole(lambda k: found(size(k)), low, high))

    def remarks(self, accesses: set[Access], designs: list[PlannedDesign]) -> tuple[str, ...]:
        """That the claim's curve is refuted by far less, where only ε and δ are claimed."""
        unit = "models" if Access.TRAININGS in accesses else "calls in all that test it"
        less = curve_needs_less(self.claim, self.confidence, unit=unit)
        if not less:
            return self._steps_show_more(accesses, designs)
        lost = Access.FUNCTION in accesses and all(each.detectable is None for each in designs)
        if Access.TRAININGS not in accesses and not lost:
            return (STATE_IT,) if Access.ONE_RUN in accesses else ()
        needed = models_needed(self.claim, 0.5, self.level)
        many = f"more than {MOST_MODELS:,}" if needed is None else f"{needed:,}"
        at_least = f"By an attack that never errs, {describe(self.claim)} takes {many} {unit}"
        return (f"{at_least}. {less}",)

    def _steps_show_more(
        self, accesses: set[Access], designs: list[PlannedDesign]
    ) -> tuple[str, ...]:
        """Where nothing else finds anything: that a training may be watched."""
        if Access.STEPS in accesses or any(design.detectable for design in designs):
            return ()
        try:
            self._training("")
        except Unsupported:
            return ()
        return (
            "One training whose steps can be seen shows far more: available=audit.Access.STEPS "
            "(--available steps)",
        )


# What needs whole trainings.
_TRAININGS = frozenset({Access.STEPS, Access.TRAININGS, Access.ONE_RUN})
_OTHER_INPUTS = "inputs other than the two that are called (audit.search looks for worse ones)"


def _by_bets(leak: float | None, steps: int) -> str:
    """What the bets of a watched training find beside its tests of conformance, in words."""
    if leak is None:
        return "; too few steps to show that one of them is not private"
    first = f", by the first {MOST_STEPS} steps alone" if steps > MOST_STEPS else ""
    return f", and for noise {short(leak, 3)} times too small in all layers (not private{first})"


def _many(count: int, unit: str) -> str:
    return f"{count:,} {unit.replace('s ', ' ', 1) if count == 1 else unit}"


def _about(seconds: float) -> str:
    return f"about {_progress.in_words(seconds)}"


def _within(design: PlannedDesign, budget: float) -> bool:
    """Whether a design takes no longer than that, but for rounding."""
    return design.seconds <= budget * _ROUNDING


def _calls(each: float) -> Callable[[int], float]:
    """How long so many calls on each of two inputs take, with those that are made beside them."""
    return lambda count: each * pace.in_all(count)
