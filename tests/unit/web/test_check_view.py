"""The page's view of one attack agrees with the library, point by point."""

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from copied_code import printed
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import audit
from tellapart.cli import main
from tellapart.drawing.record import Mark
from tellapart.drawing.svg import table as drawn_table
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.subject import curve_of
from tellapart.web.answer import Answer, Table
from tellapart.web.views.check import VIEW, CheckState

COUNTED = {"design": "many-runs", "members": 1_000, "others": 1_000}


def shown(**values: object) -> Answer:
    return VIEW.answer(VIEW.read({**COUNTED, **values}))


@given(
    fpr=st.floats(0, 1),
    tpr=st.floats(0, 1),
    counts=st.fixed_dictionaries(
        {}, optional={"members": st.integers(1, 10_000), "others": st.integers(1, 10_000)}
    ),
    design=st.sampled_from(["", "one-model", "many-runs"]),
)
def test_nobody_gets_a_verdict_without_counts_and_a_design(
    fpr: float, tpr: float, counts: dict[str, int], design: str
) -> None:
    answer = VIEW.answer(VIEW.read({"fpr": fpr, "tpr": tpr, "design": design, **counts}))
    said = design == "many-runs" and len(counts) == 2
    assert ("REFUTED" in answer.headline) == said
    assert (answer.drawing is not None and answer.drawing.spots[0].box is not None) == said
    assert ("judge" in answer.python) == said
    assert ("true FPR" in [one[0] for one in answer.parts[0].rows]) == said


def test_a_design_that_is_none_is_refused() -> None:
    for asked in (VIEW.answer, VIEW.report):
        with pytest.raises(InvalidArgument, match=r"^design must be one of many-runs, one-model"):
            asked(VIEW.read({**COUNTED, "design": "one-run"}))


@pytest.mark.parametrize("tpr", [0.35, 0.12])
@pytest.mark.parametrize(
    ("design", "lacks"),
    [("one-model", "one model proves nothing"), ("", "say how the counts were made")],
)
def test_counts_that_prove_nothing_are_no_verdict_on_page_and_report(
    design: str, lacks: str, tpr: float
) -> None:
    values = {**COUNTED, "design": design, "tpr": tpr}
    answer, filed = VIEW.answer(VIEW.read(values)), VIEW.report(VIEW.read(values))
    where = "Outside" if tpr > 0.3 else "Inside"
    assert answer.headline == f"{where} the region; {lacks}: NO VERDICT"
    assert answer.cards[-1].beside == lacks
    assert answer.scope.endswith(("refute no claim.", "wherever its attack lies."))
    assert answer.drawing is not None
    assert {answer.mark, answer.drawing.spots[0].mark, filed.mark} == {Mark.PLAIN}
    assert filed.headline.startswith(f"NO VERDICT: {where.lower()} the region of the claim")
    assert "1,000 members and 1,000 non-members" in filed.reasons[-1]
    assert filed.reasons[-1] == answer.sentences[-1]
    assert filed.made.command.split("\n")[1] == answer.command
    assert "--report" not in filed.made.command
    said = " ".join((answer.headline, answer.scope, filed.headline, *filed.reasons))
    assert "mpossible" not in said
    assert "tellapart audit" not in said


def test_no_scope_says_that_a_point_outside_refutes() -> None:
    for values in ({"members": 0}, {"members": 30, "others": 30}, {}, {"members": 3, "others": 3}):
        assert "outside" not in shown(**values).scope
    assert shown(members=0).cards[-1].beside == "rates alone prove nothing: give both counts"


def test_an_attack_below_the_region_is_held_against_the_least_tpr() -> None:
    values = {"fpr": 0.35, "tpr": 0.05, "members": 0}
    answer, filed = shown(**values), VIEW.report(VIEW.read(values))
    assert answer.headline.startswith("Outside")
    least = math.floor(0.35 / math.e * 1e4) / 1e4
    assert answer.cards[0].value == filed.numbers[0].value == f"≥ {least:.4f}"
    assert row(answer, "least TPR allowed") == f"≥ {least:.4f}"
    drawn = filed.drawings[0].traces[1]
    assert np.interp(0.35, drawn.x[4:][::-1], drawn.y[4:][::-1]) == pytest.approx(0.35 / math.e)


@pytest.mark.parametrize("claim", ["any:epsilon=1", "laplace:epsilon=1", "gaussian:sigma=1"])
def test_digits_tell_the_attack_and_its_limit_apart(claim: str) -> None:
    curve = curve_of(parse(claim))
    for fpr in (0.1, 0.35):
        for edge in (float(curve.tpr(fpr)), 1 - float(curve.tpr(1 - fpr))):
            for off in (-1e-4, -1e-5, -1e-7, 1e-7, 1e-5, 1e-4):
                answer = shown(mechanism=claim, fpr=fpr, tpr=edge + off, members=0)
                (relation, limit), rate = answer.cards[0].value.split(), answer.cards[1].value
                kept = float(rate) <= float(limit)
                if relation == "≥":
                    kept = float(rate) >= float(limit)
                assert kept == answer.headline.startswith("Inside")


def row(answer: Answer, name: str) -> str:
    (table,) = answer.parts
    assert isinstance(table, Table)
    return next(one[1] for one in table.rows if one[0] == name)


def test_random_points_are_judged_as_by_four_inequalities() -> None:
    rng = np.random.default_rng(5)
    sides = set()
    for fpr, tpr, epsilon, delta in (rng.random((200, 4)) * (1, 1, 2, 0.1)).tolist():
        answer = shown(
            mechanism=f"any:epsilon={epsilon!r},delta={delta!r}", fpr=fpr, tpr=tpr, members=0
        )
        grows = math.exp(epsilon)
        inside = all(
            left <= grows * right + delta
            for left, right in ((tpr, fpr), (fpr, tpr), (1 - tpr, 1 - fpr), (1 - fpr, 1 - tpr))
        )
        assert answer.headline.startswith("Inside" if inside else "Outside")
        assert answer.mark is (Mark.GOOD if inside else Mark.BAD)
        assert answer.drawing is not None
        (spot,) = answer.drawing.spots
        assert spot.mark is answer.mark
        assert answer.sentences[0].startswith("✓" if inside else "✗")
        sides.add(inside)
    assert sides == {True, False}


@pytest.mark.parametrize("claim", ["laplace:epsilon=1", "gaussian:sigma=1", "any:mu=0.5"])
def test_random_points_are_judged_as_by_the_mechanisms_own_curve(claim: str) -> None:
    curve, rng = curve_of(parse(claim)), np.random.default_rng(6)
    for fpr, tpr in rng.random((60, 2)):
        allowed, least = curve.tpr(fpr), 1 - curve.tpr(1 - fpr)
        answer = shown(mechanism=claim, fpr=fpr, tpr=tpr, others=0)
        assert answer.headline.startswith("Inside") == (least <= tpr <= allowed)
        if tpr > allowed:
            assert answer.sentences[0] == f"✗ FNR ≥ β(FPR) fails by {tpr - allowed:.4g}."


@pytest.mark.parametrize("rates", [(0.1, 0.2), (0.1, 0.3), (0.1, 0.4), (0.3, 0.1), (0.0, 0.05)])
def test_a_claim_is_refuted_where_the_exact_test_of_counts_refutes_it(
    rates: tuple[float, float],
) -> None:
    answer = shown(fpr=rates[0], tpr=rates[1], members=200, others=100)
    counts = audit.Counts(round(200 * rates[1]), 200, round(100 * rates[0]), 100)
    refuted = audit.from_counts(counts, confidence=0.95).refutes(ta.guarantee(epsilon=1))
    outside = bool(ta.PrivacyRegion(1).failures(counts.fpr, tpr=counts.tpr))
    assert (". REFUTED" in answer.headline) == refuted
    assert answer.mark is (Mark.BAD if refuted else Mark.PLAIN if outside else Mark.GOOD)
    assert refuted <= outside


def test_mark_box_numbers_and_verdict_are_of_one_test() -> None:
    rng, verdicts = np.random.default_rng(8), set()
    for fpr, more in rng.random((12, 2)).tolist():
        tpr = min(1.0, math.e * fpr * (0.6 + 0.9 * more))
        answer = shown(fpr=fpr, tpr=tpr, members=300, others=200)
        assert answer.drawing is not None
        (spot,) = answer.drawing.spots
        assert spot.mark is answer.mark
        assert spot.box is not None
        refuted = ". REFUTED" in answer.headline
        verdicts.add(refuted)
        least = float(row(answer, "ε that is shown")[2:])
        assert (least > 1) == refuted or abs(least - 1) < 2e-4
        worst = ta.PrivacyRegion(1).failures(spot.box[1], tpr=spot.box[2])
        assert refuted or not worst or spot.box[2] < spot.box[1]
    assert verdicts == {True, False}


def test_rates_become_whole_counts_and_the_point_moves_there() -> None:
    answer = shown(fpr=0.1004, tpr=0.34, members=10, others=1_000)
    assert answer.drawing is not None
    (spot,) = answer.drawing.spots
    assert (spot.x, spot.y) == (0.1, 0.3)
    assert "In whole counts: 3 of 10 members and 100 of 1,000 non-members were flagged." in (
        answer.sentences
    )
    assert row(answer, "TPR") == "0.3"


def test_the_box_holds_both_rates_together() -> None:
    answer = shown(fpr=0.1, tpr=0.9, members=100, others=100)
    assert answer.drawing is not None
    box = answer.drawing.spots[0].box
    assert box is not None
    # Of the corner's quarter of 5 % either limit has half: exact binomial tails beyond each.
    for k, side in zip((10, 10, 90, 90), range(4), strict=True):
        ways = range(k, 101) if side % 2 == 0 else range(k + 1)
        tail = sum(math.comb(100, i) * box[side] ** i * (1 - box[side]) ** (100 - i) for i in ways)
        assert tail == pytest.approx(0.00625, rel=1e-6)
    low, high = (float(one) for one in row(answer, "true FPR").split(" to "))
    assert box[0] - 1e-4 < low <= box[0] < box[1] <= high < box[1] + 1e-4


def test_no_colour_stands_alone() -> None:
    outside, inside = shown(members=0), shown(members=0, tpr=0.12)
    assert outside.headline == "Outside: impossible if the claim is true"
    assert outside.sentences[0] == "✗ TPR ≤ e^ε·FPR + δ fails by 0.07817."
    assert inside.headline == "Inside: possible under the claim"
    assert outside.drawing is not None
    assert "✗ outside" in outside.drawing.caption


@pytest.mark.parametrize(
    "values",
    [{}, {"members": 0}, {"claim": "laplace:epsilon=1", "members": 50, "others": 50}],
)
def test_the_python_prints_what_the_page_shows(values: dict[str, object]) -> None:
    answer = shown(**values)
    lines = printed(answer.python).splitlines()
    assert f"✗ {lines[0]}." == answer.sentences[0]
    told = {
        one.split(" ")[0]: one.split(" ")[-1] for one in lines if one.startswith(("TPR ≤ 0", "ε"))
    }
    assert (
        row(answer, "largest TPR allowed") == f"≤ {math.ceil(float(told['TPR']) * 1e4) / 1e4:.4f}"
    )
    assert (
        row(answer, "least ε that allows it") == f"≥ {math.floor(float(told['ε']) * 1e4) / 1e4:.4f}"
    )
    least = next(float(line[5:]) for line in lines if line.startswith("TPR ≥"))
    assert row(answer, "least TPR allowed") == f"≥ {math.floor(least * 1e4) / 1e4:.4f}"
    if answer.drawing is not None and answer.drawing.spots[0].box is not None:
        assert lines[-2] in answer.headline
        assert str(answer.drawing.spots[0].box[:2]) in lines
        assert f"Where: {lines[-1]}." in answer.sentences or lines[-1] == "None"


def test_commands_say_where_the_point_lies() -> None:
    promise, laplace = shown(), shown(mechanism="laplace:epsilon=1")
    counts = "--true-positives 350 --members 1000 --false-positives 100 --non-members 1000"
    start = f"tellapart audit {counts} --design many-runs"
    assert promise.command == f"{start} --epsilon 1.0 --delta 0.0 --confidence 0.95"
    assert laplace.command.startswith(f"{start} --mechanism laplace:epsilon=1 ")
    rates = shown(members=0)
    assert rates.command == "tellapart region --epsilon 1.0 --delta 0.0 --fpr 0.1 --tpr 0.35"
    rates = shown(mechanism="laplace:epsilon=1", members=0)
    assert rates.command == "tellapart region laplace:epsilon=1 --fpr 0.1 --tpr 0.35"


def test_the_commands_agree_with_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    promise, laplace = shown(members=0), shown(mechanism="laplace:epsilon=1", members=0)
    assert main([*shlex.split(promise.command)[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["possible"] is False
    assert f"fails by {told['failures'][0]['excess']:.4g}." in promise.sentences[0]
    assert float(row(promise, "least ε that allows it")[2:]) == pytest.approx(
        told["least_epsilon"], abs=1e-4
    )
    assert main([*shlex.split(laplace.command)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["possible"] is False
    assert laplace.headline == "Outside: impossible if the claim is true"
    counted = shown(mechanism="laplace:epsilon=1")
    assert main(shlex.split(counted.command)[1:]) == 1
    assert row(counted, "ε that is shown") in capsys.readouterr().out


def test_the_report_is_of_the_same_attack_and_its_command_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for values, code in (
        ({"members": 0}, 0),
        ({"members": 0, "mechanism": "laplace:epsilon=1"}, 0),
        ({}, 1),
    ):
        made, filed = shown(**values), VIEW.report(VIEW.read({**COUNTED, **values}))
        assert main(shlex.split(filed.made.command)[1:]) == code
        written = json.loads(Path("report.json").read_text(encoding="utf-8"))
        assert written["headline"] == filed.headline
        assert made.reports
        if code == 0:
            for number in filed.numbers:  # as on the cards
                assert (number.name, number.value) in [(x.name, x.value) for x in made.cards]
    assert "Report: report.html and report.json" in capsys.readouterr().out


def test_every_picture_has_the_point_where_it_can_be_dragged() -> None:
    for picture in ("roc", "roc-log"):
        drawing = shown(picture=picture).drawing
        assert drawing is not None
        assert drawing.y.label == "true-positive rate (TPR)"
        assert drawing.spots[0].drags == ("fpr", "tpr")
        assert drawing.x.log == (picture == "roc-log")


def test_the_outline_has_the_corners_of_the_promise() -> None:
    drawing = shown().drawing
    assert drawing is not None
    outline = drawing.traces[1]
    corner = 1 / (1 + math.e)
    drawn = {(round(x, 12), round(y, 12)) for x, y in zip(outline.x, outline.y, strict=True)}
    assert {(round(corner, 12), round(1 - corner, 12)), (0.0, 0.0), (1.0, 1.0)} <= drawn


def test_rates_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="tpr must"):
        shown(tpr=1.2)
    with pytest.raises(InvalidArgument, match="confidence must"):
        shown(confidence=1)


def test_a_promise_has_its_own_delta_and_others_a_dial_for_it() -> None:
    assert not any(getattr(one, "field", "") == "at_delta" for one in VIEW.controls(CheckState()))
    state = CheckState(mechanism="gaussian:sigma=1")
    assert any(getattr(one, "field", "") == "at_delta" for one in VIEW.controls(state))


def test_the_table_of_the_picture_says_what_the_claim_allows() -> None:
    for text in ("any:epsilon=1,delta=0.1", "laplace:epsilon=1"):
        drawing = shown(mechanism=text).drawing
        assert drawing is not None
        head, *rows = drawn_table(drawing)
        assert head[2].startswith("what the claim allows")
        curve = curve_of(parse(text))
        for fpr, _, most in rows[:-1]:
            assert float(most) == pytest.approx(float(curve.tpr(float(fpr))), rel=6e-3, abs=1e-9)
