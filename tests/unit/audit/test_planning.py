"""Plans of audits: their promised power, against simulation and against the audits themselves."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.audit import Access
from tellapart.audit.alternatives import alternative, weakest_found
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.evidence.base import promised
from tellapart.audit.evidence.count import uncounted
from tellapart.audit.evidence.sequential_test import WagerEvidence
from tellapart.audit.many_run_audit import at_ranks
from tellapart.audit.planning import SLIP, WATCHED
from tellapart.audit.probing import pace
from tellapart.audit.probing.probe_run import planned_power
from tellapart.audit.trainings import watch_power
from tellapart.audit.trainings.step_audit import step_pairs
from tellapart.audit.trainings.watch_power import MOST_STEPS, leak_found, noise_found
from tellapart.audit.trainings.white_box import read_claim

LAPLACE = ta.Laplace.with_epsilon(1)
TRAINING = ta.dp_sgd(1.0, sampling_rate=0.01, steps=1_000)


BARE = ta.guarantee(epsilon=1, delta=1e-5)


def near(found, draws):
    """Whether as much is found as was promised: three points, and what draws leave open."""
    deviations = 2 if draws >= 1_000 else 4
    return abs(found / draws - 0.9) < 0.03 + deviations * (0.9 * 0.1 / draws) ** 0.5


def leaked(claim, strength):
    """Scores by coins that leak all of a curve: of FPRs, lower is more suspicious."""
    truth = alternative(claim).curve(strength)
    ends = np.geomspace(1e-9, 0.5, 2_000)
    rates = np.concatenate([[0.0], ends, 1 - ends[-2::-1], [1.0]])
    shares = np.maximum.accumulate(truth.tpr(rates))

    def drawn(rng, models):
        inside = rng.random(models) < 0.5
        uniform = rng.random(models)
        scores = -np.where(inside, np.interp(uniform, shares, rates), uniform)
        return audit.Scores(members=scores[inside], non_members=scores[~inside])

    return drawn


@pytest.mark.parametrize(
    ("claim", "models", "draws"),
    [
        (ta.Gaussian(1.0), 300, 200),
        (BARE, 100, 200),
        *(
            pytest.param(claim, models, 2_000, marks=pytest.mark.slow)
            for claim in (LAPLACE, ta.Gaussian(1.0), BARE, TRAINING)
            for models in (100, 300, 1_000)
        ),
        pytest.param(ta.guarantee(epsilon=3), 300, 2_000, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_promised_power_of_many_models_is_that_of_the_best_attack(claim, models, draws):
    design = audit.plan(claim, seconds=1, budget=models, available=Access.TRAININGS).best
    assert design.count == models
    rng, drawn = np.random.default_rng(3), leaked(claim, design.detectable)
    found = sum(at_ranks(drawn(rng, models), 0.05).refutes(claim) for _ in range(draws))
    assert near(found, draws)


@pytest.mark.parametrize(
    ("claim", "canaries"),
    [(ta.Gaussian(1.0), 1_000), (LAPLACE, 500), (ta.RandomizedResponse(1.0), 300), (BARE, 2_000)],
    ids=str,
)
@pytest.mark.parametrize("draws", [60, pytest.param(2_000, marks=pytest.mark.slow)])
def test_the_promised_power_of_one_run_is_that_of_the_best_scores(claim, canaries, draws):
    design = audit.plan(claim, seconds=1, available=Access.ONE_RUN, canaries=canaries).best
    rng, drawn = np.random.default_rng(5), leaked(claim, design.detectable)
    found = sum(
        audit.one_run(drawn(rng, canaries), claim=claim).refutes(claim) for _ in range(draws)
    )
    assert near(found, draws)


def laplace(strength):
    return lambda data, rng, size=None: len(data) + rng.laplace(0, 1 / strength, size)


def gaussian(strength):
    return lambda data, rng, size=None: len(data) + rng.normal(0, 1 / strength, size)


def response(strength):
    lie = 1 / (1 + np.exp(strength))
    return lambda data, rng, size=None: ((len(data) == 2) ^ (rng.random(size) < lie)).astype(int)


def geometric(strength):
    """Discrete Laplace noise with a scale of 1 divided by the strength."""
    stay = 1 - np.exp(-strength)

    def release(data, rng, size=None):
        return len(data) + rng.geometric(stay, size) - rng.geometric(stay, size)

    return release


PROBED = [
    (LAPLACE, laplace),
    (ta.Gaussian(1.0), gaussian),
    (ta.RandomizedResponse(1.0), response),
    (ta.guarantee(epsilon=1), response),
    (ta.DiscreteLaplace(1.0), geometric),
]


@pytest.mark.parametrize(
    ("claim", "leaking", "calls", "draws"),
    [
        (ta.Gaussian(1.0), gaussian, 200, 100),
        (ta.guarantee(epsilon=1), response, 200, 60),
        *(
            pytest.param(*cell, calls, 2_000, marks=pytest.mark.slow)
            for cell in PROBED
            for calls in (200, 2_000)
        ),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_probe_finds_what_was_planned_for_it(claim, leaking, calls, draws):
    design = audit.plan(claim, seconds=0.01, budget=0.01 * pace.in_all(calls)).best
    assert design.count == calls
    release = leaking(design.detectable)
    found = sum(
        audit.probe(release, [1], [1, 2], claim=claim, samples=calls, seed=seed).refuted
        for seed in range(draws)
    )
    assert near(found, draws)


def revealing(epsilon, delta):
    """Randomised response that at times reveals all: what a claim of (ε, δ) allows at most."""
    lie = 1 / (1 + np.exp(epsilon))

    def release(data, rng, size=None):
        member = len(data) == 2
        said = 1 + (member ^ (rng.random(size) < lie))
        return np.where(rng.random(size) < delta, 3 * member, said)

    return release


def sequential(claim, **options):
    """The design that stops once it is decided."""
    (design,) = (each for each in audit.plan(claim, **options).designs if each.stops)
    return design


@pytest.mark.parametrize(
    ("claim", "calls", "draws"),
    [
        (ta.guarantee(epsilon=1), 300, 200),
        *(
            pytest.param(claim, calls, 2_000, marks=pytest.mark.slow)
            for claim in (ta.guarantee(1), ta.guarantee(1, 0.01), ta.guarantee(0), ta.guarantee(3))
            for calls in (300, 2_000)
        ),
    ],
    ids=str,
)
def test_a_probe_until_decided_finds_and_takes_what_was_planned_for_it(claim, calls, draws):
    design = sequential(claim, seconds=0.01, budget=0.01 * pace.in_all(calls))
    assert design.count == calls
    truth = alternative(claim).curve(design.detectable)
    release = revealing(truth.claimed_epsilon, truth.claimed_delta)
    verdicts = [
        audit.probe(release, [1], [1, 2], claim=claim, samples=calls, until_decided=True, seed=seed)
        for seed in range(draws)
    ]
    assert near(sum(verdict.refuted for verdict in verdicts), draws)
    took = np.array([verdict.evidence.calls for verdict in verdicts])
    doubt = 4 * took.std() / np.sqrt(draws)
    assert took.mean() == pytest.approx(design.stops[0].count, abs=doubt + 0.05 * took.mean())


def test_more_calls_until_decided_find_less_and_large_leaks_end_it_soon():
    few, many = (sequential(BARE, seconds=0.4, budget=budget) for budget in (240, 600))
    assert few.detectable > many.detectable > 1
    assert few.price == many.price
    least, doubled = many.stops
    assert doubled.count < least.count < many.count
    assert doubled.seconds == pytest.approx(0.4 * pace.in_all(doubled.count))
    assert f"after {doubled.count:,} calls on each input" in many.lasts[1]


def test_a_claim_by_its_curve_is_not_planned_until_decided():
    assert not any(design.stops for design in audit.plan(LAPLACE, seconds=1).designs)


@pytest.mark.filterwarnings("error")
def test_a_claim_that_takes_more_models_than_anyone_has_says_so():
    (remark,) = audit.plan(ta.guarantee(20), seconds=1, available=Access.TRAININGS).remarks
    assert "takes more than 2,000,000 models" in remark


@pytest.mark.parametrize("claim", [ta.guarantee(1, 1), ta.guarantee(500), ta.guarantee(700, 0.5)])
def test_what_no_calls_could_show_is_planned_without_a_promise(claim):
    designs = audit.plan(claim, seconds=0.4).designs
    assert [design.detectable for design in designs] == [None, None]


def step_with(noise):
    """A step that clips to 1 and adds Gaussian noise."""

    def step(gradients, rng, size=None):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients / np.maximum(norms, 1.0)).sum(axis=0)
        return total + rng.normal(0, noise, total.shape if size is None else (size, *total.shape))

    return step


@pytest.mark.parametrize(
    ("noise", "calls", "draws"),
    [
        (1.0, 200, 40),
        *(
            pytest.param(noise, calls, 1_000, marks=pytest.mark.slow)
            for noise in (0.5, 1.0, 5.0)
            for calls in (200, 2_000)
        ),
    ],
)
def test_an_audit_of_a_step_finds_the_noise_that_was_planned_for(noise, calls, draws):
    claim = ta.dp_sgd(noise, sampling_rate=0.1, steps=60)
    budget = 5 * pace.in_all(calls) * 0.001  # five pairs of inputs
    design = audit.plan(claim, seconds=0.001, budget=budget, available=Access.STEP).best
    assert design.count == calls
    step = step_with(noise / design.detectable)
    found = sum(
        audit.step(step, clip=1.0, noise_multiplier=noise, samples=calls, seed=seed).refuted
        for seed in range(draws)
    )
    assert near(found, draws)


@pytest.mark.parametrize("calls", [20, 200, 5_000])
def test_the_time_planned_is_that_of_all_calls(calls):
    """Those that find out how to call it, and those that are made apart, are counted."""
    made = 0

    def release(data, rng):
        nonlocal made
        made += 1
        return len(data) + rng.laplace(0, 1.0)

    audit.probe(release, [1], [1, 2], claim=LAPLACE, samples=calls)
    budget = pace.in_all(calls)
    design = audit.plan(LAPLACE, seconds=1.0, budget=budget).best
    assert design.count == calls
    assert 0.8 * budget <= made <= design.seconds <= budget


def test_each_design_says_what_it_cannot_see():
    planned = audit.plan(BARE, seconds=1, budget=100, available=[Access.FUNCTION, Access.TRAININGS])
    assert len(planned.designs) == 3
    assert str(planned).count("Not seen: ") == 3


def test_where_nothing_finds_anything_steps_are_pointed_to():
    planned = audit.plan(TRAINING, seconds=180, budget=360)
    assert planned.best.detectable is None
    assert "--available steps" in str(planned)


def test_four_of_the_usual_pairs_show_too_little_noise():
    """One of the five has two gradients that are clipped to the same."""
    moved = [pair.moves(1.0) for pair in step_pairs()]
    assert (len(moved), sum(moved)) == (5, 4)


def test_beside_trainings_a_step_takes_its_share_of_one():
    claim = ta.dp_sgd(1.0, sampling_rate=0.1, steps=60)
    alone = audit.plan(claim, seconds=0.5, budget=1_000, available=Access.STEP).best
    beside = audit.plan(
        claim, seconds=30, budget=1_000, available=[Access.STEP, Access.STEPS]
    ).designs
    assert alone in beside
    assert f"samples={alone.count}" in alone.call


def watched(seed, claim, noise, layers):
    """The verdict on a training in each of whose layers there is so much of the noise stated."""
    rng, (stated, rate, steps) = np.random.default_rng((seed, 3)), read_claim(claim)
    watch = audit.watch_updates(layers, claim=claim, clip=1.0, records=50, seed=seed)
    for _ in range(steps):
        drawn, batch = watch.draw(), np.flatnonzero(rng.random(50) < rate)
        rest = rng.normal(size=sum(layers)) * stated * np.repeat(noise, layers)
        rest[drawn.places[drawn.inside]] += drawn.entries[drawn.inside]
        watch.record(rest, len(batch), batch)
    return watch.verdict()


@pytest.mark.parametrize("draws", [15, pytest.param(1_000, marks=pytest.mark.slow)])
def test_a_watched_training_finds_the_noise_that_was_planned_for(draws):
    claim = ta.dp_sgd(1.0, sampling_rate=0.1, steps=60)
    x = audit.plan(claim, seconds=1, available=Access.STEPS).best.detectable
    seen = [watched(seed, claim, [1.0] * 19 + [1 / x], [10] * 20) for seed in range(draws)]
    found = sum("noise of a layer" in verdict.refuting for verdict in seen)
    assert near(found, draws)


@pytest.mark.parametrize(
    ("noise", "steps", "draws"),
    [
        (1.0, 40, 100),
        *(
            pytest.param(noise, steps, 2_000, marks=pytest.mark.slow)
            for noise in (0.6, 1.0, 3.0)
            for steps in (40, 200, MOST_STEPS)
        ),
    ],
)
def test_bets_on_a_watched_training_find_the_leak_that_was_planned_for(noise, steps, draws):
    claim = ta.dp_sgd(noise, sampling_rate=0.1, steps=steps)
    design = audit.plan(claim, seconds=1, available=Access.STEPS).best
    x = design.not_private
    assert f"noise {x:.3g} times too small in all layers (not private)" in design.finds
    seen = (watched(seed, claim, [1 / x] * 20, [15] * 20) for seed in range(draws))
    assert near(sum(verdict.not_private for verdict in seen), draws)


def test_more_steps_find_less_noise_missing(monkeypatch):
    monkeypatch.setattr(watch_power, "MOST_STEPS", 120)
    assert 1 < noise_found(1_000, 0.001) < noise_found(60, 0.001) < noise_found(30, 0.001)
    leaks = [leak_found(1.0, steps, 0.049) for steps in (30, 60, 120, 1_200)]
    assert leaks[0] > leaks[1] > leaks[2] == leaks[3] > 1
    assert leak_found(1.0, 5, 0.049) is None


def test_a_strict_level_is_shared_by_both_parts_of_a_watched_training():
    design = audit.plan(TRAINING, seconds=1, available=Access.STEPS, confidence=0.9995).best
    assert "(not as stated, level 0.00025)" in design.finds
    stated = {"claim": TRAINING, "clip": 1.0, "records": 9, "confidence": 0.9995}
    assert audit.watch_updates([10], **stated).conformance == pytest.approx(0.00025)
    with pytest.raises(ta.InvalidArgument, match="conformance must be a part of the level"):
        audit.watch_updates([10], conformance=0.001, **stated)


def test_more_time_finds_smaller_leaks_and_the_price_is_one():
    def planned(budget):
        return audit.plan(BARE, seconds=0.4, budget=budget, available=Access.TRAININGS).best

    finds = [planned(budget) for budget in (60, 600, 3_600)]
    assert finds[0].detectable > finds[1].detectable > finds[2].detectable > 1
    assert len({design.price for design in finds}) == 1
    count, seconds = finds[0].price
    assert seconds == pytest.approx(0.4 * count)
    assert planned(seconds).detectable <= SLIP + 0.01  # rounded up


def test_the_best_comes_first_and_what_can_be_seen_decides():
    planned = audit.plan(
        TRAINING, seconds=180, budget=36_000, available=[Access.TRAININGS, Access.STEPS]
    )
    assert [design.access for design in planned.designs] == [Access.STEPS, Access.TRAININGS]
    assert planned.best.seconds == WATCHED * 180
    assert planned.designs[1].count == 200
    first, *_ = str(planned).splitlines()
    assert first.startswith("Plan: audit.watch(")
    assert "a weaker attack finds less" in str(planned)


def test_a_bare_claim_hears_what_it_takes_and_what_its_curve_would():
    bare = ta.guarantee(8, 1e-5)
    planned = audit.plan(bare, seconds=1, budget=100, available=Access.TRAININGS)
    assert planned.best.detectable is None
    assert not planned.best.could_refute
    assert "no outcome of 100 models could refute" in str(planned)
    (remark,) = planned.remarks
    numbers = re.findall(r"takes ([\d,]+) models", remark)
    needed, less = (int(number.replace(",", "")) for number in numbers)
    stated = ta.Gaussian.with_epsilon(8, 1e-5)
    assert needed == audit.fewest_models(bare)
    assert less == audit.fewest_models(stated) < 30
    assert audit.plan(stated, seconds=1, budget=100, available=Access.TRAININGS).remarks == ()


@pytest.mark.parametrize("claim", [ta.guarantee(1, 1), ta.guarantee(500), ta.guarantee(700, 0.5)])
@pytest.mark.parametrize("access", [Access.TRAININGS, Access.ONE_RUN])
def test_claims_beyond_every_model_are_planned_without_a_word_on_their_curve(claim, access):
    planned = audit.plan(claim, seconds=1, budget=100, available=access)
    assert planned.best.detectable is None
    assert planned.remarks == ()


@pytest.mark.parametrize(("epsilon", "says"), [(12, "9,400 times"), (60, "no number of them")])
def test_a_verdict_of_far_too_few_runs_says_what_the_curve_would_take(epsilon, says):
    claim, scores = ta.guarantee(epsilon, 1e-5), audit.Scores(range(10, 60), range(50))
    *_, more = audit.judge(claim, audit.many_runs(scores)).reasons()
    needed = audit.fewest_models(ta.Gaussian.with_epsilon(epsilon, 1e-5))
    assert says in more
    assert f"{needed:,} runs" in more
    assert "audit.plan and tellapart plan say" in more


def test_a_training_that_is_refused_for_too_few_models_points_to_the_plan():
    with pytest.raises(ta.InvalidArgument, match=r"audit\.plan what other designs could") as error:
        audit.training(lambda data, seed: [0.0], [1.0, 2.0], claim=ta.guarantee(8), models=100)
    assert "State the mechanism if it is known" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seconds": 0}, "seconds must be finite and greater than 0, got 0"),
        ({"seconds": 1, "budget": -1}, "budget must be finite and greater than 0"),
        ({"seconds": 1, "available": []}, "available must be one or more of audit.Access.STEPS"),
        ({"seconds": 1, "available": "function"}, "available must be one or more of"),
        ({"seconds": 1, "canaries": 3}, "canaries must be"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        audit.plan(LAPLACE, **options)


@pytest.mark.parametrize("access", [Access.STEPS, Access.STEP])
def test_steps_can_be_planned_of_a_stated_training_alone(access):
    with pytest.raises(ta.Unsupported, match="the claim must state the training"):
        audit.plan(ta.guarantee(1), seconds=1, available=access)


def test_of_designs_that_find_alike_the_quicker_comes_first():
    claim = ta.dp_sgd(1.0, sampling_rate=0.01, steps=1_000)
    planned = audit.plan(claim, seconds=180, budget=36_000, available=[Access.STEP, Access.STEPS])
    first, second = planned.designs
    assert first.access is Access.STEPS
    assert f"{first.detectable:.3g}" == f"{second.detectable:.3g}"
    assert first.seconds < second.seconds


# -- probes that take as many calls as a minute has ---------------------------------------------


@pytest.fixture
def a_minute_of(monkeypatch):
    """A minute so short that a probe of slow calls ends."""

    def shorter(seconds):
        monkeypatch.setattr(pace, "MINUTE", seconds)

    return shorter


def slow_count(data, rng):
    time.sleep(0.002)
    return len(data) + rng.laplace(0, 0.1)


def test_slow_calls_are_fewer_said_beforehand_and_tested_until_decided(a_minute_of):
    a_minute_of(0.5)
    with pytest.warns(pace.SlowProbe, match=r"200 calls on each input, about .*90 % power"):
        verdict = audit.probe(slow_count, [1], [1, 2], claim=ta.guarantee(1))
    assert verdict.refuted
    assert verdict.evidence.calls <= 200
    assert isinstance(verdict.evidence, WagerEvidence)


def test_a_claim_by_its_curve_is_tested_by_ranks(a_minute_of):
    a_minute_of(0.5)
    with pytest.warns(pace.SlowProbe, match="with its noise divided by"):
        verdict = audit.probe(slow_count, [1], [1, 2], claim=LAPLACE)
    assert verdict.refuted
    assert verdict.evidence.calls == 200


def test_fast_calls_are_as_many_as_ever():
    def release(data, rng, size=None):
        return len(data) + rng.laplace(0, 1, size)

    assert audit.probe(release, [1], [1, 2], claim=LAPLACE).evidence.calls == 100_000


def test_a_confidence_that_is_not_the_usual_one_is_part_of_the_call():
    accesses = [Access.FUNCTION, Access.TRAININGS, Access.ONE_RUN]
    for confidence, part in ((0.95, ""), (0.99, ", confidence=0.99"), (0.9995, "0.9995")):
        planned = audit.plan(BARE, seconds=1, available=accesses, confidence=confidence)
        for design in planned.designs:
            assert design.call.endswith(part + ")")
            assert ("confidence" in design.call) == bool(part)


def test_designs_beyond_the_budget_come_last_and_say_so():
    claim = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.1, steps=60)
    planned = audit.plan(
        claim, seconds=60, budget=120, available=[Access.STEPS, Access.ONE_RUN], canaries=100
    )
    assert [design.access for design in planned.designs] == [Access.ONE_RUN, Access.STEPS]
    assert planned.designs[1].seconds > 120
    assert "about 2.5 min, more than the budget of 2 min." in str(planned)
    assert "about 60 s, more" not in str(planned)


def test_leaks_beyond_a_claim_of_zcdp_begin_at_it_and_a_search_that_finds_all_ends():
    claim = ta.guarantee(zcdp=0.1)
    scores = audit.Scores(members=np.arange(500) + 200.0, non_members=np.arange(500.0))
    verdict = audit.judge(claim, audit.many_runs(scores))
    assert 1.1 < verdict.detectable < 4
    asked = []
    assert weakest_found(lambda strength: asked.append(strength) or 1.0) == (True, min(asked))
    assert len(asked) < 30


@pytest.mark.parametrize("off", [1.0, 0.9, 1.4, 0.0])
@pytest.mark.parametrize("least", [1.003, 1.2, 1.9, 7.0, 63.0, 80.0])
def test_a_rough_power_says_where_to_look_and_changes_no_answer(least, off):
    """However far off it is: the answer of the careful search, after fewer questions if near."""

    def rising(at):
        return lambda strength: 1 - 0.1 * (at / strength) ** 2

    asked = []

    def careful(strength):
        asked.append(strength)
        return rising(least)(strength)

    rough = rising(1 + (least - 1) * off) if off else lambda strength: 0.0
    plain = weakest_found(rising(least))
    assert weakest_found(careful, rough) == plain
    if off == 1.0 and plain[0]:
        assert len(asked) <= 6


@pytest.mark.parametrize(
    ("claim", "calls"),
    [(LAPLACE, 2_000), (ta.DiscreteLaplace(10.0), 500), (ta.DiscreteGaussian(2.0), 500)],
    ids=str,
)
def test_the_quick_search_of_a_probe_s_plan_agrees_with_the_careful_one(claim, calls):
    careful = planned_power(claim, calls, 0.05)
    _, slow = weakest_found(careful)
    _, quick = weakest_found(careful, planned_power(claim, calls, 0.05, roughly=True))
    assert quick - 1 == pytest.approx(slow - 1, rel=0.03)


@pytest.mark.parametrize("rate", [0.02, 0.25])
@pytest.mark.parametrize("claim", [LAPLACE, ta.DiscreteLaplace(10.0), BARE], ids=str)
def test_counts_that_refute_are_known_to_a_few_without_a_certificate(claim, rate):
    counts = Counts(0, 800, round(800 * rate), 800)
    evidence = replace(uncounted(800, 0.05), counts=counts)
    curve = promised(claim)
    certified = evidence.needed(curve)
    assert abs(evidence.needed(curve, certified=False) - certified) <= 1


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1, 0.3])
def test_more_calls_find_no_less_whatever_the_delta(delta):
    """An event that happens with δ alone shows nothing, however many calls counted it."""
    powers = [
        planned_power(ta.guarantee(1, delta), calls, 0.05)(1.5)
        for calls in (1_000, 10_000, 100_000)
    ]
    assert min(powers) >= 0.95


def test_one_step_is_a_step_and_more_are_steps():
    design = audit.plan(ta.Gaussian(1), seconds=1, available=Access.STEPS).best
    assert design.size == "1 step of one training"
    assert "55 steps of one training" in design.costs
