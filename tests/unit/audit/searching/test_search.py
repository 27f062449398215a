"""Searching for the inputs that leak most: bugs are found from descriptions of inputs alone."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import tellapart as ta
from tellapart import audit, zoo
from tellapart.audit.searching.domains import (
    Answers,
    Examples,
    Moves,
    Numbers,
    OneOf,
    Tables,
    Tallies,
)

CLAIM = ta.guarantee(epsilon=1)
COUNT = Answers()
SCORES, QUERIES, BINS = Answers(5, Moves.ANY), Answers(10, Moves.ANY), Answers(3, Moves.ONE)
VALUES = Numbers(0.0, 10.0, rows=(1, 6))
GRADIENTS = Numbers(-10.0, 10.0, rows=(1, 4), width=2)
KEYS = Tallies(["a", "b"])
QUICK = {
    "laplace-half-scale": COUNT,
    "laplace-integer-noise": Answers(low=0.0, high=10.0),
    "laplace-wrong-sensitivity": Numbers(0.0, 3.0),
    "laplace-first-rows": Numbers(0.0, 1.0, rows=(0, 10)),
    "noisy-max-3": SCORES,
    "noisy-max-4": SCORES,
    "flip-without-permuting": SCORES,
    "median-no-half": VALUES,
    "median-of-values": VALUES,
    "sparse-vector-5": QUERIES,
    "sparse-vector-true-value": QUERIES,
    "prefix-sums": QUERIES,
    "histogram-upside-down": BINS,
    "histogram-one-noise": BINS,
    "histogram-exact-zeros": BINS,
    "sum-without-clipping": VALUES,
    "sum-nan": Numbers(0.0, 1.0, odd=(math.nan,)),
    "mean-by-true-size": VALUES,
    "mean-bound-from-data": VALUES,
    "scale-from-private-count": Numbers(0, 1, rows=(1, 4), neighbours=ta.Neighbours.REPLACE),
    "count-or-none-by-true-count": COUNT,
}
SLOW = {
    "laplace-redrawn": COUNT,
    "laplace-absolute": COUNT,
    "laplace-best-of-three": COUNT,
    "laplace-few-seeds": COUNT,
    "laplace-vector": Answers(3, Moves.ANY),
    "gaussian-pure": COUNT,
    "gaussian-classical-beyond": COUNT,
    "gaussian-vector": Answers(4, Moves.ANY),
    "geometric-coarse": COUNT,
    "geometric-one-sided": COUNT,
    "geometric-cut-noise": COUNT,
    "noisy-max-half": SCORES,
    "exponential-no-half": QUERIES,
    "sparse-vector-3": QUERIES,
    "sparse-vector-4": QUERIES,
    "sparse-vector-6": QUERIES,
    "randomised-response-too-honest": OneOf([False, True]),
    "colour-response-binary-odds": OneOf(["red", "green", "blue"]),
    "unary-full-budget": OneOf([0, 1, 2]),
    "mean-with-size": VALUES,
    "keys-without-threshold": KEYS,
    "keys-by-true-count": KEYS,
    "step-no-clip": GRADIENTS,
    "step-clip-after-mean": GRADIENTS,
    "step-noise-over-batch": GRADIENTS,
    "step-noise-without-clip-norm": GRADIENTS,
    "step-workers": GRADIENTS,
    "step-not-zeroed": GRADIENTS,
    "step-per-layer": Numbers(-3.0, 3.0, rows=(1, 4), width=8),
    "step-microbatch": Numbers(-100.0, 100.0, rows=(1, 4), width=1),
    "step-centred": Numbers(-100.0, 100.0, rows=(1, 9), width=1),
    "step-shared-noise": Numbers(-1.0, 1.0, rows=(1, 4), width=1),
    "step-nan": Numbers(-10.0, 10.0, rows=(1, 4), width=2, odd=(math.nan,)),
}


def noisy_sum(data, rng, size=None):
    return sum(data) + rng.laplace(0, 1, size)


def small(mechanism, domain, claim=CLAIM, samples=2_000, tries=8, search_calls=8_000, **more):
    return audit.search(
        mechanism,
        domain,
        claim=claim,
        samples=samples,
        tries=tries,
        search_calls=search_calls,
        **more,
    )


@pytest.mark.parametrize("name", QUICK)
def test_bugs_are_found_from_a_description_of_inputs(name):
    """With a tenth of the usual calls or fewer, and a third of the pairs."""
    specimen = zoo.find(name)
    found = audit.search(
        specimen.mechanism,
        QUICK[name],
        claim=specimen.claim,
        samples=10_000,
        tries=24,
        search_calls=25_000,
    )
    assert found.refuted


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_more_bugs_are_found_with_the_usual_calls(name):
    specimen = zoo.find(name)
    assert audit.search(specimen.mechanism, SLOW[name], claim=specimen.claim).refuted


def test_the_certificate_is_a_probe_of_what_was_found():
    found = small(noisy_sum, Numbers(0.0, 3.0), seed=5)
    alone = audit.probe(noisy_sum, found.d0, found.d1, claim=CLAIM, samples=2_000, seed=5)
    assert found.refuted == alone.refuted
    assert found.verdict.confidence == alone.confidence
    assert found.verdict.epsilon_lower() == alone.epsilon_lower()
    assert found.verdict.finding == alone.finding


def test_the_certificate_sees_no_call_of_the_search():
    drawn = []

    def mechanism(data, rng):
        drawn.append(float(rng.normal()))
        return sum(data) + drawn[-1]

    found = small(mechanism, Numbers(0.0, 1.0), samples=500, search_calls=4_000)
    last = len(drawn) - 2 * (450 // 8 // 8 * 8)  # a few are made after the certificate's
    before, after = drawn[: last - 1_000], drawn[last - 1_000 : last]
    # Besides the search's calls there were a few to see how the mechanism wants to be called.
    assert found.calls > 3_000
    assert len(before) > found.calls
    assert set(before).isdisjoint(after)
    assert len(set(after)) == 1_000


def test_what_was_tried_is_said_and_costs_nothing():
    found = small(noisy_sum, Numbers(0.0, 3.0))
    ledger = found.verdict.evidence.ledger
    assert f"the search ({len(found.tried)} pairs)" in ledger.free[-1]
    assert sum(entry.spent for entry in ledger.entries) == pytest.approx(0.05)
    best = found.tried[0]
    assert (best.d0, best.d1) == (found.d0, found.d1)
    assert best.promise == max(one.promise for one in found.tried if one.calls >= best.calls)
    said = str(found)
    assert said.startswith("REFUTED: the claim ε = 1")
    assert f"Inputs: d0 = {found.d0}, d1 = {found.d1}." in said
    assert f"Search: {len(found.tried)} pairs of inputs, with {found.calls:,} calls" in said
    assert said.splitlines()[-1] == str(found.verdict).splitlines()[-1]
    assert said.splitlines()[-1].startswith("Multiple-testing budget (α = 5 %): ")
    assert repr(found).startswith("Search(REFUTED")


def test_the_same_seed_finds_the_same_and_another_one_another():
    found = [small(noisy_sum, Numbers(0.0, 3.0), seed=seed) for seed in (1, 1, 2)]
    assert found[0].tried == found[1].tried
    assert str(found[0]) == str(found[1])
    assert found[0].tried != found[2].tried


def test_calls_are_as_many_as_asked_for_at_most():
    found = audit.search(noisy_sum, VALUES, claim=CLAIM, samples=100, tries=16, search_calls=10_000)
    assert 9_000 < found.calls <= 10_000


def test_a_leak_in_one_order_alone_is_found():
    """ "rare" is certain never to come without the record; the other order allows all."""

    def mechanism(data, rng):
        return "rare" if len(data) == 4 and rng.random() < 0.1 else "usual"

    for domain in (Examples([([1] * 4, [1] * 3)]), Examples([([1] * 3, [1] * 4)])):
        assert small(mechanism, domain).refuted


def test_a_search_climbs_to_where_it_leaks_more():
    """The less noise the nearer to a place that no pair begins with."""
    place, domain = 7_777, Answers(high=10_000)

    def mechanism(data, rng, size=None):
        return data + rng.laplace(0, 0.5 + abs(data - place) / 400, size)

    found = [
        small(mechanism, domain, tries=16, search_calls=100_000, samples=20_000, seed=seed)
        for seed in range(10, 18)
    ]
    # The nearest of sixteen places at random is 10,000 / (2 · 17) away, on average.
    by_chance = 10_000 / (2 * 17)
    assert np.median([abs(one.d0 - place) for one in found]) < by_chance / 2


def test_tables_and_pairs_of_ones_own_are_searched():
    def mean_age(rows, rng, size=None):
        return (sum(row["age"] for row in rows) + rng.laplace(0, 120, size)) / len(rows)

    people = Tables({"age": (0, 120), "job": ["none", "some"]}, rows=(1, 4))
    assert small(mean_age, people).refuted
    values = st.lists(st.integers(0, 3), max_size=3)
    pairs = st.tuples(values, st.integers(0, 3)).map(lambda both: (both[0], [*both[0], both[1]]))
    assert small(noisy_sum, Examples(pairs)).refuted

    def grown(rng):
        data = rng.integers(0, 4, size=2).tolist()
        return data, [*data, 3]

    assert small(noisy_sum, Examples(grown)).refuted


def test_pairs_on_which_every_call_breaks_off_are_skipped_and_counted():
    def mechanism(data, rng):
        if len(data) > 2:
            raise ValueError("too long")
        return sum(data) + rng.laplace(0, 0.2)

    broken, sound = ([0, 0, 0], [0, 0, 0, 1]), ([0], [0, 1])
    found = small(mechanism, Examples([broken, sound]))
    assert (found.d0, found.d1) == sound
    assert found.refuted
    assert found.skipped == 1
    assert "1 more were skipped, as every call on both inputs failed" in str(found)


def test_an_exception_on_one_input_is_a_leak():
    def mechanism(data, rng, size=None):
        return max(data) + rng.laplace(0, 10, size)

    found = small(mechanism, Numbers(0.0, 1.0))
    assert found.refuted
    assert [] in (found.d0, found.d1)


def test_a_mechanism_that_always_raises_was_called_wrongly():
    with pytest.raises(
        ta.InvalidArgument,
        match=r"^the function failed on every call on 8 pairs of inputs: "
        r"the first one raises TypeError",
    ):
        small(lambda data: data["key"], Numbers(0.0, 1.0))


def test_calls_that_share_noise_cannot_be_judged():
    specimen = zoo.find("laplace-memoised")
    with pytest.raises(ta.Unsupported, match=r"^no verdict: calls are not independent; "):
        small(specimen.mechanism, COUNT, samples=200)


def test_a_call_that_hangs_is_cut_off():
    def mechanism(data, rng):
        hangs = len(data) == 2 and rng.random() < 0.03
        while hangs:
            pass
        return 0

    pairs = Examples([([1], [1, 1])])
    found = small(mechanism, pairs, samples=20, tries=1, search_calls=3_328, timeout=0.05)
    assert found.tried[0].promise > 0


def test_an_input_that_is_changed_spoils_nothing():
    def mechanism(data, rng):
        data.sort()
        return data.pop() + rng.laplace(0, 0.2)

    found = small(mechanism, Numbers(0.0, 1.0, rows=(1, 4)))
    assert found.refuted
    assert len(found.d1) == len(found.d0) + 1


def test_one_pair_is_simply_probed():
    found = small(noisy_sum, Examples([([0], [0, 3])]))
    assert len(found.tried) == 1
    assert found.refuted


def test_users_features_are_used():
    def mechanism(data, rng, size=None):
        angle = rng.uniform(0, 2 * np.pi, size)
        far = 1.0 + sum(data)
        return np.stack([far * np.cos(angle), far * np.sin(angle)], axis=-1)

    found = small(mechanism, Numbers(0.0, 0.2), features=lambda out: float(np.hypot(*out)))
    assert found.verdict.epsilon_lower().value > 3
    assert "feature" in found.verdict.finding.where


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"domain": [1]}, "domain must be a description of inputs, as audit.domains has them"),
        ({"domain": Examples([(1, 1)])}, "domain must hold two inputs that differ"),
        ({"samples": 5}, "samples must be at least 20, got 5"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"tries": 0}, "tries must be at least 1, got 0"),
        ({"search_calls": 100}, "search_calls must be at least 3,328 for 8 tries, got 100"),
        ({"claim": 1.0}, "claim must be a mechanism or a curve, got 1.0"),
        ({"mechanism": 3}, "mechanism must be callable, got 3"),
        ({"timeout": 0}, "timeout must be finite and greater than 0, got 0"),
    ],
)
def test_bad_use_is_named(more, words):
    with pytest.raises(ta.InvalidArgument, match=f"^{words}"):
        small(**{"mechanism": noisy_sum, "domain": VALUES, **more})
