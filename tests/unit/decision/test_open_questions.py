"""Questions that a decision asks back: where something does not fit, and none where all does."""

import datetime
from dataclasses import replace

import pytest

import tellapart as ta
from tellapart import decision, report
from tellapart.decision.open_questions import questions
from tellapart.decision.record import Alternative, Attacker, Configuration, EvidenceFile, Utility

FIRST = replace(
    decision.parse(decision.template()),
    utility=None,
    alternatives=(),
    mechanism=Configuration("any", "epsilon"),
)


def keys(record, answered=False):
    return [each.key for each in questions(record, record.answer() if answered else None)]


def privacy(**changes):
    return replace(FIRST, privacy=replace(FIRST.privacy, **changes))


def test_nothing_is_asked_where_all_fits():
    assert keys(FIRST, answered=True) == []


@pytest.mark.parametrize(
    ("unit", "records", "asked"),
    [
        ("one customer, all their messages", 1, ["privacy.unit"]),
        ("one customer, all their messages", None, ["privacy.records_per_unit"]),
        ("one customer, all their messages", 20, []),
        ("one customer", None, ["privacy.records_per_unit"]),
        ("one customer", 1, []),
        ("one household", 1, ["privacy.unit"]),
        ("one visit", None, []),
        ("one message of one customer", None, []),
        ("one user-day", None, []),
        ("one user-day", 40, []),
        ("one visit", 6, ["privacy.unit"]),
    ],
)
def test_the_unit_is_held_against_the_neighbouring_relation(unit, records, asked):
    assert keys(privacy(unit=unit, records_per_unit=records)) == asked


def test_a_delta_above_one_over_n_is_asked_about():
    assert keys(privacy(delta_rule="1/n")) == []
    assert keys(privacy(delta_rule="2/n")) == ["privacy.delta"]
    (question,) = questions(privacy(delta_rule=None, delta=1e-3))
    assert question.seen == "δ = 0.001 is above 1/n = 8.33333e-5 for 12,000 people"


def test_a_delta_of_the_mechanism_is_held_against_the_one():
    made = Configuration("gaussian", "epsilon", fixed={"delta": 1e-6})
    assert keys(replace(FIRST, mechanism=made)) == ["mechanism.delta"]


@pytest.mark.parametrize(
    ("prior", "population", "asked"),
    [
        (0.006, 2_000_000, []),
        (0.3, 2_000_000, []),
        (0.0001, 2_000_000, ["attacker[1].prior"]),
        (0.0001, None, []),
        (1e-9, None, ["attacker[1].prior"]),
    ],
)
def test_a_prior_is_held_against_the_population(prior, population, asked):
    about = {"prior": prior, "fpr": 0.001}
    record = replace(
        FIRST,
        attackers=(replace(FIRST.attackers[0], about=about),),
        release=replace(FIRST.release, population=population),
    )
    assert keys(record) == asked


def test_people_are_counted_once():
    about = {**FIRST.attackers[0].about, "people": 7}
    record = replace(FIRST, attackers=(replace(FIRST.attackers[0], about=about),))
    assert keys(record) == ["attacker[1].people"]


def test_more_records_than_people_have_is_asked_about():
    fixed = {"epochs": 2.0, "batch_size": 100, "data_size": 60_000}
    training = Configuration("dpsgd", "noise_multiplier", fixed=fixed)
    (question,) = questions(replace(FIRST, mechanism=training))
    assert question.key == "mechanism.data_size"
    assert "Raise records_per_unit to 5 at least" in question.advice
    wide = replace(privacy(records_per_unit=5), mechanism=training)
    assert keys(wide) == []


def test_an_attacker_without_a_limit_is_asked_about():
    more = (*FIRST.attackers, Attacker("a colleague", "suspects"))
    assert keys(replace(FIRST, attackers=more)) == ["attacker[2].name"]


def test_a_replaced_record_needs_a_sensitivity():
    made = Configuration("gaussian", "sigma")
    record = replace(privacy(neighbours="replace"), mechanism=made)
    assert keys(record) == ["mechanism.sensitivity"]
    stated = replace(record, mechanism=replace(made, fixed={"sensitivity": 2**0.5}))
    assert keys(stated) == []


def test_the_sensitivity_of_an_added_record_is_asked_about_once_records_are_replaced():
    """As in the file of --init, where only the neighbours were changed."""
    cells, count = Utility("maps", "histogram", 20, cells=40), Utility("maps", "count", 20)
    noises = (("gaussian", 2**0.5), ("laplace", 2.0), ("discrete-laplace", 2))
    for name, least in noises:
        for sensitivity, asked in ((1.0, ["mechanism.sensitivity"]), (least, [])):
            made = Configuration(name, "epsilon", fixed={"sensitivity": sensitivity})
            record = replace(privacy(neighbours="replace"), mechanism=made, utility=cells)
            assert keys(record) == asked
            # A count moves by 1 at most, and a record that is added moves one cell.
            assert keys(replace(record, utility=count)) == []
            assert keys(replace(record, privacy=FIRST.privacy)) == []


def test_an_epsilon_of_one_mechanism_is_held_against_that_of_all():
    gaussian = replace(FIRST, mechanism=Configuration("gaussian", "sigma"))
    assert keys(gaussian, answered=True) == ["mechanism.name"]
    by_epsilon = replace(FIRST, mechanism=Configuration("gaussian", "epsilon"))
    (question,) = questions(by_epsilon, by_epsilon.answer())
    assert question.key == "mechanism.choose"
    assert "chosen for gaussian, used for anything else?" in question.question
    assert "may have PPV at FPR 0.001 = 0.0450, where" in question.seen
    assert 'is 1.2181 at this δ (name = "any")' in question.advice


def test_a_promise_to_several_records_has_no_epsilon_at_the_same_delta():
    assert keys(privacy(records_per_unit=3), answered=True) == ["privacy.records_per_unit"]


def test_a_review_comes_after_the_decision():
    early = replace(FIRST.decided, review=datetime.date(2026, 11, 17))
    (question,) = questions(replace(FIRST, decided=early))
    assert str(question) == (
        "decided.review: the review (2026-11-17) is not after the decision (2026-11-17). "
        "When is it looked at again? Write a later date."
    )


def test_an_alternative_under_replacement_needs_a_sensitivity():
    others = ["laplace", "laplace:sensitivity=2", "gaussian:sigma=9+laplace:scale=9,sensitivity=2"]
    others.append("laplace:sensitivity=1")
    record = replace(
        privacy(neighbours="replace"),
        utility=Utility("maps", "histogram", 20, cells=40),
        alternatives=tuple(Alternative(other, "why") for other in others),
    )
    asked = questions(record)
    assert [each.key for each in asked] == [f"alternative[{k}].mechanism" for k in (1, 3, 4)]
    assert not any(each.blocks for each in asked)


@pytest.mark.parametrize("brief", [True, False])
def test_evidence_is_held_against_what_is_in_use(tmp_path, brief):
    draw = __import__("numpy").random.default_rng(5)
    scores = ta.audit.Scores(members=draw.normal(0, 1, 300), non_members=draw.normal(0, 1, 300))
    evidence = ta.audit.many_runs(scores)
    for name, claim in (("own", ta.Gaussian(4)), ("other", ta.Gaussian(2))):
        verdict = ta.audit.judge(claim, evidence)
        report.write(report.of(verdict, brief=brief), tmp_path / f"{name}.html")
    record = replace(
        FIRST,
        mechanism=Configuration("gaussian", "sigma", configured=4.0),
        evidence=(EvidenceFile("own.json"), EvidenceFile("other.json")),
    )
    answer = record.answer(folder=tmp_path)
    (asked,) = (each for each in questions(record, answer) if each.key.startswith("evidence"))
    assert asked.key == "evidence[2].file"
    assert asked.seen.startswith(
        "other.json judged the claim Gaussian(sigma=2.0), and sigma = 4 of"
    )
    assert not asked.blocks
