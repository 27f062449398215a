"""The law of each specimen's output, or of numbers read off it, written from its description.

`PMFS` gives chances of outcomes, `CDFS` distribution functions of numbers read off an output.
Neither calls the zoo's code, except for the constants it states.
"""

import itertools
import math
from collections.abc import Callable

import exact_laws as exact
import numpy as np
from scipy import stats

from tellapart.zoo import additive, local

E = math.e
laplace, norm, expon = stats.laplace, stats.norm, stats.expon


# -- chances of outcomes: data -> {outcome: chance} -------------------------------------------


def on_grid(centre, scale, step, low, high):
    """Laplace noise rounded to multiples of ``step`` between two ends that take what is beyond."""
    places = np.arange(low, high + step / 2, step)
    below = laplace(centre, scale).cdf(places[:-1] + step / 2)
    above = laplace(centre, scale).sf(places[:-1] + step / 2)
    near = np.diff(np.concatenate([[0.0], below, [1.0]]))
    far = -np.diff(np.concatenate([[1.0], above, [0.0]]))
    chances = np.where(places < centre, near, far)  # differences of the small tail have digits
    return dict(zip(places.tolist(), chances.tolist(), strict=True))


def geometric(centre, ratio, low, high):
    """Two-sided geometric noise, what is beyond the ends moved to them."""
    found = {}
    for k in range(low, high + 1):
        if k == low:
            chance = ratio ** (centre - k) / (1 + ratio)
        elif k == high:
            chance = ratio ** (k - centre) / (1 + ratio)
        else:
            chance = (1 - ratio) / (1 + ratio) * ratio ** abs(k - centre)
        found[k] = chance
    return found


def numbered(chances):
    return dict(enumerate(np.asarray(chances).tolist()))


def softmax(scores):
    weights = np.exp(np.asarray(scores))
    return weights / weights.sum()


def stopped(chances):
    """First "above" at i, written as the row of answers."""
    size = len(chances) - 1
    rows = [(0,) * i + (1,) + (-1,) * (size - i - 1) for i in range(size)]
    return dict(zip([*rows, (0,) * size], chances.tolist(), strict=True))


def stopped_twice(queries):
    """As one search after another, each with its own threshold (a renewal)."""
    size = len(queries)
    first = exact.first_above(queries, 1.0, 4.0, 8.0)
    found = {(0,) * size: first[-1]}
    for i in range(size):
        rest = queries[i + 1 :]
        second = exact.first_above(rest, 1.0, 4.0, 8.0) if rest else np.ones(1)
        for tail, chance in (stopped(second) if rest else {(): 1.0}).items():
            found[(0,) * i + (1, *tail)] = first[i] * chance
    return found


def threshold_only(queries):
    """SVT 5: the answers are decided by where the noisy threshold falls among the queries."""
    cuts = sorted(set(queries))
    found = {}
    below = -math.inf
    for cut in [*cuts, math.inf]:
        row = tuple(int(q >= cut) for q in queries)
        found[row] = laplace(1.0, 2.0).cdf(cut) - laplace(1.0, 2.0).cdf(below)
        below = cut
    return found


def products(chances):
    """Independent bits: P(row of bits)."""
    rows = itertools.product((0, 1), repeat=len(chances))
    return {
        row: math.prod(p if bit else 1 - p for bit, p in zip(row, chances, strict=True))
        for row in rows
    }


def filter_bits(value):
    """Which of the bits that "a" or "b" set are set by this value."""
    return [int(local.bloom(value)[place]) for place in filter_places()]


def filter_places():
    return np.flatnonzero(local.bloom("a") + local.bloom("b")).tolist()


def rappor(value):
    one, zero = ((0.75 / 2 + 0.25 * bit) for bit in (1, 0))
    chance = {1: 0.55 * one + 0.45 * (1 - one), 0: 0.55 * zero + 0.45 * (1 - zero)}
    return products([chance[bit] for bit in filter_bits(value)])


def one_hot(value, set_bit, other):
    return products([set_bit if i == value else other for i in range(6)])


def few_seeds(data):
    values = [data + np.random.default_rng(seed).laplace(0.0, 1.0) for seed in range(256)]
    return dict.fromkeys(values, 1 / 256)


def colours(value, odds):
    return {c: (odds if c == value else 1) / (odds + 3) for c in ("red", "green", "blue", "black")}


def value_ranks(values):
    weights = np.exp(-abs(np.arange(len(values)) - (len(values) - 1) / 2) / E)
    return dict(zip(sorted(values), (weights / weights.sum()).tolist(), strict=True))


def true_value(queries):
    chances = exact.first_above(queries, 1.0, 2.0, 4.0)
    return dict(zip([*queries, "none"], chances.tolist(), strict=True))


def visible(counts):
    """Which keys are shown."""
    beyond = {key: laplace(count, 1).sf(1 + math.log(50)) for key, count in counts.items()}
    rows = itertools.product((False, True), repeat=len(counts))
    return {
        tuple(k for k, shown in zip(counts, row, strict=True) if shown): math.prod(
            beyond[k] if shown else 1 - beyond[k] for k, shown in zip(counts, row, strict=True)
        )
        for row in rows
    }


PMFS: dict[str, Callable] = {
    "laplace-rounded": lambda d: on_grid(d, 1.0, 1.0, -30, 31),
    "laplace-snapped": lambda d: on_grid(d, additive.SNAP_SCALE, 2.0, -32, 32),
    "laplace-integer-noise": lambda d: {
        k + d: p for k, p in on_grid(0.0, 1.0, 1.0, -30, 30).items()
    },
    "laplace-few-seeds": few_seeds,
    "laplace-fixed-seed": lambda d: {d + np.random.default_rng(0).laplace(): 1.0},
    "geometric": lambda d: geometric(d, 1 / E, -40, 45),
    "geometric-truncated": lambda d: geometric(d, 1 / E, 0, 5),
    "geometric-coarse": lambda d: geometric(d, 1 / 2, 0, 5),
    "geometric-one-sided": lambda d: {d + k: (1 - 1 / E) * E**-k for k in range(60)},
    "geometric-cut-noise": lambda d: {d + k: p for k, p in geometric(0, 1 / E, -5, 5).items()},
    "noisy-max-1": lambda d: numbered(exact.winners(d, laplace(0, 2))),
    "noisy-max-2": lambda d: numbered(exact.winners(d, expon(0, 2))),
    "noisy-max-half": lambda d: numbered(exact.winners(d, laplace(0, 1))),
    "exponential": lambda d: numbered(softmax(np.array(d) / 2)),
    "exponential-no-half": lambda d: numbered(softmax(d)),
    "permute-and-flip": lambda d: numbered(exact.permute_and_flip(d)),
    "flip-without-permuting": lambda d: (
        {0: 1.0, 1: 0.0} if d[0] > d[1] else {0: E**-0.5, 1: 1 - E**-0.5}
    ),
    "median-of-values": value_ranks,
    "sparse-vector-1": lambda d: stopped(exact.first_above(d, 1.0, 2.0, 4.0)),
    "sparse-vector-2": stopped_twice,
    "sparse-vector-4": lambda d: stopped(exact.first_above(d, 1.0, 4.0, 4 / 3)),
    "sparse-vector-5": threshold_only,
    "sparse-vector-6": lambda d: dict(
        zip(exact.patterns(len(d)), exact.all_answers(d, 1.0, 2.0, 2.0).tolist(), strict=True)
    ),
    "sparse-vector-true-value": true_value,
    "randomised-response": lambda d: {d: E / (1 + E), not d: 1 / (1 + E)},
    "randomised-response-too-honest": lambda d: {d: 1 - E**-2, not d: E**-2},
    "colour-response": lambda d: colours(d, E),
    "colour-response-binary-odds": lambda d: colours(d, 3 * E),
    "rappor-one-time": lambda d: products([0.525 if bit else 0.475 for bit in filter_bits(d)]),
    "rappor": rappor,
    "unary": lambda d: one_hot(d, E**0.5 / (1 + E**0.5), 1 / (1 + E**0.5)),
    "unary-full-budget": lambda d: one_hot(d, E / (1 + E), 1 / (1 + E)),
    "unary-optimised": lambda d: one_hot(d, 0.5, 1 / (1 + E)),
    "keys-without-threshold": lambda d: {tuple(d): 1.0},
    "count-or-none-by-true-count": lambda d: {d < 5: 1.0},
    "keys-by-true-count": lambda d: {tuple(k for k in d if d[k] >= 5): 1.0},
    "mean-with-size": lambda d: {len(d): 1.0},
    "histogram-exact-zeros": lambda d: {d[0] == 0: 1.0},
    "sum-nan": lambda d: {any(math.isnan(x) for x in d): 1.0},
    "step-nan": lambda d: {any(math.isnan(x) for row in d for x in row): 1.0},
    "step-shared-noise": lambda d: {sum(x for (x,) in d): 1.0},
    "histogram-one-noise": lambda d: {(d[1] - d[0], d[2] - d[0]): 1.0},
}
# Laws of part of an output only, or laws with outcomes merged: they do not give ε.
PARTIAL: dict[str, Callable] = {"keys-above-threshold": visible}

# How an output becomes an outcome, where it is not one already.
OUTCOMES: dict[str, Callable] = {
    "rappor": lambda y: tuple(np.asarray(y)[filter_places()].tolist()),
    "rappor-one-time": lambda y: tuple(np.asarray(y)[filter_places()].tolist()),
    "sparse-vector-true-value": lambda y: "none" if math.isnan(y) else y,
    "keys-without-threshold": tuple,
    "keys-by-true-count": tuple,
    "keys-above-threshold": tuple,
    "count-or-none-by-true-count": lambda y: y is None,
    "mean-with-size": lambda y: y["records"],
    "histogram-exact-zeros": lambda y: y[0] == 0,
    "sum-nan": math.isnan,
    "step-nan": lambda y: bool(np.isnan(y).any()),
    # Up to rounding: the difference of two numbers that share their noise.
    "step-shared-noise": lambda y: round(y[0, 0] - y[1, 0], 9),
    "histogram-one-noise": lambda y: (round(y[1] - y[0], 9), round(y[2] - y[0], 9)),
}


def outcome(name, output):
    if name in OUTCOMES:
        return OUTCOMES[name](output)
    return tuple(output.tolist()) if np.ndim(output) else output.item()


# -- numbers read off an output: data -> [(reading of a batch, distribution function)] ---------


def whole(law):
    return [(np.asarray, law)]


def columns(laws):
    return [(lambda y, i=i: y.reshape(len(y), -1)[:, i], law) for i, law in enumerate(laws)]


def shifted(law, mean):
    return columns([law(m) for m in np.ravel(mean)])


def largest(law, times):
    return lambda x: law.cdf(x) ** times


def clipped(total, low=0.0, high=1.0):
    return float(sum(min(max(x, low), high) for x in total))


def redrawn(centre):
    law = laplace(centre, 1)
    return lambda x: np.clip((law.cdf(x) - law.cdf(0)) / law.sf(0), 0, 1)


def absolute(centre):
    return expon(centre, 1).cdf


def sampled(records):
    """At most one record: in with probability 1/10."""
    value = sum(records)
    return lambda x: 0.1 * laplace(value, 1).cdf(x) + 0.9 * laplace(0, 1).cdf(x)


def in_pieces(values, scale):
    """A median's density, by hand: weight of each gap between sorted values."""
    edges = [0.0, *sorted(values), 10.0]
    n = len(values)
    weights = [
        (b - a) * math.exp(-abs(i - n / 2) / scale)
        for i, (a, b) in enumerate(itertools.pairwise(edges))
    ]
    running = np.concatenate([[0.0], np.cumsum(weights)]) / sum(weights)
    return lambda x: np.interp(x, edges, running)


def above_zero(law):
    return lambda x: np.where(x < 0, 0.0, law.cdf(x))


def none_as_five(outputs):
    return np.array([5.0 if y is None else y for y in outputs])


def norms(deviation):
    return [(lambda y: (y**2).sum(axis=1) / deviation**2, stats.chi2(20).cdf)]


def sums(data):
    return [sum(column) for column in zip(*data, strict=True)]


def clipped_sums(data, clip=1.0):
    rows = [np.array(row) for row in data]
    return sum(row * min(1.0, clip / max(float(np.sqrt(row @ row)), 1e-300)) for row in rows)


def lap(scale):
    return lambda mean: laplace(mean, scale).cdf


def gauss(deviation):
    return lambda mean: norm(mean, deviation).cdf


CLASSIC = math.sqrt(2 * math.log(1.25e5))
CDFS: dict[str, Callable] = {
    "laplace": lambda d: whole(lap(1)(d)),
    "laplace-half-scale": lambda d: whole(lap(0.5)(d)),
    "laplace-wrong-sensitivity": lambda d: whole(lap(1)(sum(d))),
    "laplace-vector": lambda d: shifted(lap(1), d),
    "laplace-clamped": lambda d: whole(above_zero(laplace(d, 1))),
    "laplace-redrawn": lambda d: whole(redrawn(d)),
    "laplace-absolute": lambda d: whole(absolute(d)),
    "laplace-best-of-three": lambda d: whole(largest(laplace(d, 1), 3)),
    "laplace-sampled": lambda d: whole(sampled(d)),
    "laplace-first-rows": lambda d: whole(lap(1)(d[0])),
    "laplace-textbook": lambda d: whole(lap(1)(d)),
    "gaussian": lambda d: whole(gauss(1)(d)),
    "gaussian-analytic": lambda d: whole(gauss(3.730631634816)(d)),
    "gaussian-classical": lambda d: whole(gauss(CLASSIC)(d)),
    "gaussian-classical-beyond": lambda d: whole(gauss(math.sqrt(2 * math.log(3.125)) / 7)(d)),
    "gaussian-pure": lambda d: whole(gauss(1)(d)),
    "gaussian-variance": lambda d: whole(gauss(0.25)(d)),
    "gaussian-textbook": lambda d: whole(gauss(1)(d)),
    "gaussian-vector": lambda d: shifted(gauss(1), d),
    "noisy-max-3": lambda d: whole(largest(laplace(d[0], 2), 5)),
    "noisy-max-4": lambda d: whole(largest(expon(d[0], 2), 5)),
    "median": lambda d: whole(in_pieces(d, 1.0)),
    "median-no-half": lambda d: whole(in_pieces(d, 0.5)),
    "histogram": lambda d: shifted(lap(1), d),
    "histogram-upside-down": lambda d: shifted(lap(0.5), d),
    "histogram-one-noise": lambda d: shifted(lap(1), d),
    "prefix-sums": lambda d: [
        (lambda y, i=i: np.diff(y, axis=1, prepend=0.0)[:, i], lap(1)(x)) for i, x in enumerate(d)
    ],
    "bounded-sum": lambda d: whole(lap(1)(clipped(d))),
    "sum-without-clipping": lambda d: whole(lap(1)(sum(d))),
    "mean-by-true-size": lambda d: whole(lap(1 / len(d))(sum(d) / len(d))),
    "mean-bound-from-data": lambda d: whole(lap(max(d))(sum(d))),
    "mean-with-size": lambda d: [
        (lambda y: np.array([one["sum"] for one in y]), lap(1)(clipped(d)))
    ],
    "keys-without-threshold": lambda d: [
        (lambda y, k=k: np.array([one[k] for one in y]), lap(1)(d[k])) for k in d
    ],
    "count-or-none": lambda d: [(none_as_five, laplace(d, 1).cdf)],
    "step": lambda d: shifted(gauss(1), clipped_sums(d)),
    "step-no-clip": lambda d: shifted(gauss(1), sums(d)),
    "step-clip-after-mean": lambda d: shifted(gauss(1 / 64), np.array(sums(d)) / 64),
    "step-noise-over-batch": lambda d: shifted(gauss(1 / 64), clipped_sums(d)),
    "step-noise-without-clip-norm": lambda d: shifted(gauss(1), clipped_sums(d, 5.0)),
    "step-per-layer": lambda d: shifted(
        gauss(1), np.array(sums(d)) / 3 / math.sqrt(2)
    ),  # the canary's layers are (3, 3), all others zero
    "step-microbatch": lambda d: shifted(gauss(1), [1.0 if len(d) == 1 else -1.0]),
    "step-workers": lambda d: shifted(gauss(1 / math.sqrt(8)), clipped_sums(d)),
    "step-not-zeroed": lambda d: shifted(gauss(1), 3 * clipped_sums(d)),
    "step-realised-batch": lambda d: norms(1 / len(d)),
    "step-centred": lambda d: shifted(gauss(1), [0.0 if len(d) == 8 else -7.0]),
    "steps-in-order": lambda d: shifted(gauss(1), [0.0] * 99 + ([1.0] if len(d) == 100 else [0.0])),
}
# Laws of which only naive code is at hand, or which depend on the life of the process.
UNWRITTEN = {
    "sparse-vector-3",
    "numerical-sparse-vector",
    "mean-by-noisy-size",
    "scale-from-private-count",
    "laplace-memoised",
}
