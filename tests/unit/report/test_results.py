"""Reports of results: a comparison, an attack against a claim, noise for correlated records."""

import json
import re
from html import unescape
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import choose, report
from tellapart.choose.comparison import pair
from tellapart.errors import InvalidArgument
from tellapart.worlds import JointTable, Sum
from tellapart.worlds.frameworks import compare_frameworks

BOTH = {"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(1)}
MODEL = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
NOISE = choose.noise_table(MODEL, Sum(), 1.0)
FRAMEWORKS = compare_frameworks(MODEL, Sum(), ta.Laplace(1))
FILED = {
    "comparison": report.of_comparison(BOTH, prior=0.01, command="tellapart compare a b"),
    "possible": report.of_attack(ta.Laplace(1), fpr=0.1, tpr=0.2),
    "impossible": report.of_attack(ta.guarantee(epsilon=1), fpr=0.01, tpr=0.05),
    "noise": report.of_correlated(noise=NOISE),
    "frameworks": report.of_correlated(frameworks=FRAMEWORKS, release="Laplace, scale 1"),
    "both": report.of_correlated(noise=NOISE, frameworks=FRAMEWORKS, about=("Two records.",)),
}


def seen(page):
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", " ", page)))


@pytest.mark.parametrize("filed", FILED.values(), ids=FILED)
def test_a_page_says_all_that_the_data_say_and_needs_nothing_else(filed):
    page, data = report.page(filed), filed.data()
    json.dumps(data, allow_nan=False)
    text = seen(page)
    for words in (data["headline"], *data["reasons"], *data["assumptions"]):
        assert seen(str(words)) in text
    for row in (row for each in data["tables"] for row in each["rows"]):
        assert all(seen(cell).strip() in text for cell in row)
    assert page.count("<svg") >= len(filed.drawings) + (filed.noise is not None)
    assert "<script" not in page
    assert "src=" not in page
    assert filed.made.versions["tellapart"] in page


@pytest.mark.parametrize("filed", FILED.values(), ids=FILED)
def test_it_is_written_over_itself_and_over_nothing_else(filed, tmp_path):
    place = tmp_path / "out.html"
    report.write(filed, place)
    report.write(filed, place)
    assert json.loads(place.with_suffix(".json").read_text("utf-8"))["headline"] == filed.headline
    (tmp_path / "own.json").write_text("[1]")
    with pytest.raises(InvalidArgument, match="leave"):
        report.write(filed, tmp_path / "own.html")


def test_names_are_escaped_and_unseen_letters_shown():
    page = report.page(report.of_comparison({"<b>\u202e": ta.Laplace(1), "'\"&": ta.Gaussian(1)}))
    assert "<b>" not in page
    assert "\u202e" not in page
    assert "&lt;b&gt;" in page


def test_an_attack_is_refused_or_allowed_as_its_claim_says():
    for filed, inside in ((FILED["possible"], True), (FILED["impossible"], False)):
        assert filed.headline.startswith("Possible" if inside else "Impossible")
        assert any("fails by" in reason for reason in filed.reasons) is not inside
    allowed = ta.Laplace(1).curve().tpr(0.1)
    assert float(FILED["possible"].numbers[0].value[2:]) == pytest.approx(allowed, abs=1e-4)
    assert float(FILED["possible"].numbers[0].value[2:]) >= allowed


def test_a_report_of_nothing_is_refused():
    with pytest.raises(InvalidArgument, match="noise or frameworks must be given"):
        report.of_correlated()


@settings(max_examples=15)
@given(st.floats(0.3, 3), st.floats(0.3, 3), st.sampled_from(["Laplace", "Gaussian", "Staircase"]))
def test_the_short_answer_of_a_pair_is_true_on_its_curves(first, second, kind):
    other = {"Laplace": ta.Laplace, "Gaussian": ta.Gaussian, "Staircase": ta.Staircase}[kind]
    a, b = ta.Laplace(first).curve(), other(second).curve()
    two = pair("A", "B", a, b)
    said = two.brief()
    ends = [0.0, *(each.fpr for each in two.crossings), 1.0]
    for k, (low, high) in enumerate(pairwise(ends)):
        if high - low < 1e-6 or len(two.crossings) > 2:
            continue
        middle = (low + high) / 2
        gap = float(a.tpr(middle)) - float(b.tpr(middle))
        if abs(gap) < 1e-9:
            continue
        less = "B" if gap > 0 else "A"
        if "least" in said:
            assert said.startswith(f"{less} ")
        elif "except" in said or "below" in said:
            assert said.startswith(f"{less} ") == (k != 1)
        elif "elsewhere" in said:
            assert said.startswith(f"{less} ") == (k == 1)
        else:
            raise AssertionError(said)
