"""Privacy assertions for test suites: one line that fails when a mechanism breaks its promise.

It works wherever an ``AssertionError`` means failure. Under pytest, a plugin that comes with the
package adds options for seeds and samples, and a summary of all that was probed.
"""

from __future__ import annotations

import math
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.audit import Verdict, probe
from tellapart.audit.verdict import describe
from tellapart.curve.guarantees import guarantee
from tellapart.errors import InvalidArgument, NotCertified, TellapartError, Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

__all__ = ["assert_private"]

_SAMPLES = 100_000
_PLUGIN = "pytest_tellapart"
# With at most this probability, calls that are independent look as if they were not.
_MISJUDGED = 2e-8
_SMALLEST_ALARM = 1e-7


def assert_private(
    mechanism: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: Subject | None = None,
    false_alarm: float = 1e-6,
    samples: int | None = None,
    seed: int | None = None,
    timeout: float | None = None,
    features: Callable[[Any], Any] | None = None,
) -> None:
    """Fail if calls show that a mechanism breaks its claim on these two neighbouring inputs.

    The claim is (``epsilon``, ``delta``), or ``claim``, any mechanism or curve. A mechanism that
    keeps it fails with probability ``false_alarm`` at most, over seeds, and with one seed always
    or never. Passing proves nothing: another attack or another pair of inputs may show more. A test
    that no outcome of so few calls could fail is refused, with how many it takes.
    Without ``samples`` there are 100,000 calls on each input, however long they take, so that a
    seed says the same on every machine (`audit.plan` says what fewer find); without ``seed`` it is
    0, unless pytest's ``--tellapart-samples`` and ``--tellapart-seed`` say otherwise.

    >>> def noisy_count(data, rng, size=None):
    ...     return len(data) + rng.laplace(0, 1, size)
    >>> assert_private(noisy_count, [1, 2], [1, 2, 3], epsilon=1)
    """
    __tracebackhide__ = True
    try:
        promised, alarm = _promised(epsilon, delta, claim), _alarm(false_alarm)
    except TellapartError as why:  # the test's line and these words are what matters
        raise type(why)(str(why)) from None
    count = _chosen("samples", samples, _SAMPLES)
    key = _chosen("seed", seed, 0)
    name = getattr(mechanism, "__qualname__", type(mechanism).__name__)
    about = {"mechanism": name, "claim": describe(promised), "false_alarm": alarm}
    begin = time.perf_counter()
    try:
        verdict = probe(
            mechanism,
            d0,
            d1,
            claim=promised,
            samples=count,
            confidence=1 - (alarm - _MISJUDGED),
            seed=key,
            timeout=timeout,
            features=features,
        )
    except TellapartError as why:
        _record(about, begin, 0, None)
        # Again without the frames in between.
        raise type(why)(f"{name}: {why}") from why.__cause__
    _record(about, begin, 2 * count, verdict)
    if verdict.refuted:
        shared = (
            f"Confidence: of the false alarm of {short(alarm)} the tests of independence have "
            f"{short(_MISJUDGED)}, and this test the rest."
        )
        verdict = replace(verdict, remarks=(*verdict.remarks, shared))
        raise AssertionError(
            f"{name} is not private as claimed ({count:,} calls on each input).\n{verdict}\n"
            f"To see it again: {_again(key, count)}"
        )
    if not verdict.could_refute:
        raise InvalidArgument(f"{name}: {_hopeless(verdict, count, alarm)}")


def _hopeless(verdict: Verdict, samples: int, alarm: float) -> str:
    """What to say of a test that could not have failed, whatever the mechanism does."""
    claim = f"the claim {verdict.name}"
    if verdict.allows_all:
        return f"{claim} allows everything (δ = 1), so that this test can never fail"
    try:
        factor = verdict.samples_to_judge
    except (Unsupported, NotCertified):
        factor = math.inf
    more = f"at least about {math.ceil(factor * samples):,}" if factor < math.inf else "more"
    return (
        f"samples must be {more} for {claim} at false_alarm {short(alarm)}, as no outcome of fewer "
        f"calls could fail this test, got {samples:,}; so few show a gross leak at best: take many "
        f"more (the default is {_SAMPLES:,})"
    )


def _promised(epsilon: float | None, delta: float, claim: Subject | None) -> Subject:
    if (epsilon is None) == (claim is None):
        raise InvalidArgument("assert_private must be given epsilon or a claim, and not both")
    if claim is None:
        return guarantee(epsilon=epsilon, delta=delta)
    if delta:
        raise InvalidArgument("delta must be part of the claim, where one is given")
    curve_of(claim, "claim")
    return claim


def _alarm(false_alarm: float) -> float:
    alarm = _checks.inside_unit(false_alarm=false_alarm)
    if alarm < _SMALLEST_ALARM:
        _checks.refuse("false_alarm", f"be at least {short(_SMALLEST_ALARM)}", false_alarm)
    return alarm


# -- pytest's side, where it is there --------------------------------------------------------------


def _chosen(name: str, given: int | None, usual: int) -> int:
    """What the test says, or else the command line, or else what is usual."""
    if given is not None:
        return given
    plugin = sys.modules.get(_PLUGIN)
    option = plugin.chosen(name) if plugin is not None else None
    return usual if option is None else int(option)


def _record(about: dict[str, Any], begin: float, calls: int, verdict: Verdict | None) -> None:
    plugin = sys.modules.get(_PLUGIN)
    if plugin is None:
        return
    outcome, could_refute, shown = "CANNOT BE JUDGED", True, None
    if verdict is not None:
        could_refute = verdict.could_refute
        outcome = "not refuted" if could_refute else "TOO FEW CALLS TO REFUTE"
        outcome = "ALLOWS EVERYTHING" if verdict.allows_all else outcome
        outcome = "REFUTED" if verdict.refuted else outcome
        shown = float(verdict.epsilon_lower().value)
    seconds = time.perf_counter() - begin
    outcomes = {"outcome": outcome, "could_refute": could_refute, "epsilon": shown}
    plugin.record(about | outcomes | {"calls": calls, "seconds": seconds})


def _again(seed: int, samples: int) -> str:
    """The line to type, under pytest; elsewhere the arguments."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if not test or _PLUGIN not in sys.modules:
        return f"seed={seed}, samples={samples}"
    return f"pytest {shlex.quote(test)} --tellapart-seed={seed} --tellapart-samples={samples}"
