"""What noise costs in accuracy: errors of answers against the laws of the noise, and limits."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart import choose, risk
from tellapart.choose import utility
from tellapart.choose.utility import answer_error, error_at_most, feasible, utility_at_least
from tellapart.mechanisms.choice import permute_and_flip

NOISE = {
    "Laplace": (ta.Laplace(3), stats.laplace(scale=3)),
    "Gaussian": (ta.Gaussian(3), stats.norm(scale=3)),
    "discrete Laplace": (ta.DiscreteLaplace(3), stats.dlaplace(1 / 3)),
    "uniform": (ta.UniformNoise(4), stats.uniform(-2, 4)),
}
EVERY = [
    *(mechanism for mechanism, _ in NOISE.values()),
    ta.DiscreteGaussian(2.5),
    ta.DiscreteGaussian(0.4),
    ta.TruncatedLaplace(scale=2, cutoff=5),
    ta.Staircase(epsilon=1),
    ta.UniformNoise(4, atom=0.3),
]


@pytest.mark.parametrize(("mechanism", "law"), NOISE.values(), ids=NOISE)
@pytest.mark.parametrize("coverage", [0.5, 0.95, 0.999])
def test_counts_and_sums_are_off_by_the_noise(mechanism, law, coverage):
    for statistic in ("count", "sum"):
        error = answer_error(mechanism, statistic, coverage=coverage)
        assert error.deviation == pytest.approx(law.std(), rel=1e-9)
        assert error.margin == pytest.approx(law.ppf((1 + coverage) / 2), rel=1e-9)
        assert error.exact


@pytest.mark.parametrize("mechanism", EVERY, ids=repr)
@pytest.mark.parametrize("cells", [1, 2, 30, 10**6])
def test_the_furthest_of_so_many_cells_by_drawing_or_by_its_law(mechanism, cells):
    """P(all within ± margin) is the coverage; of discrete noise it is the least such margin."""
    error = answer_error(mechanism, "histogram", cells=cells)
    assert error.deviation == pytest.approx(mechanism.deviation())
    alone = mechanism.margin(0.95 ** (1 / cells))
    assert error.margin == pytest.approx(alone, rel=1e-6)
    law = getattr(mechanism, "noise", None)
    if law is None:
        return

    def within(x):
        return (1 - 2 * float(law.above(np.array([x]))[0])) ** cells

    if law.whole:
        assert within(error.margin) >= 0.95 > (within(error.margin - 1) if error.margin else 0)
    else:
        assert within(error.margin) == pytest.approx(0.95, rel=1e-9)


@pytest.mark.parametrize("mechanism", [m for m in EVERY if hasattr(m, "noise")], ids=repr)
def test_drawn_noise_is_within_the_margin_as_often(mechanism):
    cells = 10
    rng = np.random.default_rng(5)
    drawn = np.asarray(mechanism.noise.cut(rng.random((20_000, cells)).ravel())).reshape(-1, cells)
    share = np.mean(np.abs(drawn).max(axis=1) <= mechanism.margin(0.95, cells) + 1e-9)
    assert share > 0.945
    if not mechanism.noise.whole:
        assert share < 0.955


def test_a_mean_is_a_sum_over_people_whose_number_is_public():
    total, mean = (answer_error(ta.Laplace(100), kind, people=400) for kind in ("sum", "mean"))
    assert mean.deviation == pytest.approx(total.deviation / 400)
    assert mean.margin == pytest.approx(total.margin / 400)


def by_enumeration(people, keep, flip, coverage):
    """The worst deviation and margin over all true counts, answer by answer."""
    deviation = margin = 0.0
    for true in range(people + 1):
        chances = [keep] * true + [flip] * (people - true)
        law = {}
        for answers in itertools.product([0, 1], repeat=people):
            chance = math.prod(p if yes else 1 - p for p, yes in zip(chances, answers, strict=True))
            error = abs((sum(answers) - people * flip) / (keep - flip) - true)
            law[round(error, 12)] = law.get(round(error, 12), 0.0) + chance
        deviation = max(deviation, math.sqrt(sum(p * e * e for e, p in law.items())))
        total = 0.0
        for error in sorted(law):
            total += law[error]
            if total >= coverage:
                margin = max(margin, error)
                break
    return deviation, margin


@pytest.mark.parametrize(
    ("mechanism", "keep", "flip"),
    [
        (ta.RandomizedResponse(1), 1 / (1 + math.exp(-1)), 1 / (1 + math.e)),
        (
            ta.RandomizedResponse(2, categories=5),
            math.exp(2) / (math.exp(2) + 4),
            1 / (math.exp(2) + 4),
        ),
        (ta.UnaryEncoding.optimised(1), 0.5, 1 / (1 + math.e)),
    ],
    ids=["yes-no", "five categories", "unary"],
)
@pytest.mark.parametrize("people", [1, 2, 7])
@pytest.mark.parametrize("coverage", [0.6, 0.95])
def test_counts_by_local_answers_against_enumeration(mechanism, keep, flip, people, coverage):
    error = answer_error(mechanism, people=people, coverage=coverage)
    deviation, margin = by_enumeration(people, keep, flip, coverage)
    assert error.deviation == pytest.approx(deviation, rel=1e-9)
    assert error.margin == pytest.approx(margin, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("people", [2_001, 5_000, 100_000])
@pytest.mark.parametrize(("keep", "flip"), [(0.731, 0.269), (0.5, 0.05), (0.5, 1e-6)])
def test_counts_of_many_are_bounded_from_above_and_not_by_much(people, keep, flip):
    error = answer_error(ta.UnaryEncoding(keep, flip), people=people)
    assert not error.exact
    for true in (0, people // 3, people // 2, people):
        kept = stats.binom(true, keep).pmf(np.arange(true + 1))
        flipped = stats.binom(people - true, flip).pmf(np.arange(people - true + 1))
        law = np.maximum(
            np.fft.irfft(
                np.fft.rfft(kept, 2 * people) * np.fft.rfft(flipped, 2 * people), 2 * people
            )[: people + 1],
            0,
        )
        off = (np.arange(people + 1) - people * flip) / (keep - flip) - true
        assert law[np.abs(off) <= error.margin].sum() >= 0.95
    assert error.margin <= 2.75 * error.deviation + 8


def test_a_histogram_of_local_answers_adds_up_chances_of_failure():
    one = answer_error(ta.RandomizedResponse(1, 4), people=200, coverage=1 - 0.05 / 4)
    every = answer_error(ta.RandomizedResponse(1, 4), "histogram", people=200, cells=4)
    assert every.margin == one.margin
    assert not every.exact
    shuffled = ta.RandomizedResponse(1, 4).shuffled(200)
    assert (
        answer_error(shuffled).margin
        == answer_error(ta.RandomizedResponse(1, 4), people=200).margin
    )


@pytest.mark.parametrize("mechanism", [ta.ExponentialMechanism, ta.PermuteAndFlip])
@pytest.mark.parametrize("monotone", [False, True])
def test_quantiles_hold_for_the_worst_utilities(mechanism, monotone):
    epsilon, candidates = 0.7, 12
    error = answer_error(mechanism(epsilon, monotone=monotone), "quantile", candidates=candidates)
    unit = epsilon / (1 if monotone else 2)
    rng = np.random.default_rng(1)
    worst = -np.r_[0, np.full(candidates - 1, error.margin * (1 + 1e-9))]
    drawn = [-rng.integers(0, 30, candidates).astype(float) for _ in range(50)]
    for ranks in [worst, *drawn]:
        gap = ranks - ranks.max()
        chance = np.exp(unit * gap) / np.exp(unit * gap).sum()
        if mechanism is ta.PermuteAndFlip:
            chance = np.exp(permute_and_flip(unit * gap))
        assert chance[-gap > error.margin].sum() <= 0.05 + 1e-9
    if mechanism is ta.ExponentialMechanism:
        near = np.exp(unit * worst)
        assert near[1:].sum() / near.sum() == pytest.approx(0.05, rel=1e-6)


def test_noise_on_the_mean_gradient():
    training = ta.dp_sgd(1.2, epochs=15, batch_size=256, data_size=60_000)
    error = answer_error(training, "gradient", batch_size=256, clipping_norm=2)
    assert error.deviation == pytest.approx(1.2 * 2 / 256)
    assert error.margin == pytest.approx(1.2 * 2 / 256 * 1.959964, rel=1e-6)
    assert str(error).startswith("error of the mean gradient, for each coordinate: standard dev")


@pytest.mark.parametrize("scheme", list(ta.Sampling))
def test_noise_on_the_mean_gradient_whatever_the_loader(scheme):
    truncated = scheme is ta.Sampling.TRUNCATED_POISSON
    sizes = {"batch_size": 200, "data_size": 20_000, "epochs": 1}
    training = ta.dp_sgd(1.2, **sizes, scheme=scheme, largest_batch=400 if truncated else None)
    error = answer_error(training, "gradient", batch_size=200)
    assert error.deviation == pytest.approx(1.2 / 200)
    with pytest.raises(ta.Unsupported):  # rounds that share noise have no such number
        answer_error(ta.matrix_mechanism(np.eye(2), 1, [[0]]), "gradient", batch_size=200)


@pytest.mark.parametrize("scheme", [ta.Sampling.POISSON, ta.Sampling.WITHOUT_REPLACEMENT])
def test_noise_on_the_mean_gradient_where_a_record_is_replaced(scheme):
    sizes = {"batch_size": 200, "data_size": 20_000, "epochs": 1}
    training = ta.dp_sgd(1.2, **sizes, scheme=scheme, neighbours=ta.Neighbours.REPLACE)
    error = answer_error(training, "gradient", batch_size=200, clipping_norm=3)
    assert error.deviation == pytest.approx(1.2 * 3 / 200)


def test_of_several_releases_it_is_the_error_of_each():
    once, often = (answer_error(m) for m in (ta.Gaussian(4), ta.Gaussian(4).repeated(12)))
    assert (once.deviation, once.margin) == (often.deviation, often.margin)
    assert (once.of, often.of) == ("the count", "each of 12 releases")
    mixed = answer_error(ta.Gaussian(4).repeated(2).then(ta.Laplace(9)))
    assert mixed.margin == ta.Laplace(9).margin()
    assert mixed.of == "the least accurate of 3 releases"
    table = choose.frontier(lambda s: ta.Gaussian(s).repeated(12), [4])
    assert table.rows[0].deviation == 4
    assert "errors are those of each of 12 releases" in str(table)


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        (ta.guarantee(1), {}, "the error of an answer is that of a mechanism"),
        (ta.Gaussian(1).sampled(0.1), {}, "the error of an answer from a sample of the data"),
        (ta.Gaussian(1), {"statistic": "quantile"}, "the error of a quantile is known for"),
        (ta.ReportNoisyMax(1), {"statistic": "quantile", "candidates": 3}, "the error of a quant"),
        (
            ta.ExponentialMechanism(1),
            {},
            "no error of the answer is known for Exp",
        ),
        (ta.Laplace(1), {"statistic": "gradient", "batch_size": 2}, "the noise on the mean grad"),
    ],
)
def test_what_is_not_known_is_not_given(mechanism, options, message):
    with pytest.raises(ta.Unsupported, match="^" + re.escape(message)):
        answer_error(mechanism, **options)


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        (ta.Laplace(1), {"statistic": "median"}, "statistic must be one of count, sum, mean, "),
        (ta.Laplace(1), {"statistic": "mean"}, "people must be given for a mean, as people=1000"),
        (ta.Laplace(1), {"statistic": "histogram"}, "cells must be given for a histogram"),
        (ta.Laplace(1), {"coverage": 1}, "coverage must lie strictly between 0 and 1, got 1"),
        (ta.RandomizedResponse(1), {}, "people must be given for a count"),
        (ta.dp_sgd(1, 0.1, 9), {"statistic": "gradient"}, "batch_size must be given for a grad"),
    ],
)
def test_bad_input_is_refused(mechanism, options, message):
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        answer_error(mechanism, **options)


ADVANTAGE = choose.at_most(0.1, risk.advantage)


def test_a_parameter_between_a_risk_and_a_utility():
    both = feasible(ta.Gaussian, [ADVANTAGE], [error_at_most(10)])
    assert both.kept
    assert both.choice == choose.least(ta.Gaussian, [ADVANTAGE])
    assert both.furthest == pytest.approx(10 / 1.959963984540054, rel=1e-8)
    assert error_at_most(10).kept(ta.Gaussian(both.furthest))
    assert not error_at_most(10).kept(ta.Gaussian(both.furthest * (1 + 1e-8)))


def test_a_clash_names_both_limits():
    faint = choose.at_most(0.9, risk.advantage)
    neither = feasible(
        ta.Gaussian, [faint, ADVANTAGE], [error_at_most(5), error_at_most(100, "sum")]
    )
    assert not neither.kept
    assert [(str(a), str(b)) for a, b in neither.clashes] == [
        ("membership advantage ≤ 0.1", "95 % interval of a count ≤ 5")
    ]
    assert neither.furthest == pytest.approx(5 / 1.959963984540054, rel=1e-8)


def test_families_by_epsilon_and_by_steps():
    by_epsilon = feasible(
        ta.Laplace.with_epsilon, [ADVANTAGE], [error_at_most(40)], grows_private=False
    )
    assert by_epsilon.kept
    assert by_epsilon.furthest == pytest.approx(math.log(20) / 40, rel=1e-8)
    assert by_epsilon.furthest < by_epsilon.choice.parameter
    steps = feasible(
        lambda steps: ta.Gaussian(20).repeated(int(steps)),
        [ADVANTAGE],
        [utility_at_least(8, lambda mechanism: mechanism.times)],
        grows_private=False,
        whole=True,
    )
    assert (steps.choice.parameter, steps.furthest) == (25, 8)


def test_a_utility_that_no_member_has():
    never = utility_at_least(1, lambda mechanism: 0.0)
    result = feasible(ta.Gaussian, [ADVANTAGE], [never])
    assert not result.kept
    assert result.furthest is None
    always = feasible(ta.Gaussian, [ADVANTAGE], [utility_at_least(1, lambda mechanism: 2.0)])
    assert always.kept
    with pytest.raises(ta.InvalidArgument, match=r"^utility must be a list of choose\."):
        feasible(ta.Gaussian, [ADVANTAGE], [ADVANTAGE])
    assert utility.noise_error(ta.guarantee(1)) is None


def test_the_error_of_a_mean_says_where_the_noise_is_added():
    """On the sum: who adds it to the mean itself is off by as many times as there are people."""
    error = choose.answer_error(ta.Laplace(3.9), "mean", people=30)
    assert "a sum with this noise, divided by a public number of people" in str(error)
    assert error.deviation == choose.answer_error(ta.Laplace(3.9), "sum").deviation / 30
