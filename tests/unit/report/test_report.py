"""Reports: plain data, one page that needs nothing else, both files whole or neither."""

import io
import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from importlib.resources import files

import numpy as np
import pytest
from parsed_page import Page
from rich.console import Console

import tellapart as ta
from tellapart import audit, plot, report
from tellapart._numeric.text import as_json
from tellapart.audit.summary import summarise
from tellapart.cli import report_text

DRAW = np.random.default_rng(5)
SCORES = audit.Scores(members=DRAW.normal(2, 1, 300), non_members=DRAW.normal(0, 1, 300))
EVIDENCE = audit.many_runs(SCORES)
REFUTED = audit.judge(ta.guarantee(0.5), EVIDENCE)
STANDING = audit.judge(ta.guarantee(4), EVIDENCE)
TOO_FEW = audit.judge(ta.guarantee(20), EVIDENCE)
COINS = DRAW.integers(0, 2, 500)
ONE_RUN = audit.one_run(audit.Scores.from_rows(DRAW.normal(3.0 * COINS, 1), COINS))


def noisy(data, rng, size):
    return data + rng.laplace(0, 0.5, size)


def coin(data, rng, size):
    return rng.random(size) < data


PROBED = audit.probe(noisy, 0, 1, claim=ta.guarantee(1), samples=5000)
FOUND = {
    "refuted": REFUTED,
    "standing": STANDING,
    "too few": TOO_FEW,
    "a mechanism": audit.judge(ta.Gaussian(4), EVIDENCE),
    "no claim": EVIDENCE,
    "band": audit.judge(ta.guarantee(0.5), audit.many_runs(SCORES, method=audit.Band())),
    "one run": audit.judge(ta.guarantee(0.5), ONE_RUN),
    "one model": audit.metrics(SCORES),
    "calls": PROBED,
    "calls standing": audit.judge(ta.guarantee(4), PROBED.evidence),
    "coins": audit.probe(coin, 0.1, 0.9, claim=ta.guarantee(1), samples=300),
    "calls without a claim": PROBED.evidence,
    "bets": audit.probe(noisy, 0, 1, claim=ta.guarantee(1), until_decided=True),
    "bets standing": audit.probe(
        noisy, 0, 1, claim=ta.guarantee(3), until_decided=True, samples=300
    ),
    "together": audit.together({"a<b": EVIDENCE, "c": audit.many_runs(SCORES)}),
}
UNPICTURED = {"one model"}  # no claim, and no evidence that has a curve


@pytest.fixture(scope="module", params=FOUND)
def made(request):
    one = report.of(FOUND[request.param], scores=SCORES, seed=0, command="tellapart audit x.csv")
    return request.param, one, report.page(one)


# -- data ----------------------------------------------------------------------------------------


def test_its_data_is_json(made):
    _, one, _ = made
    assert json.loads(json.dumps(one.data(), allow_nan=False)) == one.data()


def test_a_verdict_is_told_as_it_is():
    one = report.of(REFUTED)
    assert (one.headline, list(one.reasons)) == (REFUTED.headline, REFUTED.reasons())
    assert (one.refuted, one.finding, one.ledger) == (True, REFUTED.finding, EVIDENCE.ledger)
    assert one.claim == "ε = 0.5, δ = 0"
    assert one.confidence == EVIDENCE.confidence
    assert one.data()["finding"]["where"] == REFUTED.finding.where
    assert report.of(STANDING).samples_needed == STANDING.samples_needed


@pytest.mark.parametrize("verdict", [REFUTED, STANDING, TOO_FEW, PROBED])
def test_terminal_report_and_picture_say_what_one_summary_says(verdict):
    summary, made = summarise(verdict), report.of(verdict)
    *said, budget = str(verdict).splitlines()
    assert said == [summary.headline, *summary.reasons]
    assert budget == f"{summary.ledger.title}: {summary.ledger.sharing}."
    assert (made.headline, made.reasons, made.shown) == (
        summary.headline,
        summary.reasons,
        summary.shown,
    )
    console = Console(file=io.StringIO(), width=10_000)
    report_text.text(console, summary, verbose=True)
    printed = console.file.getvalue()
    for sentence in (summary.headline, *summary.reasons, *summary.assumptions):
        assert sentence in printed
    assert (
        summary.headline == f"{verdict.outcome[0]}: the claim {verdict.name}, {verdict.outcome[1]}"
    )
    assert plot.audit(verdict).get_suptitle() == " ".join(verdict.outcome)


def test_the_claims_own_delta_is_among_the_bounds():
    one = report.of(audit.judge(ta.guarantee(1, 1e-4), EVIDENCE))
    assert [row.what for row in one.shown] == [
        "ε at δ = 0", "ε at δ = 1e-6", "ε at δ = 1e-5", "ε at δ = 0.0001", "ε at δ = 0.001",
        "μ of Gaussian DP",
    ]  # fmt: skip
    assert one.shown[3].value == EVIDENCE.epsilon_lower(1e-4).value


def test_a_brief_report_leaves_out_what_a_verdict_does_not_need():
    full, brief = report.of(REFUTED), report.of(REFUTED, brief=True)
    assert brief == replace(full, shown=(), meaning=None, curves={}, checklist=())
    assert report.of(EVIDENCE, brief=True).shown == report.of(EVIDENCE).shown


def test_curves_are_the_curves():
    curves = report.of(REFUTED).curves
    for name, curve in (("claim", ta.guarantee(0.5)), ("evidence", EVIDENCE.curve())):
        fpr, tpr = np.array(curves[name].points).T
        assert np.array_equal(tpr, curve.tpr(fpr))
    corners = EVIDENCE.curve().vertices()[0]
    assert set(corners) <= {fpr for fpr, _ in curves["evidence"].points}


def test_whether_runs_were_checked_is_said():
    runs = np.arange(300)
    known = audit.Scores(
        members=DRAW.normal(2, 1, 300),
        non_members=DRAW.normal(0, 1, 300),
        member_runs=runs,
        non_member_runs=runs + 300,
    )
    checked = report.of(audit.many_runs(known), scores=known).assumptions[-1]
    trusted = report.of(EVIDENCE, scores=SCORES).assumptions[-1]
    assert checked == "No run has two scores: the run column was checked."
    assert trusted == "No run column was given, so independence is taken on trust."
    assert len(report.of(EVIDENCE).assumptions) == 3  # nothing is known of the scores


def test_what_cannot_be_bounded_is_left_out():
    """Guesses whose number was read off speak of (ε, δ) alone."""
    scores = audit.Scores.from_rows(DRAW.normal(3.0 * COINS, 1), COINS)
    one = report.of(audit.one_run(scores, method=audit.Split()))
    assert [row.what[0] for row in one.shown] == ["ε"] * 4
    assert one.curves == {}


def test_how_many_more_canaries_are_needed_is_answered_for_many():
    """A million times as many would be more than there can be."""
    coins = DRAW.integers(0, 2, 3000)
    scores = audit.Scores.from_rows(DRAW.normal(size=3000), coins)
    verdict = audit.judge(ta.guarantee(5), audit.one_run(scores))
    assert report.of(verdict).samples_needed == np.inf
    assert "no number of them would refute the claim" in verdict.reasons()[-1]


# -- probes --------------------------------------------------------------------------------------


def test_a_probe_is_told_in_the_words_of_calls():
    told = report.of(FOUND["calls"], seed=3, command="tellapart probe x")
    assert (told.design, told.calls, told.members, told.non_members) == ("calls", 5000, None, None)
    assert told.counted == "5,000 calls on each input"
    assert told.sample == "one output per call, of the mechanism on one input or the other"
    assert [re.split("[:;]", one)[0] for one in told.assumptions] == [
        "The two inputs are neighbours in the sense of the claim",
        "Calls are independent",
        "Floats are treated as real numbers",
        "The attacker sees outputs alone",
    ]
    assert [one.what for one in told.ledger.entries] == [
        "ranks of outputs on d0 (TPR at small FPR)",
        "ranks of outputs on d1 (TNR at small FNR)",
        "the rank chosen on held-out calls",
    ]
    assert told.ledger.free[-1] == (
        "no correction is needed for choosing the event: it was chosen on 500 held-out calls on "
        "each input"
    )
    assert re.match(
        r"output [<>] -?[\d.]+: [\d.]+ % of outputs on d[01] \([\d,]+ of 4,500\)",
        told.finding.where,
    )
    assert "members" not in json.dumps([told.reasons, told.finding.where, told.sample])


def test_the_most_telling_event_is_told_where_nothing_is_refuted():
    told = report.of(FOUND["calls standing"])
    (line,) = (one for one in told.reasons if one.startswith("Strongest event: output "))
    assert line == f"Strongest event: {FOUND['calls standing'].evidence.telling()}."
    assert not any(one.startswith("Strongest event") for one in report.of(FOUND["calls"]).reasons)
    assert not any(one.startswith("Strongest event") for one in report.of(STANDING).reasons)


def test_one_event_is_named_in_the_ledger():
    told = report.of(FOUND["coins"])
    event = FOUND["coins"].evidence.event
    assert "output is True" in event
    assert told.ledger.entries[0].what == f"the event {event}"
    assert told.method == "one event, chosen on held-out calls"
    assert told.finding.where.startswith(f"{event}: ")


@pytest.mark.parametrize("name", ["bets", "bets standing"])
def test_bets_are_told_at_their_own_delta(name):
    verdict = FOUND[name]
    told = report.of(verdict)
    assert told.refuted is (name == "bets")
    assert [(one.what, one.value) for one in told.shown] == [
        ("ε at δ = 0", verdict.epsilon_lower().value)
    ]
    assert (told.power, told.detectable) == (verdict.power, verdict.detectable)
    assert told.calls == verdict.evidence.calls <= 300
    assert f"decided after {told.calls:,} calls on each" in " ".join(told.reasons)
    assert list(told.curves) == ["claim"]
    assert told.ledger.free == (
        "no correction is needed for choosing events: each was chosen before the calls it is "
        "tested on",
    )


def test_a_probes_page_speaks_of_outputs():
    page = Page(report.page(report.of(FOUND["calls"]))).text
    assert "What the outputs show" in page
    assert "Experimental design: calls, with 5,000 calls on each input; one output per call" in page
    found = page[
        page.index("What the outputs show") : page.index("Experimental design and assumptions")
    ]
    assert "members" not in found
    assert "What the scores show" in Page(report.page(report.of(REFUTED))).text
    assert report.of(FOUND["calls without a claim"]).headline.startswith(
        "NO CLAIM: what the outputs show"
    )


def test_bayesian_statements_claim_no_power():
    belief = audit.many_runs(SCORES, method=audit.Credible(1.0))
    told = report.of(audit.judge(ta.guarantee(0.01), belief))
    assert told.refuted is None
    assert told.power is None
    assert all(one.basis.startswith("Bayesian, overclaims in ") for one in told.shown)
    assert told.headline.startswith("NO VERDICT: ")
    assert told.headline.endswith("as a Bayesian bound cannot refute")


@pytest.mark.parametrize("claimed", [True, False])
def test_a_bayesian_page_states_no_confidence(claimed):
    belief = audit.many_runs(SCORES, method=audit.Credible(1.0))
    told = report.of(audit.judge(ta.guarantee(0.01), belief) if claimed else belief)
    page = report.page(told)
    assert told.bayesian
    assert "cannot refute" in page
    assert "confidence" not in page
    assert "Multiple-testing" not in page
    assert not report.of(EVIDENCE).bayesian


def test_scores_that_point_the_other_way_are_pointed_out():
    turned = audit.Scores(SCORES.members, SCORES.non_members, audit.Orientation.LOWER)
    told = report.of(audit.judge(ta.guarantee(1), audit.many_runs(turned)), scores=turned)
    assert told.reasons[-1].startswith("Score direction: lower means member, but members")
    assert "Score direction" not in " ".join(report.of(STANDING, scores=SCORES).reasons)
    quiet = audit.Scores(DRAW.normal(size=300), DRAW.normal(size=300))
    assert len(report.of(audit.many_runs(quiet), scores=quiet).reasons) == 1


def test_a_report_does_not_change():
    with pytest.raises(FrozenInstanceError):
        report.of(REFUTED).headline = "private"


def test_infinity_has_a_word():
    assert as_json({"a": (np.inf, -np.inf), "b": audit.Design.ONE_RUN}) == {
        "a": ["inf", "-inf"],
        "b": "one run",
    }


# -- the page ------------------------------------------------------------------------------------


def test_a_page_says_what_the_report_says(made):
    _, one, text = made
    page = Page(text)
    said = [one.headline, *one.reasons, *one.assumptions, one.made.command]
    said += [word for row in one.shown for word in (row.what, row.words, row.basis)]
    said += [] if one.ledger is None else [entry.what for entry in one.ledger.entries]
    for sentence in said:
        assert " ".join(sentence.split()) in page.text
    for name, version in one.made.versions.items():
        assert f"{name} {version}" in re.sub(r"\s+", " ", page.text)


def test_a_page_has_a_picture_where_claim_or_evidence_has_a_curve(made):
    name, _, text = made
    assert ("svg" in Page(text).tags) == (name not in UNPICTURED)


def test_a_page_needs_nothing_else(made):
    """No script, no other file: whatever a browser would fetch is a place in the page itself."""
    page = Page(made[2])
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
    names = {name for name, _ in page.values}
    assert not [name for name in names if name.startswith("on") or name in ("src", "srcset")]
    assert all(
        value.startswith("#") for name, value in page.values if name in ("href", "xlink:href")
    )
    assert set(re.findall(r"url\(([^)]*)\)", made[2])) <= set(
        re.findall(r"url\((#[^)]*)\)", made[2])
    )
    assert "@import" not in made[2]
    assert "default-src 'none'" in made[2]


def test_a_page_is_the_same_again():
    first, second = (report.page(report.of(REFUTED, scores=SCORES)) for _ in range(2))
    assert first == second


HOSTILE = "<script>alert(1)</script>&\"'-->.csv"


class Named(ta.Gaussian):
    """A mechanism with a bad name."""

    def __repr__(self):
        return HOSTILE


def test_a_picture_is_escaped():
    text = report.page(report.of(audit.judge(Named(4), EVIDENCE)))
    assert "<script" not in text
    page = Page(text)
    assert "svg" in page.tags
    assert HOSTILE in page.text


def test_everything_is_escaped(tmp_path):
    file = tmp_path / "<script>&.csv"
    file.write_text("score,member\n1,1\n0,0\n")
    parts = audit.together({HOSTILE: EVIDENCE})
    one = report.of(
        audit.judge(ta.guarantee(0.5), parts), files=[file], command=f"tellapart audit {HOSTILE}"
    )
    text = report.page(one)
    assert "<script" not in text
    page = Page(text)
    assert HOSTILE in page.text
    assert str(file) in page.text


def test_a_refuted_claim_is_not_marked_by_colour_alone():
    assert "✗" in report.page(report.of(REFUTED))
    assert "REFUTED" in Page(report.page(report.of(REFUTED))).text
    assert "Not refuted is not proven" in Page(report.page(report.of(STANDING))).text


def test_a_page_on_too_few_samples_says_so_and_marks_no_verdict():
    told = report.of(TOO_FEW)
    page = report.page(told)
    assert told.refuted is None
    assert "as no outcome of so few samples could refute it" in Page(page).text
    assert "Not refuted is not proven" not in Page(page).text
    assert '<div class="verdict none">' in page
    (tested,) = (item for item in told.checklist if item.key == "tested")
    assert tested.state == "stated"


def test_a_sum_is_printed_once_not_at_the_foot_of_every_page():
    assert "tfoot { display: table-row-group; }" in report.page(report.of(EVIDENCE))


def test_a_long_ledger_is_summed_up():
    many = audit.together({f"part {k}": audit.many_runs(SCORES, 0.999) for k in range(20)})
    text = Page(report.page(report.of(many))).text
    assert "part 11: ranks" in text
    assert "part 12: ranks" not in text
    assert "and 16 more kinds of test, listed in the data" in text


# -- files ---------------------------------------------------------------------------------------


def test_both_files_are_written(tmp_path):
    one = report.of(REFUTED)
    page, data = report.write(one, tmp_path / "out.html")
    assert (
        sorted(tmp_path.iterdir())
        == [page, data]
        == [
            tmp_path / "out.html",
            tmp_path / "out.json",
        ]
    )
    assert page.read_text(encoding="utf-8") == report.page(one)
    assert json.loads(data.read_text(encoding="utf-8")) == one.data()


@pytest.mark.skipif(os.name == "nt", reason="rights are of another kind there")
def test_the_files_have_the_rights_of_any_new_file(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    for file in report.write(report.of(EVIDENCE), tmp_path / "out.html"):
        assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_a_name_that_is_no_text_is_kept(tmp_path):
    odd = "scores\udcff.csv"
    one = report.of(EVIDENCE, command=odd)
    _, data = report.write(one, tmp_path / "out.html")
    assert json.loads(data.read_text(encoding="utf-8"))["made"]["command"] == odd


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_whatever_fails_leaves_no_litter_and_no_half(tmp_path, monkeypatch, step):
    page, data = report.write(report.of(STANDING), tmp_path / "out.html")
    before = page.read_bytes(), data.read_bytes()

    def fails(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="No space"):
        report.write(report.of(REFUTED), tmp_path / "out.html")
    assert (page.read_bytes(), data.read_bytes()) == before
    assert sorted(tmp_path.iterdir()) == [page, data]


def test_refusals(tmp_path):
    with pytest.raises(ta.InvalidArgument, match=r"^path must end in \.html, got 'x\.txt'$"):
        report.write(report.of(EVIDENCE), "x.txt")
    with pytest.raises(ta.InvalidArgument, match=r"^report must be a report, as report\.of"):
        report.write(EVIDENCE, "x.html")
    with pytest.raises(ta.InvalidArgument, match=r"^found must be a verdict, evidence or metrics"):
        report.of(3)
    with pytest.raises(FileNotFoundError):
        report.write(report.of(EVIDENCE), tmp_path / "no" / "x.html")
    (tmp_path / "x.html").mkdir()
    with pytest.raises(IsADirectoryError):
        report.write(report.of(EVIDENCE), tmp_path / "x.html")


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{name}":
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Blocker())
import tellapart
from tellapart import audit, report
one = report.of(audit.many_runs(audit.Scores([1.0, 2.0], [0.0, 3.0])))
assert one.data()["refuted"] is None
try:
    report.write(one, "x.html")
except tellapart.Unsupported as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("name", ["jinja2", "matplotlib"])
def test_without_its_extra_it_says_what_to_install(name):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", BLOCKED.replace("{name}", name).replace("{name!r}", name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("reports need: pip install 'tellapart[report]'\n", "")


@pytest.mark.parametrize("file", ["template.html", "decision.html", "style.css"])
def test_the_templates_are_part_of_the_package(file):
    assert files("tellapart.report").joinpath(file).is_file()


@pytest.mark.parametrize("name", sorted({*report.__all__} - {"DESIGNS", "QUESTIONS"}))
def test_the_first_sentence_has_at_most_twenty_words(name):
    first = re.split(r"(?<=[.?!:])\s", getattr(report, name).__doc__.strip())[0]
    assert len(first.split()) <= 20
