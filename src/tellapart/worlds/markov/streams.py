"""Temporal privacy leakage: what releases over time reveal about correlated states.

Each release at time t is ε_t-differentially private by itself. The state of the target moves as a
Markov chain, which the attacker knows; so releases about other times speak about this one, too.
All leakages are upper bounds, rounded up; all budgets are rounded down.

References: Cao, Yoshikawa, Xiao, Xiong (ICDE 2017; TKDE 2019) for the leakages and their suprema.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric import solve
from tellapart._numeric.text import fixed
from tellapart.errors import NotCertified, Unsupported
from tellapart.worlds.markov.reversal import reversed_chain
from tellapart.worlds.markov.step import EPS, Lifts, each_pair, matrix_lifts
from tellapart.worlds.markov.transitions import (
    Transitions,
    ZeroCell,
    each_step,
    one_matrix,
    sides,
    zero_cells,
)

__all__ = [
    "allocate",
    "budget",
    "carried_over",
    "leakage",
    "reversed_chain",
    "supremum",
]


_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Leakage:
    """How much all releases of a stream reveal about the state at each time, at most.

    ``backward[t]`` is what the releases up to time t reveal, ``forward[t]`` those from t on,
    ``total[t]`` all of them: upper bounds on log-likelihood ratios, in the units of ε.
    """

    epsilons: Array
    backward: Array
    forward: Array
    total: Array
    directional: bool
    zero_cells: tuple[ZeroCell, ...]

    @property
    def worst(self) -> float:
        """The largest total leakage about any one time."""
        return float(self.total.max())

    @property
    def worst_time(self) -> int:
        """The first time, counted from 0, about which most is revealed."""
        return int(self.total.argmax())

    def __str__(self) -> str:
        t = self.worst_time
        rows = [
            f"a stream of {len(self.total)} releases reveals at most ε = "
            f"{fixed(self.worst, up=True)} about one time (time {t}, counted from 0)",
            f"up to then {fixed(float(self.backward[t]), up=True)}, "
            f"from then on {fixed(float(self.forward[t]), up=True)}, "
            f"its own release alone {fixed(float(self.epsilons[t]), up=True)}",
        ]
        if self.zero_cells:
            more = len(self.zero_cells) - _SHOWN
            shown = "; ".join(str(cell) for cell in self.zero_cells[:_SHOWN])
            rows.append(
                f"moves of probability 0 that others make: {shown}"
                + (f"; and {more} more" if more > 0 else "")
            )
        return "\n".join(rows)


def leakage(
    backward: Transitions,
    forward: Transitions,
    epsilons: ArrayLike,
    *,
    length: int | None = None,
    directional: bool = False,
) -> Leakage:
    """How much a whole stream of private releases reveals about each single time, at most.

    ``backward`` has rows P(l[t−1] = · | l[t]), ``forward`` rows P(l[t+1] = · | l[t]); each is one
    matrix or one per step, or None for no correlation on that side. ``epsilons`` is one number
    per time, or one for all with ``length``. Every number is an upper bound, rounded up.

    One number per time forgets which state is the likelier one. It is attained, by randomised
    response, for two stationary states that tend to stay; where they tend to change, or the
    chain itself changes, it is not. With ``directional=True`` the leakage about every ordered
    pair of states is kept apart: attained for two states, never larger in general, and slower;
    budgets may then be matrices ε[x, y], one or one per time.

    >>> still = [[0.8, 0.2], [0.1, 0.9]]
    >>> leaked = leakage(still, still, 0.1, length=10)
    >>> round(leaked.worst, 4)
    0.4792

    See Also
    --------
    tellapart.plot.leakage : its picture
    """
    back, ahead = sides(backward, forward)
    budgets = _budgets(back, ahead, epsilons, length, directional)
    before = each_step(back, len(budgets), "backward")
    after = each_step(ahead, len(budgets), "forward")[::-1]
    own = budgets.reshape(len(budgets), -1).max(axis=1)
    leaked = _by_time(
        own,
        _recursion(_lifts(before), own),
        _recursion(_lifts(after), own[::-1])[::-1],
    )
    if directional:  # both are bounds, and rounding alone can make this one the larger
        past = np.array(_recursion_by_pair(before, list(budgets)))
        future = np.array(_recursion_by_pair(after, list(budgets[::-1])))[::-1]
        leaked = np.minimum(leaked, _by_time(budgets, past, future))
    upto, onward, total = leaked
    return Leakage(own, upto, onward, total, directional, zero_cells(backward, forward))


def _by_time(own: Array, past: Array, future: Array) -> Array:
    """Backward, forward and total leakage, of the worst pair of states at each time."""
    parts = (plus(past, own), plus(future, own), plus(past, future, own))
    return np.array([part.reshape(len(own), -1).max(axis=1) for part in parts])


def _lifts(steps: Sequence[Array | None]) -> list[Lifts | None]:
    """The maps L of all steps; a matrix that serves several steps is read once."""
    distinct = {id(matrix): matrix for matrix in steps}
    maps = {
        key: None if matrix is None else matrix_lifts(matrix) for key, matrix in distinct.items()
    }
    return [maps[id(matrix)] for matrix in steps]


def _recursion(maps: Sequence[Lifts | None], epsilons: Array) -> Array:
    """What each time inherits from all earlier ones: 0 at first, then L(inherited + ε).

    The leakage at a time is this plus its own ε.
    """
    inherited = np.zeros(len(epsilons))
    last: tuple[Lifts | None, float] | None = None
    for t, lifts in enumerate(maps):
        alpha = _sum(inherited[t], epsilons[t])
        if last is not None and last[0] is lifts and last[1] == alpha:
            inherited[t + 1] = inherited[t]  # a constant stream has settled
        elif lifts is not None:
            inherited[t + 1] = lifts.largest(alpha)
        last = (lifts, alpha)
    return inherited


def _recursion_by_pair(maps: Sequence[Array | None], budgets: Sequence[Array]) -> list[Array]:
    """What each time inherits about every ordered pair: 0 at first, then from its neighbour."""
    inherited = [np.zeros_like(budgets[0])]
    for matrix, budget in zip(maps, budgets[:-1], strict=True):
        leaked = plus(inherited[-1], budget)
        inherited.append(np.zeros_like(budget) if matrix is None else each_pair(matrix, leaked))
    return inherited


def plus(*parts: Array | float) -> Array:
    """A sum of numbers of at least 0, rounded up."""
    total = np.asarray(parts[0], dtype=float)
    for part in parts[1:]:
        exact = (total == 0) | (np.asarray(part) == 0)
        total = np.where(exact, total + part, np.nextafter(total + part, np.inf))
    return total


def _sum(inherited: float, epsilon: float) -> float:
    """``plus`` of two numbers, without the cost of arrays."""
    total = float(inherited) + float(epsilon)
    return math.nextafter(total, math.inf) if inherited and epsilon else total


def _closed(budgets: Array) -> Array:
    """Budgets that also use detours: x against y leaks no more than x against z against y."""
    least = budgets.copy()
    for middle in range(len(least)):
        least = np.minimum(least, plus(least[:, middle, None], least[None, middle, :]))
    return least


def _budgets(
    back: Array | None,
    ahead: Array | None,
    epsilons: ArrayLike,
    length: int | None,
    directional: bool,
) -> Array:
    """One number per time, or with directions one matrix per time, zero on its diagonal."""
    array = _checks.reals(epsilons=epsilons)
    if array.size and array.min() < 0:
        _checks.refuse("epsilons", "be at least 0", float(array.min()))
    if array.ndim > 1 and not directional:
        _checks.refuse("epsilons", "be one number per time unless directional", array.shape)
    if array.ndim in (0, 2):
        times = _checks.whole(1, length=length)
        array = np.repeat(array[None], times, axis=0)
    elif length is not None and length != len(array):
        _checks.refuse("length", f"be the number of epsilons ({len(array)})", length)
    if not len(array):
        _checks.refuse("epsilons", "not be empty", epsilons)
    if not directional:
        return array
    states = next((side.shape[-1] for side in (back, ahead) if side is not None), 2)
    same = np.eye(states, dtype=bool)
    if array.ndim == 1:
        return np.where(same, 0.0, array[:, None, None])
    if array.shape[1:] != (states, states):
        _checks.refuse("epsilons", f"be {states} × {states} matrices", array.shape)
    apart = np.where(same, 0.0, array)
    return np.array([_closed(budgets) for budgets in apart])


# Where no finite α has been confirmed up to here, none is claimed.
_FURTHEST = 1e5


def _inherited(lifts: Lifts | None, epsilon: float) -> float:
    """What a time in a stream of equal budgets inherits at most, however long the stream.

    Every α with L(α) + ε ≤ α bounds all leakages, by induction; L is rounded up, so an α that
    passes is a bound whatever the rounding. L − α is a maximum of functions that change sign
    once, so the least such α is found by bisection.
    """
    if lifts is None or epsilon == 0:
        return 0.0
    if math.isinf(epsilon):
        return lifts.largest(math.inf)

    # A prefix with D = 0 and Q = G carries almost α + log Q: at ε = log(1/Q) nothing holds it.
    if lifts.free and epsilon >= -math.log(min(float(lifts.free), 1.0)) - 8 * lifts.states * EPS:
        return math.inf

    def excess(alpha: Array) -> Array:
        return np.asarray(plus(lifts.largest(float(alpha)), epsilon) - alpha)

    start = np.asarray(2 * epsilon + 1.0)
    high = solve.climb(lambda x: np.minimum(excess(x), _FURTHEST - x), start, float(start))
    if high >= _FURTHEST:
        high = np.asarray(plus(lifts.largest(math.inf), epsilon))
        if excess(high) > 0:  # rows with zeros leave none
            return math.inf
    _, settled = solve.falling_root(excess, np.asarray(0.0), high)
    return lifts.largest(float(settled))


def carried_over(transition: ArrayLike, alpha: ArrayLike) -> float | Array:
    """How much a leakage about one time reveals about its neighbour in time, at most.

    L(α) of Cao et al., rounded up: with P(l[t−1] = · | l[t]) as rows, releases that leak α about
    l[t−1] leak L(α) about l[t]. At α = ∞ the neighbouring state is known exactly: L(∞) is the
    largest shift of the log-odds of two states by learning their past, the adversary behind
    the founding paper's ρ_t. That adversary is the limit of one who sees the past through ever
    less noise: L(α) ≤ L(∞).

    >>> round(carried_over([[0.8, 0.2], [0.1, 0.9]], float("inf")), 4)
    2.0794
    """
    alphas = _checks.reals(alpha=alpha)
    if alphas.size and alphas.min() < 0:
        _checks.refuse("alpha", "be at least 0", float(alphas.min()))
    lifts = matrix_lifts(one_matrix(transition=transition))
    each = np.array([lifts.largest(alpha) for alpha in alphas.ravel().tolist()])
    return shaped(each.reshape(alphas.shape), alphas)


def supremum(backward: ArrayLike | None, forward: ArrayLike | None, epsilon: float) -> float:
    """How much an endless stream of equal budgets reveals about one time, at most.

    The limit of the largest total leakage as the stream grows, rounded up; infinite where
    rows with zeros let it grow without limit, from ε = log(1/q) on. With None on one side this
    is the limit of the leakage on the other.

    >>> round(supremum([[0.8, 0.2], [0.1, 0.9]], None, 0.1), 4)
    0.3432
    """
    return _endless(_steady(backward, forward), _checks.at_least_zero(epsilon=epsilon))


def _steady(backward: Transitions, forward: Transitions) -> tuple[Lifts | None, Lifts | None]:
    back, ahead = sides(backward, forward)
    return (
        None if back is None else matrix_lifts(one_matrix(backward=back)),
        None if ahead is None else matrix_lifts(one_matrix(forward=ahead)),
    )


def _endless(steps: tuple[Lifts | None, Lifts | None], epsilon: float) -> float:
    past, future = (_inherited(lifts, epsilon) for lifts in steps)
    return float(plus(past, future, epsilon))


def budget(target: float, backward: ArrayLike | None, forward: ArrayLike | None) -> float:
    """The largest ε that every release may spend, for ever, if no time may leak more than target.

    Rounded down: the supremum at this ε does not exceed the target. Where every constant ε
    leaks without limit this is refused; ``allocate`` serves streams that end.

    >>> still = [[0.8, 0.2], [0.1, 0.9]]
    >>> round(budget(1, still, still), 6)
    0.16912
    """
    most = _checks.finite_above_zero(target=target)
    steps = _steady(backward, forward)
    epsilon = _largest(lambda epsilon: _endless(steps, epsilon), most)
    if epsilon == 0:
        raise Unsupported(
            "no constant budget keeps an endless stream under a limit, as states with (almost)"
            " disjoint moves are never forgotten: use streams.allocate(target, ..., length=...)"
        )
    return epsilon


def _largest(leaks: Callable[[float], float], target: float) -> float:
    """The largest ε up to target with leaks(ε) ≤ target, from below."""
    if leaks(target) <= target:
        return target

    def spare(epsilon: Array) -> Array:
        return np.asarray(target - leaks(float(epsilon)))

    low, _ = solve.falling_root(spare, np.asarray(0.0), np.asarray(target), narrow=1e-14 * target)
    return float(low)


def allocate(
    target: float, backward: Transitions, forward: Transitions, length: int, *, even: bool = True
) -> Leakage:
    """Budgets for a stream that ends, such that no time leaks more than target.

    Even: the largest ε that is the same for all times; it always exists. Otherwise the first
    and the last release get more, and all times leak the same: those between get what ``budget``
    allows for ever. The answer is the leakage of these ``epsilons``, computed from them; its
    ``worst`` does not exceed the target.

    >>> allocate(1, [[1, 0], [0, 1]], None, length=4).epsilons.round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    most = _checks.finite_above_zero(target=target)
    times = _checks.whole(1, length=length)
    if not even and times > 1:
        return _ends_larger(most, backward, forward, times)
    back, ahead = sides(backward, forward)
    before = _lifts(each_step(back, times, "backward"))
    after = _lifts(each_step(ahead, times, "forward")[::-1])

    def worst(epsilon: float) -> float:
        own = np.full(times, epsilon)
        past, future = _recursion(before, own), _recursion(after, own)[::-1]
        return float(plus(past, future, own).max())

    return leakage(backward, forward, _largest(worst, most), length=times)


def _ends_larger(
    target: float, backward: Transitions, forward: Transitions, length: int
) -> Leakage:
    """The first release leaks at once what later ones add up to, and so does the last."""
    epsilon = budget(target, backward, forward)
    first, last = (_inherited(lifts, epsilon) for lifts in _steady(backward, forward))
    epsilons = np.full(length, epsilon)
    epsilons[0] += first
    epsilons[-1] += last
    for less in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
        leaked = leakage(backward, forward, epsilons * (1 - less))
        if leaked.worst <= target:
            return leaked
    raise NotCertified("the budgets could not be confirmed to keep the target")
