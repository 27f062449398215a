"""What is known of the selections and of the sparse vector technique."""

import math

from tellapart.zoo import choice, sparse
from tellapart.zoo._numbers import ONE
from tellapart.zoo.specimen import specimen

_SUPPORT = "outputs that only one input can have"
_QUADRATURE = "chances of the options by quadrature"
_FOLKLORE = "a common mistake"
_SCORES = ((0.0, 3.0, 3.0, 3.0, 3.0), (1.0, 2.0, 2.0, 2.0, 2.0))
_ALL = ((0.0,) * 5, (1.0,) * 5)
_MANY = ((0.0,) * 50, (1.0, *(-1.0,) * 49))
_VALUES = ((1.0, 2.0, 8.0, 9.0), (1.0, 2.0, 8.0, 9.0, 10.0))
_MAXIMA = "Dwork and Roth 2014, section 3.3; Ding, Wang, Wang, Zhang and Kifer 2018"


def _many(power: float) -> float:
    """The loss of the first of 50 options that rises while all others fall."""
    return power - math.log((math.exp(power) + 49 * math.exp(-power)) / 50)


SELECTIONS = (
    specimen(
        choice.noisy_max_1,
        _SCORES,
        _ALL,
        claim=ONE,
        truth=0.995662664,
        flaw=None,
        known=_QUADRATURE,
        source=_MAXIMA,
    ),
    specimen(
        choice.noisy_max_2,
        _SCORES,
        _ALL,
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_QUADRATURE,
        source=_MAXIMA,
    ),
    specimen(
        choice.noisy_max_3,
        _ALL,
        claim=ONE,
        truth=2.5,
        known="limit of the ratio of densities at −∞",
        source=_MAXIMA,
    ),
    specimen(choice.noisy_max_4, _ALL, claim=ONE, truth=math.inf, known=_SUPPORT, source=_MAXIMA),
    specimen(
        choice.noisy_max_half,
        _SCORES,
        claim=ONE,
        truth=1.998985939,
        known=_QUADRATURE,
        source=_FOLKLORE,
    ),
    specimen(
        choice.exponential,
        _MANY,
        claim=ONE,
        truth=_many(0.5),
        flaw=None,
        known="ratio of the chances of the first option",
        source="McSherry and Talwar 2007",
    ),
    specimen(
        choice.exponential_no_half,
        _MANY,
        claim=ONE,
        truth=_many(1.0),
        known="ratio of the chances of the first option",
        source=_FOLKLORE,
    ),
    specimen(
        choice.permute_and_flip,
        _SCORES,
        claim=ONE,
        truth=1.0,
        flaw=None,
        known="all orders of the options",
        source="McKenna and Sheldon 2020",
    ),
    specimen(
        choice.flip_without_permuting,
        ((1.0, 0.0), (0.0, 1.0)),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source="made for the zoo",
    ),
    specimen(
        choice.median,
        _VALUES,
        claim=ONE,
        truth=0.883631137,
        flaw=None,
        known="ratio of densities that are constant in pieces",
        source="Smith 2011",
    ),
    specimen(
        choice.median_no_half,
        _VALUES,
        claim=ONE,
        truth=1.855343515,
        known="ratio of densities that are constant in pieces",
        source=_FOLKLORE,
    ),
    specimen(
        choice.median_of_values,
        _VALUES,
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
)

_LYU = "Lyu, Su and Li 2017, algorithm "
_LAST = ((*(0.0,) * 9, 1.0), (*(1.0,) * 9, 0.0))
_LAST_TWO = ((*(0.0,) * 8, 1.0, 1.0), (*(1.0,) * 8, 0.0, 0.0))
_HALVES = (((0.0,) * 5 + (1.0,) * 5), ((1.0,) * 5 + (0.0,) * 5))
_LONGER_HALVES = (((0.0,) * 7 + (1.0,) * 7), ((1.0,) * 7 + (0.0,) * 7))
_ALL_TEN = ((0.0,) * 10, (1.0,) * 10)
SPARSE = (
    specimen(
        sparse.sparse_vector_1,
        _LAST,
        _HALVES,
        _ALL_TEN,
        claim=ONE,
        truth=0.963997858,
        flaw=None,
        known="all outputs by quadrature over the threshold; 1 for ever more queries",
        source=_LYU + "1",
    ),
    specimen(
        sparse.sparse_vector_2,
        _LAST_TWO,
        _HALVES,
        _ALL_TEN,
        claim=ONE,
        truth=0.567059349,
        flaw=None,
        known="all outputs by quadrature over the thresholds",
        source=_LYU + "2",
    ),
    specimen(
        sparse.sparse_vector_3,
        _LAST,
        _HALVES,
        claim=ONE,
        truth=4.5,
        known="ratio of the densities of low values; grows with the number of queries",
        source=_LYU + "3",
    ),
    specimen(
        sparse.sparse_vector_4,
        _LAST,
        _HALVES,
        claim=ONE,
        truth=1.727911931,
        known="all outputs by quadrature over the threshold; 7/4 for ever more queries",
        source=_LYU + "4",
    ),
    specimen(
        sparse.sparse_vector_5,
        _HALVES,
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_LYU + "5",
    ),
    specimen(
        sparse.sparse_vector_6,
        _LONGER_HALVES,
        _HALVES,
        claim=ONE,
        truth=5.744246515,
        known="all outputs by quadrature over the threshold; grows with the number of queries",
        source=_LYU + "6",
    ),
    specimen(
        sparse.numerical_sparse_vector,
        _LAST_TWO,
        _HALVES,
        claim=ONE,
        truth=None,
        flaw=None,
        known="at most 1, by theorem",
        source="Dwork and Roth 2014, algorithm 3",
    ),
    specimen(
        sparse.sparse_vector_true_value,
        ((0.0, 3.0), (0.0, 4.0)),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
)
SPECIMENS = SELECTIONS + SPARSE
