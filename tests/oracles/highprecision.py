"""References for test_mpmath: every mechanism from the definition of its density, in mpmath.

Nothing here knows tellapart's formulas. A finite pair is sorted by likelihood ratio with 360
digits, enough for 1 − 1e-300. A shift of log-concave noise is a cut on the output, its tails from
the density (elementary, an error function, or sums over the integers).
"""

import itertools

import mpmath

deep = mpmath.MPContext()
deep.dps = 360
mp = mpmath.MPContext()
mp.dps = 60


class Polygon:
    """A curve by its corners (FPR, TPR), from the best tests of one or several finite pairs."""

    def __init__(self, *pairs):
        points = {(deep.mpf(0), deep.mpf(0)), (deep.mpf(1), deep.mpf(1))}
        for p, q in pairs:
            points |= set(_running_sums(p, q))
        self.corners = _upper_hull(sorted(points))

    def tpr(self, fpr):
        fpr = deep.mpf(fpr)
        for (x0, y0), (x1, y1) in itertools.pairwise(self.corners):
            if x0 <= fpr <= x1 and x1 > x0:
                return y0 + (y1 - y0) * (fpr - x0) / (x1 - x0)
        raise AssertionError(fpr)

    def beta(self, alpha):
        return 1 - self.tpr(alpha)

    def delta(self, epsilon):
        grown = deep.exp(deep.mpf(epsilon))
        return max(y - grown * x for x, y in self.corners)

    def rates(self, threshold):
        """Walks up the curve while its slope exceeds e^threshold (1 + 1e-300: ties are exact)."""
        grown, (x, y) = deep.exp(deep.mpf(threshold)), self.corners[0]
        for x1, y1 in self.corners[1:]:
            if y1 - y <= grown * (x1 - x) * (1 + deep.mpf(10) ** -300):
                break
            x, y = x1, y1
        return x, y, 1 - y, 1 - x


def _running_sums(p, q):
    ranked = sorted(zip(p, q, strict=True), key=lambda o: o[1] / o[0] if o[0] else deep.inf)
    fpr, tpr = deep.mpf(0), deep.mpf(0)
    for absent, present in reversed(ranked):
        fpr, tpr = fpr + absent, tpr + present
        yield fpr, tpr


def _upper_hull(points):
    chain = []
    for x, y in points:
        while len(chain) > 1 and (chain[-1][1] - chain[-2][1]) * (x - chain[-2][0]) <= (
            y - chain[-2][1]
        ) * (chain[-1][0] - chain[-2][0]):
            chain.pop()
        chain.append((x, y))
    return chain


class Pair(Polygon):
    """Two laws on the same outcomes."""

    def __init__(self, p, q):
        self.p, self.q = normalised(p), normalised(q)
        super().__init__((self.p, self.q))

    def swapped(self):
        return Pair(self.q, self.p)

    def both_orders(self):
        return Polygon((self.p, self.q), (self.q, self.p))


class Pairs(Polygon):
    """Several pairs of laws, of which an attacker meets the worst."""

    def __init__(self, pairs):
        self.pairs = [(normalised(p), normalised(q)) for p, q in pairs]
        super().__init__(*self.pairs)

    def swapped(self):
        return Pairs([(q, p) for p, q in self.pairs])

    def both_orders(self):
        return Polygon(*self.pairs, *((q, p) for p, q in self.pairs))


def normalised(weights):
    total = sum(deep.mpf(w) for w in weights)
    return [deep.mpf(w) / total for w in weights]


class Symmetric:
    """A pair for which exchanging the worlds changes nothing."""

    def swapped(self):
        return self

    def both_orders(self):
        return self


class Shift(Symmetric):
    """Continuous noise, symmetric and log-concave, at 0 (absent) and at m (present)."""

    def __init__(self, m):
        self.m = mp.mpf(m)

    def above(self, x):
        """P(noise > x)."""
        raise NotImplementedError

    def cut(self, threshold):
        """The output above which the log-likelihood ratio exceeds the threshold."""
        raise NotImplementedError

    def cut_with_tail(self, tail):
        """The x ≥ 0 with P(noise > x) = tail ≤ 1/2."""
        raise NotImplementedError

    def at(self, c):
        return self.above(c), self.above(c - self.m), self.above(self.m - c), self.above(-c)

    def rates(self, threshold):
        return self.at(self.cut(mp.mpf(threshold)))

    def _cut_at(self, fpr):
        fpr = mp.mpf(fpr)
        return self.cut_with_tail(fpr) if 2 * fpr <= 1 else -self.cut_with_tail(1 - fpr)

    def beta(self, alpha):
        return self.at(self._cut_at(alpha))[2]

    def tpr(self, fpr):
        return self.at(self._cut_at(fpr))[1]

    def delta(self, epsilon):
        fpr, tpr, _, _ = self.rates(epsilon)
        return tpr - mp.exp(mp.mpf(epsilon)) * fpr


class LaplaceShift(Shift):
    """Density e^−|x|/2."""

    def above(self, x):
        return mp.exp(-x) / 2 if x >= 0 else 1 - mp.exp(x) / 2

    def cut(self, threshold):
        # |x| − |x − m| = threshold; the ratio is flat outside (0, m).
        if threshold >= self.m:
            return mp.inf
        return -mp.inf if threshold < -self.m else (self.m + threshold) / 2

    def cut_with_tail(self, tail):
        return -mp.log(2 * tail)


class GaussianShift(Shift):
    """Density e^(−x²/2)/√(2π)."""

    def above(self, x):
        return mp.erfc(x / mp.sqrt(2)) / 2

    def cut(self, threshold):
        return threshold / self.m + self.m / 2

    def cut_with_tail(self, tail):
        # Newton on the logarithm of the tail, which is concave: from the left it never overshoots.
        x = mp.mpf(0)
        for _ in range(200):
            above = self.above(x)
            step = mp.log(above / tail) * above * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
            x += step
            if abs(step) < mp.mpf(10) ** -45 * (1 + x):
                return x
        raise AssertionError(tail)


class TwoOutputs(Symmetric):
    """The exponential mechanism at its worst: two outputs, one utility up, the other down.

    The odds of the first output grow by e^m, and whoever sees it accuses; the utilities are such
    that it has the FPR asked for.
    """

    def __init__(self, m):
        self.m = mp.mpf(m)

    def at(self, logit):
        """Rates of "accuse on the first output" whose log-odds under h0 are given."""
        first, grown = mp.exp(logit), mp.exp(logit + self.m)
        return first / (1 + first), grown / (1 + grown), 1 / (1 + grown), 1 / (1 + first)

    def _logit(self, fpr):
        return mp.log(mp.mpf(fpr)) - mp.log(1 - mp.mpf(fpr))

    def beta(self, alpha):
        return self.at(self._logit(alpha))[2]

    def tpr(self, fpr):
        return self.at(self._logit(fpr))[1]

    def rates(self, threshold):
        """Where the slope (TPR·FNR)/(FPR·TNR) of the family has fallen to e^threshold."""
        low, high = -5 * self.m - 2000, 5 * self.m + 2000

        def excess(logit):
            fpr, tpr, fnr, tnr = self.at(logit)
            return mp.log(tpr) + mp.log(fnr) - mp.log(fpr) - mp.log(tnr) - mp.mpf(threshold)

        if threshold >= self.m:
            return tuple(map(mp.mpf, (0, 0, 1, 1)))
        if threshold < -self.m:
            return tuple(map(mp.mpf, (1, 1, 0, 0)))
        while high - low > mp.mpf(10) ** -40:
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return self.at(low)

    def delta(self, epsilon):
        fpr, tpr, _, _ = self.rates(epsilon)
        return tpr - mp.exp(mp.mpf(epsilon)) * fpr


class TruncatedLaplaceShift(Shift):
    """Density proportional to e^−|x| on [−reach, reach]."""

    def __init__(self, m, reach):
        super().__init__(m)
        self.reach = mp.mpf(reach)

    def above(self, x):
        a = self.reach
        if abs(x) >= a:
            return mp.mpf(0 if x > 0 else 1)
        tail = (mp.exp(-abs(x)) - mp.exp(-a)) / (2 * (1 - mp.exp(-a)))
        return tail if x >= 0 else 1 - tail

    def cut(self, threshold):
        """Only "present" produces x > reach, only "absent" x < m − reach."""
        m, a = self.m, self.reach
        most = min(m, 2 * a - m)
        if threshold == mp.inf:
            return mp.inf
        if threshold >= most:
            return a
        return m - a if threshold < -most else (m + threshold) / 2

    def cut_with_tail(self, tail):
        a = self.reach
        return -mp.log(2 * tail * (1 - mp.exp(-a)) + mp.exp(-a))


class Lattice(Symmetric):
    """Noise on the integers, symmetric and log-concave, at 0 (absent) and at m (present)."""

    def __init__(self, m):
        self.m = int(m)

    def above(self, k):
        """P(noise > k) for an integer k."""
        raise NotImplementedError

    def log_mass(self, k):
        raise NotImplementedError

    def cut(self, threshold):
        """The largest integer whose log-likelihood ratio is at most the threshold."""
        raise NotImplementedError

    def at(self, k):
        return self.above(k), self.above(k - self.m), self.above(self.m - k - 1), self.above(-k - 1)

    def rates(self, threshold):
        k = self.cut(mp.mpf(threshold))
        if k is None:
            return tuple(map(mp.mpf, (0, 0, 1, 1)))
        return self.at(k)

    def delta(self, epsilon):
        fpr, tpr, _, _ = self.rates(epsilon)
        return tpr - mp.exp(mp.mpf(epsilon)) * fpr

    def _randomised(self, fpr):
        """The least k with P(noise > k) ≤ fpr, and the share of output k that is accused."""
        fpr, step = mp.mpf(fpr), 1
        low = high = 0
        while self.above(high) > fpr:
            high, step = high + step, 2 * step
        step = 1
        while self.above(low) <= fpr:
            low, step = low - step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.above(middle) > fpr else (low, middle)
        return high, (fpr - self.above(high)) / mp.exp(self.log_mass(high))

    def tpr(self, fpr):
        k, share = self._randomised(fpr)
        return self.above(k - self.m) + share * mp.exp(self.log_mass(k - self.m))

    def beta(self, alpha):
        k, share = self._randomised(alpha)
        return self.above(self.m - k) + (1 - share) * mp.exp(self.log_mass(k - self.m))


class DiscreteLaplaceLattice(Lattice):
    """Mass proportional to a^|k|, a = e^(−1/scale)."""

    def __init__(self, scale, m):
        super().__init__(m)
        self.rate = 1 / mp.mpf(scale)
        self.whole = 1 + 2 * self._geometric(1)

    def _geometric(self, start):
        return mp.exp(-self.rate * start) / (1 - mp.exp(-self.rate))

    def above(self, k):
        outer = self._geometric(k + 1 if k >= 0 else -k) / self.whole
        return outer if k >= 0 else 1 - outer

    def log_mass(self, k):
        return -self.rate * abs(k) - mp.log(self.whole)

    def cut(self, threshold):
        m, level = self.m, threshold / self.rate  # |k| − |k − m| against this
        if level >= m:
            return None
        return -(10**9) if level < -m else int(mp.floor((m + level) / 2))


class DiscreteGaussianLattice(Lattice):
    """Mass proportional to e^(−k²/(2σ²)): summed term by term, or by Euler and Maclaurin."""

    def __init__(self, sigma, m, summed=True):
        super().__init__(m)
        self.sigma = mp.mpf(sigma)
        self.tails = self._all_tails() if summed else None
        self.whole = 2 * self._tail(0) - 1

    def _all_tails(self):
        """Σ_{k ≥ j} e^(−k²/(2σ²)) for all j until the terms vanish."""
        ratio = mp.exp(-1 / (2 * self.sigma**2))
        square, terms, step = ratio**2, [mp.mpf(1)], ratio
        while terms[-1] > mp.mpf(10) ** -380:
            terms.append(terms[-1] * step)
            step *= square
        return list(itertools.accumulate(reversed(terms)))[::-1]

    def _tail(self, j):
        if self.tails is None:
            return euler_maclaurin_tail(self.sigma, j)
        return self.tails[j] if j < len(self.tails) else mp.mpf(0)

    def above(self, k):
        outer = self._tail(k + 1 if k >= 0 else -k) / self.whole
        return outer if k >= 0 else 1 - outer

    def log_mass(self, k):
        return -((k / self.sigma) ** 2) / 2 - mp.log(self.whole)

    def cut(self, threshold):
        # m·(2k − m)/(2σ²) ≤ threshold
        return int(mp.floor(self.sigma**2 * threshold / self.m + mp.mpf(self.m) / 2))


def euler_maclaurin_tail(sigma, j):
    """Σ_{k ≥ j} e^(−k²/(2σ²)): integral, half the first term, odd derivatives there."""
    u = mp.mpf(j) / sigma
    total = sigma * mp.sqrt(mp.pi / 2) * mp.erfc(u / mp.sqrt(2)) + mp.exp(-u * u / 2) / 2
    before, hermite = mp.mpf(1), u
    for n in range(1, 12):
        derivative = -hermite * mp.exp(-u * u / 2) / sigma ** (2 * n - 1)
        total -= mp.bernoulli(2 * n) / mp.factorial(2 * n) * derivative
        for k in (2 * n - 1, 2 * n):
            before, hermite = hermite, u * hermite - k * before
    return total


class PlanarShift:
    """Two planar laws of density e^−|z|/(2π), m apart, in polar coordinates around the first.

    The best test accuses where |z| − |z − x| > m·cos v, that is beyond the branch of a hyperbola:
    in direction φ, |φ| < v, at the distance q(φ), where P(distance > q) = (1 + q)·e^−q.
    """

    # One for all: it keeps the nodes of its quadratures.
    context = mpmath.MPContext()
    context.dps = 30

    def __init__(self, m):
        self.m = self.context.mpf(m)

    def _q(self, v, phi):
        c = self.context
        return self.m * c.sin(v) ** 2 / (4 * c.sin((v + phi) / 2) * c.sin((v - phi) / 2))

    def _over_angles(self, v, value):
        """(1/π)·∫_0^v value(q(φ)) dφ, by the substitution φ = v·(1 − x²)."""
        c = self.context
        knots = [0, c.mpf("0.03"), c.mpf("0.1"), c.mpf("0.3"), c.mpf("0.6"), 1]
        height = self.m * c.sin(v) ** 2 / 4

        def slope(x):
            if x == 0:
                return c.mpf(0)
            # (v − φ)/2 = v·x²/2 keeps its digits near the end of the branch.
            half = v * x * x / 2
            return value(height / (c.sin(v - half) * c.sin(half))) * 2 * x * v

        return c.quad(slope, knots) / c.pi

    def accused(self, v):
        """P(accused | absent)."""
        c = self.context
        nearest = self._q(v, c.mpf(0))
        inner = self._over_angles(v, lambda q: (1 + q) * c.exp(nearest - q))
        return inner * c.exp(-nearest)

    def spared(self, v):
        """P(not accused | absent)."""
        c = self.context
        inner = self._over_angles(v, lambda q: 1 - (1 + q) * c.exp(-q))
        return inner + (c.pi - v) / c.pi

    def at_angle(self, v):
        opposite = self.context.pi - v
        return self.accused(v), self.spared(opposite), self.accused(opposite), self.spared(v)

    def rates(self, threshold):
        c = self.context
        return self.at_angle(c.acos(c.mpf(threshold) / self.m))


def staircase_pair(epsilon, sensitivity, fraction, shift=None):
    """Geng and Viswanath: f(x) = a·e^−kε on [kΔ, (k + γ)Δ), a·e^−(k+1)ε on [(k + γ)Δ, (k + 1)Δ).

    The second law is the first one moved by ``shift``, the sensitivity unless said.
    """
    e, size, share = deep.mpf(epsilon), deep.mpf(sensitivity), deep.mpf(fraction)
    move = size if shift is None else deep.mpf(shift)
    reach = int(mp.ceil(130 / mp.mpf(epsilon))) + 2
    edges = set()
    for k in range(reach):
        for edge in (k * size, (k + share) * size):
            edges |= {edge, -edge, edge + move, move - edge}
    edges = [x for x in sorted(edges) if abs(x) <= reach * size]

    def level(x):
        k = int(deep.floor(abs(x) / size))
        return k if abs(x) / size - k < share else k + 1

    groups = {}
    for low, high in itertools.pairwise(edges):
        middle = (low + high) / 2
        here, there = level(middle), level(middle - move)
        p, q = groups.get(here - there, (deep.mpf(0), deep.mpf(0)))
        width = high - low
        groups[here - there] = (
            p + width * deep.exp(-here * e),
            q + width * deep.exp(-there * e),
        )
    return Pair([p for p, _ in groups.values()], [q for _, q in groups.values()])


def softmax(utilities):
    return normalised([deep.exp(u) for u in utilities])


def permute_and_flip(utilities):
    """Every order of visits; each visit takes option s with chance e^(u_s − best)."""
    best = max(utilities)
    accept = [deep.exp(u - best) for u in utilities]
    chances = [deep.mpf(0)] * len(utilities)
    orders = list(itertools.permutations(range(len(utilities))))
    for order in orders:
        reached = deep.mpf(1)
        for option in order:
            chances[option] += reached * accept[option]
            reached *= 1 - accept[option]
    return [chance / len(orders) for chance in chances]


def laplace_max(utilities):
    """∫ f(x − u_r)·Π F(x − u_s) dx for each option: between utilities a sum of exponentials."""
    utilities = [deep.mpf(u) for u in utilities]
    knots = [-deep.inf, *sorted(set(utilities)), deep.inf]
    chances = [deep.mpf(0)] * len(utilities)
    for low, high in itertools.pairwise(knots):
        below = [_distribution(u, high) for u in utilities]
        for option, u in enumerate(utilities):
            term = {1: deep.exp(-u) / 2} if high <= u else {-1: deep.exp(u) / 2}
            for s, factor in enumerate(below):
                term = term if s == option else _times(term, factor)
            chances[option] += sum(c * _integral(k, low, high) for k, c in term.items())
    return chances


def _distribution(u, high):
    """P(u + noise ≤ x) on an interval that ends at ``high``, as coefficients of e^(k·x)."""
    return {1: deep.exp(-u) / 2} if high <= u else {0: deep.mpf(1), -1: -deep.exp(u) / 2}


def _times(a, b):
    product = {}
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        product[i + j] = product.get(i + j, deep.mpf(0)) + x * y
    return product


def _integral(k, low, high):
    if k == 0:
        return high - low
    ends = [deep.exp(k * x) if abs(x) < deep.inf else deep.mpf(0) for x in (low, high)]
    return (ends[1] - ends[0]) / k
