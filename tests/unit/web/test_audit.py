"""The page's audit: what it shows is what the library says, and the code it gives says the same."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from copied_code import printed
from hypothesis import given
from hypothesis import strategies as st
from queries import from_query

import tellapart as ta
from tellapart import audit
from tellapart.audit.summary import DESIGNS, summarise
from tellapart.drawing.record import Ink, Mark
from tellapart.errors import InvalidArgument
from tellapart.report.html import page
from tellapart.web import controls, example, view
from tellapart.web.answer import Table
from tellapart.web.view import Dropped
from tellapart.web.views import evidence
from tellapart.web.views.audit import VIEW, AuditState
from tellapart.web.views.choose import VIEW as DECIDE

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = AuditState(design="many-runs", orientation="higher", example=True)
_RNG = np.random.default_rng(3)
_MEMBER = np.repeat([1, 0], 150)
_LOSS = _RNG.normal(-1.5 * _MEMBER, 1)
TABLE = "loss,in,seed\n" + "".join(
    f"{loss:.6f},{one},{k}\n" for k, (loss, one) in enumerate(zip(_LOSS, _MEMBER, strict=True))
)
MINE = Dropped("my scores; $(date).csv", TABLE.encode())
OF_MINE = AuditState(design="many-runs", orientation="lower", score="loss", member="in", run="seed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the file that was dropped."""
    (tmp_path / MINE.name).write_bytes(MINE.content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_is_the_one_of_the_repository():
    assert Path(example()).read_bytes() == (ROOT / "examples" / "scores.csv").read_bytes()


def test_without_a_file_it_says_what_it_needs_and_draws_the_claim():
    answer = VIEW.answer(AuditState(), None)
    assert (answer.headline, answer.mark, answer.reports) == ("No scores yet", Mark.PLAIN, False)
    assert (answer.python, answer.command) == ("", "")
    (table,) = (one for one in answer.parts if isinstance(one, Table))
    assert table.head == ("score", "member")
    assert [one.ink for one in answer.drawing.traces] == [Ink.CHANCE, Ink.PROMISE]
    with pytest.raises(InvalidArgument, match="file must be dropped"):
        VIEW.report(AuditState(), None)


# -- no verdict before the design is said ---------------------------------------------------------

ORIENTATIONS = ("higher", "lower", "either")


@given(
    epsilon=st.floats(0.01, 10),
    orientation=st.sampled_from(ORIENTATIONS),
    confidence=st.floats(0.5, 0.99),
    picture=st.sampled_from(["roc", "roc-log"]),
    asked=st.sampled_from([{}, {"design": ""}]),
)
def test_nobody_gets_a_verdict_without_having_said_how_scores_were_made(
    epsilon, orientation, confidence, picture, asked
):
    values = {
        "mechanism": f"any:epsilon={epsilon!r}",
        "orientation": orientation,
        "confidence": repr(confidence),
        "picture": picture,
        "example": "yes",
        **asked,
    }
    state = VIEW.read(values)
    answer = VIEW.answer(state, None)
    assert answer.headline == "NO VERDICT: choose the experimental design"
    assert answer.mark is Mark.PLAIN
    # Nothing is shown of the scores by which a design or a direction could be picked.
    assert answer.drawings == ()
    (table,) = (one for one in answer.parts if isinstance(one, Table))
    assert (table.title, len(table.rows)) == ("First rows of scores.csv", 5)
    assert (answer.python, answer.command, answer.reports) == ("", "", False)
    with pytest.raises(InvalidArgument, match=r"^design must say how the scores were made: many"):
        VIEW.report(state, None)
    assert VIEW.read(from_query(view.to_query(state))) == state


def test_the_question_explains_every_design_and_none_is_chosen():
    groups = [one for one in VIEW.controls(VIEW.state()) if isinstance(one, controls.ControlGroup)]
    every = {one.field: one for group in groups for one in group.controls}
    asked, direction = every["design"], every["orientation"]
    assert (asked.label, asked.value, direction.value) == ("How the scores were made", "", "")
    assert [value for value, _ in asked.options] == list(DESIGNS)
    assert [value for value, _ in direction.options] == list(ORIENTATIONS)
    for answer in (VIEW.answer(AuditState(), None), VIEW.answer(AuditState(example=True), None)):
        (words,) = (one for one in answer.parts if one.title == "Experimental design")
        for said, design in zip(words.sentences, DESIGNS.values(), strict=True):
            assert said.endswith(f": {design.meaning}.")


# -- the verdict -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "mark"), [(1.0, Mark.BAD), (2.0, Mark.PLAIN)])
def test_a_verdict_is_the_library_s_and_what_stands_is_never_called_good(epsilon, mark):
    answer = VIEW.answer(replace(EXAMPLE, mechanism=f"any:epsilon={epsilon:g}"), None)
    evidence = audit.many_runs(audit.Scores.read(example()))
    verdict = audit.judge(ta.guarantee(epsilon), evidence)
    assert answer.mark is mark
    assert (answer.headline, *answer.sentences) == (verdict.headline, *verdict.reasons())
    assert ("Not refuted does not mean that the claim is true." in answer.sentences) == (
        mark != Mark.BAD
    )


@pytest.mark.parametrize("kind", ["roc", "roc-log"])
@pytest.mark.parametrize(
    ("epsilon", "mark", "crosses"),
    # The test behind the verdict is sharper than the line: it alone refutes 1.69.
    [
        (0.5, Mark.BAD, True),
        (1, Mark.BAD, True),
        (1.69, Mark.BAD, False),
        (1.7, Mark.PLAIN, False),
        (4, Mark.PLAIN, False),
    ],
)
def test_evidence_above_the_claim_s_line_means_refuted(epsilon, mark, crosses, kind):
    answer = VIEW.answer(replace(EXAMPLE, mechanism=f"any:epsilon={epsilon}", picture=kind), None)
    drawn = {one.ink: one for one in answer.drawing.traces}
    claim, shown = drawn[Ink.PROMISE], drawn[Ink.EVIDENCE]
    assert claim.x == shown.x
    assert min(claim.x) >= answer.drawing.x.low
    above = np.max(np.array(shown.y) - np.array(claim.y)) > 1e-9
    assert (answer.mark, above) == (mark, crosses)


def test_the_line_of_the_evidence_passes_through_every_corner():
    curve = audit.many_runs(audit.Scores.read(example())).curve()
    (line,) = (t for t in VIEW.answer(EXAMPLE, None).drawing.traces if t.ink is Ink.EVIDENCE)
    fpr, fnr = curve.vertices()
    assert np.interp(fpr, line.x, line.y) == pytest.approx(1 - fnr, abs=1e-12)


def test_one_run_draws_the_least_promise_left_for_promises_alone():
    by_coins = replace(EXAMPLE, design="one-run")
    promise = VIEW.answer(replace(by_coins, mechanism="any:epsilon=2"), None)
    (line,) = (one for one in promise.drawing.traces if one.ink is Ink.EVIDENCE)
    least = audit.one_run(audit.Scores.read(example())).epsilon_lower().value
    assert line.y == pytest.approx(ta.guarantee(least).tpr(np.array(line.x)), abs=1e-12)
    other = VIEW.answer(replace(by_coins, mechanism="any:mu=3"), None)
    assert [one.ink for one in other.drawing.traces] == [Ink.CHANCE, Ink.PROMISE]


def test_one_model_is_described_and_judges_nothing():
    state = replace(EXAMPLE, design="one-model", mechanism="no such thing")
    answer = VIEW.answer(state, None)
    assert answer.headline.startswith("NO VERDICT")
    assert answer.mark is Mark.PLAIN
    assert Ink.EVIDENCE not in {one.ink for one in answer.drawing.traces}
    groups = [one for one in VIEW.controls(state) if isinstance(one, controls.ControlGroup)]
    assert "mechanism" not in [one.field for group in groups for one in group.controls]


def test_the_ledger_adds_up_to_what_was_allowed():
    answer = VIEW.answer(replace(EXAMPLE, confidence=0.9, orientation="either"), None)
    (table,) = (one for one in answer.parts if one.title == "Multiple-testing budget (α = 10 %)")
    *spent, together = table.rows
    assert float(together[-1]) == 0.1
    assert sum(float(row[-1]) for row in spent) == pytest.approx(0.1, rel=5e-3)


def test_what_it_rests_on_names_the_file_and_the_runs_that_were_checked(folder):
    (rests,) = (one for one in VIEW.answer(OF_MINE, MINE).parts if one.title == "Assumptions")
    assert rests.sentences[0].startswith(f"{MINE.name}: 150 members and 150 non-members")
    assert "No run has two scores: the run column was checked." in rests.sentences


# -- what is asked ---------------------------------------------------------------------------------


def test_a_url_brings_back_everything_but_the_file():
    state = AuditState(
        "laplace:epsilon=2", "one-run", "lower", 0.9, "loss", "in", "seed", True, "roc-log"
    )
    assert VIEW.read(from_query(view.to_query(state))) == state


def test_a_file_takes_the_tick_of_the_example_off():
    (first, *_) = VIEW.controls(EXAMPLE)
    (file,) = (one for one in first.controls if isinstance(one, controls.File))
    assert file.instead_of == "example"
    assert isinstance(getattr(AuditState(), file.instead_of), bool)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"design": "guess"}, "design must be one of many-runs, one-run, one-model, got 'guess'"),
        ({"design": "one-run\n"}, "design must be one of many-runs, one-run, one-model, got"),
        ({"orientation": "up"}, "orientation must be one of higher, lower, either, got 'up'"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"confidence": -1.0}, "confidence must lie strictly between 0 and 1, got -1.0"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_the_library_s_words(change, said):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(said)}"):
        VIEW.answer(replace(EXAMPLE, **change), None)
    with pytest.raises(InvalidArgument, match=f"^{re.escape(said)}"):
        VIEW.answer(replace(EXAMPLE, example=False, **change), None)


@pytest.mark.parametrize("change", [{"score": "loss"}, {"member": "loss"}, {"run": "loss"}])
def test_a_column_that_is_not_there_is_asked_for(change):
    answer = VIEW.answer(replace(EXAMPLE, **change), None)
    assert answer.headline == "NO VERDICT: choose the columns"
    (said,) = answer.sentences
    assert said.startswith("scores.csv must have a column 'loss', has 'score', 'member'. Choose")


def test_the_card_shows_the_least_epsilon_at_the_claim_s_delta():
    for delta in ("0", "1e-5", "0.001"):
        state = replace(EXAMPLE, mechanism=f"any:epsilon=1,delta={delta}")
        (card,) = (one for one in VIEW.answer(state, None).cards if one.term == "ε")
        assert card.name == f"ε at δ = {delta}"


@pytest.mark.parametrize("name", ["../../secret/x.csv", "C:\\secret\\x.csv", "/secret/x.csv"])
def test_where_a_file_lay_is_told_to_nobody(name):
    answer = VIEW.answer(AuditState(score="score"), Dropped(name, b"a,b\n1,2\n"))
    assert answer.sentences[0].startswith("x.csv must have a column 'score', has 'a', 'b'")
    assert "secret" not in str(answer)


# -- code that says the same -----------------------------------------------------------------------

STATES = {
    "promise": OF_MINE,
    "mechanism": replace(OF_MINE, mechanism="laplace:epsilon=1", confidence=0.9),
    "both ways": replace(OF_MINE, orientation="either", run=""),
    "wrong way": replace(OF_MINE, orientation="higher"),
    "one run": replace(OF_MINE, design="one-run", run="", mechanism="any:epsilon=2"),
    "one model": replace(OF_MINE, design="one-model"),
}


def on_screen(answer):
    table = next(one for one in answer.parts if isinstance(one, Table))
    return [answer.headline, *answer.sentences, *(" ".join(row) for row in table.rows)]


@pytest.mark.parametrize("case", STATES)
def test_copied_python_prints_what_is_on_screen(case, folder):
    answer = VIEW.answer(STATES[case], MINE)
    assert printed(answer.python).splitlines() == on_screen(answer)


@pytest.mark.parametrize("case", STATES)
def test_a_copied_command_says_what_is_on_screen(case, run):
    answer = VIEW.answer(STATES[case], MINE)
    code, out, err = run(answer.command.removeprefix("tellapart ") + " --json")
    no_verdict = answer.headline.startswith("NO VERDICT")
    assert (code, err) == (3 if no_verdict else int(answer.mark is Mark.BAD), "")
    told = json.loads(out)
    assert [told["headline"], *told["reasons"]] == [answer.headline, *answer.sentences]


@pytest.mark.parametrize("name", ["-o.csv", "~root.csv", "$HOME `x` it's.csv"])
def test_a_command_names_any_file(name, folder, run):
    (folder / name).write_bytes(MINE.content)
    answer = VIEW.answer(OF_MINE, replace(MINE, name=name))
    assert printed(answer.python).splitlines() == on_screen(answer)
    code, out, _ = run(answer.command.removeprefix("tellapart ") + " --json")
    assert (code, json.loads(out)["headline"]) == (1, answer.headline)


@pytest.mark.parametrize("column", ["-s", "--run", "it's", "s=1"])
def test_a_command_names_any_column(column, folder, run):
    content = f"{column},member\n".encode() + b"9,1\n" * 40 + b"1,0\n" * 40
    (folder / "x.csv").write_bytes(content)
    answer = VIEW.answer(
        AuditState(design="many-runs", orientation="higher", score=column),
        Dropped("x.csv", content),
    )
    assert printed(answer.python).splitlines() == on_screen(answer)
    code, out, _ = run(answer.command.removeprefix("tellapart ") + " --json")
    assert (code, json.loads(out)["headline"]) == (1, answer.headline)


def test_code_for_the_example_finds_it_wherever_it_is_installed(folder):
    answer = VIEW.answer(EXAMPLE, None)
    assert printed(answer.python).splitlines() == on_screen(answer)
    shell = (
        f'python() {{ "{sys.executable}" "$@"; }}; tellapart() {{ python -m tellapart "$@"; }}; '
    )
    done = subprocess.run(  # noqa: S603
        ["bash", "-c", f"{shell}{answer.command} --json"],  # noqa: S607
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert [told["headline"], *told["reasons"]] == [answer.headline, *answer.sentences]


# -- the report ------------------------------------------------------------------------------------


def test_the_report_holds_the_verdict_the_command_and_the_file_by_its_name():
    told, answer = VIEW.report(OF_MINE, MINE), VIEW.answer(OF_MINE, MINE)
    assert (told.headline, told.reasons) == (answer.headline, answer.sentences)
    assert told.made.command == answer.command
    assert [(one.file, one.bytes) for one in told.made.inputs] == [(MINE.name, len(MINE.content))]


def test_html_in_a_file_s_name_or_columns_is_text_in_the_report():
    named = Dropped("<img src=x onerror=alert(1)>.csv", TABLE.replace("loss", "<b>").encode())
    text = page(VIEW.report(replace(OF_MINE, score="<b>"), named))
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;.csv" in text
    assert "<b>" not in text


def test_columns_of_a_file_are_offered_in_lists_and_its_first_rows_shown():
    groups = [one for one in VIEW.controls(OF_MINE, MINE) if isinstance(one, controls.ControlGroup)]
    every = {one.field: one for group in groups for one in group.controls}
    for field in ("score", "member", "run"):
        assert isinstance(every[field], controls.Select)
        assert {"loss", "in", "seed"} <= {value for value, _ in every[field].options}
    answer = VIEW.answer(replace(OF_MINE, design=""), MINE)
    (table,) = (one for one in answer.parts if isinstance(one, Table))
    assert table.head == ("loss", "in", "seed")
    assert list(table.rows) == [tuple(line.split(",")) for line in TABLE.splitlines()[1:6]]


def test_what_was_chosen_blind_is_locked_once_a_verdict_shows():
    def locked(state):
        groups = [one for one in VIEW.controls(state) if isinstance(one, controls.ControlGroup)]
        every = {one.field: one for group in groups for one in group.controls}
        return every["design"].locked, every["orientation"].locked, "again" in every

    assert locked(AuditState(example=True)) == (False, False, False)
    assert locked(replace(EXAMPLE, orientation="")) == (False, False, False)
    assert locked(EXAMPLE) == (True, True, True)
    again = VIEW.read({"design": "many-runs", "orientation": "lower", "again": True}, "again")
    assert (again.design, again.orientation) == ("", "")


def test_cards_have_the_verdict_the_least_epsilon_and_the_power():
    refuted = VIEW.answer(EXAMPLE, None)
    assert [card.value for card in refuted.cards][:2] == ["refuted", "≥ 1.6986"]
    stands = VIEW.answer(replace(EXAMPLE, mechanism="any:epsilon=2"), None)
    verdict, least, budget, power = stands.cards
    assert (verdict.value, verdict.beside) == ("not refuted", "which does not prove it")
    assert (least.value, budget.value) == ("≥ 1.6986", "α = 5 %")
    assert any(f"truly leaks all that {power.value} allows" in said for said in stands.sentences)


# -- what a verdict holds for is not changed after it ---------------------------------------------


def locked(state, dropped):
    inside = [
        one
        for made in VIEW.controls(state, dropped)
        for one in (made.controls if isinstance(made, controls.ControlGroup) else (made,))
    ]
    return {one.field for one in inside if getattr(one, "locked", False)}


def test_confidence_and_columns_are_locked_by_a_verdict_and_by_nothing_less():
    said = {"design", "orientation"}
    assert locked(OF_MINE, MINE) == said | {"confidence", "score", "member", "run"}
    assert locked(OF_MINE, None) == said  # a link, whose file is still to come
    assert locked(replace(OF_MINE, orientation=""), MINE) == set()
    # A file without such a column has no verdict: another can be chosen.
    assert not {"score", "member", "run"} & locked(replace(OF_MINE, score="logit"), MINE)
    anew = VIEW.read(view.changes(OF_MINE), "again")
    assert locked(anew, MINE) == set()


def test_another_file_has_columns_of_its_own():
    values = view.changes(OF_MINE)
    assert VIEW.read(values, "file") == replace(OF_MINE, score="", member="", run="")
    assert VIEW.read(values, "") == OF_MINE


def test_where_a_file_goes_is_said():
    for made in (VIEW.controls(AuditState()), DECIDE.controls(DECIDE.state())):
        (file,) = (
            one
            for group in made
            for one in getattr(group, "controls", ())
            if isinstance(one, controls.File)
        )
        assert "sent to the machine that serves this page" in file.help
        assert "30 minutes after the last question" in file.help


@pytest.mark.parametrize("claim", [ta.guarantee(12, 1e-5), ta.Gaussian(0.001)], ids=str)
def test_cards_of_too_few_scores_promise_no_power_and_give_no_verdict(claim):
    scores = audit.Scores(members=range(10, 60), non_members=range(50))
    verdict = audit.judge(claim, audit.many_runs(scores))
    assert verdict.headline.startswith("NO VERDICT")
    shown = {card.name: card for card in evidence.cards(summarise(verdict, scores))}
    assert shown["Claim"].value == "no verdict"
    assert "90 % probability" not in shown["Power"].beside
    assert shown["Power"].value == "below 90 %"
