"""Guarantees as curves: (ε, δ)-DP, Gaussian DP (GDP), Rényi DP (RDP) and zero-concentrated DP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import hull, solve
from tellapart._numeric.text import short
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified.discretise import from_two_profiles
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.errors import InvalidArgument
from tellapart.neighbours import Neighbours, Order

# A weaker promise than the one given is a promise still: no exponent under this is told from 0.
_LEAST_EXPONENT = 1e-8
# At that exponent rounding moves a line by less than this; lines that close to 0 are dropped.
_ROUNDING = 1e-11


def supporting_lines(orders: Array, epsilons: Array, logits: Array) -> tuple[Array, Array]:
    """(ε, δ) pairs, ε ≥ 0, that follow from RDP in both orders: one per boundary point.

    The point on the boundary of each order is given by the logit of its TPR.
    """
    log_tpr, log_fnr = log_expit(logits), log_expit(-logits)
    exponents = np.maximum((orders - 1) * epsilons, _LEAST_EXPONENT)
    with np.errstate(all="ignore"):
        log_fpr = _just_outside(orders, exponents, log_tpr, log_fnr)
        slope = _slope(orders, log_tpr, log_fnr, log_fpr)
        tpr, tnr = np.exp(log_tpr), -np.expm1(log_fpr)
        # A line of slope under 1 speaks of the other order of the hypotheses.
        forward = tpr - np.exp(log_fpr + slope)
        backward = tnr - np.exp(log_fnr - slope)
        delta = np.where(slope >= 0, forward, backward)
        scale = np.where(slope >= 0, tpr, tnr)
    valid = np.isfinite(slope) & (delta > _ROUNDING * scale) & (delta <= 1)
    raised = delta + _ROUNDING * scale
    return np.abs(slope[valid]), np.minimum(raised[valid], 1.0)


def _moments(orders: Array, log_tpr: Array, log_fnr: Array, log_fpr: Array) -> tuple[Array, Array]:
    log_tnr = np.log(-np.expm1(log_fpr))
    return (
        orders * log_tpr + (1 - orders) * log_fpr,
        orders * log_fnr + (1 - orders) * log_tnr,
    )


def _just_outside(orders: Array, cap: Array, log_tpr: Array, log_fnr: Array) -> Array:
    """Log FPR, at or just below the least that the divergence allows at this TPR."""

    def excess(log_fpr: Array, at: solve.Places) -> Array:
        moment = np.logaddexp(*_moments(orders[at], log_tpr[at], log_fnr[at], log_fpr))
        return np.where(log_fpr >= log_tpr[at], -1.0, moment - cap[at])

    # Below this FPR the first term alone exceeds the bound.
    low = (orders * log_tpr - cap) / (orders - 1) - 1.0
    low = np.minimum(low, log_tpr - 1.0)
    return solve.falling_roots(excess, low, log_tpr)[0]


def _slope(orders: Array, log_tpr: Array, log_fnr: Array, log_fpr: Array) -> Array:
    """Log of dTPR/dFPR along the boundary of the order's region."""
    forward, backward = _moments(orders, log_tpr, log_fnr, log_fpr)
    log_tnr = np.log(-np.expm1(log_fpr))
    down = _log_difference(forward - log_fpr, backward - log_tnr)
    up = _log_difference(forward - log_tpr, backward - log_fnr)
    return np.asarray(down - up + np.log1p(-1 / orders))


def _log_difference(more: Array, less: Array) -> Array:
    """log(e^more − e^less)."""
    return np.asarray(more + np.log(-np.expm1(less - more)))


Pairs = Sequence[tuple[float, float]]

# A Rényi promise weaker than this counts as none.
_WEAKEST = 1e8
_LARGEST_ORDER = 1e5


def guarantee(
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    pairs: Pairs | None = None,
    mu: float | None = None,
    rdp: Pairs | None = None,
    zcdp: float | None = None,
    neighbours: Neighbours | None = None,
) -> TradeoffCurve:
    """The most that any mechanism with a privacy guarantee lets an attacker do.

    Name one guarantee: ``epsilon`` (and ``delta``); several (ε, δ) ``pairs`` that hold together;
    ``mu`` of Gaussian DP; ``rdp`` as (order, ε) pairs that hold together; ``zcdp``, the ρ of
    zero-concentrated DP. All are taken to hold for both orders of ``neighbours``, which sharpen
    what is said of attackers other than membership inference. The curve is `Bound.LOWER`: no
    mechanism that keeps the promise leaks more.

    >>> guarantee(epsilon=1).tpr(fpr=0.01)
    0.027182818284590453
    >>> round(guarantee(zcdp=0.1).epsilon(delta=1e-6), 3)
    2.142
    """
    asked = {"epsilon": epsilon, "pairs": pairs, "mu": mu, "rdp": rdp, "zcdp": zcdp}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise InvalidArgument(
            "guarantee must be given exactly one of epsilon, pairs, mu, rdp and zcdp, got "
            + (" and ".join(given) or "none")
        )
    if delta is not None and epsilon is None:
        _checks.refuse("delta", f"go with epsilon, not with {given[0]}", delta)
    curve = _promised(epsilon, delta, pairs, mu, rdp, zcdp)
    if epsilon is None:
        typed = _checks.shortened(" ".join(repr(asked[given[0]]).split()), 60)
        curve = curve.made_by(f"guarantee({given[0]}={typed})")
    return curve if neighbours is None else curve.stated(neighbours)


def _promised(
    epsilon: float | None,
    delta: float | None,
    pairs: Pairs | None,
    mu: float | None,
    rdp: Pairs | None,
    zcdp: float | None,
) -> TradeoffCurve:
    if epsilon is not None:
        e = _checks.finite_at_least_zero(epsilon=epsilon)
        return GuaranteeCurve(e, _checks.probability(delta=0.0 if delta is None else delta))
    if mu is not None:
        return gaussian(_checks.at_least_zero(mu=mu), Bound.LOWER)
    if pairs is not None:
        return _from_pairs(pairs)
    if rdp is not None:
        return _from_rdp(rdp)
    return _from_zcdp(_checks.finite_at_least_zero(zcdp=zcdp))


def gaussian(mu: float, bound: Bound = Bound.EXACT) -> TradeoffCurve:
    """The Gaussian curve for any μ ≥ 0: its two ends have no density to speak of."""
    if mu == 0:
        return nothing(bound)
    return everything(bound) if math.isinf(mu) else GaussianCurve(mu, bound)


@cache  # every baseline is read off it
def nothing(bound: Bound = Bound.EXACT) -> AtomicCurve:
    """The curve of two equal worlds: no attacker beats a coin."""
    return AtomicCurve(np.zeros(1), np.ones(1), np.ones(1), bound)


def everything(bound: Bound = Bound.EXACT) -> AtomicCurve:
    """The curve of two worlds that share no output: every attacker is certain."""
    ends = np.array([np.inf, -np.inf])
    return AtomicCurve(ends, np.array([0.0, 1.0]), np.array([1.0, 0.0]), bound)


def _from_pairs(pairs: Pairs | Any) -> TradeoffCurve:
    epsilons, deltas = _checks.pairs("(epsilon, delta)", pairs=pairs)
    for e, d in zip(epsilons, deltas, strict=True):
        _checks.finite_at_least_zero(**{"epsilon in pairs": e})
        _checks.probability(**{"delta in pairs": d})
    return profile_lines(epsilons, deltas)


def profile_lines(epsilons: Array, deltas: Array, bound: Bound = Bound.LOWER) -> AtomicCurve:
    """The largest of the curves f_{ε,δ} of these pairs, which hold together in both orders.

    Left of the diagonal it is the maximum of the lines 1 − δ − e^ε·α; right of it, its mirror.
    """
    active, crossings = hull.active_lines(epsilons, deltas)
    e, d = epsilons[active], deltas[active]
    # TPR where one line hands over to the next, without forming e^ε.
    with np.errstate(over="ignore"):
        tpr = d[:-1] + np.diff(d) / -np.expm1(np.diff(e))
        above = np.exp(crossings) < 1 - tpr
    used = int(np.argmin(above)) if not above.all() else len(above)
    e, d, tpr = e[: used + 1], d[: used + 1], tpr[:used]
    knot = (1 - d[-1]) * expit(-e[-1])
    corners = np.concatenate([[d[0]], tpr, [1 - knot]])
    present = np.maximum(np.diff(corners), 0.0)
    absent = present * np.exp(-e)
    losses = np.concatenate([[np.inf], e, -e[::-1], [-np.inf]])
    p = np.concatenate([[0.0], absent, present[::-1], d[:1]])
    q = np.concatenate([d[:1], present, absent[::-1], [0.0]])
    return from_atoms(losses, p, q, bound)


def from_profile(
    epsilons: ArrayLike,
    deltas: ArrayLike,
    *,
    neighbours: Neighbours | None = None,
    order: Order | None = None,
) -> TradeoffCurve:
    """Anybody's privacy profile as a curve: the most that its points δ(ε) let an attacker do.

    Each δ is taken for a bound on δ(ε), on its own: points need not be sorted, fall or be convex,
    and between them nothing is guessed. The curve is the largest trade-off function that all of
    them allow (`Bound.LOWER`). They hold for both orders, unless an ``order`` is given with
    ``neighbours``; ε may be any real number, and one below 0 speaks of the other order.

    >>> import numpy as np
    >>> import tellapart as ta
    >>> epsilons = np.linspace(0, 6, 200)
    >>> exact = ta.Gaussian(sigma=1).curve()
    >>> curve = ta.from_profile(epsilons, exact.delta(epsilons))
    >>> curve.epsilon(delta=1e-5) >= exact.epsilon(delta=1e-5)
    True
    >>> round(curve.epsilon(delta=1e-5), 3)
    4.378

    See Also
    --------
    tellapart.guarantee : the same for a few pairs, and for other promises
    """
    e, d = _checks.vector(epsilons=epsilons), _checks.vector(deltas=deltas)
    if e.shape != d.shape:
        _checks.refuse("deltas", f"have one δ for each ε ({e.size})", d.size)
    _checks.probabilities(deltas=d)
    if order is not None and neighbours is None:
        _checks.refuse("order", "come with neighbours, whose order it is", order)
    ahead = e >= 0
    there = _of_the_other_order(e[~ahead], d[~ahead])
    if order is None:
        lines = np.concatenate([e[ahead], -e[~ahead]]), np.concatenate([d[ahead], there])
        curve: TradeoffCurve = profile_lines(*lines)
    else:
        grid = np.unique(np.abs(e))
        sides = [np.ones(grid.size), np.ones(grid.size)]
        for side, (at, known) in zip(
            sides, ((e[ahead], d[ahead]), (-e[~ahead], there)), strict=True
        ):
            np.minimum.at(side, np.searchsorted(grid, at), known)
        curve = from_two_profiles(grid, *sides)
    curve = curve.made_by(f"from_profile({e.size} points)")
    return curve if neighbours is None else curve.stated(neighbours, order)


def _of_the_other_order(epsilons: Array, deltas: Array) -> Array:
    """δ at −ε of the other order: FNR ≥ 1 − δ − e^ε·FPR, solved for FPR, rounded up."""
    least = -np.expm1(epsilons)
    if np.any(deltas < least * (1 - 1e-9)):
        worst = int(np.argmax(least - deltas))
        at = short(float(epsilons[worst]))
        rule = f"be at least 1 − e^ε for ε < 0, as for any two worlds (at ε = {at})"
        _checks.refuse("deltas", rule, float(deltas[worst]))
    with np.errstate(over="ignore"):
        grown = (np.maximum(deltas - least, 0.0) + 1e-15) * np.exp(-epsilons)
    return np.minimum(grown, 1.0)


def _from_rdp(rdp: Pairs | Any) -> TradeoffCurve:
    orders, epsilons = _checks.pairs("(order, epsilon)", rdp=rdp)
    for order, e in zip(orders, epsilons, strict=True):
        if not 1 < order < np.inf:
            _checks.refuse("order in rdp", "be finite and greater than 1", float(order))
        _checks.at_least_zero(**{"epsilon in rdp": e})
    per_order = int(np.clip(150_000 // orders.size, 200, 3000))
    logits = np.concatenate([np.linspace(-700, -38, 60), np.linspace(-38, 38, per_order)])
    tiled = np.tile(logits, orders.size)
    return from_renyi(np.repeat(orders, logits.size), np.repeat(epsilons, logits.size), tiled)


def _from_zcdp(rho: float) -> TradeoffCurve:
    if rho == 0:
        return nothing(Bound.LOWER)
    if rho > _WEAKEST:
        return GuaranteeCurve(0.0, 1.0)
    # Where order λ binds, TPR is ((1 − 1/λ)·e^(−ρ(λ−1)))^(λ−1); near ε = 0 several orders may.
    # Beyond λ − 1 = 30/√ρ that TPR is less than any double.
    orders = 1 + 30 / math.sqrt(rho) * np.geomspace(1e-6, 1, 6000)
    log_tpr = (orders - 1) * (np.log1p(-1 / orders) - rho * (orders - 1))
    logit = log_tpr - np.log(-np.expm1(log_tpr))
    fine = (logit[:, None] + np.linspace(-1.0, 1.0, 5)).ravel()
    coarse = np.tile(np.linspace(-20, 20, 200), 100)
    orders = np.concatenate([np.repeat(orders, 5), np.repeat(orders[::60], 200)])
    return from_renyi(orders, rho * orders, np.concatenate([fine, coarse]), least=rho)


def from_renyi(
    orders: Array, epsilons: Array, logits: Array, least: float | None = None
) -> TradeoffCurve:
    """What RDP allows, one line each: at (order, ε), where the boundary's TPR has this logit.

    The advantage is at most √(divergence/2) besides, by Pinsker: of the ``least`` ε of any order.
    """
    kept = epsilons <= _WEAKEST
    if not kept.any():
        return GuaranteeCurve(0.0, 1.0)
    # Divergences grow with the order: what holds at a large one holds at one that has its digits.
    orders = np.minimum(orders, _LARGEST_ORDER)
    lines = supporting_lines(orders[kept], epsilons[kept], logits[kept])
    divergence = float(np.min(epsilons)) if least is None else least
    advantage = min(1.0, math.sqrt(divergence / 2) * (1 + 1e-12))
    return profile_lines(np.append(lines[0], 0.0), np.append(lines[1], advantage))
