"""Budgets of a stream: what an endless one leaks, and what each release may spend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric import solve
from tellapart.errors import NotCertified, Unsupported
from tellapart.worlds.streams._chains import Transitions, each_step, one_matrix, sides
from tellapart.worlds.streams._leakage import Leakage, carries, leakage
from tellapart.worlds.streams._supremum import inherited
from tellapart.worlds.streams._temporal import Carry, carry, plus, recursion


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
    return shaped(carry(one_matrix(transition=transition))(alphas), alphas)


def supremum(backward: ArrayLike | None, forward: ArrayLike | None, epsilon: float) -> float:
    """How much an endless stream of equal budgets reveals about one time, at most.

    The limit of the largest total leakage as the stream grows, rounded up; infinite where
    rows with zeros let it grow without limit, from ε = log(1/q) on. With None on one side this
    is the limit of the leakage on the other.

    >>> round(supremum([[0.8, 0.2], [0.1, 0.9]], None, 0.1), 4)
    0.3432
    """
    return _endless(_steady(backward, forward), _checks.at_least_zero(epsilon=epsilon))


def _steady(backward: Transitions, forward: Transitions) -> tuple[Carry | None, Carry | None]:
    back, ahead = sides(backward, forward)
    return (
        None if back is None else carry(one_matrix(backward=back)),
        None if ahead is None else carry(one_matrix(forward=ahead)),
    )


def _endless(steps: tuple[Carry | None, Carry | None], epsilon: float) -> float:
    past, future = (inherited(one, epsilon) for one in steps)
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
    found = _largest(lambda epsilon: _endless(steps, epsilon), most)
    if found == 0:
        raise Unsupported(
            "no constant budget keeps an endless stream under a limit, as states with (almost)"
            " disjoint moves are never forgotten: use streams.allocate(target, ..., length=...)"
        )
    return found


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
    before = carries(each_step(back, times, "backward"))
    after = carries(each_step(ahead, times, "forward")[::-1])

    def worst(epsilon: float) -> float:
        own = np.full(times, epsilon)
        past, future = recursion(before, own), recursion(after, own)[::-1]
        return float(plus(past, future, own).max())

    return leakage(backward, forward, _largest(worst, most), length=times)


def _ends_larger(
    target: float, backward: Transitions, forward: Transitions, length: int
) -> Leakage:
    """The first release leaks at once what later ones add up to, and so does the last."""
    epsilon = budget(target, backward, forward)
    first, last = (inherited(one, epsilon) for one in _steady(backward, forward))
    epsilons = np.full(length, epsilon)
    epsilons[0] += first
    epsilons[-1] += last
    for less in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9):
        found = leakage(backward, forward, epsilons * (1 - less))
        if found.worst <= target:
            return found
    raise NotCertified("the budgets could not be confirmed to keep the target")
