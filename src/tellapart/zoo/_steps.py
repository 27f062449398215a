"""What is known of the gradient steps: their noise is Gaussian, so μ tells all."""

import math

from tellapart.curve.guarantees import guarantee
from tellapart.zoo import steps
from tellapart.zoo._numbers import gaussian_epsilon
from tellapart.zoo.specimen import USUAL_DELTA, Flaw, Release, Specimen, specimen

_MU = guarantee(mu=1)
_OTHERS = ((0.0, 0.0),) * 3
_CANARY = ((0.0, 0.0),) * 3 + ((10.0, 0.0),)
_WIDE = ((0.0,) * 8,) * 3
# Subsampled Gaussian noise, σ = 1, sampled at 1/100, 100 steps: ε at δ = 1e-5, rounded up.
_AS_IF_SAMPLED = 0.7181


def _step(
    mechanism: Release,
    absent: object,
    present: object,
    mu: float,
    source: str,
    flaw: Flaw | None = Flaw.LAW,
) -> Specimen:
    known = f"Gaussian means {mu:.4g} deviations apart"
    return specimen(
        mechanism,
        (absent, present),
        claim=_MU,
        truth=gaussian_epsilon(mu),
        known=known,
        source=source,
        flaw=flaw,
    )


SPECIMENS = (
    _step(steps.step, _OTHERS, _CANARY, 1.0, "Abadi et al. 2016", None),
    _step(steps.step_no_clip, _OTHERS, _CANARY, 10.0, "a common mistake"),
    _step(steps.step_clip_after_mean, _OTHERS, _CANARY, 10.0, "a common mistake"),
    _step(
        steps.step_noise_over_batch,
        _OTHERS,
        _CANARY,
        64.0,
        "Tramèr, Terzis, Steinke, Song, Jagielski and Carlini 2022",
    ),
    _step(steps.step_noise_without_clip_norm, _OTHERS, _CANARY, 5.0, "a common mistake"),
    _step(steps.step_per_layer, _WIDE, (*_WIDE, (3.0,) * 8), 2.0, "a common mistake"),
    _step(
        steps.step_microbatch,
        ((10.0,),),
        ((10.0,), (-100.0,)),
        2.0,
        "tensorflow/privacy issue 81",
    ),
    _step(steps.step_workers, _OTHERS, _CANARY, math.sqrt(8), "a common mistake"),
    specimen(
        steps.step_shared_noise,
        (((0.0,),) * 2, ((0.0,), (0.0,), (1.0,))),
        claim=_MU,
        truth=math.inf,
        known="the difference of the two steps has no noise",
        source="a common mistake",
    ),
    _step(
        steps.step_not_zeroed,
        _OTHERS,
        _CANARY,
        3.0,
        "dayu11/Differentially-Private-Deep-Learning issue 7, of this kind",
    ),
    specimen(
        steps.step_realised_batch,
        (((0.0,) * 20,), ((0.0,) * 20,) * 2),
        claim=_MU,
        truth=73.80468363,
        known="chi-square tails of the squared norm",
        source="meta-pytorch/opacus issues 571 and 819",
    ),
    _step(
        steps.step_centred,
        ((0.0,),) * 8,
        (*((0.0,),) * 8, (100.0,)),
        7.0,
        "batch normalisation, a common mistake",
    ),
    specimen(
        steps.step_nan,
        (_OTHERS, (*_OTHERS, (math.nan, 0.0))),
        claim=_MU,
        truth=math.inf,
        known="NaN under one input only",
        source="a common mistake",
    ),
    specimen(
        steps.steps_in_order,
        (((0.0,),) * 99, (*((0.0,),) * 99, (1.0,))),
        claim=guarantee(_AS_IF_SAMPLED, USUAL_DELTA),
        truth=gaussian_epsilon(1),
        known="Gaussian means 1 deviation apart; the claim is of Poisson sampling",
        source="meta-pytorch/opacus issues 80 and 128",
    ),
)
