"""The examples are run as a person would run them, and what they print is checked."""

import importlib.util
import io
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart import choose, risk

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_every_example_has_a_test():
    """The demo below; code to check on pages that run it, and models in tests of their own."""
    files = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".toml"))
    scripts = ["demo.py", "fitted_chain.py", "release.py", "train.py"]
    assert files == sorted([*scripts, "chain.toml", "flu.toml", "wet_days.toml"])


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


def test_the_demo_tells_its_story(demo):
    """Each number against one computed another way, or as the README and the paper have it."""
    lines = [line.strip() for line in demo[1].splitlines()]
    advantage = choose.at_most(0.05, risk.advantage)
    laplace = choose.largest(ta.Laplace.with_epsilon, [advantage]).rounded(4)
    noise = choose.least(lambda sigma: ta.dp_sgd(sigma, 0.01, 1_000), [advantage])
    anything = math.floor(2 * math.atanh(0.05) * 1e4) / 1e4
    for line in (
        "Of 1,000 people, 10 are members.",
        f"Any mechanism up to ε = {anything}; Laplace noise up to {laplace}.",
        f"It takes a noise multiplier of {noise.rounded(4)}, certified.",
        "13 cells of its Table 1: exact",
    ):
        assert line in lines
    verdicts = [line.partition(":")[0] for line in lines if "REFUTED: the claim ε = 1" in line]
    assert verdicts == ["NOT REFUTED", "REFUTED", "REFUTED"]
    numbered = re.findall(r"^\[(\d)/(\d)\] ", demo[1], re.M)
    assert [int(k) for k, _ in numbered] == list(range(1, int(numbered[0][1]) + 1))


def test_the_demo_leaves_its_pages(demo):
    folder, printed = demo
    pages = re.findall(r"^  The .*: +(\S+\.html)$", printed, re.M)
    assert len(pages) == 2
    for page in pages:
        assert (folder / page).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in folder.iterdir()] == ["build"]


def test_the_demo_speaks_to_a_narrow_terminal_without_greek(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setitem(sys.modules, "release", None)  # gone again afterwards
    del sys.modules["release"]
    described = importlib.util.spec_from_file_location("story", EXAMPLES / "demo.py")
    story = importlib.util.module_from_spec(described)
    described.loader.exec_module(story)
    for later in ("choosing", "training", "probing", "auditing", "founding"):
        monkeypatch.setattr(story, later, lambda: None)
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    story.main()
    lines = terminal.buffer.getvalue().decode("ascii").splitlines()
    assert "[1/7] Someone claims ? = 1. What does that mean?" in lines
    assert max(len(line) for line in lines if line.startswith("  Of ")) <= 40
    assert not any(line.strip().startswith("%") for line in lines)
