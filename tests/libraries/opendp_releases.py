"""OpenDP as its pages show it; each claim is what the measurement's own `map` promises.

OpenDP draws from the system, so that no seed repeats a run.
"""

import math

import opendp.prelude as dp
from audited import Release, pure

import tellapart as ta

dp.enable_features("contrib")

REAL = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
SCORES = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
PEOPLE = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
NAMES = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


def counts(kind, distance=dp.l01inf_distance):
    values = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    names = dp.map_domain(dp.atom_domain(T=str), values)
    return names, distance(dp.absolute_distance(T=kind))


def released(name, measurement, d0, d1, distance, claim=pure):
    """A measurement with the claim of its own map; a function, as a probe asks for no more."""

    def mechanism(data):
        return measurement(data)

    return Release(name, mechanism, d0, d1, claim(measurement.map(distance)))


def zcdp(rho):
    return ta.guarantee(zcdp=rho)


def approximate(pair):
    return ta.guarantee(*pair)


def concentrated(pair):
    """What ρ-zCDP but for δ allows: a part of (ε, δ') for all ε, of which one is taken."""
    rho, delta = pair
    return ta.guarantee(3.0, ta.guarantee(zcdp=rho).delta(3.0) + delta)


def _clamped_sum(scale):
    return PEOPLE >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(scale)


def _mean_of_four(scale):
    four = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0)), size=4), dp.symmetric_distance()
    return four >> dp.t.then_mean() >> dp.m.then_laplace(scale)


def _resized_mean(scale):
    return (
        PEOPLE
        >> dp.t.then_clamp((0.0, 10.0))
        >> dp.t.then_resize(4, constant=5.0)
        >> dp.t.then_mean()
        >> dp.m.then_laplace(scale)
    )


def _histogram(noise):
    return NAMES >> dp.t.then_count_by_categories(categories=["a", "b"]) >> noise


def _quantile():
    candidates = [0.0, 2.5, 5.0, 7.5, 10.0]
    return PEOPLE >> dp.m.then_private_quantile(dp.max_divergence(), candidates, 0.5, 1.0)


def correct():
    """Releases that promise what they do; the neighbours use the promise up, or nearly."""
    exponential, laplace = dp.max_divergence(), dp.m.make_laplace
    count = PEOPLE >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
    yield released("laplace", laplace(*REAL, scale=1.0), 0.0, 1.0, 1.0)
    yield released("discrete-laplace", laplace(*WHOLE, scale=1.0), 0, 1, 1)
    yield released("discrete-laplace-of-2", laplace(*WHOLE, scale=2.0), 0, 2, 2)
    bounded = dp.m.make_geometric(*WHOLE, scale=1.0, bounds=(0, 5))
    yield released("geometric", bounded, 2, 3, 1)
    yield released("gaussian", dp.m.make_gaussian(*REAL, scale=1.0), 0.0, 1.0, 1.0, zcdp)
    yield released("discrete-gaussian", dp.m.make_gaussian(*WHOLE, scale=1.0), 0, 1, 1, zcdp)
    canonical = dp.m.make_canonical_noise(*REAL, d_in=1.0, d_out=(1.0, 0.01))
    yield released("canonical-noise", canonical, 0.0, 1.0, 1.0, approximate)
    response = dp.m.make_randomized_response_bool(prob=0.75)
    yield released("randomized-response-bool", response, False, True, 1)
    response = dp.m.make_randomized_response(categories=["a", "b", "c"], prob=0.6)
    yield released("randomized-response", response, "a", "b", 1)
    noisy_max = dp.m.make_noisy_max(*SCORES, exponential, scale=2.0)
    yield released("noisy-max", noisy_max, [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], 1.0)
    top_two = dp.m.make_noisy_top_k(*SCORES, exponential, k=2, scale=4.0)
    yield released("noisy-top-2", top_two, [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], 1.0)
    yield released("count", count, [1.0, 2.0], [1.0, 2.0, 3.0], 1)
    yield released("sum", _clamped_sum(10.0), [1.0, 2.0], [1.0, 2.0, 50.0], 1)
    yield released("sum-replaced", _clamped_sum(10.0), [1.0, 0.0], [1.0, 50.0], 2)
    yield released("mean-replaced", _mean_of_four(2.5), [5.0, 5.0, 5.0, 0.0], [5.0] * 3 + [10.0], 2)
    yield released("mean-resized", _resized_mean(2.5), [5.0, 5.0], [5.0, 5.0, 10.0], 1)
    histogram = _histogram(dp.m.then_laplace(scale=1.0))
    yield released("histogram", histogram, ["a", "b"], ["a", "b", "b"], 1)
    yield released("quantile", _quantile(), [1.0, 2.0, 9.0], [1.0, 2.0, 9.0, 9.0], 1)
    real = dp.m.make_laplace_threshold(*counts(float), scale=1.0, threshold=3.0)
    one_more = {"a": 1.0}, {"a": 1.0, "b": 1.0}
    yield released("real-threshold", real, *one_more, (1, 1.0, 1.0), approximate)


def wrong():
    """Releases whose own promise is wrong: what is at the threshold exactly is shown.

    The new name is alone. Beside others, a few hundred calls may settle on some of its counts
    rather than on the name, and then 6,000 calls may refute nothing: 2 probes of 30 did not.
    """
    laplace = dp.m.make_laplace_threshold(*counts(int), scale=1.0, threshold=2)
    yield released("laplace-threshold", laplace, {}, {"b": 1}, (1, 1, 1), approximate)
    gaussian = dp.m.make_gaussian_threshold(*counts(int, dp.l02inf_distance), 1.0, 2)
    yield released("gaussian-threshold", gaussian, {}, {"b": 1}, (1, 1, 1), concentrated)


def misused():
    """The same measurements, with promises that their `map` does not make."""
    laplace = dp.m.make_laplace(*REAL, scale=1.0)
    yield Release("distance-too-small", laplace, 0.0, 2.0, pure(laplace.map(1.0)))
    clamped = _clamped_sum(10.0)
    couple = [1.0], [1.0, 50.0, 50.0]
    yield Release("two-people-are-not-one", clamped, *couple, pure(clamped.map(1)))
    histogram = _histogram(dp.m.then_laplace(scale=1.0))
    moved = ["b", "b"], ["a", "a"]
    yield Release("two-moved-are-four-changes", histogram, *moved, pure(histogram.map(1)))
    gaussian = dp.m.make_gaussian(*REAL, scale=1.0)
    yield Release("concentrated-is-not-pure", gaussian, 0.0, 1.0, pure(gaussian.map(1.0)))
    response = dp.m.make_randomized_response_bool(prob=0.75)
    yield Release("log-of-the-odds", response, False, True, pure(math.log(0.75 / 0.25) / 2))
    noisy_max = dp.m.make_noisy_max(*SCORES, dp.max_divergence(), scale=2.0)
    twice = [2.0, 0.0, 0.0], [0.0, 2.0, 2.0]
    yield Release("scores-that-move-by-2", noisy_max, *twice, pure(noisy_max.map(1.0)))


def hard():
    """Broken promises that only many calls show surely."""
    histogram = _histogram(dp.m.then_laplace(scale=1.0))
    moved = ["a", "b"], ["a", "a"]
    yield Release("moved-is-two-changes", histogram, *moved, pure(histogram.map(1)))
    laplace = dp.m.make_laplace_threshold(*counts(int), scale=1.0, threshold=2)
    one_more = {"a": 1}, {"a": 1, "b": 1}
    yield released("laplace-threshold", laplace, *one_more, (1, 1, 1), approximate)
    gaussian = dp.m.make_gaussian_threshold(*counts(int, dp.l02inf_distance), 1.0, 2)
    yield released("gaussian-threshold", gaussian, *one_more, (1, 1, 1), concentrated)
