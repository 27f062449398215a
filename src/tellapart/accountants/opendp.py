"""OpenDP measurements as mechanisms: by the curve of their noise where that is known, else by map.

What a measurement was made by is read from the record that OpenDP's own constructors keep beside
it (``__opendp_dict__``, from version 0.12 on); what it is not sure of is left to the promise of its
privacy map. OpenDP need not be installed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import LaplaceCurve
from tellapart.curve.composition.infinite_loss import FiniteMass, with_infinite_loss
from tellapart.curve.guarantees import from_profile, guarantee
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import ADD_REMOVE, Mechanism
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import CustomMechanism, Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.neighbours import Neighbours

# Constructors that change the measure of a measurement, or what is made of its output, not more.
_SAME = {
    "make_pureDP_to_zCDP": "measurement",
    "make_pureDP_to_approxDP": "measurement",
    "make_zCDP_to_approxDP": "measurement",
    "make_approximate": "measurement",
    "make_fix_delta": "measurement",
    "make_chain_pm": "measurement0",
    "make_chain_tm": "measurement0",
}
_WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
# At so many ε a privacy profile is asked, up to where so little is left; and these Rényi orders.
_POINTS, _LEFT, _FURTHEST = 300, 1e-12, 60.0
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0)


def from_opendp(measurement: Any, d_in: float, *, neighbours: Neighbours = ADD_REMOVE) -> Mechanism:
    """The mechanism behind an OpenDP measurement: what its output tells about data so far apart.

    Laplace, geometric and Gaussian noise on a whole number is known exactly, also on whole counts
    with a threshold, and Laplace noise on a float from its lattice; after a transformation, before
    post-processing and in ``make_composition``, too. Of all else only the measurement's own map is
    taken, as a promise that is as good as that map: pure DP, approximate DP, zCDP, Rényi DP, or a
    privacy profile (`Bound.LOWER`). ``d_in`` is the distance of neighbours in its input metric, and
    ``neighbours`` the relation that has it.

    >>> import opendp.prelude as dp
    >>> import tellapart as ta
    >>> dp.enable_features("contrib")
    >>> space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    >>> ta.from_opendp(dp.m.make_gaussian(*space, scale=4.0), d_in=1)
    DiscreteGaussian(sigma=4.0)
    """
    _checks.member(Neighbours, neighbours=neighbours)
    if not callable(getattr(measurement, "map", None)) or not hasattr(
        measurement, "output_measure"
    ):
        rule = "be an OpenDP measurement, such as dp.m.make_laplace(...)"
        _checks.refuse("measurement", rule, measurement)
    known = _known(measurement, d_in, neighbours)
    return _promised(measurement, d_in, neighbours) if known is None else known


def _known(measurement: Any, d_in: Any, neighbours: Neighbours) -> Mechanism | None:
    """The mechanism that a constructor's record describes; None where it is none of these."""
    made: Any = getattr(measurement, "__opendp_dict__", None)
    if not isinstance(made, Mapping):
        return None
    name, given = made.get("__function__"), made.get("__kwargs__", {})
    if name in _SAME:
        return _known(given.get(_SAME[name]), d_in, neighbours)
    if name == "make_chain_mt":
        return _known(given["measurement1"], _mapped(given["transformation0"], d_in), neighbours)
    if name == "make_composition":
        parts = [from_opendp(part, d_in, neighbours=neighbours) for part in given["measurements"]]
        return compose(parts) if parts else None
    if name in ("make_laplace", "make_geometric", "make_gaussian"):
        return _noise(name, given, measurement, d_in, neighbours)
    if name in ("make_laplace_threshold", "make_gaussian_threshold"):
        return _thresholded(name, given, d_in, neighbours)
    return None


def _noise(
    name: str, given: Mapping[str, Any], measurement: Any, d_in: Any, neighbours: Neighbours
) -> Mechanism | None:
    """Noise on one number, on the lattice 2^k for a float; bounds are left to the map."""
    metric = str(given.get("input_metric"))
    scale, lattice = float(given["scale"]), given.get("k")
    if given.get("bounds") is not None or not scale > 0:
        return None
    whole = metric in {f"AbsoluteDistance({kind})" for kind in _WHOLE}
    if whole and not lattice:
        kind = DiscreteGaussian if name == "make_gaussian" else DiscreteLaplace
        return kind(scale, int(d_in), neighbours=neighbours)
    if name != "make_laplace" or metric not in ("AbsoluteDistance(f64)", "AbsoluteDistance(f32)"):
        return None
    if str(measurement.output_measure) != "MaxDivergence":
        return None
    # The map counts the rounding to the lattice. Discrete Laplace noise on it has corners with
    # FPR·FNR = e^−m/(4·cosh²(g/2)), g its step in units of the scale: they lie on or above the
    # curve of continuous noise that is shifted by m + 2·log cosh(g/2) ≤ m + g²/4.
    step = math.ldexp(1.0, int(lattice)) / scale if lattice is not None else 0.0
    shift = (_mapped(measurement, d_in) + step * step / 4) * (1 + 1e-12)
    return CustomMechanism(LaplaceCurve(shift, Bound.LOWER), neighbours=neighbours)


def _thresholded(
    name: str, given: Mapping[str, Any], d_in: Any, neighbours: Neighbours
) -> Mechanism | None:
    """Whole counts shown from a threshold on: key by key, as some may be new and others vanish."""
    gaussian = name == "make_gaussian_threshold"
    norm, kind = ("L02Inf", DiscreteGaussian) if gaussian else ("L01Inf", DiscreteLaplace)
    metrics = {f"{norm}Distance(AbsoluteDistance({whole}))" for whole in _WHOLE}
    if given.get("k") or str(given.get("input_metric")) not in metrics:
        return None
    keys, _, each = d_in
    counts = ThresholdedHistogram(kind(float(given["scale"]), int(each)), given["threshold"])
    if keys == 1 and neighbours is Neighbours.ADD_REMOVE:
        return counts
    return CustomMechanism(counts.curve().stated(neighbours)).repeated(int(keys))


def _promised(measurement: Any, d_in: Any, neighbours: Neighbours) -> Mechanism:
    """What the measurement's own map promises, in the words of its measure."""
    measure, out = str(measurement.output_measure), _mapped(measurement, d_in)
    if measure == "MaxDivergence":
        return Promise(float(out), neighbours=neighbours)
    if measure == "Approximate(MaxDivergence)":
        return Promise(float(out[0]), float(out[1]), neighbours=neighbours)
    return CustomMechanism(_curve(measure, out), neighbours=neighbours)


def _curve(measure: str, out: Any) -> TradeoffCurve:
    if measure == "ZeroConcentratedDivergence":
        return guarantee(zcdp=out)
    if measure == "Approximate(ZeroConcentratedDivergence)":
        left = math.log1p(-float(out[1])) if out[1] < 1 else -math.inf
        return with_infinite_loss(guarantee(zcdp=out[0]), FiniteMass(left, left))
    if measure == "RenyiDivergence":
        return guarantee(rdp=[(order, float(out(order))) for order in _ORDERS])
    if measure == "SmoothedMaxDivergence":
        last = float(out.epsilon(_LEFT))
        epsilons = np.linspace(0.0, last if math.isfinite(last) else _FURTHEST, _POINTS)
        return from_profile(epsilons, [float(out.delta(float(e))) for e in epsilons])
    raise Unsupported(f"no promise is known in the privacy measure {measure}")


def _mapped(part: Any, d_in: Any) -> Any:
    try:
        return part.map(d_in)
    except (TypeError, ValueError) as error:
        return _checks.refuse(
            "d_in", f"be a distance that the measurement's map takes ({error})", d_in
        )
