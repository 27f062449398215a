"""One-run auditing: canaries included by fair coins, and guesses of the coins as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.special import betaincinv

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.binomial import upper_tail
from tellapart._numeric.solve import first_whole
from tellapart.audit.bounds import Basis, percent
from tellapart.audit.counts.clopper_pearson import least_levels
from tellapart.audit.counts.one_run_guesses import (
    MOST_CANARIES,
    Guesses,
    largest_refuted,
    p_value,
    p_value_if_chosen,
)
from tellapart.audit.evidence.base import (
    Design,
    Evidence,
    Finding,
    Power,
    need_mechanism,
    promised,
)
from tellapart.audit.evidence.guess import (
    ChosenGuesses,
    RankedCanaries,
    fair_coins,
    fixed,
    read_off,
)
from tellapart.audit.evidence.guess_numbers import GuessPlan, PlannedGuesses, precision
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.level_budget import Entry, LevelBudget, divided
from tellapart.audit.many_run_audit import at_ranks
from tellapart.audit.methods import Guessing, IndependentCanaries, Split
from tellapart.audit.scores import Orientation, Scores
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.neighbours import Neighbours

# Every test of one number of guesses refutes from some number of right ones upwards.
_FREE = (
    "no correction is needed for testing several claims by these guesses: the tests are nested; "
    "guesses whose number another claim fixed are another test"
)
_BY_CLAIM, _BY_COUNT = "guesses fixed by the claim", "guesses fixed by the number of canaries"
STATE_IT = (
    "If the mechanism is Gaussian noise or DP-SGD, state it instead of ε and δ: the same canaries "
    "test a claim by its curve more sharply"
)
_BREAK_TIES = (
    "Scores tie where guesses end, and ties count as wrong: some {lost:,} more would be right if "
    "ties were broken by chance. Add to each score a random number, smaller than any gap between "
    "two scores: once, from a seed fixed beforehand."
)
# Read off the output, numbers of guesses may differ in which claim falls first.
_FREE_AT_ONE_DELTA = (
    "no correction is needed for testing several ε at one δ, or several δ at one ε: these tests "
    "are nested; claims that differ in both ε and δ need an audit each"
)
# Below it nobody needs a sharper p-value.
_CLOSE = 1e-6
# Gauss and Legendre's rule for the law of a share: chances and their weights.
_NODES, _HALVES = leggauss(24)
_CHANCES, _WEIGHTS = (1 + _NODES) / 2, _HALVES / 2
# At how many shares precisions are asked for.
_GRID = 200


@dataclass(frozen=True, repr=False)
class GuessEvidence(Evidence):
    """What guesses of the coins show, for every number of guesses that was fixed beforehand."""

    tries: tuple[ChosenGuesses, ...]
    ledger: LevelBudget
    method: str
    plan: GuessPlan | None = None  # what fixed the numbers of guesses, if a rule did
    about: str = ""
    assumptions: tuple[str, ...] = ()
    neighbours: Neighbours | None = None
    design = Design.ONE_RUN

    def refutes(self, claim: Subject) -> bool:
        """Whether the claim is refuted; a finding would also say how likely that was."""
        curve = promised(claim, self.neighbours)
        return any(_refutes(guessed, curve) for guessed in self.tries)

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return max(guessed.epsilon_lower(delta) for guessed in self.tries), Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        return max(_delta(guessed, epsilon) for guessed in self.tries), Basis.EXACT

    def _mu(self) -> tuple[float, Basis]:
        return max(guessed.mu_lower() for guessed in self.tries), Basis.EXACT

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        findings = [_finding(guessed, claim) for guessed in self.tries if _refutes(guessed, claim)]
        # Most telling: least likely, and where nothing tells how likely, furthest beyond.
        return min(
            findings,
            key=lambda finding: (finding.p_value, finding.allowed - finding.shown),
            default=None,
        )

    def _power(self, claim: TradeoffCurve) -> Power:
        needed = [_least_refuting(guessed, claim) for guessed in self.tries]
        each = list(zip(self.tries, needed, strict=True))
        return lambda truth: max(_power(guessed, least, truth) for guessed, least in each)

    def advice(self, claim: TradeoffCurve) -> str:
        sharper = [f"{STATE_IT}."] if isinstance(claim, GuaranteeCurve) else []
        lost = max(guessed.lost_to_ties for guessed in self.tries)
        if lost >= 1:
            sharper.append(_BREAK_TIES.format(lost=round(lost)))
        return " ".join(sharper)

    @property
    def as_many(self) -> str:  # type: ignore[override]
        """Guesses whose number was fixed grow by fixing more of them, not by canaries alone."""
        fixed = self.method == Guessing.name
        return "as many guesses, of as many times the canaries" if fixed else "as many"

    def at_best(self) -> GuessEvidence:
        """Every guess right; of a number of guesses chosen on held-out canaries, any number."""
        return replace(self, tries=tuple(right for made in self.tries for right in made.perfect()))

    def scaled(self, factor: float) -> GuessEvidence:
        many = tuple(_scaled(guessed, factor) for guessed in self.tries)
        if self.plan is not None:  # of more canaries, as many are guessed as the rule says then
            planned = self.plan.numbers(many[0].guesses.canaries, self.ledger.level)
            many = tuple(_replanned(many, each) for each in planned)
        return replace(self, tries=many)

    def at_level(self, level: float) -> GuessEvidence:
        factor = level / self.ledger.level
        tries = tuple(replace(guessed, level=guessed.level * factor) for guessed in self.tries)
        return replace(self, tries=tries, ledger=self.ledger.at_level(level))


def one_run(
    scores: Scores,
    confidence: float = 0.95,
    method: Guessing | Sequence[Guessing] | Split | IndependentCanaries | None = None,
    *,
    claim: Subject | None = None,
) -> GuessEvidence | RankEvidence:
    """What one training run shows whose canaries were each put in by their own fair coin.

    Members are the canaries that were in, non-members those left out; a number of members that fair
    coins would give less often than once in 10⁹ is refused. Unless ``method`` fixes how many to
    guess, the ``claim`` to be judged does, with the number of canaries and the level, and all of
    the level goes to that test: state it before the scores are seen. Gaussian noise and DP-SGD,
    claimed by their curve (a mechanism), show more than ε and δ. What is shown may then be held
    against any claim. Without a claim the numbers suit Gaussian noise with μ = 1 and Laplace noise
    with ε = 2.

    >>> import numpy as np
    >>> apart = Scores(members=np.arange(300, 500), non_members=np.arange(200))
    >>> print(one_run(apart, claim=GaussianCurve(1.0)).epsilon_lower())
    ≥ 3.0056 (95 % confidence, exact, guesses fixed by the claim)

    See Also
    --------
    tellapart.audit.trainings.canaries.mislabelled : examples to include or leave out
    tellapart.audit.trainings.canaries.dirac_gradients : gradients to include or leave out
    """
    _checks.instance(Scores, "audit.Scores", scores=scores)
    level = 1 - _checks.inside_unit(confidence=confidence)
    curve = None if claim is None else curve_of(claim, "claim")
    if isinstance(method, IndependentCanaries):
        if claim is not None:
            need_mechanism(claim)
        return _as_many_runs(scores, level)
    ranking = _ranking(scores)
    if method is None:
        plan, name = GuessPlan(curve), _BY_COUNT if curve is None else _BY_CLAIM
        evidence = _fixed_evidence(ranking, plan.numbers(ranking.canaries, level), level, name)
        return replace(evidence, plan=plan)
    if isinstance(method, Guessing | Sequence):
        several = (method,) if isinstance(method, Guessing) else tuple(method)
        return _fixed_evidence(ranking, _shared(several, level), level, Guessing.name)
    _checks.instance(
        Split, "audit.Guessing(...), IndependentCanaries() or Split(...)", method=method
    )
    guessed = read_off(ranking, method.delta, level, share=method.share, seed=method.seed)
    what = f"a number of guesses chosen on {percent(method.share)} of the canaries"
    ledger = LevelBudget(level, (Entry(what, 1, level),), (_FREE_AT_ONE_DELTA,))
    return GuessEvidence((guessed,), ledger, what)


def _shared(several: tuple[Guessing, ...], level: float) -> tuple[PlannedGuesses, ...]:
    """The user's own numbers of guesses, with the shares of the level that they name."""
    for each in several:
        _checks.instance(Guessing, "audit.Guessing(...)", method=each)
    if not several:
        _checks.refuse("method", "hold at least one audit.Guessing(...)", [])
    names = [f"number {place}" for place in range(1, len(several) + 1)]
    both = zip(names, several, strict=True)
    shares = {name: each.share for name, each in both if each.share is not None}
    levels = divided(level, names, shares or None, "numbers of guesses")
    return tuple(
        PlannedGuesses(each.guesses_in, each.guesses_out, own)
        for each, own in zip(several, levels, strict=True)
    )


def _fixed_evidence(
    ranking: RankedCanaries, planned: tuple[PlannedGuesses, ...], level: float, name: str
) -> GuessEvidence:
    tries = tuple(fixed(ranking, *each) for each in planned)
    entries = tuple(
        Entry(f"{name}: {each.guesses_in:,} in, {each.guesses_out:,} out", 1, each.level)
        for each in planned
    )
    return GuessEvidence(tries, LevelBudget(level, entries, (_FREE,)), name)


def _as_many_runs(scores: Scores, level: float) -> RankEvidence:
    """Canaries as many runs: each has its own coin, and by the claim its own noise."""
    _check_one_run(scores)
    fair_coins(scores.members.count, scores.members.count + scores.non_members.count)
    evidence = at_ranks(scores, level)
    return replace(
        evidence,
        design=Design.ONE_RUN,
        method=IndependentCanaries.name,
        about=IndependentCanaries.about,
        assumptions=(IndependentCanaries.assumption,),
        mechanism_alone=True,
    )


def _ranking(scores: Scores) -> RankedCanaries:
    if scores.orientation is Orientation.EITHER:
        raise Unsupported("an audit of one run needs a score direction: set it to higher or lower")
    _check_one_run(scores)
    members, non_members = scores.members, scores.non_members
    values = [side.descending(np.arange(1, side.count + 1)) for side in (members, non_members)]
    sign = -1.0 if scores.orientation is Orientation.LOWER else 1.0
    return RankedCanaries.of(sign * values[0], sign * values[1])


def _check_one_run(scores: Scores) -> None:
    count = len(scores.runs())
    if count > 1:
        raise Unsupported(
            f"one_run needs the canaries of one run, and there are {count}: "
            "use many_runs with one score per run"
        )
    if scores.repeated:
        raise Unsupported(
            f"one_run needs one score a canary, and {scores.repeated} has several on one side: "
            "keep one each, of an attack chosen before you look at what they show, or rename the "
            "column if every row is a canary of its own"
        )
    if scores.member_groups is not None or scores.non_member_groups is not None:
        raise Unsupported(
            "one_run judges all canaries together, and groups would be ignored: give one score a "
            "canary without groups, or those of one group (scores.by_group()), chosen beforehand"
        )


def _refutes(guessed: ChosenGuesses, claim: TradeoffCurve) -> bool:
    if isinstance(claim, GuaranteeCurve):
        return _p_value(guessed, claim.claimed_epsilon, claim.claimed_delta) < guessed.level
    return guessed.refutes(claim)


def _p_value(guessed: ChosenGuesses, epsilon: float, delta: float) -> float:
    if guessed.read_off:
        return p_value_if_chosen(guessed.guesses, epsilon, delta, guessed.level)
    return p_value(guessed.guesses, epsilon, delta)


def _finding(guessed: ChosenGuesses, claim: TradeoffCurve) -> Finding:
    made, right = guessed.guesses.made, guessed.guesses.right
    most = min(_least_refuting(guessed, claim), right) - 1
    where = (
        f"{right:,} of {made:,} guesses right ({guessed.guesses_in:,} guessed in, "
        f"{guessed.guesses_out:,} out, of {guessed.guesses.canaries:,} canaries)"
    )
    limit = f"up to {most:,} would not have refuted the claim"
    p, known = _at_most(guessed, claim)
    shown, allowed = right / made, most / made
    return Finding(where, shown, allowed, p, guessed.level, limit, computed=known)


def _at_most(guessed: ChosenGuesses, claim: TradeoffCurve) -> tuple[float, bool]:
    """How likely so many right guesses are at most, for a claim that they refute; or the level.

    The level for many guesses against curves without a closed form, where each level takes as long
    as the test itself, and for a number of guesses that was read off the output.
    """
    if guessed.read_off:
        return guessed.level, False
    if isinstance(claim, GuaranteeCurve):
        return p_value(guessed.guesses, claim.claimed_epsilon, claim.claimed_delta), True
    p = _by_recursion(guessed, claim) if isinstance(claim, GaussianCurve) else guessed.level
    if p > _CLOSE:
        p = min(p, guessed.test_of(claim).p_value(guessed.guesses.right))
    return p, p < guessed.level


def _by_recursion(guessed: ChosenGuesses, claim: GaussianCurve) -> float:
    """The least level at which the recursion refutes, or the level of these guesses.

    Every level that refutes exceeds the chance of so many right guesses: any of them will do.
    """

    def refutes(levels: Array) -> NDArray[np.bool_]:
        test = replace(guessed, level=float(levels)).test_of(claim)
        return np.asarray(test.by_recursion(guessed.guesses.right))

    if not refutes(np.array(guessed.level)):
        return guessed.level
    return float(least_levels(refutes, np.array(guessed.level)))


def _delta(guessed: ChosenGuesses, epsilon: float) -> float:
    """The largest δ that is refuted with this ε, from below."""
    return largest_refuted(lambda delta: _p_value(guessed, epsilon, delta) < guessed.level, 1.0)


def _least_refuting(guessed: ChosenGuesses, claim: TradeoffCurve) -> int:
    """The least number of right guesses that would refute the claim; one too many if none does."""
    if not isinstance(claim, GuaranteeCurve):
        return guessed.test_of(claim).least_refuting

    def refuted(right: int) -> bool:
        return _refutes(replace(guessed, guesses=replace(guessed.guesses, right=right)), claim)

    return first_whole(refuted, 0, guessed.guesses.made + 1)


def _power(guessed: ChosenGuesses, needed: int, truth: TradeoffCurve) -> float:
    """The power for canaries that the best attack on the truth scores each by itself.

    What share of all canaries would rank above the last one guessed "in" is a Beta variable, and so
    is, of the rest, the share below the last one guessed "out". Given them, the others guessed are
    right with the precision at their share, the last ones with the precision at that very score.
    Their mean is a quadrature, off by a thousandth or two.
    """
    counts, ranked = (guessed.guesses_in, guessed.guesses_out), guessed.guesses.canaries
    ranked -= guessed.aside
    top = _shares(counts[0], ranked)
    shares = (top[:, None], (1 - top)[:, None] * _shares(counts[1], ranked - counts[0]))
    trials = guessed.guesses.made - sum(count > 0 for count in counts)
    right: Array = np.zeros((1, 1))
    last: list[Array] = []
    for count, share, curve in zip(counts, shares, (truth, truth.mirrored()), strict=True):
        if count:
            others, at_score = _right(curve, share)
            right = right + (count - 1) * others
            last.append(at_score)
    chance = _at_least(needed, trials, right / max(trials, 1), last)
    size = _WEIGHTS.size
    return float(_WEIGHTS @ np.broadcast_to(chance, (size, size)) @ _WEIGHTS)


def _shares(count: int, ranked: int) -> Array:
    """Up to which share so many of these canaries reach, for each of the chances."""
    if not count:
        return np.zeros(_CHANCES.shape)
    return np.asarray(betaincinv(count, ranked - count + 1, _CHANCES))


def _right(curve: TradeoffCurve, share: Array) -> tuple[Array, Array]:
    """The precision up to this share, and at the score where it ends; from below.

    The share of members flagged is concave in the share flagged: it lies above its chords, and
    falls less steeply than the next one does.
    """
    grid = np.geomspace(share.min(), 1.2 * share.max(), _GRID)
    members = grid * precision(curve, grid)
    chords = np.append(np.diff(members) / np.diff(grid), 0.0)
    at_score = np.clip(chords[np.searchsorted(grid, share, side="right")], 0.0, 1.0)
    return np.interp(share, grid, members) / share, at_score


def _at_least(needed: int, trials: int, rate: Array, last: list[Array]) -> Array:
    """The chance of so many right of these trials and of the last guesses together."""
    if not last:
        return upper_tail(needed, trials, rate)
    first, *others = last
    hit, miss = (_at_least(needed - k, trials, rate, others) for k in (1, 0))
    return np.asarray(first * hit + (1 - first) * miss)


def _replanned(tries: tuple[ChosenGuesses, ...], planned: PlannedGuesses) -> ChosenGuesses:
    """As many guesses as planned, right as often as those tried that were nearest in number."""
    made = planned.guesses_in + planned.guesses_out
    near = min(tries, key=lambda guessed: abs(guessed.guesses.made - made))
    rate = near.guesses.right / max(near.guesses.made, 1)
    guesses = replace(near.guesses, made=made, right=round(rate * made))
    return replace(
        near,
        guesses=guesses,
        guesses_in=planned.guesses_in,
        guesses_out=planned.guesses_out,
        level=planned.level,
    )


def _scaled(guessed: ChosenGuesses, factor: float) -> ChosenGuesses:
    factor = min(factor, MOST_CANARIES / guessed.guesses.canaries)
    canaries, made, right = (
        round(part * factor)
        for part in (guessed.guesses.canaries, guessed.guesses.made, guessed.guesses.right)
    )
    aside = round(guessed.aside * factor)
    made = min(made, canaries - aside)
    more = Guesses(canaries, made, min(right, made))
    return replace(
        guessed,
        aside=aside,
        most=round(guessed.most * factor),
        guesses=more,
        guesses_in=round(guessed.guesses_in * factor),
        guesses_out=more.made - round(guessed.guesses_in * factor),
    )
