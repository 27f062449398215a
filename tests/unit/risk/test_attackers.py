"""Reconstruction, attribute inference and singling out: what is said, and what is refused."""

import re

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import expon, norm, poisson, randint, uniform

import tellapart as ta
from tellapart import risk
from tellapart._numeric.text import to_digits
from tellapart.curve.closed import GuaranteeCurve
from tellapart.neighbours import Neighbours, Order

NOISE = ta.Gaussian(sigma=1).curve()
REPLACED = ta.guarantee(epsilon=1, neighbours=Neighbours.REPLACE)
TRAINED = ta.Gaussian(sigma=1).sampled(0.01).repeated(100)


def test_a_bound_names_its_relation_its_order_and_its_baseline():
    bound = risk.reconstruction(TRAINED.curve(), 0.001)
    assert (bound.neighbours, bound.order, bound.baseline, bound.relation) == (
        Neighbours.ADD_REMOVE,
        Order.PRESENT,
        0.001,
        "≤",
    )
    assert bound.gain == float(bound) - 0.001
    assert risk.reconstruction(REPLACED, 0.001).order is None
    assert bound.largest_gain == TRAINED.curve(Order.PRESENT).delta(0.0)


def test_every_way_to_the_same_curve_gives_the_same_bound():
    ahead, back = TRAINED.curve(Order.PRESENT), TRAINED.curve(Order.ABSENT)
    bounds = {float(risk.reconstruction(curve, 1e-4)) for curve in (ahead, back, TRAINED.curve())}
    assert len(bounds) == 1
    assert bounds.pop() > back.tpr(1e-4)  # the wrong order, which is less


def test_an_unknown_relation_is_said():
    told = risk.reconstruction(ta.guarantee(epsilon=1), 0.01)
    assert told.neighbours is None
    assert told.sentence == (
        "Whoever could guess this about a person with chance 0.01, knowing everyone else's data, "
        "guesses it with chance at most 0.0272 after the release. The neighbouring relation is not "
        "known; this holds for a record added, removed, replaced or zeroed out, if the curve "
        "bounds every such pair."
    )
    asymmetric = ta.from_pmfs([0.9, 0.1], [0.99, 0.01])
    assert risk.reconstruction(asymmetric, 0.05) > asymmetric.tpr(0.05)


def test_sentences_round_up_and_never_say_anonymous():
    bounds = [
        risk.reconstruction(NOISE, 0.01),
        risk.attribute_inference(NOISE, prior=[0.2, 0.8]),
        risk.reidentification(NOISE, candidates=1000),
        risk.guess(REPLACED, values=1000),
        risk.singling_out(NOISE, weight=1e-6, people=1000),
    ]
    for bound in bounds:
        assert "anonym" not in bound.sentence
        shown = float(re.search(r"at most ([0-9.e-]+[0-9])", bound.sentence)[1])
        assert shown >= bound
        assert f"{to_digits(bound.baseline, 3, up=False):.3g}" in bound.sentence
    assert bounds[2].sentence == (
        "Whoever picks one of 1,000 equally likely people, knowing everyone else's data, is right "
        "with chance at most 0.0183 after the release; blindly, with 0.001."
    )
    assert bounds[4].sentence == (
        "Among 1,000 people, a description that fits one person in 1,000,000 singles someone out "
        "with chance at most 0.0873 after the release; blindly, with 0.000999."
    )


def test_arrays_give_arrays():
    asked = np.array([[0.01, 0.1], [0.2, 0.3]])
    several = risk.reconstruction(NOISE, asked)
    assert several.shape == asked.shape
    assert several[0, 0] == risk.reconstruction(NOISE, 0.01)
    assert np.array_equal(risk.attribute_inference(NOISE, baseline=asked), several)


def test_priors_by_name_and_in_order():
    named = risk.attribute_inference(NOISE, prior={"A": 0.3, "B": 0.7})
    assert named == risk.attribute_inference(NOISE, prior=[0.3, 0.7])
    assert named == risk.reconstruction(NOISE, 0.7)


class Gap:
    """Density x on [0, 1] and 4 − x on [3, 4]."""

    def cdf(self, x):
        first, second = np.clip(x, 0, 1), np.clip(x, 3, 4)
        return first**2 / 2 + 0.5 - (4 - second) ** 2 / 2

    def ppf(self, q):
        q = np.asarray(q, dtype=float)
        return np.where(q <= 0.5, np.sqrt(2 * q), 4 - np.sqrt(2 * np.maximum(1 - q, 0)))


@pytest.mark.parametrize(
    ("law", "tolerance", "truth"),
    [
        (uniform(0, 1), 0.05, 0.1),
        (norm(170, 10), 1.0, norm.cdf(0.1) - norm.cdf(-0.1)),
        (norm(), 0.01, 2 * norm.cdf(0.01) - 1),
        (expon(scale=2), 0.5, -np.expm1(-0.5)),
        (norm(), 6.0, 2 * norm.cdf(6) - 1),
        (randint(0, 10), 1, 0.3),  # atoms at both ends count
        (randint(0, 10), 0.9, 0.2),
        (poisson(3), 1, poisson.pmf([2, 3, 4], 3).sum()),
        (Gap(), 0.05, 0.5 - 0.9**2 / 2),
        (Gap(), 1.5, 0.75),  # best estimates lie where nobody does
    ],
)
def test_the_best_blind_estimate(law, tolerance, truth):
    baseline = risk.blind_estimate(law, tolerance=tolerance)
    assert truth * (1 - 1e-9) <= baseline <= min(1.0, truth * 1.01)


@pytest.mark.parametrize("family", [ta.guarantee, lambda mu: ta.guarantee(mu=mu)])
def test_rounding_never_promises_more(family):
    """Against forty digits; the Gaussian's quantiles lose most."""
    draw = np.random.default_rng(5)
    mp.mp.dps = 40
    for _ in range(60):
        size, kappa = float(10 ** draw.uniform(-6, 1)), float(10 ** draw.uniform(-290, -0.1))
        curve = family(size)
        bound = risk.reconstruction(curve, kappa)
        if isinstance(curve, GuaranteeCurve):
            grown = mp.e ** mp.mpf(size)
            truth = min(grown * kappa, 1 - (1 - mp.mpf(kappa)) / grown)
        else:
            start = mp.mpf(float(norm.ppf(kappa)))
            quantile = mp.findroot(
                lambda x, k=kappa: mp.log(mp.ncdf(x)) - mp.log(mp.mpf(k)),
                start,
                solver="newton",
                df=lambda x: mp.npdf(x) / mp.ncdf(x),
            )
            truth = mp.ncdf(quantile + mp.mpf(size))
        assert truth <= float(bound) <= min(1.0, float(truth) * (1 + 1e-11))
    assert risk.extra_cost(ta.guarantee(1e-17), costs={0.3: 1e20}) >= 300
    assert risk.reconstruction(ta.guarantee(0.0), 0.3) == 0.3


def test_singling_out_has_no_largest_gain():
    """The advantage of one person is no bound where a thousand are tried."""
    bound = risk.singling_out(ta.guarantee(0.0, 0.001), weight=1e-9, people=1000)
    assert bound.gain > 0.6
    with pytest.raises(ta.errors.Unsupported, match="tries all of 1,000"):
        _ = bound.largest_gain
    assert risk.singling_out(ta.guarantee(1), weight=0.3, people=1).largest_gain < 0.47


def test_a_sentence_rounds_a_baseline_down_and_a_fit_up():
    """So that it is true as it stands."""
    assert "one person in 3 " in risk.singling_out(NOISE, weight=0.4, people=2).sentence
    assert (
        "one person in 1,000,000,000 " in risk.singling_out(NOISE, weight=1e-9, people=2).sentence
    )
    assert "with chance 0.999," in risk.reconstruction(NOISE, 0.9996).sentence


def test_a_cost_counts_from_a_release_without_the_person():
    """What an insurer does on an output has its chance under h0, not without any output."""
    flip = ta.CustomMechanism.from_pmfs(absent=[0.6, 0.4], present=[0.4, 0.6])
    assert risk.extra_cost(flip.curve(), costs={0.4: 1000}) == pytest.approx(200)


def test_a_prior_that_sums_to_a_little_more_is_not_scaled_down():
    assert risk.blind_guess([0.9 + 9e-10, 0.1]) == 0.9 + 9e-10


def test_the_best_blind_description():
    for people in (1, 2, 10, 1000):
        for weight in (1e-6, 0.01, 0.5, 0.9):
            w = np.linspace(0, weight, 10_001)
            best = np.max(people * w * (1 - w) ** (people - 1))
            blind = risk.blind_singling_out(weight=weight, people=people)
            assert best - 1e-12 <= blind <= best * (1 + 1e-3)


BAD = [
    (
        lambda: risk.reconstruction(NOISE, 0),
        "baseline must lie strictly between 0 and 1",
    ),
    (
        lambda: risk.reconstruction(NOISE, 1),
        "baseline must lie strictly between 0 and 1",
    ),
    (lambda: risk.reconstruction(NOISE, 1.5), "baseline must lie in [0, 1], got 1.5"),
    (lambda: risk.reconstruction(NOISE, "x"), "baseline must be a number"),
    (
        lambda: risk.reconstruction(ta.Gaussian(1), 0.1),
        "curve must be a TradeoffCurve",
    ),
    (lambda: risk.attribute_inference(NOISE), "baseline must be given, or prior, but not both"),
    (
        lambda: risk.attribute_inference(NOISE, baseline=0.1, prior=[0.5, 0.5]),
        "baseline must be given, or prior, but not both",
    ),
    (lambda: risk.attribute_inference(NOISE, prior=[0.5, 0.4]), "prior must sum to 1, got 0.9"),
    (lambda: risk.attribute_inference(NOISE, prior=[1.0]), "prior must leave a doubt"),
    (lambda: risk.attribute_inference(NOISE, prior=[1.5, -0.5]), "prior must be at least 0"),
    (lambda: risk.reidentification(NOISE, candidates=1), "candidates must be"),
    (lambda: risk.guess(REPLACED, values=1), "values must be"),
    (lambda: risk.singling_out(NOISE, weight=0, people=10), "weight must lie"),
    (lambda: risk.singling_out(NOISE, weight=1e-6, people=0), "people must be"),
    (lambda: risk.blind_estimate(3, tolerance=1), "distribution must have cdf and ppf"),
    (lambda: risk.blind_estimate(norm(), tolerance=0), "tolerance must be"),
    (lambda: risk.blind_estimate(norm(), tolerance=1e-9), "tolerance must be larger beside"),
    (lambda: risk.predicate_weight([0.5, 0.5], bool), "prior must be a mapping"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ta.InvalidArgument, match="^" + re.escape(message)):
        call()


def test_a_summary_has_them_where_their_arguments_are_given():
    keys = {reading.key for reading in risk.summary(NOISE)}
    assert keys.isdisjoint({"reconstruction", "attribute_inference", "singling_out"})
    readings = {
        reading.key: reading
        for reading in risk.summary(NOISE, baseline=0.01, predicate_weight=1e-6, people=1000)
    }
    bound = risk.reconstruction(NOISE, 0.01)
    assert readings["reconstruction"].value == bound
    assert readings["reconstruction"].baseline == 0.01
    assert readings["reconstruction"].relation == "≤"
    blind = risk.blind_singling_out(weight=1e-6, people=1000)
    assert readings["singling_out"].baseline == blind


def test_a_summary_of_an_attack_leaves_out_what_it_does_not_show():
    asked = {"baseline": 0.01, "predicate_weight": 1e-6, "people": 1000}
    promised = {reading.key for reading in risk.summary(ta.guarantee(epsilon=1), **asked)}
    shown = {reading.key for reading in risk.summary(ta.attack([(0.1, 0.5)]), **asked)}
    assert promised - shown == {"reconstruction", "attribute_inference", "singling_out"}
