"""The examples are run as a person would run them, and what they print is checked."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RATES = (0.001, 0.01, 0.1)
CURVES = {
    "any mechanism with ε = 1": ta.guarantee(1),
    "randomised response": ta.RandomizedResponse(1).curve(),
    "Laplace noise": ta.Laplace.with_epsilon(1).curve(),
    "exponential mechanism": ta.ExponentialMechanism(1).curve(),
    "any mechanism with ε = 1, δ = 1e-5": ta.guarantee(1, 1e-5),
    "Laplace noise that is cut off": ta.TruncatedLaplace.with_epsilon(1, 1e-5).curve(),
    "Gaussian noise": ta.Gaussian.analytic(1, 1e-5).curve(),
    "perfect privacy": ta.guarantee(0),
}


def test_every_example_has_a_test():
    """The demo below; releases in `docs/probe.md` and models in tests of their own."""
    found = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".toml"))
    scripts = ["demo.py", "fitted_chain.py", "release.py"]
    assert found == sorted([*scripts, "chain.toml", "flu.toml", "wet_days.toml"])


def test_the_scores_are_of_laplace_noise_half_as_large_as_claimed():
    draw = np.random.default_rng(7)
    rows = [
        f"{score:.6f},{member}"
        for member, centre in ((1, 1.0), (0, 0.0))
        for score in draw.laplace(centre, 0.5, 1_000)
    ]
    shown = (EXAMPLES / "scores.csv").read_text(encoding="utf-8")
    assert shown.splitlines() == ["score,member", *rows]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder the demo ran in, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-X", "utf8", str(EXAMPLES / "demo.py")],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done.stdout


def test_the_demo_says_what_one_epsilon_means(demo):
    lines = demo[1].splitlines()
    for line in (
        "What does ε = 1 mean? An attacker sees an output and must say whether your record",
        "  Of 1,000 people, 10 are members.",
        "  Laplace noise up to ε = 1.4086; any mechanism up to 1.1526",
        "say “present” when the output exceeds 11.6094; that accuses a data set without you",
        "  impossible if the promise holds: TPR ≤ e^ε·FPR + δ fails by 0.02282",
        "  13 cells of its Table 1: exact",
    ):
        assert line in lines


def test_no_attacker_does_better_than_the_demo_says(demo):
    """Five decimals, rounded up: at least the truth, and no further above it than they must."""
    rows = re.findall(r"^ {2,4}(\S.*?) {2,}(0\.\d{5}) +(0\.\d{5}) +(0\.\d{5})$", demo[1], re.M)
    assert [name for name, *_ in rows] == list(CURVES)
    for name, *shown in rows:
        for rate, told in zip(RATES, shown, strict=True):
            truth = CURVES[name].tpr(rate)
            assert -1e-12 * truth <= float(told) - truth < 1e-5, (name, rate)


def test_the_demo_leaves_its_page(demo):
    folder, printed = demo
    page = folder / re.search(r"^Open (\S+) to see", printed, re.M)[1]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in folder.iterdir()] == ["build"]
