"""What is known of randomised answers and of tables and their summaries."""

import math

from tellapart.curve.guarantees import guarantee
from tellapart.zoo import local, summaries
from tellapart.zoo._numbers import ONE
from tellapart.zoo.specimen import specimen

_RATIO = "ratio of the two chances"
_LAPLACE = "ratio of two Laplace densities"
_SUPPORT = "outputs that only one input can have"
_TAILS = "ratio of Laplace densities of unlike scale, unbounded"
_BITS = "product over the bits that differ"
_FOLKLORE = "a common mistake"
_RAPPOR = "Erlingsson, Pihur and Korolova 2014"
_UNARY = "Wang, Blocki, Li and Jha 2017"
_COLOURS = ("red", "green")
# Each of the hashes sets one bit in either filter.
_ONE_TIME = 2 * local.HASHES * math.log((1 - local.ONE_TIME / 2) / (local.ONE_TIME / 2))


def _rappor() -> float:
    """The loss of one report: bits that say 1 for a set bit, and for one that is not."""
    coin = local.LASTING / 2 * (local.ZERO + local.ONE)
    one = coin + (1 - local.LASTING) * local.ONE
    zero = coin + (1 - local.LASTING) * local.ZERO
    return local.HASHES * math.log(one * (1 - zero) / (zero * (1 - one)))


LOCAL = (
    specimen(
        local.randomised_response,
        (False, True),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_RATIO,
        source="Warner 1965",
    ),
    specimen(
        local.randomised_response_too_honest,
        (False, True),
        claim=ONE,
        truth=math.log(math.expm1(2)),
        known=_RATIO,
        source="made for the zoo",
    ),
    specimen(
        local.colour_response,
        _COLOURS,
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_RATIO,
        source="Kairouz, Bonawitz and Ramage 2016",
    ),
    specimen(
        local.colour_response_binary_odds,
        _COLOURS,
        claim=ONE,
        truth=1 + math.log(3),
        known=_RATIO,
        source=_FOLKLORE,
    ),
    specimen(
        local.rappor_one_time,
        ("a", "b"),
        claim=guarantee(epsilon=_ONE_TIME),
        truth=_ONE_TIME,
        flaw=None,
        known=_BITS,
        source=_RAPPOR,
    ),
    specimen(
        local.rappor,
        ("a", "b"),
        claim=guarantee(epsilon=_rappor()),
        truth=_rappor(),
        flaw=None,
        known=_BITS,
        source=_RAPPOR,
    ),
    specimen(local.unary, (0, 1), claim=ONE, truth=1.0, flaw=None, known=_BITS, source=_UNARY),
    specimen(local.unary_full_budget, (0, 1), claim=ONE, truth=2.0, known=_BITS, source=_FOLKLORE),
    specimen(
        local.unary_optimised,
        (0, 1),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_BITS,
        source=_UNARY,
    ),
)

_BINS = ((5, 3, 2), (5, 4, 2))
_NEW_KEY = ({"a": 5}, {"a": 5, "b": 1})
SUMMARIES = (
    specimen(
        summaries.histogram,
        _BINS,
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_LAPLACE,
        source="Dwork, McSherry, Nissim and Smith 2006",
    ),
    specimen(
        summaries.histogram_upside_down,
        _BINS,
        claim=guarantee(epsilon=summaries.UPSIDE_DOWN),
        truth=2.0,
        known=_LAPLACE,
        source="Ding, Wang, Wang, Zhang and Kifer 2018",
    ),
    specimen(
        summaries.histogram_one_noise,
        _BINS,
        claim=ONE,
        truth=math.inf,
        known="differences of bins have no noise",
        source=_FOLKLORE,
    ),
    specimen(
        summaries.histogram_exact_zeros,
        ((0, 3, 2), (1, 3, 2)),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.prefix_sums,
        ((0.0,) * 10, (1.0,) * 10),
        claim=ONE,
        truth=10.0,
        known="product of ten Laplace ratios",
        source="Bichsel et al. 2021",
    ),
    specimen(
        summaries.bounded_sum,
        ((0.5,), (0.5, 10.0)),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_LAPLACE,
        source="Dwork, McSherry, Nissim and Smith 2006",
    ),
    specimen(
        summaries.sum_without_clipping,
        ((0.5,), (0.5, 10.0)),
        claim=ONE,
        truth=10.0,
        known=_LAPLACE,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.sum_nan,
        ((0.5,), (0.5, math.nan)),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.mean_by_true_size,
        ((0.0,), (0.0, 0.0)),
        claim=ONE,
        truth=math.inf,
        known=_TAILS,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.mean_by_noisy_size,
        ((0.0,), (0.0, 1.0)),
        ((0.0,), (0.0, 0.0)),
        claim=ONE,
        truth=None,
        flaw=None,
        known="at most 1, by composition of two halves",
        source="Dwork and Roth 2014, theorem 3.14",
    ),
    specimen(
        summaries.mean_bound_from_data,
        ((1.0,) * 3, (1.0, 1.0, 1.0, 10.0)),
        claim=ONE,
        truth=math.inf,
        known=_TAILS,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.scale_from_private_count,
        ((1, 1, 0), (1, 1, 1)),
        claim=ONE,
        truth=math.inf,
        known="one input has one output",
        source=_FOLKLORE,
    ),
    specimen(
        summaries.mean_with_size,
        ((0.5,), (0.5, 0.5)),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.keys_above_threshold,
        ({"a": 5}, {"a": 6}),
        _NEW_KEY,
        claim=guarantee(1, summaries.KEY_DELTA),
        truth=1 + 2 * math.log1p(-summaries.KEY_DELTA),
        flaw=None,
        known="Laplace curve: what is hidden has one and the same loss",
        source="Korolova, Kenthapadi, Mishra and Ntoulas 2009",
    ),
    specimen(
        summaries.keys_without_threshold,
        _NEW_KEY,
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source="Korolova, Kenthapadi, Mishra and Ntoulas 2009",
    ),
    specimen(
        summaries.keys_by_true_count,
        ({"a": 5, "b": 4}, {"a": 5, "b": 5}),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        summaries.count_or_none,
        (5, 6),
        (4, 5),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_LAPLACE,
        source="Dwork and Roth 2014, proposition 2.1",
    ),
    specimen(
        summaries.count_or_none_by_true_count,
        (4, 5),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
)
SPECIMENS = LOCAL + SUMMARIES
