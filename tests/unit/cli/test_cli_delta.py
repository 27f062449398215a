"""One δ: every ε that any command prints is that of the mechanism as configured, at --delta."""

import json
import math
import re
import shlex

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short
from tellapart.choose.named_limits import configured
from tellapart.cli import main
from tellapart.cli.deltas import asked, of_several
from tellapart.mechanisms.catalogue import KINDS, is_pure, named_family, parse
from tellapart.mechanisms.subject import curve_of

# Each mechanism, made in every way it can be.
MADE = {
    "any": ["--epsilon 1", "--mu 0.7", "--zcdp 0.1"],
    "laplace": ["--epsilon 1", "--scale 2 --sensitivity 3"],
    "gaussian": ["--sigma 2", "--epsilon 1 --sensitivity 3"],
    "gaussian-classic": ["--epsilon 0.5"],
    "discrete-laplace": ["--epsilon 1", "--scale 2"],
    "discrete-gaussian": ["--sigma 2"],
    "truncated-laplace": ["--epsilon 1"],
    "staircase": ["--epsilon 1"],
    "uniform": [""],
    "randomized-response": ["--epsilon 1"],
    "unary-encoding": ["--epsilon 1"],
    "symmetric-unary-encoding": ["--epsilon 1"],
    "exponential": ["--epsilon 1"],
    "permute-and-flip": ["--epsilon 1"],
    "noisy-max": ["--epsilon 1"],
    "planar-laplace": ["--epsilon 1"],
    "dpsgd": ["--noise-multiplier 1 --sampling-rate 0.01 --steps 100"],
}
TOLD = [
    KINDS["last-iterate"].first_text,
    "uniform:width=5",
    "truncated-laplace:scale=1,cutoff=9",
    "gaussian:sigma=9,repeated=20",
    "laplace:epsilon=0.3,sampled=0.1,repeated=3",
    "gaussian:sigma=3+laplace:epsilon=0.2",
    "any:epsilon=0.1,delta=1e-7,repeated=4",  # a δ of each step, beside the δ of all
]
CASES = [*(f"{name} {more}".strip() for name, every in MADE.items() for more in every), *TOLD]
PURE = {name for name, (first, *_) in MADE.items() if first == "--epsilon 1"} - {
    "any",
    "truncated-laplace",
}
# What is left open is chosen; uniform noise has one ε only, 0 or none. Of engines that show keys a
# threshold is chosen, with which ε jumps, or nothing.
DESCENT = (
    "steps=100,step_size=0.1,strong_convexity=1,smoothness=4,gradient_sensitivity=2,"
    "batch_size=100,data_size=100"
)
NOT_OPEN = ("uniform", "last-iterate", "thresholded-histogram", "partition-selection")
OPEN = {name: "" for name in KINDS if name not in NOT_OPEN} | {
    f"last-iterate:{DESCENT}": "",
    "dpsgd": "--sampling-rate 0.01 --steps 100",
    "gaussian:repeated=20": "",
    "gaussian:delta=1e-6": "--parameter epsilon",
    "laplace:sensitivity=3": "--parameter scale",
}
CHOSEN = [f"{name} {more}".strip() for name, more in OPEN.items()]


@pytest.fixture
def call(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(words):
        code = main(shlex.split(words))
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


def told(case):
    """A case as the library takes it."""
    name, _, options = case.partition(" ")
    values = {
        key.replace("-", "_"): int(value) if key == "steps" else float(value)
        for key, value in re.findall(r"--(\S+) (\d[\d.e-]*)", options)
    }
    return name, values


def needs_delta(name, values):
    by_pair = name in ("gaussian", "gaussian-classic", "truncated-laplace", "dpsgd")
    return name == "uniform" or (by_pair and "epsilon" in values)


def made(name, values, delta):
    """The curve by the library alone: --delta is the mechanism's own where that has one."""
    if needs_delta(name, values) or (name == "any" and "epsilon" in values):
        values = {**values, "delta": delta}
    return curve_of(parse(name, **values))


def shown(text):
    """Every ε of a text with the δ beside it, in a table or in a sentence."""
    table = r"ε at δ = ([\d.e-]+)(?: \(default\))?:?\s+(?:0\s+)?[=≈≤≥] ([\d.e+-]+\d|∞)"
    found = re.findall(table, text)
    # What was found has four decimals; a limit is shown as it was asked for.
    sentence = r"ε [=≈≤≥] (\d+\.\d{4}\d*(?:e[+-]?\d+)?|∞) at δ = ([\d.]+(?:e-?\d+)?)"
    found += [(at, one) for one, at in re.findall(sentence, text)]
    assert found
    return [(float(delta), math.inf if one == "∞" else float(one)) for delta, one in found]


def agrees(printed, truth):
    return printed == truth or printed == pytest.approx(truth, rel=2e-4, abs=1.01e-4)


# -- risk, report and compare -------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_risk_and_report_tell_epsilon_at_delta(case, call):
    delta = 3e-6
    curve = made(*told(case), delta)
    truth = curve.epsilon(delta)
    for at, printed in shown(call(f"risk {case} --delta {delta}")):
        assert at == delta
        assert agrees(printed, truth)
    found = json.loads(call(f"risk {case} --delta {delta} --json"))
    assert (found["delta"], found["delta_is_default"]) == (delta, False)
    if math.isfinite(truth):
        assert found["readings"][-1]["value"] == truth
    filed = json.loads(call(f"report {case} --delta {delta} --json"))
    budgets = filed["meaning"]["budgets"]
    assert filed["meaning"]["delta"] == delta
    assert "ε at δ = 3e-6" in [one["what"] for one in budgets]
    for one in budgets:
        at = float(re.search(r"δ = (\S+)", one["what"])[1])
        assert at == one["delta"]
        assert agrees(shown(f"{one['what']} {one['words']}")[0][1], curve.epsilon(at))


@pytest.mark.parametrize("case", CASES)
def test_a_delta_that_nobody_gave_is_called_the_default(case):
    name, values = told(case)
    if needs_delta(name, values):
        values["delta"] = 1e-3
    found = asked(name, values).deltas
    pure = name in PURE or (name == "any" and "epsilon" in values)
    assert found.is_default == ("delta" not in values and not pure)
    usual = "δ = 0" if pure else "δ = 1e-5 (default)"
    assert found.words == ("δ = 0.001" if "delta" in values else usual)


@pytest.mark.parametrize("case", CASES)
def test_the_delta_of_pure_mechanisms_is_0_and_of_others_1e_5(case):
    name, values = told(case)
    given = {"delta": 1e-3} if needs_delta(name, values) else {}
    finite = math.isfinite(curve_of(parse(name, **values, **given)).epsilon(0.0))
    composed = "repeated" in name or "+" in name
    assert is_pure(name, values) == (finite and not composed)


@pytest.mark.parametrize("name", ["any", "laplace", "randomized-response", "staircase"])
def test_a_limit_on_epsilon_has_the_delta_of_a_bare_epsilon(name, call):
    found = json.loads(call(f"choose {name} --max-epsilon 0.8 --json"))
    assert (found["delta"], found["value"]) == (0, 0.8)
    assert found["limits"][0]["limit"] == "ε ≤ 0.8 at δ = 0"
    again = json.loads(call(f"risk {name} --epsilon 0.8 --json"))
    assert (again["delta"], again["readings"][-1]["value"]) == (0, pytest.approx(0.8, rel=1e-12))


def test_pure_mechanisms_are_compared_at_delta_0():
    pure = ["laplace:epsilon=1", "staircase:epsilon=1"]
    assert of_several(pure, None, ()).every == (0,)
    assert of_several([*pure, "gaussian:sigma=2"], None, ()).every == (1e-5,)
    assert of_several([*pure, "gaussian:epsilon=1,delta=1e-6"], None, ()).every == (1e-6,)


def test_the_default_is_named_on_every_line_that_uses_it(call, tmp_path):
    for words in (
        "risk gaussian --sigma 2",
        "choose gaussian --max-advantage 0.1",
        "compare gaussian:sigma=2 laplace:epsilon=1",
        f"report gaussian {tmp_path / 'out.html'} --sigma 2",
    ):
        assert re.search(r"ε (. \S+ )?at δ = 1e-5 \(default\)", call(words))
    assert "ε at δ = 1e-5 (default)" in (tmp_path / "out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", ["gaussian --sigma 2", "any --mu 0.7"])
def test_further_deltas_are_told_besides(case, call):
    curve = made(*told(case), 1e-6)
    found = shown(call(f"risk {case} --delta 1e-6 --at-delta 1e-4 --at-delta 1e-2"))
    assert [at for at, _ in found] == 2 * [1e-6, 1e-4, 1e-2]
    assert all(agrees(printed, curve.epsilon(at)) for at, printed in found)
    filed = json.loads(call(f"report {case} --delta 1e-6 --at-delta 1e-4 --json"))
    names = [one["what"] for one in filed["meaning"]["budgets"]]
    assert {"ε at δ = 1e-6", "ε at δ = 0.0001"} <= set(names)
    assert filed["meaning"]["delta"] == 1e-6


def test_several_mechanisms_are_told_at_one_delta(call):
    texts = ["gaussian:epsilon=1,delta=1e-6", "laplace:epsilon=1"]
    for options, wanted in (
        ("", [1e-6]),  # the one δ that is in them
        ("--delta 1e-3", [1e-3]),
        ("--delta 1e-3 --at-delta 1e-4", [1e-3, 1e-4]),
    ):
        found = json.loads(call(f"compare {' '.join(texts)} {options} --json"))
        assert found["delta"] == wanted[0]
        for text, one in zip(texts, found["mechanisms"], strict=True):
            curve = curve_of(parse(text))
            values = [x["value"] for x in one["readings"] if x["key"].startswith("epsilon")]
            assert values == [curve.epsilon(at) for at in wanted]


# -- choose -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CHOSEN)
def test_what_is_chosen_keeps_its_limit_at_the_delta_given(case, call):
    delta, limit = 1e-6, 0.8
    words = f"choose {case} --delta {delta} --max-epsilon {limit}"
    found = json.loads(call(f"{words} --json"))
    name, values = told(case)
    values[found["parameter"]] = found["value"]
    epsilon = made(name, values, delta).epsilon(delta)
    assert limit * 0.99 < epsilon <= limit * (1 + 1e-12)
    assert found["epsilon"] == pytest.approx(epsilon, rel=1e-12)
    assert found["limits"][0]["limit"] == f"ε ≤ {limit:g} at δ = {short(delta)}"
    if name == "dpsgd":  # takes seconds, and is told as others are
        return
    out = call(words)
    first, rest = out.split(" for ", 1)
    assert re.findall(r"(\w+) = [\d.]+", first) == list(found["configured"])
    said = " ".join(rest.partition("Binding")[0].split())
    assert re.search(rf"; ε . \S+ at δ = {short(delta)}$", said)
    assert all(at == delta and agrees(one, epsilon) for at, one in shown(out))


@pytest.mark.parametrize(
    ("name", "fixed", "value", "typed"),
    [
        ("laplace", {}, 0.7, lambda noise: ta.Laplace(**noise)),
        ("gaussian", {"delta": 1e-6}, 0.7, lambda noise: ta.Gaussian(**noise)),
        ("gaussian-classic", {"delta": 1e-6}, 0.7, lambda noise: ta.Gaussian(**noise)),
        ("truncated-laplace", {"delta": 1e-6}, 0.7, lambda noise: ta.TruncatedLaplace(**noise)),
        ("discrete-laplace", {}, 0.7, lambda noise: ta.DiscreteLaplace(**noise)),
        (
            "dpsgd",
            {"delta": 1e-6, "sampling_rate": 0.01, "steps": 100},
            0.7,
            lambda noise: ta.dp_sgd(**noise, sampling_rate=0.01, steps=100),
        ),
    ],
)
def test_who_types_in_the_first_line_has_what_was_chosen(name, fixed, value, typed):
    family = named_family(name, "epsilon", **fixed)
    chosen, entered = family.make(value), typed(configured(family, value).values)
    for delta in (1e-9, 1e-6, 1e-3):
        most = chosen.curve().epsilon(delta)
        assert most * (1 - 1e-8) <= entered.curve().epsilon(delta) <= most * (1 + 1e-12)


# -- audit and probe ----------------------------------------------------------------------------


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        f"{value},{member}"
        for member in (0, 1)
        for value in rng.normal(loc=1.5 * member, size=400).tolist()
    ]
    file = tmp_path / "scores.csv"
    file.write_text("score,member\n" + "\n".join(rows) + "\n")
    return file


@pytest.mark.parametrize(
    "claim",
    [
        "--mechanism gaussian --sigma 0.5",
        "--mechanism gaussian --epsilon 7",
        "--mu 2",
        "--epsilon 4",
        "--mechanism laplace --epsilon 4",
    ],
)
def test_an_audit_shows_epsilon_at_the_delta_given(claim, scores, call):
    evidence = audit.many_runs(audit.Scores.read(str(scores)))
    start = f"audit {scores} --design many-runs {claim} --delta 1e-3"
    said = " ".join(call(start).split())
    found = re.search(r"Lower bound: ε ≥ ([\d.]+) at δ = (\S+) \(", said)
    least = evidence.epsilon_lower(1e-3).value
    assert (float(found[1]), float(found[2])) == (pytest.approx(least, abs=1e-4), 1e-3)
    assert "Also:" not in said
    more = " ".join(call(f"{start} --at-delta 1e-2").split())
    least = evidence.epsilon_lower(1e-2).value
    also = re.search(r"Also: ε at δ = 0.01 ≥ ([\d.]+)\.", more)
    assert float(also[1]) == pytest.approx(least, abs=1e-4)


def test_an_audit_without_a_delta_says_which_it_took(scores, call):
    said = call(f"audit {scores} --design many-runs --mu 2")
    assert "at δ = 1e-5 (default) (95 %" in " ".join(said.split())


def test_without_a_claim_epsilon_is_told_where_it_is_asked_for(scores, capsys):
    main(shlex.split(f"audit {scores} --design many-runs --at-delta 0.004 --json"))
    found = json.loads(capsys.readouterr().out)
    assert found["refuted"] is None
    assert "ε at δ = 0.004" in [one["what"] for one in found["shown"]]


def test_a_probe_shows_epsilon_at_the_delta_given(tmp_path, call, monkeypatch):
    (tmp_path / "noisy.py").write_text(
        "def f(data, rng, size):\n    return data + rng.normal(size=size)\n"
    )
    monkeypatch.chdir(tmp_path)
    said = call(
        "probe noisy.py:f --d0 0 --d1 1 --samples 4000 --mechanism gaussian --sigma 1 --delta 1e-3"
    )
    assert re.search(r"Lower bound: ε ≥ \S+ at δ = 0\.001 \(", " ".join(said.split()))


# -- what could mean two things -----------------------------------------------------------------

OF_STEPS = (
    "--delta must stand beside steps whose own δ is written into them, such as "
    "any:epsilon=1,delta=0,repeated=9: it is the δ of all steps together, got 1e-5"
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "risk gaussian:epsilon=1,delta=1e-6 --delta 1e-5",
            "--delta must be the δ of gaussian:epsilon=1,delta=1e-6 (1e-6), or be left out; "
            "--at-delta reports ε at another δ, got 1e-5",
        ),
        ("risk any:epsilon=0.1,repeated=50 --delta 1e-5", OF_STEPS),
        ("risk gaussian:epsilon=1+laplace:epsilon=1 --delta 1e-5", OF_STEPS),
        (
            "choose gaussian:repeated=50 --parameter epsilon --delta 1e-5 --max-epsilon 1",
            OF_STEPS,
        ),
        (
            "choose uniform --parameter delta --delta 1e-5 --max-advantage 0.1",
            "--delta must be left out where delta is what is chosen; choose another --parameter, "
            "got 1e-5",
        ),
        (
            "choose gaussian --max-epsilon 1 --at-delta 1e-5 --at-delta 1e-6",
            "--max-epsilon must come with --delta where --at-delta is given more than once, got "
            "1.0",
        ),
        ("risk gaussian --sigma 1 --delta 2", "--delta must lie in [0, 1], got 2.0"),
        ("risk gaussian --sigma 1 --at-delta 2", "--at-delta must lie in [0, 1], got 2.0"),
        (
            "compare laplace:scale=1 laplace:scale=2 --delta 2",
            "--delta must lie in [0, 1], got 2.0",
        ),
    ],
)
def test_a_delta_that_could_mean_two_things_is_refused(words, message, capsys):
    assert main(shlex.split(words)) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"tellapart: {message}\n")


def test_numbers_given_beside_several_mechanisms_are_those_of_the_first(call):
    found = json.loads(call("risk gaussian+laplace:epsilon=1 --sigma 2 --json"))
    assert found["mechanism"] == "gaussian:sigma=2+laplace:epsilon=1"
