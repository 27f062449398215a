"""Which calls a probe learns from, which it counts, and which numbers they draw: none twice."""

import random
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit.evidence.sequential_test import PairBatch
from tellapart.audit.evidence.thresholds import End
from tellapart.audit.many_run_audit import at_ranks
from tellapart.audit.probing import events as _events
from tellapart.audit.probing import probe_run, remote_counts
from tellapart.audit.probing.calling.caller import detect_convention
from tellapart.audit.probing.calling.calls import draw
from tellapart.audit.probing.calling.outputs import packed
from tellapart.audit.probing.events import Event, EventSearch
from tellapart.audit.probing.features.columns import Column, What
from tellapart.audit.probing.features.extract import Encoding
from tellapart.audit.probing.probe_run import of_calls
from tellapart.audit.probing.scorers import CellScorer, OfColumn, PlainScorer
from tellapart.audit.searching.domains import Examples

CLAIM = ta.guarantee(epsilon=1)
D0, D1 = [1], [1, 2]
SAMPLES = 1_000
NUMBER = Column(What.VALUE)
READ = Encoding((NUMBER,))


# -- what is chosen is chosen on calls that are never counted ------------------------------------


def _turning(aside, turned, make):
    """A leak in the calls set aside, and for the others perhaps the opposite one."""

    def mechanism(data, rng, size):
        found = make(rng, size) + 6.0 * (len(data) == 2)
        if turned:
            found[aside:] = make(rng, len(found[aside:])) - 6.0 * (len(data) == 2)
        return found

    return mechanism


@pytest.mark.parametrize(("at_home", "aside"), [(10**6, 100), (500, 50)], ids=["scores", "counts"])
@pytest.mark.parametrize(
    "make",
    [lambda rng, size: rng.normal(size=size), lambda rng, size: rng.integers(5, size=size) * 1.0],
    ids=["many", "few"],
)
def test_the_event_is_that_of_the_calls_set_aside(monkeypatch, at_home, aside, make):
    """Were any other call looked at, the opposite leak of nine tenths of them would be seen."""
    monkeypatch.setattr(probe_run, "AT_HOME", at_home)
    # It would see, rightly, that such calls are not alike.
    monkeypatch.setattr(probe_run, "refuse_if_calls_share", lambda *_, **__: None)
    events = []

    class Watched(EventSearch):
        def __call__(self, *given):
            events.append(super().__call__(*given))
            return events[-1]

    monkeypatch.setattr(probe_run, "EventSearch", Watched)
    found = [
        audit.probe(_turning(aside, turned, make), D0, D1, claim=CLAIM, samples=SAMPLES)
        for turned in (False, True)
    ]
    first, second = [(one.words(), one.cut, one.higher, one.rate, one.promise) for one in events]
    assert first == second
    if at_home < SAMPLES:
        told = [[(cut.words, cut.end) for cut in one.evidence.cuts] for one in found]
        assert told[0] == told[1]
        assert {cut.tested for one in found for cut in one.evidence.cuts} == {SAMPLES - aside}
    assert found[0].refuted


def test_scores_are_weighed_on_calls_they_were_not_learnt_on(monkeypatch):
    """Each call has a number of its own, by which it is known again."""
    weighed, learnt = [], {}

    def rows(*sides):
        return {float(one) for side in sides for one in side.matrix[:, 0]}

    def by_cell(reading, *sides):
        made = _by_cell(reading, *sides)
        learnt[id(made)] = rows(*sides)
        kept.append(made)
        return made

    def combined(cells, *sides):
        for made in _combined(cells, *sides):
            learnt[id(made)] = rows(*sides).union(*(learnt[id(one)] for one in cells))
            kept.append(made)
            yield made

    def fitted(_, *sides):
        made = PlainScorer(OfColumn(0, NUMBER))
        learnt[id(made)] = rows(*sides)
        kept.append(made)
        return made

    def events(scorer, known, weigh):
        few = isinstance(scorer, CellScorer) and len(scorer.ratios) <= _events._FEW_CELLS
        if id(scorer) in learnt and not few:
            weighed.append((type(scorer).__name__, not learnt[id(scorer)] & rows(*known)))
        return _found(scorer, known, weigh)

    kept = []  # so that no id comes again
    _by_cell, _combined, _found = _events.by_cell, _events.combined, _events._events
    for name, one in (("by_cell", by_cell), ("combined", combined), ("fitted", fitted)):
        monkeypatch.setattr(_events, name, one)
    monkeypatch.setattr(_events, "_events", events)
    rng = np.random.default_rng(0)
    sides = tuple(packed(rng.normal(shift, 1, (500, 2))) for shift in (0.0, 1.0))
    EventSearch(0.0, classifier="tree")(sides, 0.05, 1_000)
    assert {"CellScorer", "AdditiveScorer", "LinearScorer", "PlainScorer"} <= {
        name for name, _ in weighed
    }
    assert [name for name, apart in weighed if not apart] == []


# -- no number is drawn twice --------------------------------------------------------------------


class Recorded:
    """A mechanism that keeps what it drew in each call, from its generator and the globals."""

    def __init__(self):
        self.drawn = []

    def __call__(self, data, rng):
        self.drawn += [rng.random(), random.random(), np.random.random()]  # noqa: S311
        return len(data) + self.drawn[-3]


def _searched(mechanism):
    audit.search(
        mechanism, Examples([(D0, D1)]), claim=CLAIM, samples=40, tries=1, search_calls=3_328
    )


@pytest.mark.parametrize(
    "calls",
    [
        lambda one: audit.probe(one, D0, D1, claim=CLAIM, samples=9_000),
        lambda one: audit.probe(one, D0, D1, claim=CLAIM, samples=200, until_decided=True),
        lambda one: audit.probe_bits(one, D0, D1, claim=CLAIM, samples=200),
        _searched,
    ],
    ids=["probe", "bets", "bits", "search"],
)
def test_no_call_draws_what_another_drew(calls):
    """Trial calls, both inputs, all blocks and batches, and the search: each number comes once."""
    mechanism = Recorded()
    calls(mechanism)
    assert len(mechanism.drawn) > 300
    assert len(set(mechanism.drawn)) == len(mechanism.drawn)


@pytest.mark.parametrize("at_home", [10**6, 500], ids=["scores", "counts"])
@pytest.mark.parametrize("until_decided", [False, True])
def test_the_ledger_holds_all_that_was_looked_at(monkeypatch, at_home, until_decided):
    monkeypatch.setattr(probe_run, "AT_HOME", at_home)
    verdict = audit.probe(
        lambda data, rng, size: len(data) + rng.laplace(size=size),
        D0,
        D1,
        claim=CLAIM,
        samples=SAMPLES,
        confidence=0.8,
        until_decided=until_decided,
    )
    evidence = verdict.evidence
    assert evidence.ledger.level == pytest.approx(0.2)
    assert sum(entry.spent for entry in evidence.ledger.entries) == pytest.approx(0.2)
    if until_decided:
        assert evidence.wager.confidence == 0.8
        assert evidence.calls == 32 + evidence.wager.seen.total
    else:
        seen = evidence.cuts if at_home < SAMPLES else evidence.looks
        assert sum(entry.looks for entry in evidence.ledger.entries) == len(seen)
        assert sum(one.level for one in seen) <= 0.2 * (1 + 1e-12)


def test_hope_is_of_the_pairs_since_the_event_was_found(monkeypatch):
    asked = []

    def hope(batch, wager, seen, before):
        asked.append((int(sum(seen)), int(sum(before)), batch.seek))
        return np.asarray(batch.left > 0)

    monkeypatch.setattr(PairBatch, "hope", hope)
    never = ta.guarantee(epsilon=9)
    audit.probe(
        lambda data, rng: len(data) + rng.laplace(),
        D0,
        D1,
        claim=never,
        samples=400,
        until_decided=True,
    )
    assert asked[-1][0] == 400 - 32
    since = 0
    for seen, before, seek in asked:
        assert before == since
        since = seen if seek else since
    assert since > 100


# -- which side an event speaks against ----------------------------------------------------------


def _event(clears, by_rank=True):
    scorer = PlainScorer(OfColumn(0, NUMBER))
    return Event(1.0, 0.1, scorer, True, 2.0, 0.25, by_rank, clears, READ)


@pytest.mark.parametrize("clears", [False, True])
def test_the_favoured_rank_is_where_the_event_should_happen(clears):
    found = probe_run._favoured(_event(clears), 400)
    assert found.end is (End.CLEAR if clears else End.FLAG)
    assert (found.higher, found.ranks, found.share) == (True, (100,), _events.FAVOUR)


@pytest.mark.parametrize("clears", [False, True])
def test_the_first_cut_is_the_event_or_what_it_is_not(clears):
    scores = [np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 3.0, 4.0, 5.0])]
    own, *ranks = remote_counts._places(_event(clears), scores)
    assert own.end is (End.CLEAR if clears else End.FLAG)
    # Strictly beyond: what lies on the cut is inside.
    assert [own.count(side) for side in scores] == ([3, 1] if clears else [1, 3])
    assert {(place.end, place.higher) for place in ranks} == {
        (End.FLAG, True),
        (End.CLEAR, False),
    }
    assert not any(place.inside for place in ranks)
    assert len(remote_counts._places(_event(clears, by_rank=False), scores)) == 1


def test_what_lies_on_the_cut_has_not_happened():
    outputs = packed(np.array([1.0, 2.0, 3.0]))
    assert _event(False).happened(outputs).tolist() == [False, False, True]


@pytest.mark.parametrize("at_home", [10**6, 500], ids=["scores", "counts"])
@pytest.mark.parametrize(("step", "up"), [(0.0, 1.0), (0.0, -1.0), (1.0, 2.0), (1.0, -2.0)])
def test_words_name_the_input_that_was_counted(monkeypatch, at_home, step, up):
    """The share in words, counted again from all outputs but those set aside."""
    monkeypatch.setattr(probe_run, "AT_HOME", at_home)

    def mechanism(data, rng, size):
        found = up * len(data) + rng.laplace(0, 0.3, size)
        return np.round(found / step) * step if step else found

    verdict = audit.probe(mechanism, D0, D1, claim=CLAIM, samples=SAMPLES)
    caller, aside = detect_convention(mechanism, D0, D1), SAMPLES // 10 if at_home > SAMPLES else 50
    sides = {
        name: draw(caller, data, SAMPLES, (0, k)).values[aside:]
        for k, (name, data) in enumerate((("d0", D0), ("d1", D1)))
    }
    told = re.match(
        r"(not \()?output (is|<|>|≤|≥) ([-\d.]+)\)?: .* % of outputs on (d.) \(([\d,]+) of",
        verdict.finding.where,
    )
    outside, sign, threshold, who, count = told.groups()
    compare = {"is": np.equal, "<": np.less, ">": np.greater, "≤": np.less_equal}
    compare["≥"] = np.greater_equal
    happened = compare[sign](sides[who], float(threshold)) != bool(outside)
    # Ranks count what lies on the threshold, and words round it to six digits.
    assert int(count.replace(",", "")) == pytest.approx(np.count_nonzero(happened), abs=2)
    other = compare[sign](sides[{"d0": "d1", "d1": "d0"}[who]], float(threshold)) != bool(outside)
    assert np.count_nonzero(happened) > 3 * np.count_nonzero(other)


# -- an input that cannot be read ----------------------------------------------------------------


@pytest.mark.parametrize("at_home", [10**6, 500], ids=["scores", "counts"])
@pytest.mark.parametrize("broken", ["d0", "d1"])
def test_an_input_on_which_every_call_breaks_off_is_named(monkeypatch, at_home, broken):
    monkeypatch.setattr(probe_run, "AT_HOME", at_home)

    def mechanism(data, rng):
        return {"d0": 3, "d1": 4}[data] + rng.normal()

    inputs = ("lost", "d1") if broken == "d0" else ("d0", "lost")
    verdict = audit.probe(mechanism, *inputs, claim=CLAIM, samples=SAMPLES)
    assert f"No call on {broken} returned a value: the first one raises KeyError" in str(verdict)


def test_ranks_of_calls_say_what_they_are_about():
    scores = audit.Scores(members=range(5, 95), non_members=range(90))
    found = of_calls(at_ranks(scores, 0.05), 100, "A word.")
    assert (found.about, found.calls) == ("A word.", 100)
    assert any("chosen on 10 held-out calls on each input" in one for one in found.ledger.free)
