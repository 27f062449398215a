"""DP-SGD: private training as trees of mechanisms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.errors import InvalidArgument, NotCertified
from tellapart.mechanisms.base import ADD_REMOVE, Mechanism, Sampling
from tellapart.mechanisms.batches.poisson_replace_one import PoissonReplaceOne
from tellapart.mechanisms.batches.truncated_poisson import TruncatedPoisson
from tellapart.mechanisms.combine import Repeated, Sampled, Step
from tellapart.mechanisms.combine import Sequence as Composition
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Curves of compositions have about ten digits: noise is told apart to nine.
_RESOLVED = 1e-9
# Counts of steps beyond this are no longer told apart.
MOST_STEPS = 10**15


def dp_sgd(
    noise_multiplier: float,
    sampling_rate: float | None = None,
    steps: int | None = None,
    *,
    epochs: float | None = None,
    batch_size: float | None = None,
    data_size: int | None = None,
    scheme: Sampling = Sampling.POISSON,
    neighbours: Neighbours | None = None,
    largest_batch: int | None = None,
) -> Repeated | Composition:
    """Training by noisy, clipped gradients on random samples (DP-SGD), all models seen.

    Give the sampling rate and the number of steps, or epochs, expected batch size and size of the
    data set. ``noise_multiplier`` is the noise in units of the clipping norm. ``neighbours`` are
    those that belong to the scheme, unless you name others; replacing a record moves a sum by
    twice the norm.

    - `Sampling.POISSON`: add or remove one record (or zero one out, or replace one).
    - `Sampling.WITHOUT_REPLACEMENT`, batches of fixed size drawn afresh: replace one.
    - `Sampling.RANDOM_ALLOCATION`, each record in one step of every epoch, drawn independently
      (balls in bins): add or remove one.
    - `Sampling.SHUFFLED`, one random order an epoch, cut into batches, as most data loaders do:
      zero one out (or replace one). No tight bound is known: the curve is a guarantee, without
      amplification, and `bracket` has an attack beside it.
    - `Sampling.TRUNCATED_POISSON`, Poisson samples cut down at random to ``largest_batch`` records
      (data_size must be given): add or remove one, of which data_size counts the larger set, or
      zero one out. The curve is a guarantee, and the cap is not free.

    With random allocation and shuffled batches an epoch is 1/sampling_rate steps, a whole number,
    and the last may be cut short; by epochs, batch_size and data_size, shuffled epochs may end in
    a smaller batch.

    >>> training = dp_sgd(noise_multiplier=1.0, sampling_rate=0.01, steps=1_000)
    >>> round(training.curve().epsilon(delta=1e-5), 6)
    1.828237
    >>> dp_sgd(noise_multiplier=1.0, epochs=10, batch_size=600, data_size=60_000) == training
    True

    See Also
    --------
    tellapart.audit.step : whether a step of training does what is assumed here
    tellapart.audit.watch : whether a whole training does, while it runs
    tellapart.accountants.opacus.OpacusAccountant : the same for Opacus
    """
    noise = _checks.finite_above_zero(noise_multiplier=noise_multiplier)
    relation = _relation(_checks.member(Sampling, scheme=scheme), neighbours)
    truncated = scheme is Sampling.TRUNCATED_POISSON
    plan = _plan(sampling_rate, steps, epochs, batch_size, data_size, needs_size=truncated)
    if largest_batch is not None and not truncated:
        _checks.refuse("largest_batch", "go with Sampling.TRUNCATED_POISSON", largest_batch)
    if scheme is Sampling.POISSON and relation is Neighbours.REPLACE:
        return PoissonReplaceOne(noise, plan.rate).repeated(plan.steps)
    reach = 2.0 if relation is Neighbours.REPLACE else 1.0
    step = Gaussian(noise, sensitivity=reach, neighbours=relation)
    if truncated:
        if largest_batch is None:
            raise InvalidArgument(
                "largest_batch must be given with Sampling.TRUNCATED_POISSON: the most records "
                "that a batch may have"
            )
        largest = _checks.whole(1, largest_batch=largest_batch)
        if largest < plan.rate * plan.size * (1 - 1e-12):
            rule = f"be at least the expected batch of {short(plan.rate * plan.size)} records"
            _checks.refuse("largest_batch", rule, largest_batch)
        return TruncatedPoisson(step, plan.rate, largest, plan.size).repeated(plan.steps)
    if scheme is Sampling.SHUFFLED and epochs is not None:
        return _shuffled(step, epochs, _checks.whole(1, batch_size=batch_size), plan.size)
    return _scheduled(step, plan.rate, plan.steps, scheme)


def dp_sgd_in_words(mechanism: Mechanism) -> str:
    """Training on Poisson batches, by its noise multiplier; empty for any other mechanism."""
    match mechanism:
        case Repeated(Sampled(Gaussian(sigma, reach), rate, Sampling.POISSON), steps):
            if mechanism.neighbours is ADD_REMOVE:
                many = f"{steps:,} {'step' if steps == 1 else 'steps'}"
                noise = short(sigma / reach)
                return f"DP-SGD with noise multiplier {noise}, sampling rate {short(rate)}, {many}"
    return ""


class _Plan(NamedTuple):
    """A schedule: how likely a record is to be in a step, the steps, and of how many records."""

    rate: float
    steps: int
    size: int


def _plan(
    sampling_rate: float | None,
    steps: int | None,
    epochs: float | None,
    batch_size: float | None,
    data_size: int | None,
    needs_size: bool,
) -> _Plan:
    by_steps = {"sampling_rate": sampling_rate, "steps": steps}
    counted = {"epochs": epochs, "batch_size": batch_size, "data_size": data_size}
    given = [name for name, value in (by_steps | counted).items() if value is not None]
    listed = [*by_steps, "data_size"] if needs_size else list(by_steps)
    if sampling_rate is not None and steps is not None and given == listed:
        rate = _checks.probability(sampling_rate=sampling_rate)
        size = _checks.whole(1, data_size=data_size) if needs_size else 0
        return _Plan(rate, _checks.whole(1, MOST_STEPS, steps=steps), size)
    if epochs is None or batch_size is None or data_size is None or given != list(counted):
        first = f"{', '.join(listed[:-1])} and {listed[-1]}"
        rule = f"be given as {first}, or as epochs, batch_size and data_size"
        _checks.refuse("the schedule", rule, " and ".join(given) or "none of them")
    size = _checks.whole(1, data_size=data_size)
    batch = _checks.finite_above_zero(batch_size=batch_size)
    if batch > size:
        _checks.refuse("batch_size", f"be at most data_size ({size})", batch_size)
    rounds = _checks.finite_above_zero(epochs=epochs) * size / batch
    if not rounds <= MOST_STEPS:
        _checks.refuse("epochs", "take at most 1e15 steps of batch_size records each", epochs)
    return _Plan(batch / size, _whole_steps(rounds), size)


# Which neighbours go with a scheme, first those that are meant where none are named.
SCHEME_NEIGHBOURS = {
    Sampling.POISSON: (Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT, Neighbours.REPLACE),
    Sampling.WITHOUT_REPLACEMENT: (Neighbours.REPLACE,),
    Sampling.RANDOM_ALLOCATION: (Neighbours.ADD_REMOVE,),
    Sampling.SHUFFLED: (Neighbours.ZERO_OUT, Neighbours.REPLACE),
    Sampling.TRUNCATED_POISSON: (Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT),
}


def _relation(scheme: Sampling, neighbours: Neighbours | None) -> Neighbours:
    known = SCHEME_NEIGHBOURS[scheme]
    if neighbours is None:
        return known[0]
    if _checks.member(Neighbours, neighbours=neighbours) not in known:
        listed = " or ".join(f"Neighbours.{each.name}" for each in known)
        words = " or ".join(each.value.partition(" (")[0] for each in known)
        rule = f"{words} ({listed}) with Sampling.{scheme.name}: no theorem is known for others"
        _checks.refuse("neighbours", rule, f"Neighbours.{neighbours.name}")
    return neighbours


def _whole_steps(rounds: float) -> int:
    """At least one; a schedule that comes out whole but for rounding is whole."""
    near = round(rounds)
    return max(near if abs(rounds - near) < 1e-9 * rounds else math.ceil(rounds), 1)


def _scheduled(step: Gaussian, rate: float, steps: int, scheme: Sampling) -> Repeated | Composition:
    if scheme not in (Sampling.RANDOM_ALLOCATION, Sampling.SHUFFLED):
        return step.sampled(rate, scheme).repeated(steps)
    slots = round(1 / rate) if rate > 0 else 0
    if not slots or abs(slots * rate - 1) > 1e-9:
        batches = "shuffled batches" if scheme is Sampling.SHUFFLED else "random allocation"
        last = "by epochs, batch_size and data_size the last batch may be smaller"
        whole = max(round(1 / rate), 1) if rate > 0 else 1
        near = f"{whole:,} steps an epoch have a rate of {1 / whole!r}"
        raise InvalidArgument(
            "the sampling rate (batch_size / data_size) must be 1 over a whole number of steps an "
            f"epoch for {batches}, got {short(rate)}; "
            f"{last if scheme is Sampling.SHUFFLED else near}"
        )
    epochs, rest = divmod(steps, slots)
    if scheme is Sampling.SHUFFLED:
        cut = step.shuffled_batches(rest, used=rest / slots) if rest else None
        return _whole_and_cut(step.shuffled_batches(slots), epochs, cut)
    # An epoch cut after some of its steps: the record is in one of those, or was to come later.
    some = step.allocated(rest).sampled(rest / slots) if rest else None
    return _whole_and_cut(step.allocated(slots), epochs, some)


def _shuffled(step: Gaussian, epochs: float, batch: int, size: int) -> Repeated | Composition:
    """Epochs of shuffled batches, the last of which has what is left over."""
    full, rest = divmod(size, batch)
    whole = round(epochs) if abs(epochs - round(epochs)) < 1e-9 * epochs else math.floor(epochs)
    cut = None
    if epochs > whole:
        steps = _whole_steps((epochs - whole) * size / batch)
        if steps > full:  # as good as an epoch
            whole += 1
        else:
            cut = step.shuffled_batches(steps, used=steps * batch / size)
    return _whole_and_cut(step.shuffled_batches(full, rest / batch), whole, cut)


def _whole_and_cut(epoch: Mechanism, epochs: int, cut: Mechanism | None) -> Repeated | Composition:
    if cut is None:
        return epoch.repeated(epochs)
    return epoch.repeated(epochs).then(cut.repeated(1)) if epochs else cut.repeated(1)


def dp_sgd_with_epsilon(
    epsilon: float,
    delta: float,
    sampling_rate: float | None = None,
    steps: int | None = None,
    *,
    epochs: float | None = None,
    batch_size: float | None = None,
    data_size: int | None = None,
    scheme: Sampling = Sampling.POISSON,
    neighbours: Neighbours | None = None,
    largest_batch: int | None = None,
) -> Repeated | Composition:
    """DP-SGD with the least noise that keeps (ε, δ), the schedule told as in `dp_sgd`.

    The noise is a billionth above what the curve asks for, never below.

    >>> training = dp_sgd_with_epsilon(2.0, 1e-5, sampling_rate=0.01, steps=1_000)
    >>> round(training.base.base.sigma, 6)
    0.959102
    """
    asked = _checks.finite_above_zero(epsilon=epsilon)
    target = math.log(_checks.inside_unit(delta=delta))

    def training(noise: float) -> Repeated | Composition:
        return dp_sgd(
            noise,
            sampling_rate,
            steps,
            epochs=epochs,
            batch_size=batch_size,
            data_size=data_size,
            scheme=scheme,
            neighbours=neighbours,
            largest_batch=largest_batch,
        )

    def excess(log_noise: Array) -> Array:
        try:
            leak = training(math.exp(float(log_noise[0]))).curve().delta(asked)
        except NotCertified:  # so little noise that doubles do not hold the leak
            return np.full(1, math.inf)
        return np.array([math.log(leak) - target if leak > 0 else -1e3])

    # Without any noise a record is seen whenever it takes part.
    most = -math.expm1(sum(map(_log_unseen, training(1.0).steps())))
    if delta >= most:
        _checks.refuse("delta", f"be less than the {short(most, 4)} leaked without noise", delta)
    high = solve.climb(excess, np.zeros(1), 0.5)
    low = solve.climb(excess, high - 0.5, -0.5)
    _, log_noise = solve.falling_root(excess, low, high, _RESOLVED)
    while excess(log_noise)[0] > -_RESOLVED:
        log_noise = log_noise + _RESOLVED
    return training(math.exp(float(log_noise[0])))


def _log_unseen(step: Step) -> float:
    """The logarithm of the chance that a record is in no such step."""
    mechanism = step[0]
    rate = getattr(mechanism, "rate", getattr(mechanism, "used", 1.0))
    return step[1] * math.log1p(-rate) if rate < 1 else -math.inf
