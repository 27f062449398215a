"""Search for the worst-case neighbouring inputs by successive halving, before one probe of them.

Many pairs get few calls each, the better half of them more, and so on until few are left. Then
the best compete with pairs that differ a little from them, a few times over. Every round draws
fresh calls, and a pair is worth what all of its calls say. The certificate draws its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tellapart import _checks, _progress, deadline, run
from tellapart._numeric.text import short
from tellapart.audit.alternatives import planned_finding
from tellapart.audit.evidence.base import claimed_delta
from tellapart.audit.probing import pace
from tellapart.audit.probing.calling.caller import Caller, detect_convention
from tellapart.audit.probing.calling.calls import block_sizes
from tellapart.audit.probing.calling.outputs import Broken, CallOutputs, joined
from tellapart.audit.probing.events import EventSearch
from tellapart.audit.probing.probe_run import FEWEST, planned_power, probe, refuse_unable
from tellapart.audit.searching.domain import Domain
from tellapart.audit.verdict import Verdict, WithVerdict, judge
from tellapart.errors import InvalidArgument, LimitReached
from tellapart.mechanisms.subject import Subject, curve_of

# Keeps the search's numbers apart from the probe's, which are keyed by 0 and 1 here.
_KEY = 2**32 - 3
# Fewer calls on an input say nothing of a pair.
_FEWEST = 32
# Then the best climb: so many rounds of so many pairs, half of them new; and a last round.
_CLIMBS, _CLIMBERS = 6, 4
# How many times the calls of a climbing round the rounds before have, and the last one.
_RACING, _CLOSING = 3, 4
# At what level, and on how many times the calls, a pair should show its leak.
_LEVEL, _MORE = 0.05, 8.0
_LONGEST = 120
# So many calls on each input, if all fail, are enough.
_FIRST = 8
# How many times the pairs needed are asked for: some were tried before.
_ASKED = 4


@dataclass(frozen=True)
class Tried:
    """Two inputs, and roughly the ε that calls on them promised: chance may have raised it."""

    d0: Any
    d1: Any
    promise: float
    calls: int  # on each input


@dataclass(frozen=True, repr=False)
class Search(WithVerdict):
    """The two inputs that leaked most, what a probe of them showed, and what else was tried.

    ``tried`` has the most promising first; of ``skipped`` pairs no call gave a value.
    """

    d0: Any
    d1: Any
    verdict: Verdict
    tried: tuple[Tried, ...]
    skipped: int
    calls: int

    def __repr__(self) -> str:
        return f"Search({self.headline}, d0 = {_short(self.d0)}, d1 = {_short(self.d1)})"

    def __str__(self) -> str:
        sought = (
            f"Search: {len(self.tried)} pairs of inputs, with {self.calls:,} calls that the test "
            "does not use."
        )
        if self.skipped:
            sought += f" {self.skipped} more were skipped, as every call on both inputs failed."
        inputs = f"Inputs: d0 = {_short(self.d0)}, d1 = {_short(self.d1)}."
        said = [self.headline, inputs, *self.verdict.reasons(), sought]
        return "\n".join([*said, self.evidence.ledger.in_short])


def search(
    mechanism: Callable[..., Any],
    domain: Domain[Any],
    *,
    claim: Subject,
    samples: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    seconds: float | None = None,
    timeout: float | None = None,
    tries: int = 64,
    search_calls: int | None = None,
    features: Callable[[Any], Any] | None = None,
    progress: run.Progress | bool | None = None,
) -> Search:
    """Find the neighbouring inputs on which a mechanism leaks most, and probe it there.

    ``domain`` describes inputs and neighbours; `audit.domains` has them. ``tries`` pairs begin,
    and ``search_calls`` calls in all are made to choose one. Then it is probed with ``samples``
    fresh calls on each input, as `probe` would with the same seed: the confidence is that of one
    probe, since the search saw none of those calls. Unless told, these are 400,000 and 100,000, or
    as many as take about a minute: slow functions are tried on fewer pairs, and a warning says so
    before the calls are made, with what they would find. ``seconds`` is a budget, as in `probe`,
    and the search ends where its share of the time does. ``progress`` is told which share of the
    calls was made, as in `probe`.

    >>> import tellapart as ta
    >>> from tellapart.audit import domains
    >>> def mean(data, rng, size=None):
    ...     return (sum(data) + rng.laplace(0, 1, size)) / len(data)     # the size is secret
    >>> worst = search(
    ...     mean, domains.Numbers(0.0, 1.0, rows=(1, 5)), claim=ta.guarantee(epsilon=1)
    ... )
    >>> worst.refuted
    True
    """
    curve = curve_of(claim, "claim")
    _checks.instance(Domain, "a description of inputs, as audit.domains has them", domain=domain)
    begin = _checks.whole(1, 10**6, tries=tries)
    at_most = None if samples is None else _checks.whole(FEWEST, 10**9, samples=samples)
    _checks.inside_unit(confidence=confidence)
    key = _checks.whole(0, 2**62, seed=seed)
    rounds = _rounds(begin)
    asked = None if search_calls is None else _checks.whole(1, search_calls=search_calls)
    if asked is not None and asked < _fewest_calls(rounds):
        rule = f"be at least {_fewest_calls(rounds):,} for {begin} tries"
        _checks.refuse("search_calls", rule, search_calls)
    counts = _Counts(asked, at_most)
    purse = pace.Purse(seconds, hint="or probe one pair you suspect by audit.probe")
    purse.needed = _fewest_calls(_one_round(1)) + pace.in_all(at_most or FEWEST)
    weigh = _PairPromise(mechanism, timeout, EventSearch(claimed_delta(curve), features))
    with pace.spending(purse):
        if None in counts or purse.limited:
            first = domain.first(1, run.generator((key, _KEY)))
            caller, each = _timed(mechanism, domain, first, timeout, key)
            wanted = counts
            if purse.limited:
                allowed = purse.plannable / each
                counts, rounds = _fitting(wanted, rounds, begin, allowed, FEWEST)
                fewest = wanted.race or _fewest_calls(rounds)
                purse.needed = purse.calls + fewest + pace.in_all(wanted.probe or FEWEST)
                if purse.needed - purse.calls > allowed:
                    purse.refuse(each)
            else:
                allowed = pace.MINUTE / each
                counts, rounds = _fitting(wanted, rounds, begin, allowed, pace.LEAST)
                _notice(wanted, counts, rounds[0].pairs, claim, 1 - confidence, each)
        race_share = counts.race / (counts.race + 2 * counts.probe)
        with _progress.shown(progress, "calls", counts.race + 2 * counts.probe) as tell:
            with deadline.paying(deadline.CallPurse(purse.left * (1 - _FOR_THE_PROBE))):
                part = counts.race // sum(stage.weight for stage in rounds)
                race = _raced(weigh, domain, rounds, part, key, _part(tell, 0, race_share))
            best = race.ranking[0]
            if purse.limited and at_most is None:
                fits = pace.fitting(caller, each, purse.plannable)
                counts = counts._replace(probe=max(min(fits, counts.probe), FEWEST))
            verdict = probe(
                mechanism,
                best.d0,
                best.d1,
                claim=claim,
                samples=counts.probe,
                confidence=confidence,
                seed=key,
                timeout=timeout,
                features=features,
                progress=_part(tell, race_share, 1 - race_share),
            )
    noted = _with_search_in_ledger(verdict, len(race.ranking))
    return Search(best.d0, best.d1, noted, race.ranking, race.skipped, race.calls)


class _Counts(NamedTuple):
    """How many calls choose a pair, and how many then probe it, on each input."""

    race: Any
    probe: Any


_USUAL = _Counts(400_000, pace.USUAL)


# Of a budget so much is left to the probe when the race ends by the clock.
_FOR_THE_PROBE = 0.4


def _fewest_calls(rounds: list[_RaceRound]) -> int:
    """Calls that tell something of every pair in all rounds."""
    a_part = max(-(-stage.pairs // stage.weight) for stage in rounds) * 2 * _FEWEST
    return a_part * sum(stage.weight for stage in rounds)


def _timed(
    mechanism: Callable[..., Any],
    domain: Domain[Any],
    drafts: dict[Any, Any],
    timeout: float | None,
    seed: int,
) -> tuple[Caller, float]:
    """How to call it and how long one call takes, on the first pair that would be tried."""
    if not drafts:
        _checks.refuse("domain", "hold two inputs that differ", domain)
    d0, d1 = domain.pair(next(iter(drafts.values())))
    caller = detect_convention(mechanism, d0, d1, timeout=timeout, seed=seed)
    return caller, pace.seconds_a_call(caller, d0, seed)


def _fitting(
    counts: _Counts, rounds: list[_RaceRound], begin: int, allowed: float, least: int
) -> tuple[_Counts, list[_RaceRound]]:
    """What was asked for, and of the rest as many pairs and calls as fit into those allowed.

    Or the fewest that tell anything, of which each input of the pair chosen gets the ``least``.
    """
    probed = pace.in_all(counts.probe or least)
    if counts.race is None:
        fewer = [begin >> k for k in range(begin.bit_length())]
        plans = [*map(_rounds, fewer), *map(_one_round, fewer)]
        fit = (plan for plan in plans if _fewest_calls(plan) <= allowed - max(probed, allowed / 2))
        rounds = next(fit, plans[-1])
    fewest = _fewest_calls(rounds)
    race = counts.race or int(min(max((allowed - probed) / 2, fewest), _USUAL.race))
    probe = counts.probe or int(min(max((allowed - race) / 2.5, least), _USUAL.probe))
    return _Counts(race, probe), rounds


def _notice(
    asked: _Counts, counts: _Counts, pairs: int, claim: Subject, level: float, each: float
) -> None:
    """What a search takes and finds, where calls are slow; before they are made."""
    total = each * (counts.race + 2 * counts.probe)
    each_way = zip(asked, counts, _USUAL, strict=True)
    fewer = any(wanted is None and count < usual for wanted, count, usual in each_way)
    if not fewer and not pace.takes_long(total):
        return
    if asked.probe is None:
        refuse_unable(
            claim,
            counts.probe,
            level,
            f"{counts.probe:,} calls on each input, about "
            f"{_progress.in_words(2 * counts.probe * each)} in all",
        )
    tried = "try one pair" if pairs == 1 else f"choose a pair, of {pairs} to begin with"
    too_long = asked == (None, None) and pace.takes_long(total)
    least = ", the least that a search takes" if too_long else ""
    finds = planned_finding(claim, planned_power(claim, counts.probe, level, roughly=True))
    warnings.warn(
        f"one call takes {short(each, 2)} s: {counts.race:,} calls {tried}, and "
        f"{counts.probe:,} on each input probe it, about {_progress.in_words(total)} in "
        f"all{least}, which {finds}. search_calls= and samples= take as many as you say, seconds= "
        "as many as fit; audit.probe of one pair you suspect is cheaper",
        pace.SlowProbe,
        stacklevel=3,
    )


def _part(tell: run.Progress | None, done: float, share: float) -> run.Progress | None:
    """Progress of a part of the calls."""
    return None if tell is None else lambda of_part: tell(done + share * of_part)


def _with_search_in_ledger(verdict: Verdict, pairs: int) -> Verdict:
    """The verdict, with the search in its ledger."""
    evidence: Any = verdict.evidence
    why = (
        f"no correction is needed for the search ({pairs} pairs): none of its calls is counted here"
    )
    ledger = replace(evidence.ledger, free=(*evidence.ledger.free, why))
    return judge(verdict.claim, replace(evidence, ledger=ledger), name=verdict.name)


def _short(data: Any) -> str:
    shown = " ".join(repr(data).split())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


# -- the race --------------------------------------------------------------------------------


class _RaceRound(NamedTuple):
    pairs: int
    born: int  # of the pairs, how many are new
    weight: int


class _Race(NamedTuple):
    ranking: tuple[Tried, ...]
    skipped: int
    calls: int


def _rounds(begin: int) -> list[_RaceRound]:
    """Half as many pairs each time, then a few that climb, then the best of all of them."""
    sizes = [begin]
    while sizes[-1] >= 4 * _CLIMBERS:
        sizes.append(sizes[-1] // 2)
    race = [_RaceRound(size, 0, _RACING) for size in sizes]
    climbs = [_RaceRound(_CLIMBERS, _CLIMBERS // 2, 1)] * _CLIMBS
    return [*race, *climbs, _RaceRound(_CLIMBERS, 0, _CLOSING)]


def _one_round(begin: int) -> list[_RaceRound]:
    """Pairs that are tried once, where there is no time for more."""
    return [_RaceRound(begin, 0, 1)]


def _raced(
    weigh: _PairPromise,
    domain: Domain[Any],
    rounds: list[_RaceRound],
    part: int,
    seed: int,
    tell: run.Progress | None = None,
) -> _Race:
    """Every pair tried with what it promised, the best of the last round first."""
    rng = run.generator((seed, _KEY))
    drafts = domain.first(rounds[0].pairs, rng)
    if not drafts:
        _checks.refuse("domain", "hold two inputs that differ", domain)
    known, seen, broken = dict(drafts), dict[Any, Tried](), list[Broken]()
    calls = each = 0
    weights = np.cumsum([0, *(stage.weight for stage in rounds)])
    for place, now in enumerate(rounds):
        if tell is not None:
            tell(float(weights[place] / weights[-1]))
        if place:
            best = _best(seen, each)[: now.pairs - now.born]
            born = _children(domain, [known[mark] for mark in best], known, now.born, rng)
            drafts, known = {mark: known[mark] for mark in best} | born, known | born
        each = part * now.weight // (2 * len(drafts))
        pairs = [domain.pair(draft) for draft in drafts.values()]
        try:
            promises = run.map(weigh, [(*pair, each) for pair in pairs], (seed, _KEY, place))
        except LimitReached:  # whoever has no time left for the probe is stopped there
            if not seen:
                raise
            break
        calls += 2 * each * len(pairs)
        for mark, pair, promise in zip(drafts, pairs, promises, strict=True):
            if isinstance(promise, Broken):
                broken.append(promise)
            else:
                seen[mark] = _joint(seen.get(mark), Tried(*pair, promise, each))
        if not seen:
            raise InvalidArgument(
                f"the function failed on every call on {len(broken)} pairs of inputs: the first "
                f"one {broken[0]}"
            )
        if len(known) == 1:
            break
    first = [mark for mark in _best(seen, each) if mark in drafts]
    others = [mark for mark in _best(seen, 0) if mark not in first]
    return _Race(tuple(seen[mark] for mark in [*first, *others]), len(broken), calls)


def _best(seen: dict[Any, Tried], least: int) -> list[Any]:
    """Pairs of so many calls or more, the most promising first; all where none has so many."""
    known = [mark for mark, tried in seen.items() if tried.calls >= least]
    return sorted(known or seen, key=lambda mark: -seen[mark].promise)


def _joint(before: Tried | None, now: Tried) -> Tried:
    """What all calls on a pair promise."""
    if before is None:
        return now
    calls = before.calls + now.calls
    promise = (before.calls * before.promise + now.calls * now.promise) / calls
    return replace(now, promise=promise, calls=calls)


def _children(
    domain: Domain[Any],
    parents: list[Any],
    known: Container[Any],
    count: int,
    rng: np.random.Generator,
) -> dict[Any, Any]:
    """Drafts near the best ones, as many of each, that were not tried before; or fewer."""
    children = dict[Any, Any]()
    for born, draft in enumerate(parents, start=1):
        near = domain.distinct(domain.near(draft, _ASKED * count, rng)) if count else ()
        fresh = {mark: child for mark, child in near if mark not in known and mark not in children}
        children |= dict(islice(fresh.items(), -(-count * born // len(parents)) - len(children)))
    return children


@dataclass(frozen=True)
class _PairPromise:
    """What calls on a pair promise: a task of its own, so that workers may share them."""

    mechanism: Callable[..., Any]
    timeout: float | None
    seek: EventSearch

    def __call__(self, entry: tuple[Any, Any, int], rng: np.random.Generator) -> float | Broken:
        d0, d1, count = entry
        trial = int(rng.integers(2**62))
        caller = detect_convention(self.mechanism, d0, d1, timeout=self.timeout, seed=trial)
        if caller.failed:  # then the first calls may tell that all are in vain
            few = min(count, _FIRST)
            first, second = (_called(caller, x, few, rng).first_broken() for x in (d0, d1))
            if first is not None and second is not None:
                return first
        absent, present = (_called(caller, data, count, rng) for data in (d0, d1))
        broken, other = absent.first_broken(), present.first_broken()
        if broken is not None and other is not None:
            return broken
        return self.seek((absent, present), _LEVEL, int(_MORE * count)).promise


def _called(caller: Caller, data: Any, count: int, rng: np.random.Generator) -> CallOutputs:
    """Calls in blocks, here: where pairs are shared among workers, their calls are not."""
    return joined([caller.block(data, size, rng) for size in block_sizes(count)])
