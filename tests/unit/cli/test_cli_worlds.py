"""The commands about data that hang together, as someone types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import risk
from tellapart.choose import FROM_MODEL, at_most, noise, noise_table
from tellapart.worlds import (
    JointTable,
    MarkovChain,
    Sum,
    chain_epsilon_bound,
    chain_scale_bound,
    described,
    frameworks,
)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CHAIN = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=21)
TABLE = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
MODEL = """
title = "three weeks"
[model]
kind = "chain"
transition = [[0.9, 0.1], [0.4, 0.6]]
stationary = true
length = 21
"""
NOISY = f'{MODEL}\n[release]\nnoise = "laplace"\nscale = 1\n'
SMALL = '[model]\nkind = "table"\nprobabilities = [[0.4, 0.1], [0.1, 0.4]]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with descriptions."""
    files = {
        "chain.toml": f"{NOISY}\n[target]\nepsilon = 1\n",
        "quiet.toml": MODEL,
        "belief.toml": f"{SMALL}\n[target]\nposterior = 0.7\n",
        "score.toml": f"{SMALL}\n[target]\nf_score = 0.5\nprior = 0.1\n",
        "certain.toml": f"{SMALL}\n[target]\nposterior = 0.4\n",
        "starts.toml": NOISY.replace("stationary = true", "initial = [1, 0]"),
        "normal.toml": '[model]\nkind = "gaussian"\nmean = [0]\ncovariance = [[1]]\n',
        "small.toml": f'{SMALL}\n[release]\nnoise = "laplace"\nscale = 1\n'
        '[policy]\ngraph = "line"\ncounts = [{values = [1], count = 1}]\n',
        "wrong.toml": NOISY.replace("[0.9, 0.1]", "[0.9, 0.2]"),
        "rare.toml": '[model]\nkind = "exchangeable"\ncount_law = [0.9, 0.04, 0.03, 0.03]\n'
        "[target]\nposterior = 0.5\nvalues = [1]\n",
        "five.toml": f"{SMALL}\n[target]\nposterior = 0.7\nvalues = [5]\n",
        "many.toml": f'{SMALL}\n[release]\nnoise = "laplace"\nscale = 1\n'
        '[policy]\ngraph = "line"\ncounts = [{values = [1], count = 9}]\n',
        "bell.toml": NOISY.replace("laplace", "gaussian").replace("scale", "sigma"),
        "typo.toml": NOISY.replace("length", "lenght"),
        "broken.toml": "[model",
        "holes.toml": f'{SMALL}\n[release]\nnoise = "channel"\n'
        "rows = [{answer = 0, chances = [0.5, 0.5]}]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def row(out, name):
    """The number in a row of a table."""
    (line,) = [one for one in out.splitlines() if one.strip().startswith(f"{name}  ")]
    return line


def test_frameworks_side_by_side(run):
    code, out, err = run("frameworks chain.toml")
    assert (code, err) == (0, "")
    assert out.startswith("ε ≈ 3.2973 under this model (Pufferfish); strictest: group privacy, ")
    assert "The release: the sum with Laplace noise of scale 1." in out
    assert "The data: a chain of 21 records." in out
    true = frameworks.pufferfish(CHAIN, Sum(), ta.Laplace(1)).epsilon
    (shown,) = [float(word) for word in row(out, "Pufferfish").split() if "." in word]
    assert abs(shown - true) <= 0.5e-4
    assert "= 1.0000" in row(out, "differential privacy")
    assert "= 21.0000" in row(out, "group privacy")
    assert row(out, "group privacy").split()[-1] == "yes"
    assert row(out, "Pufferfish").split()[-1] == "no"
    assert "against 0; worst case: " in out
    granted = out.split("Assumptions")[1]
    assert "  - Pufferfish, dependent DP (probabilistic), inferential privacy" in granted
    assert "Left out\n  - dependent DP (support): 2.1e6 databases are too many" in granted
    assert "probability 0" not in out


def test_frameworks_as_json(run):
    code, out, _ = run("frameworks chain.toml --json")
    data = json.loads(out)
    assert code == 0
    assert (data["title"], data["records"], data["confidence"]) == ("three weeks", 21, None)
    rows = {one["framework"]: one for one in data["frameworks"]}
    told = frameworks.pufferfish(CHAIN, Sum(), ta.Laplace(1))
    assert rows["Pufferfish"]["epsilon"] == told.epsilon
    assert rows["Pufferfish"]["witness"]["log_ratio"] == told.witness.log_ratio
    assert rows["Pufferfish"]["witness"]["likelier"]["record"] == told.witness.likelier.record
    assert rows["Pufferfish"]["side"] == "="
    assert rows["group privacy"]["composes"] is True
    assert len(rows["group privacy"]["witness"]["likelier"]) == 21
    assert rows["mutual-information DP (record)"]["unit"] == "nats"
    assert [one["framework"] for one in data["left_out"]] == ["dependent DP (support)"]


def test_a_policy_is_asked(run):
    code, out, _ = run("frameworks small.toml --json")
    rows = {one["framework"]: one for one in json.loads(out)["frameworks"]}
    assert code == 0
    assert rows["Blowfish"]["epsilon"] == 0  # the count is known, and it is what is asked
    told = rows["Pufferfish (the policy's pairs)"]["epsilon"]
    assert told == pytest.approx(rows["Pufferfish"]["epsilon"], rel=1e-12)
    assert told > 1


def test_impossible_secrets_are_named(run):
    _, out, _ = run("frameworks starts.toml")
    assert "Secrets of probability 0\n  record 0 = 1.\n" in out


@pytest.mark.parametrize("command", ["frameworks", "noise"])
@pytest.mark.parametrize("width", [60, 40])
def test_nothing_is_cut_off_or_too_wide(run, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run(f"{command} chain.toml")
    assert max(map(len, out.splitlines())) <= width
    assert "group privacy" in out
    assert "whatever" in out


@pytest.mark.parametrize("command", ["frameworks", "noise"])
def test_pictures(run, folder, command):
    code, out, _ = run(f"{command} chain.toml --plot picture.svg")
    assert code == 0
    assert out.endswith("Picture: picture.svg\n")
    assert (folder / "picture.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize("command", ["frameworks", "noise"])
def test_reports(run, folder, command):
    code, out, _ = run(f"{command} chain.toml --report out.html")
    assert code == 0
    assert out.endswith("Report: out.html and out.json\n")
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "Correlated records: three weeks" in page
    assert f"tellapart {command}" in re.sub("<[^>]*>", "", page)
    filed = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    names = [row[0] for row in filed["tables"][0]["rows"]]
    assert "group privacy" in names


def test_a_report_needs_an_epsilon_to_keep(run, folder):
    code, _, err = run("noise belief.toml --report out.html")
    assert code == 2
    assert "--report must come with an ε to keep" in err
    assert not (folder / "out.html").exists()


def test_noise_by_every_method(run):
    code, out, err = run("noise chain.toml")
    assert (code, err) == (0, "")
    assert out.startswith("scale = 3.3294  Laplace noise for ε = 1 (exact)\n  three weeks.\n")
    for one in noise_table(CHAIN, Sum(), 1):
        cells = row(out, one.method).split()
        scale, true = (float(word) for word in cells if word.replace(".", "").isdigit())
        assert one.scale * (1 - 1e-12) <= scale < one.scale + 1e-4
        if "≈" in cells:
            assert abs(true - one.true_epsilon) <= 0.5e-4
        else:
            assert one.true_epsilon * (1 - 1e-12) <= true < one.true_epsilon + 1e-4
        assert ("always" in cells) == one.sound
        assert f"  - {one.method}: {one.protects}" in out


def test_noise_as_json(run):
    _, out, _ = run("noise quiet.toml --epsilon 0.5 --json")
    data = json.loads(out)
    assert data["epsilon"] == 0.5
    methods = {one["method"]: one for one in data["methods"]}
    exact = next(one for one in noise_table(CHAIN, Sum(), 0.5) if one.method == "exact")
    assert methods["exact"]["scale"] == exact.scale
    assert methods["exact"]["true_epsilon"] == pytest.approx(0.5, rel=1e-9)
    assert methods["plain DP"]["sound"] is False


def test_noise_for_a_belief(run, folder):
    code, out, _ = run("noise belief.toml")
    exact = noise(TABLE, Sum(), [at_most(0.7, risk.max_posterior, prior=FROM_MODEL)])
    shown = float(out.splitlines()[0].split()[2])
    assert code == 0
    assert exact.scale <= shown < exact.scale + 1e-4
    assert "Laplace noise that keeps posterior ≤ 0.7" in out
    assert "Each secret has the prior that the model gives it." in out
    assert exact.tightest.max_posterior == pytest.approx(0.7, abs=1e-9)
    _, out, _ = run("noise score.toml --json --plot closest.svg")
    data = json.loads(out)
    assert data["scale"] == noise(TABLE, Sum(), [at_most(0.5, risk.f_score, prior=0.1)]).scale
    assert data["target"] == {"measure": "f_score", "value": 0.5, "prior": 0.1}
    assert data["closest"].startswith("record ")
    assert (folder / "closest.svg").exists()
    _, out, _ = run("noise belief.toml --epsilon 1")
    assert "Laplace noise for ε = 1" in out


def test_the_table_that_everyone_asks_for(run):
    """P = [[.9, .1], [.4, .6]], 100 records, ε = 1: by Song, Wang and Chaudhuri's methods."""
    _, out, _ = run(f"noise {EXAMPLES / 'chain.toml'}")
    found = {
        name: [float(word) for word in row(out, name).split() if word.replace(".", "").isdigit()]
        for name in ("exact", "Wasserstein", "Markov quilt", "group privacy", "plain DP")
    }
    assert found["exact"][0] == pytest.approx(3.3364, abs=2e-4)
    assert found["Wasserstein"] == pytest.approx([4, 0.822], abs=1e-3)
    assert found["Markov quilt"] == pytest.approx([12.84, 0.241], abs=1e-2)
    assert found["group privacy"] == pytest.approx([100, 0.030], abs=1e-3)
    assert found["plain DP"] == pytest.approx([1, 3.2983], abs=1e-4)


def test_a_chain_fitted_to_real_days(run):
    place = EXAMPLES / "wet_days.toml"
    _, out, _ = run(f"frameworks {place}")
    assert "what is safe for it is unsafe about half the time" in " ".join(out.split())
    assert "holds with 95 % confidence" in " ".join(out.split())
    read = described.read(place)
    estimate = frameworks.pufferfish(read.model, read.query, read.release).epsilon
    worst = chain_epsilon_bound(read.believed, read.release.scale).max()
    for name, sign, value in (
        ("Pufferfish", "≈", estimate),
        ("Pufferfish (all that data leave open)", "≤", worst),
    ):
        found = row(out, name).removeprefix(f"  {name}").split()
        assert found[0] == sign
        low, high = (-0.5e-4, 0.5e-4) if sign == "≈" else (0, 1e-4)
        assert value + low <= float(found[1]) <= value + high


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("frameworks none.toml", "No such file or directory: none.toml"),
        ("frameworks quiet.toml", "quiet.toml: [release] must be given, such as noise = "),
        ("frameworks wrong.toml", "wrong.toml: model.transition[0] must sum to 1, got 1.1"),
        ("frameworks typo.toml", "typo.toml: model.lenght must be a key of a chain (did you mean"),
        ("frameworks broken.toml", "broken.toml: the description must be TOML: "),
        ("frameworks holes.toml", "holes.toml: rows must cover every possible answer"),
        ("frameworks", "MODEL must be given, as in: tellapart frameworks chain.toml (see"),
        ("frameworks chain.toml --plot picture.gif", "--plot must end in .svg, .png or .pdf"),
        ("noise quiet.toml", "quiet.toml: --epsilon must be given, or epsilon in a table [target]"),
        ("noise certain.toml", "infeasible: "),
        ("noise chain.toml --epsilon 0", "--epsilon must be finite and greater than 0, got 0"),
        ("noise normal.toml --epsilon 1", "normal.toml: noise is set for records with finitely"),
    ],
)
def test_mistakes_take_one_line(run, command, message):
    code, out, err = run(command)
    other = {"noise certain.toml": 1, "noise normal.toml --epsilon 1": 3}
    assert (code, out) == (other.get(command, 2), "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["frameworks", "noise"])
def test_help_has_examples(run, command):
    code, out, _ = run(f"{command} --help")
    assert code == 0
    assert "A description of the data, in TOML." in out
    examples = re.findall(r"^ *tellapart (.+?) *$", out, re.M)
    assert len(examples) == 4
    for example in examples:
        assert example.startswith(f"{command} chain.toml")
        assert run(example)[::2] == (0, "")


def test_what_is_rare_can_be_hidden_by_itself(run):
    code, out, _ = run("noise rare.toml")
    assert code == 0
    assert "Binding secret pair: record 0 = 1 against 0." in out
    code, _, err = run("noise five.toml")
    assert code == 2
    assert "target.values must be values that records may have" in err


def test_impossible_values_are_named_beside_noise(run):
    _, out, _ = run("noise starts.toml --epsilon 1")
    assert "Secrets of probability 0\n  record 0 = 1.\n" in out
    _, out, _ = run("noise starts.toml --epsilon 1 --json")
    assert json.loads(out)["skipped"] == ["record 0 = 1"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("chain.toml --delta 2", "delta must lie strictly between 0 and 1"),
        ("many.toml", "many.toml"),
    ],
)
def test_mistakes_are_not_filed_under_left_out(run, asked, said):
    code, out, err = run(f"frameworks {asked}")
    assert (code, out) == (2, "")
    assert said in err


def test_normal_noise_has_a_delta_and_folds_what_is_infinite(run):
    code, out, _ = run("frameworks bell.toml")
    assert code == 0
    assert "Pufferfish, δ = 1e-5" in out
    assert "No finite ε without a δ under Gaussian noise: differential privacy" in out
    assert "∞" not in out


def test_what_rests_on_an_estimate_says_so(run):
    _, out, _ = run(f"noise {EXAMPLES / 'wet_days.toml'} --epsilon 1")
    assert row(out, "exact").endswith("if the estimate is true")
    assert row(out, "all that data leave open").endswith("always")
    assert row(out, "group privacy").endswith("always")


def test_noise_for_data_says_what_is_safe_for_all_that_they_leave_open(run, folder):
    days = "\n".join(["day", *"0001100001110000" * 3])
    (folder / "days.csv").write_text(f"{days}\n", encoding="utf-8")
    text = '[model]\nkind = "chain"\ndata = "days.csv"\ncolumn = "day"\nlength = 3\n'
    (folder / "days.toml").write_text(text, encoding="utf-8")
    code, out, _ = run("noise days.toml --epsilon 1 --json")
    methods = {one["method"]: one for one in json.loads(out)["methods"]}
    safe = methods["all that data leave open"]
    believed = described.read(folder / "days.toml").believed
    assert code == 0
    assert safe["sound"]
    assert safe["scale"] == chain_scale_bound(believed, 1) > methods["exact"]["scale"]
