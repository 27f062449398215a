"""Exact laws of the zoo's mechanisms, written from the papers and apart from the code."""

import itertools
import math

import numpy as np
from scipy import stats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def worst_loss(p, q):
    """The largest |ln p/q| over outcomes: ε at δ = 0, in the worse order."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    if ((p > 0) != (q > 0)).any():
        return math.inf
    kept = p > 0
    return float(np.abs(np.log(p[kept] / q[kept])).max())


def quadrature(kinks, reach):
    """Nodes and weights on the line, for functions that are smooth between ``kinks``."""
    ends = [min(kinks) - reach, *sorted(set(kinks)), max(kinks) + reach]
    edges = np.unique(
        np.concatenate(
            [np.linspace(a, b, math.ceil((b - a) * 2) + 1) for a, b in itertools.pairwise(ends)]
        )
    )
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()


def winners(scores, law):
    """P(option r has the largest score plus noise of this law)."""
    scores = np.asarray(scores, dtype=float)
    x, w = quadrature(scores.tolist(), 45 * law.std())
    below = law.cdf(x[:, None] - scores)
    chances = []
    for r, score in enumerate(scores):
        others = np.delete(below, r, axis=1).prod(axis=1)
        chances.append(float(np.sum(w * law.pdf(x - score) * others)))
    return np.array(chances)


def first_above(queries, threshold, rho, nu):
    """P(the first query above a noisy threshold is i), and last that none is."""
    q = np.asarray(queries, dtype=float)
    x, w = quadrature([threshold, *q.tolist()], 45 * max(rho, nu))
    density = w * stats.laplace(threshold, rho).pdf(x)
    below = stats.laplace(0, nu).cdf(x[:, None] - q)
    reached = np.cumprod(np.column_stack([np.ones(len(x)), below]), axis=1)
    hits = reached[:, :-1] * stats.laplace(0, nu).sf(x[:, None] - q)
    return np.append(density @ hits, density @ reached[:, -1])


def all_answers(queries, threshold, rho, nu):
    """P(every pattern of answers) where nothing stops; patterns in the order of `patterns`."""
    q = np.asarray(queries, dtype=float)
    x, w = quadrature([threshold, *q.tolist()], 45 * max(rho, nu))
    density = w * stats.laplace(threshold, rho).pdf(x)
    law = stats.laplace(0, nu)
    halves = []
    for part in (q[: len(q) // 2], q[len(q) // 2 :]):
        found = np.ones((len(x), 1))
        for query in part:  # each further answer splits every pattern so far in two
            by_answer = np.column_stack([law.cdf(x - query), law.sf(x - query)])
            found = (found[:, :, None] * by_answer[:, None, :]).reshape(len(x), -1)
        halves.append(found)
    return ((halves[0] * density[:, None]).T @ halves[1]).ravel()


def patterns(length):
    return list(itertools.product((0, 1), repeat=length))


def permute_and_flip(scores):
    """P(option), by going through all orders of the options."""
    scores = np.asarray(scores, dtype=float)
    accept = np.exp((scores - scores.max()) / 2)
    chances = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for option in order:
            chances[option] += left * accept[option]
            left *= 1 - accept[option]
    return chances
