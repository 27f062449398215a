"""What is known of the numbers with noise."""

import math

from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.noise import Gaussian
from tellapart.zoo import additive, discrete
from tellapart.zoo.specimen import USUAL_DELTA, Flaw, specimen

ONE = guarantee(epsilon=1)
_LAPLACE = "Dwork, McSherry, Nissim and Smith 2006"
_FOLKLORE = "a common mistake"
_RATIO = "ratio of two Laplace densities"
_SUPPORT = "outputs that only one input can have"
_AMPLIFIED = math.log1p(0.1 * math.expm1(1))


def gaussian_epsilon(mu: float, delta: float = USUAL_DELTA) -> float:
    """The exact ε of Gaussian noise whose means lie μ deviations apart."""
    return Gaussian(1 / mu).curve().epsilon(delta)


LAPLACE = (
    specimen(
        additive.laplace,
        (0.0, 1.0),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_RATIO,
        source=_LAPLACE,
    ),
    specimen(
        additive.laplace_half_scale,
        (0.0, 1.0),
        claim=ONE,
        truth=2.0,
        known=_RATIO,
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_wrong_sensitivity,
        ((), (3.0,)),
        claim=ONE,
        truth=3.0,
        known=_RATIO,
        source="Casacuberta, Shoemate, Vadhan and Wagaman 2022",
    ),
    specimen(
        additive.laplace_vector,
        ((0.0,) * 3, (1.0,) * 3),
        claim=ONE,
        truth=3.0,
        known="product of three Laplace ratios",
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_rounded,
        (0.0, 1.0),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known="sum over the whole numbers",
        source=_LAPLACE,
    ),
    specimen(
        additive.laplace_clamped,
        (0.0, 1.0),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_RATIO + ", from 1 on",
        source=_LAPLACE,
    ),
    specimen(
        additive.laplace_redrawn,
        (0.0, 1.0),
        claim=ONE,
        truth=1 + math.log(2 - math.exp(-1)),
        known=_RATIO + " at 0, over the chances that nothing is redrawn",
        source="Holohan, Antonatos, Braghin and Mac Aonghusa 2018",
    ),
    specimen(
        additive.laplace_absolute,
        (0.0, 1.0),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_integer_noise,
        (0.0, 0.5),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_best_of_three,
        (0.0, 1.0),
        claim=ONE,
        truth=3.0,
        known="limit of the ratio of densities at −∞",
        source="Liu and Talwar 2019",
    ),
    specimen(
        additive.laplace_sampled,
        ((), (1.0,)),
        claim=guarantee(epsilon=_AMPLIFIED),
        truth=_AMPLIFIED,
        flaw=None,
        known="ratio of a mixture of two Laplace densities to one",
        source="Balle, Barthe and Gaboardi 2018",
    ),
    specimen(
        additive.laplace_first_rows,
        ((0.0,) * 10, (1.0, *(0.0,) * 9)),
        claim=guarantee(epsilon=_AMPLIFIED),
        truth=1.0,
        known=_RATIO,
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_fixed_seed,
        (0.0, 1.0),
        claim=ONE,
        truth=math.inf,
        flaw=Flaw.CALLS,
        known="each input has one output",
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_memoised,
        (0.0, 1.0),
        claim=ONE,
        truth=None,
        flaw=Flaw.CALLS,
        known="the first call keeps ε = 1; the second takes the noise off",
        source=_FOLKLORE,
    ),
    specimen(
        additive.laplace_few_seeds,
        (0.0, 1.0),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source="CWE-339, a small space of seeds",
    ),
    specimen(
        additive.laplace_textbook,
        (0.0, 1.0),
        claim=ONE,
        truth=math.inf,
        flaw=Flaw.BITS,
        known="doubles that only one input can reach; 1 if read as real numbers",
        source="Mironov 2012",
    ),
    specimen(
        additive.laplace_snapped,
        (0.0, 1.0),
        claim=ONE,
        truth=1 / additive.SNAP_SCALE,
        flaw=None,
        known="sum over the grid, with a real logarithm; theorem 1 with doubles",
        source="Mironov 2012",
    ),
)

GAUSSIAN = (
    specimen(
        additive.gaussian,
        (0.0, 1.0),
        claim=guarantee(mu=1),
        truth=gaussian_epsilon(1),
        flaw=None,
        known="exact curve",
        source="Dong, Roth and Su 2022",
    ),
    specimen(
        additive.gaussian_analytic,
        (0.0, 1.0),
        claim=guarantee(*additive.CLASSICAL),
        truth=1.0,
        flaw=None,
        known="exact curve",
        source="Balle and Wang 2018",
    ),
    specimen(
        additive.gaussian_classical,
        (0.0, 1.0),
        claim=guarantee(*additive.CLASSICAL),
        truth=gaussian_epsilon(1 / additive.classical_sigma(*additive.CLASSICAL)),
        flaw=None,
        known="exact curve",
        source="Dwork and Roth 2014, appendix A",
    ),
    specimen(
        additive.gaussian_classical_beyond,
        (0.0, 1.0),
        claim=guarantee(*additive.BEYOND),
        truth=gaussian_epsilon(1 / additive.classical_sigma(*additive.BEYOND), additive.BEYOND[1]),
        known="exact curve",
        source="Balle and Wang 2018",
    ),
    specimen(
        additive.gaussian_pure,
        (0.0, 1.0),
        claim=ONE,
        truth=math.inf,
        known="ratio of two Gaussian densities, unbounded",
        source=_FOLKLORE,
    ),
    specimen(
        additive.gaussian_variance,
        (0.0, 1.0),
        claim=guarantee(mu=2),
        truth=gaussian_epsilon(4),
        known="exact curve",
        source=_FOLKLORE,
    ),
    specimen(
        additive.gaussian_textbook,
        (0.0, 1.0),
        claim=guarantee(mu=1),
        truth=math.inf,
        flaw=Flaw.BITS,
        known="bits that no output on 1 has; that of the exact curve if read as real numbers",
        source="Haney, Desfontaines, Hartman, Shrestha and Hay 2022",
    ),
    specimen(
        additive.gaussian_vector,
        ((0.0,) * 4, (1.0,) * 4),
        claim=guarantee(mu=1),
        truth=gaussian_epsilon(2),
        known="exact curve",
        source=_FOLKLORE,
    ),
)

_GEOMETRIC = "Ghosh, Roughgarden and Sundararajan 2012"
_PMF = "sum over the whole numbers"
DISCRETE = (
    specimen(
        discrete.geometric,
        (2, 3),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_PMF,
        source=_GEOMETRIC,
    ),
    specimen(
        discrete.geometric_truncated,
        (2, 3),
        claim=ONE,
        truth=1.0,
        flaw=None,
        known=_PMF,
        source=_GEOMETRIC,
    ),
    specimen(
        discrete.geometric_coarse,
        (2, 3),
        claim=guarantee(epsilon=discrete.COARSE_EPSILON),
        truth=math.log(2),
        known=_PMF,
        source="Balcer and Vadhan 2019; Bichsel, Steffen, Bogunovic and Vechev 2021",
    ),
    specimen(
        discrete.geometric_one_sided,
        (2, 3),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
    specimen(
        discrete.geometric_cut_noise,
        (2, 3),
        claim=ONE,
        truth=math.inf,
        known=_SUPPORT,
        source=_FOLKLORE,
    ),
)
SPECIMENS = LAPLACE + GAUSSIAN + DISCRETE
