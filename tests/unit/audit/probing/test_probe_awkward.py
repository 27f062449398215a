"""Mechanisms that misbehave: each gets a verdict or a clear message, and nothing else breaks."""

import datetime as dt
import os
import sys
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.testing import assert_private

pytestmark = pytest.mark.usefixtures("by_value")

CLAIM = ta.guarantee(epsilon=1)
WITHOUT, WITH = [1.0, 2.0], [1.0, 2.0, 3.0]


def probed(mechanism, samples=400, **more):
    return audit.probe(mechanism, WITHOUT, WITH, claim=CLAIM, samples=samples, **more)


def noisy(data, rng, scale=1.0):
    return float(len(data) + rng.laplace(0, scale))


# -- outputs of every kind: the leak is seen through them ----------------------------------------


def _frame(number):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"count": [number], "unit": ["people"]})


def _series(number):
    pandas = pytest.importorskip("pandas")
    return pandas.Series([number, 1.0])


def _timestamp(number):
    pandas = pytest.importorskip("pandas")
    return pandas.Timestamp("2020-01-01") + pandas.Timedelta(seconds=number)


def _tensor(number):
    torch = pytest.importorskip("torch")
    return torch.tensor([number, 1.0])


WRAPPED = {
    "text": str,
    "bytes": lambda number: b"%.17g" % number,
    "numpy's text": lambda number: np.str_(number),
    "array of texts": lambda number: np.array(["a", str(number)]),
    "text in a dictionary": lambda number: {"total": {"people": f"{number:.6f}"}},
    "text in lists": lambda number: [["people", f" {number:.3e} "]],
    "decimal": Decimal,
    "fraction": Fraction,
    "complex": lambda number: complex(1.0, number),
    "longdouble": np.longdouble,
    "half": np.float16,
    "array": lambda number: np.array([number, 1.0]),
    "masked": lambda number: np.ma.masked_array([number, 1.0], mask=[False, True]),
    "record": lambda number: np.array([(number, 1)], dtype=[("a", "f8"), ("b", "i4")])[0],
    "objects": lambda number: np.array([number, "a", None], dtype=object),
    "datetime": lambda number: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=number),
    "aware": lambda number: dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=number),
    "date": lambda number: dt.date(2020, 1, 1) + dt.timedelta(days=round(number)),
    "timedelta": lambda number: dt.timedelta(seconds=number),
    "datetime64": lambda number: np.datetime64("2020-01-01") + np.timedelta64(int(9 * number), "s"),
    "frame": _frame,
    "series": _series,
    "timestamp": _timestamp,
    "tensor": _tensor,
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_a_number_is_read_whatever_it_is_wrapped_in(wrap):
    """Noise of scale 0.1 for ε = 1: seen for sure; noise of scale 1 is not refuted with seed 0."""
    assert probed(lambda data, rng: wrap(noisy(data, rng, 0.1))).epsilon_lower().value > 3
    assert not probed(lambda data, rng: wrap(noisy(data, rng))).refuted


def test_bytes_and_texts_are_categories():
    for made in (lambda code: bytes([code]), lambda code: "x" * 20_000 + str(code)):
        assert not probed(lambda data, rng, made=made: made(int(rng.integers(3)))).refuted
        verdict = probed(lambda data, rng, made=made: made(len(data)))
        assert verdict.refuted
        # A text of 20,000 letters is not printed.
        assert len(str(verdict)) < 2_000


def test_texts_that_never_come_again_show_nothing():
    assert not probed(lambda data, rng: "x" * 10_000 + str(rng.random())).refuted


def test_mixed_types_are_told_apart():
    kinds = [1, 2.5, "x", None, (1, 2), {"a": 1}, True, np.zeros(2), b"z"]

    def mixed(data, rng):
        return kinds[int(rng.integers(9))]

    def more_none(data, rng):
        return None if len(data) == 3 and rng.random() < 0.5 else mixed(data, rng)

    assert not probed(mixed).refuted
    verdict = probed(more_none, samples=4_000)
    assert verdict.refuted
    assert "output is None" in verdict.finding.where


# -- outputs that cannot be read -----------------------------------------------------------------


class NoEquality:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("not comparable")


class NoLength(list):
    def __len__(self):
        raise RuntimeError("no length")


class NoRepr:
    def __reduce__(self):
        raise RuntimeError("no bytes")

    def __repr__(self):
        raise RuntimeError("no text")


class NoHash(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = str.__hash__


def nested(depth):
    found = 1
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (lambda rng: NoLength([rng.random()]), "raises RuntimeError: no length"),
        (lambda rng: NoRepr(), "raises RuntimeError: no bytes"),
        (lambda rng: NoHash(rng.integers(3)), "raises RuntimeError: not comparable"),
        (lambda rng: nested(3_000), "raises RecursionError"),
    ],
)
def test_an_output_that_cannot_be_read_is_told_of(output, why):
    with pytest.raises(ta.Unsupported) as caught:
        probed(lambda data, rng: output(rng), samples=40)
    assert str(caught.value).startswith("an output cannot be read: it ")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (lambda data, rng: (one for one in data), "generator"),
        (lambda data, rng: iter(data), "list_iterator"),
        (lambda data, rng: lambda: 0, "function"),
        (lambda data, rng: NoEquality(), "NoEquality"),
    ],
)
def test_outputs_in_which_nothing_can_be_read_are_no_sign_of_privacy(output, kind):
    words = f"^every output is a {kind}, in which nothing can be read; return numbers, "
    with pytest.raises(ta.Unsupported, match=words):
        probed(output, samples=40)
    with pytest.raises(ta.Unsupported, match=f"every output is a {kind}, in which"):
        assert_private(output, WITHOUT, WITH, epsilon=1, samples=40)


def test_a_feature_may_read_what_nothing_else_can():
    assert probed(lambda data, rng: iter(data), features=lambda out: len(list(out))).refuted


def test_a_coroutine_is_not_an_answer():
    async def release(data):
        return len(data)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nobody awaited it
        with pytest.raises(ta.Unsupported, match="every output is a coroutine, in which"):
            probed(release, samples=40)


# -- calls that go wrong -------------------------------------------------------------------------


def test_a_mechanism_that_changes_its_input_is_judged_as_if_it_did_not():
    def popping(data, rng):
        data.append(0.0)
        return noisy(data, rng, 0.3)

    data = list(WITHOUT)
    assert audit.probe(popping, data, WITH, claim=CLAIM, samples=4_000).refuted
    assert data == WITHOUT


def test_one_that_changes_its_input_later_is_told_of():
    calls = []

    def later(data, rng):
        calls.append(1)
        if len(calls) > 100:
            data[0] = 9.0
        return noisy(data, rng)

    with pytest.raises(ta.InvalidArgument) as caught:
        assert_private(later, WITHOUT, WITH, epsilon=1, samples=400)
    assert str(caught.value).endswith(
        ".later: mechanism must leave its input unchanged, or change it from its first call on, "
        "got [9.0, 2.0]"
    )


def test_an_exception_on_one_input_only_is_a_leak():
    def divides(data, rng):
        return noisy(data, rng) / (3 - len(data))

    with pytest.raises(AssertionError, match=r"100 % of outputs on d1 \(360 of 360\) against"):
        assert_private(divides, WITHOUT, WITH, epsilon=1, samples=400)


def test_an_exception_on_both_is_a_mistake():
    words = "the function raised on every call: KeyError: 'age'"
    with pytest.raises(ta.InvalidArgument, match=words):
        assert_private(lambda data: {}["age"], WITHOUT, WITH, epsilon=1, samples=40)


def test_a_warning_that_is_an_error_here_is_named():
    def warns(data):
        warnings.warn("look out", stacklevel=1)
        return len(data)

    with pytest.raises(ta.InvalidArgument, match="raised on every call: UserWarning: look out"):
        assert_private(warns, WITHOUT, WITH, epsilon=1, samples=40)


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_whoever_wants_to_stop_can(error):
    def stops(data):
        raise error

    with pytest.raises(error):
        probed(stops)
    with pytest.raises(error):
        assert_private(stops, WITHOUT, WITH, epsilon=1)


def test_one_that_ends_its_process_on_one_input_leaks():
    def dies(data):
        if len(data) == 3:
            os._exit(3)
        return 1.0

    verdict = probed(dies, samples=20, timeout=20)
    assert verdict.refuted
    assert verdict.epsilon_lower().value > 1


@pytest.mark.parametrize(
    ("never", "kind", "words"),
    [
        (
            lambda data: os._exit(3),
            ta.Unsupported,
            "the code ended its own process when called, in each of 3 trial calls",
        ),
        (
            lambda data: time.sleep(100),
            ta.InvalidArgument,
            "the function must return in time: none of 3 trial calls on each input did",
        ),
    ],
    ids=["ends its process", "hangs"],
)
def test_one_that_never_ends_is_told_of_at_once(never, kind, words):
    """100,000 calls that are cut off would take days."""
    begin = time.monotonic()
    with pytest.raises(kind) as caught:
        assert_private(never, WITHOUT, WITH, epsilon=1, timeout=0.1)
    assert str(caught.value).endswith(words)
    assert time.monotonic() - begin < 60


def test_what_it_prints_goes_where_prints_go(capsys):
    def chatty(data, rng):
        sys.stdout.write("x" * 1_000)
        return noisy(data, rng)

    assert not probed(chatty).refuted
    assert len(capsys.readouterr().out) >= 800 * 1_000
    assert not probed(chatty, samples=60, timeout=20).refuted
    assert capsys.readouterr().out == ""
