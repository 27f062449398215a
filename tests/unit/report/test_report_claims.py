"""Reports of claims: what is told of them, what is ticked and what is not, hostile words."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsed_page import Page

import tellapart as ta
from tellapart import audit, report, risk
from tellapart._numeric.text import short
from tellapart.report import QUESTIONS, building, html
from tellapart.report.checklist import Known, items
from tellapart.report.model import Input

DRAW = np.random.default_rng(8)
SCORES = audit.Scores(members=DRAW.normal(2, 1, 300), non_members=DRAW.normal(0, 1, 300))
EVIDENCE = audit.many_runs(SCORES)
REFUTED = audit.judge(ta.guarantee(0.5), EVIDENCE)
STANDING = audit.judge(ta.Gaussian(0.4), EVIDENCE)
BELIEF = audit.many_runs(SCORES, method=audit.Credible(1.0))
TRAINING = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.01, steps=1_000)


def states(one):
    return {item.key: item.state for item in one.checklist}


def without_picture(told):
    """The page of a report; its picture has a test of its own, and takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellapart.report.html._figure", lambda _: None)
        return html.page(told)


# -- what is told --------------------------------------------------------------------------------


def test_a_claim_is_told_with_what_it_means():
    told = report.of(ta.Gaussian(2), unit=" one patient ", prior=0.001, fpr=0.05, delta=1e-6)
    curve = ta.Gaussian(2).curve()
    assert told.title == told.claim == "Gaussian, σ = 2"
    assert told.headline == "Gaussian, σ = 2: a claim, with no evidence for or against it"
    assert (told.refuted, told.design, told.shown, told.ledger) == (None, None, (), None)
    assert told.unit == "one patient"
    assert told.neighbours == "add or remove one record (unbounded)"
    assert told.meaning.words == tuple(risk.words(curve, prior=0.001, fpr=0.05).splitlines())
    readings = {one.name: one for one in risk.summary(curve, prior=0.001, fpr=0.05)}
    assert len(told.meaning.risks) == 10
    assert all(readings[one.what].value == one.value for one in told.meaning.risks)
    for one in told.meaning.risks:
        assert (one.without, one.words, one.gain) == readings[one.what].columns
        assert one.baseline == readings[one.what].baseline
    first = told.meaning.epsilon
    assert (first.what, first.value) == ("ε at δ = 1e-6", curve.epsilon(1e-6))
    assert told.meaning.side == "exact"
    assert told.meaning.certified is None  # a formula needs no bracket


def test_the_title_is_what_people_call_it():
    told = report.of(ta.Gaussian(2), name=" Cardiology counts ")
    assert (told.title, told.claim) == ("Cardiology counts", "Gaussian, σ = 2")
    assert "CLAIM" not in without_picture(told)
    assert "<h1>Cardiology counts</h1>" in without_picture(told)
    judged = report.of(REFUTED, name="Cardiology counts")
    assert "<h1>Cardiology counts</h1>" in without_picture(judged)
    assert f"{judged.headline}." in Page(without_picture(judged)).text
    assert report.of(REFUTED).title == ""


def test_the_page_has_a_column_for_each_of_without_with_and_gain():
    told = report.of(ta.Gaussian(2), prior=0.01)
    page = without_picture(told)
    for one in told.meaning.risks:
        cells = re.findall(
            r'<td class="number">(.*?)</td>', page[page.index(f"<tr><td>{one.what}") :]
        )
        assert tuple(cells[:3]) == (one.without, one.words, one.gain)


@pytest.mark.parametrize("deltas", [None, 1e-4, (1e-3, 0.0, 1e-12)])
def test_epsilons_are_told_by_their_delta(deltas):
    told = report.of(TRAINING, delta=deltas)
    asked = deltas if isinstance(deltas, tuple) else (deltas or 1e-5,)
    rows = told.meaning.budgets
    assert [one.delta for one in rows] == sorted({one.delta for one in rows})
    assert {one.delta for one in rows} >= set(asked)
    assert told.meaning.delta == told.meaning.epsilon.delta == asked[0]
    values = [one.value for one in rows]
    assert values == sorted(values, reverse=True)
    assert all(one.what.startswith(f"ε at δ = {short(one.delta)}") for one in rows)


def test_how_to_reproduce_is_one_block_at_the_end():
    told = report.of(REFUTED, command="tellapart audit x.csv", seed=7)
    told = replace(told, made=replace(told.made, inputs=(Input("x.csv", 1234),)))
    end = without_picture(told).partition("<h2>How to reproduce</h2>")[2]
    assert "<h2>" not in end
    assert "<table" not in end
    words = Page(f"<p>{end.partition('</main>')[0].replace('</section>', '')}</p>").text
    assert "Files: x.csv (1,234 bytes). Seed: 7. Versions: tellapart " in words


def test_the_curves_of_a_claim_have_their_sides_and_the_promise_is_no_less_than_the_claim():
    told = report.of(TRAINING)
    assert {key: one.side for key, one in told.curves.items()} == {
        "claim": "exact",
        "promise": "lower",
    }
    claim, promise = (np.array(told.curves[one].points) for one in ("claim", "promise"))
    assert np.array_equal(claim[:, 1], TRAINING.curve().tpr(claim[:, 0]))
    assert (promise[:, 1] >= claim[:, 1] - 1e-9).all()
    assert list(report.of(ta.guarantee(1)).curves) == ["claim"]


def test_a_composition_is_certified():
    said = report.of(TRAINING).meaning.certified
    most, least = map(float, re.findall(r"(?:most|least) ([\d.]+)", said))
    assert least < TRAINING.curve().epsilon(1e-5) < most < least + 1e-3


def test_where_a_curve_has_too_few_digits_a_certified_one_speaks():
    steps = ta.Laplace(1).sampled(0.1).repeated(100)
    told = report.of(steps)
    assert told.meaning.side == told.curves["claim"].side == "lower"
    assert told.meaning.epsilon.value == steps.curve().epsilon(1e-5)
    assert told.meaning.epsilon.value >= steps.bracket(1e-5).upper.epsilon(1e-5)
    assert all(one.words[0] in "≤≥" for one in told.meaning.risks)


def test_a_promise_says_for_whom_it_holds_and_states_no_neighbours():
    told = report.of(ta.guarantee(1, 1e-6))
    assert told.claim == "ε = 1, δ = 1e-6"
    assert told.meaning.holds == "valid for every mechanism with this guarantee"
    assert (told.meaning.mechanism, told.neighbours, told.unit) == (None, None, None)
    assert [one.what for one in told.meaning.budgets] == ["ε at δ = 1e-6", "ε at δ = 0.001"]
    said = report.of(ta.guarantee(1), answers={"neighbours": "One household more."})
    assert said.neighbours == "One household more."


@pytest.mark.parametrize(
    ("subject", "claim", "budget", "curves"),
    [
        (ta.guarantee(mu=1), "Gaussian DP with μ = 1", "≤ 4.3772", ["claim", "promise"]),
        (
            ta.guarantee(zcdp=0.1),
            "the curve of guarantee(zcdp=0.1)",
            "≤ 1.9143",
            ["claim", "promise"],
        ),
        (ta.Promise(1), "Promise(epsilon=1.0)", "≤ 1.0000", ["claim"]),
        (ta.UniformNoise(10), "Uniform noise, width 10", "= 0.0000", ["claim"]),
        (ta.TruncatedLaplace(1, 5), "Truncated Laplace, scale 1, cut off at 5", "= ∞", ["claim"]),
    ],
    ids=["mu", "zcdp", "promise", "uniform", "truncated"],
)
def test_any_claim_can_be_told(subject, claim, budget, curves):
    told = report.of(subject)
    assert (told.claim, told.meaning.epsilon.words) == (claim, budget)
    assert list(told.curves) == curves
    assert json.loads(json.dumps(told.data(), allow_nan=False)) == told.data()


@pytest.mark.parametrize("verdict", [REFUTED, STANDING], ids=["refuted", "standing"])
def test_an_audit_says_what_its_claim_means(verdict):
    told = report.of(verdict, scores=SCORES, prior=0.01, unit="one patient")
    alone = report.of(verdict.claim, prior=0.01)
    assert told.meaning == alone.meaning
    assert told.neighbours == alone.neighbours
    assert told.curves["claim"].points[0] == alone.curves["claim"].points[0]
    assert told.curves["evidence"].errs.endswith("with 95 % confidence")
    page = Page(without_picture(told)).text
    assert ("would mean if it were true" in page) is verdict.refuted


def test_a_claim_that_cannot_be_read_changes_no_verdict(monkeypatch):
    def refuses(*_):
        raise ta.NotCertified("no digits")

    monkeypatch.setattr(building, "read_claim", refuses)
    told = report.of(REFUTED)
    assert told.refuted
    assert told.meaning is None
    assert told.reasons[-1] == "What the claim means is not reported: no digits."
    assert list(told.curves) == ["evidence"]
    assert "<svg" in report.page(told)
    assert states(told)["epsilon"] == "refuted"
    assert "no digits" in Page(without_picture(told)).text
    with pytest.raises(ta.NotCertified):
        report.of(REFUTED.claim)


# -- the checklist -------------------------------------------------------------------------------


def test_nothing_is_ticked_that_was_not_established():
    assert set(states(report.of(ta.guarantee(1))).values()) == {"stated", "open"}
    ticked = {
        "claim": (report.of(ta.Gaussian(2)), {"epsilon", "utility"}),
        "training": (report.of(TRAINING), {"epsilon"}),
        "promise": (report.of(ta.Promise(1)), set()),
        "standing": (report.of(STANDING), {"epsilon", "utility", "tested"}),
        "refuted": (report.of(REFUTED), set()),
        "no claim": (report.of(EVIDENCE), set()),
        "one model": (report.of(audit.metrics(SCORES)), set()),
        "belief": (report.of(audit.judge(ta.guarantee(9), BELIEF)), set()),
    }
    for name, (told, keys) in ticked.items():
        found = {key for key, state in states(told).items() if state == "established"}
        assert found == keys, name
        assert (states(told)["tested"] == "open") == (told.design is None), name
    refuted = {key for key, state in states(report.of(REFUTED)).items() if state == "refuted"}
    assert refuted == {"epsilon", "tested"}


def test_a_test_that_was_passed_is_said_to_prove_nothing():
    (tested,) = (one for one in report.of(STANDING).checklist if one.key == "tested")
    assert tested.established.startswith("NOT REFUTED: the claim ")
    assert tested.established.endswith("Not refuted is not proven.")


def test_a_refuted_mechanism_keeps_its_description_but_no_tick():
    told = report.of(audit.judge(ta.Gaussian(20), EVIDENCE))
    found = states(told)
    assert (found["epsilon"], found["tested"], found["mechanism"]) == (
        "refuted",
        "refuted",
        "stated",
    )


def test_an_answer_is_a_statement_and_hides_no_fact():
    every = {key: f"answer to {key}" for key in QUESTIONS if key != "unit"}
    plain, told = report.of(ta.Gaussian(2)), report.of(ta.Gaussian(2), unit="one", answers=every)
    assert "open" not in states(told).values()
    for before, after in zip(plain.checklist, told.checklist, strict=True):
        assert after.established == before.established
        assert (after.state == "established") == (before.state == "established")
        assert after.stated[:1] == (every.get(after.key, "one"),)
        assert after.stated[1:] == before.stated


def test_who_is_trusted_follows_from_where_noise_is_added():
    def trust(mechanism):
        (one,) = (item for item in report.of(mechanism).checklist if item.key == "trust")
        return one.state, " ".join(one.stated)

    assert trust(ta.Laplace(1)) == ("open", "")
    state, said = trust(ta.RandomizedResponse(1).repeated(2))
    assert state == "stated"
    assert "before anybody else sees it" in said
    assert "shuffles" in trust(ta.RandomizedResponse(1).shuffled(users=1_000))[1]


def test_every_question_has_a_layer_and_asks():
    assert all(one.text.endswith("?") and one.layer for one in QUESTIONS.values())
    assert {one.state for one in items(Known(), {})} == {"open"}
    assert [one.key for one in items(Known(), {})] == list(QUESTIONS)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answers": {"acess": "x"}}, r"^answers must be to any of epsilon, .*, got 'acess'$"),
        ({"answers": {"unit": "x"}}, "^answers must leave the unit to unit=, got 'unit'$"),
        ({"answers": {"access": " "}}, "^answers must be texts that say something, got ' '$"),
        ({"answers": ["access"]}, "^answers must map questions to texts"),
        ({"prior": 0}, "^prior must lie strictly between 0 and 1, got 0"),
        ({"fpr": 1}, "^fpr must lie strictly between 0 and 1, got 1"),
        ({"delta": 2}, r"^delta must lie in \[0, 1\], got 2"),
        ({"out_of": 0.5}, "^out_of must be a whole number"),
        ({"unit": 3}, "^unit must be a text, got 3"),
        ({"name": 3}, "^name must be a text, got 3"),
    ],
)
@pytest.mark.parametrize("found", [ta.guarantee(1), REFUTED], ids=["claim", "verdict"])
def test_bad_words_are_refused(found, options, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        report.of(found, **options)


def test_what_an_attack_has_shown_is_no_claim():
    with pytest.raises(ta.InvalidArgument, match=r"^found must be a claim, not what an attack"):
        report.of(ta.attack([(0.1, 0.5)]))
    with pytest.raises(ta.InvalidArgument, match=r"^report must be a report"):
        report.page(REFUTED)


# -- hostile words -------------------------------------------------------------------------------

NASTY = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Po", "Sm"]), max_size=30),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            "\"><img src=x onerror='alert(1)'>",
            "</title></style></pre><svg/onload=alert(1)>",
            "]]>--><!--",
            "{{ report.made }}{% raw %}",
            "&lt;b&gt; &amp;amp; &#x3c;script&#62;",
            "javascript:alert(1)\x00\x1b[31m\u202e\ud800",
        ]
    ),
)


def said(value, words, at=""):
    """A record of reports with hostile words in every text of it, each with its place."""
    if isinstance(value, str):
        return f"{words} {at}"
    if isinstance(value, tuple):
        return tuple(said(one, words, f"{at}.{k}") for k, one in enumerate(value))
    if isinstance(value, Mapping):
        return {f"{words}{key}": said(one, words, f"{at}.{key}") for key, one in value.items()}
    if not is_dataclass(value):
        return value
    kept = {"state", "side", "found", "traced"}  # not words: one of a few, or no data
    changed = {
        one.name: said(getattr(value, one.name), words, f"{at}.{one.name}")
        for one in fields(value)
        if one.init and one.name not in kept
    }
    return replace(value, **changed)


BASE = report.of(
    STANDING, scores=SCORES, unit="one", answers={"access": "a", "review": "b"}, command="c"
)
BASE = replace(BASE, made=replace(BASE.made, inputs=(Input("scores.csv", 7),)))


@pytest.fixture(scope="module")
def harmless():
    return Page(without_picture(said(BASE, "word")))


UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


@given(words=NASTY)
def test_no_words_change_what_a_page_is_made_of(harmless, words):
    """The same tags and attributes in the same order, whatever is said in them."""
    text = without_picture(said(BASE, words))
    page = Page(text)
    # A command is told word by word, each in a span of its own.
    assert [one for one in page.tags if one != "span"] == [
        one for one in harmless.tags if one != "span"
    ]
    names = [[name for name, _ in one.values] for one in (page, harmless)]
    assert names[0] == names[1]
    assert not re.search(UNSEEN, text)
    text.encode("utf-8")  # no half of a letter is left
    # Blanks may be folded, as a browser does; all else is there.
    shown = re.sub(r"\s", "", re.sub(UNSEEN, "\ufffd", words))
    seen = re.sub(r"\s", "", page.text)
    for place in (".headline", ".unit", ".made.command", ".made.inputs.0.file", ".claim"):
        assert f"{shown}{place}" in seen
    assert seen.count(shown) > 100 or not shown


@pytest.mark.parametrize(
    "name",
    ["患者 \x00 \ud800 --> <script>", "_$x^2_\na\tb", "x" * 5000],
    ids=["letters", "mathematics", "long"],
)
def test_no_name_spoils_a_picture(name):
    """No warning, no text of anybody's, one picture."""
    text = report.page(report.of(ta.Laplace(1), name=name))
    drawn = text[text.index("<svg") : text.index("</svg>")]
    assert "script" not in drawn
    assert "<!--" not in drawn
    assert "<text" not in drawn
    assert Page(text).tags.count("svg") == 1


# -- the page and its data -----------------------------------------------------------------------


def leaves(value):
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


@pytest.mark.parametrize(
    "found", [ta.Gaussian(2), TRAINING, REFUTED, STANDING], ids=["plain", "dpsgd", "no", "yes"]
)
def test_the_data_hold_every_number_on_the_page(found):
    told = report.of(found, unit="one patient", prior=0.003, command="tellapart report", seed=7)
    held = list(leaves(told.data()))
    texts = " ".join(one for one in held if isinstance(one, str))
    static = files("tellapart.report").joinpath("template.html").read_text(encoding="utf-8")
    numbers = np.array([one for one in held if isinstance(one, int | float)], dtype=float)
    for token in re.findall(
        r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", Page(without_picture(told)).text
    ):
        if token in texts or token in static:
            continue
        shown = float(token.replace(",", ""))
        digits = len(token.partition("e")[0].partition(".")[2])
        exponent = int(token.partition("e")[2] or 0)
        assert (abs(numbers - shown) <= 1.001 * 10.0 ** (exponent - digits)).any(), token


def test_open_questions_leave_room_to_write():
    told = report.of(ta.guarantee(1))
    text = without_picture(told)
    unanswered = [one for one in told.checklist if one.state == "open"]
    assert text.count('<span class="blank">') == len(unanswered) > 10
    assert "NIST SP 800-226 (2025)" in text
    assert "Filed by" in text


# -- the unit beside the neighbours --------------------------------------------------------------

SEVERAL = ["one customer, all their messages", "a user", "one household", "one user-day", "visits"]


@pytest.mark.parametrize("found", [ta.Gaussian(2), STANDING], ids=["claim", "verdict"])
@pytest.mark.parametrize("unit", SEVERAL)
@pytest.mark.parametrize("brief", [False, True])
def test_a_unit_of_several_records_is_warned_of(found, unit, brief):
    told = report.of(found, unit=unit, brief=brief)
    (said,) = [one for one in told.reasons if "unit of privacy" in one]
    assert said.startswith(f"WARNING: the unit of privacy, {unit!r}, may be more than ")
    assert "for_group(k)" in said
    if isinstance(found, ta.Gaussian):
        assert "add or remove one record" in said
    assert said in told.data()["reasons"]


def test_a_unit_that_may_be_one_record_is_asked_about():
    said = report.of(ta.Gaussian(2), unit="one patient").reasons[-1]
    assert said.startswith("Unit of privacy: 'one patient' is taken to be the one record ")
    for unit in ("", "one record", "a row"):
        assert not any(
            "nit of privacy" in one for one in report.of(ta.Gaussian(2), unit=unit).reasons
        )
