"""Decisions with a model of correlated records: Pufferfish privacy, its limits and its words."""

from dataclasses import replace
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import decision, report
from tellapart.decision.record import Alternative, Configuration, Correlation
from tellapart.worlds import JointTable, MarkovChain, Sum
from tellapart.worlds.frameworks.pufferfish_privacy import worst_curve

EXAMPLE = Path(__file__).parents[3] / "examples" / "decisions" / "correlated.toml"
VISITS = decision.read(EXAMPLE)
CHAIN = MarkovChain.stationary([[0.95, 0.05], [0.5, 0.5]], length=12)


def with_model(kind, **keys):
    return replace(VISITS, correlation=Correlation(kind, "earlier years", keys))


def test_no_test_of_two_values_under_the_model_does_better_than_the_answer_says():
    answer = VISITS.answer()
    exact = worst_curve(CHAIN, Sum(), ta.Laplace(answer.value))
    for fpr in (1e-4, 0.01, 0.3, 0.9):
        assert exact.tpr(fpr) <= answer.curve.tpr(fpr) + 1e-12
    assert answer.curve.epsilon(0.0) == pytest.approx(exact.epsilon(0.0), rel=1e-9)
    assert answer.limits[0].reading.value <= 0.2
    assert answer.any_mechanism is None  # another with this ε may tell more of correlated records
    assert answer.check(VISITS.decided.date).stands


def test_the_noise_lies_between_that_of_one_visit_and_that_of_all_twelve():
    alone = with_model("independent", marginal=[0.9, 0.1], records=12).answer()
    together = with_model("table", rows=[{"records": [k] * 12, "p": 0.5} for k in (0, 1)]).answer()
    assert alone.value < VISITS.answer().value < together.value
    assert together.choice.parameter == pytest.approx(12 * alone.choice.parameter, rel=1e-6)
    plain = replace(VISITS, correlation=None).answer()
    assert alone.epsilon == pytest.approx(plain.epsilon, rel=1e-3)  # 1e-8 of δ is next to nothing


def test_weights_say_what_of_a_record_is_counted():
    half = with_model("independent", marginal=[0.5, 0.5], records=2, weights=[2, 2]).answer()
    once = with_model("independent", marginal=[0.5, 0.5], records=2).answer()
    assert half.choice.parameter == pytest.approx(2 * once.choice.parameter, rel=1e-9)


@pytest.mark.parametrize(
    "record",
    [
        VISITS,
        with_model("table", rows=[{"records": [0, 0], "p": 0.5}, {"records": [1, 1], "p": 0.5}]),
        with_model("exchangeable", count_law=[0.25, 0.5, 0.25]),
    ],
)
def test_a_model_is_written_and_read_again(record):
    assert decision.parse(decision.dumps(record)) == record
    assert record.answer().data()["decision"]["correlation"]["kind"] == record.correlation.kind


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0.5, 0.5]", "[0.5, 0.6]", r"^correlation\.transition\[1\] must sum to 1, got 1\.1"),
        ('kind = "chain"', 'kind = "chian"', r"^correlation\.kind must be one of .*mean chain\?"),
        ("length = 12", "lenght = 12", r"^correlation\.lenght must be a key .*mean length\?"),
        ("length = 12\n", "", r"^correlation\.length must be given for a chain"),
        ("stationary = true", 'data = "a.csv"', r"^correlation\.data must be a key of"),
        ('= "replace"', '= "add-remove"', r'^privacy\.neighbours must be "replace" beside \[corr'),
        ("delta = 1e-8", "delta = 1e-8\nrecords_per_unit = 6", r"^privacy\.records_per_unit must"),
    ],
)
def test_what_is_wrong_with_a_model_is_said_by_its_key(old, new, message):
    text = EXAMPLE.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(ta.InvalidArgument, match=message):
        decision.parse(text.replace(old, new))


def test_noise_that_is_not_known_under_a_model_is_said_to_be_none():
    normal = replace(VISITS, mechanism=Configuration("gaussian", "sigma", 4.0))
    with pytest.raises(ta.Unsupported, match="under a model of correlation the noise must be lap"):
        normal.answer()
    other = replace(VISITS, alternatives=(Alternative("gaussian:sigma=9", "longer"),))
    assert other.answer().alternatives[0].problem.startswith("under a model of correlation")


def test_a_unit_of_many_records_is_asked_about():
    unit = replace(VISITS.privacy, unit="one patient, all visits")
    (question,) = decision.questions(replace(VISITS, privacy=unit))
    assert (question.key, question.blocks) == ("privacy.unit", True)
    assert decision.questions(VISITS) == ()


def test_the_document_says_on_which_model_it_rests():
    told = report.of_decision(VISITS)
    assert "a chain of 12 records (from visits of the same cohort in 2020" in told.assumptions[0]
    assert any("does not have (a chain of 12 records" in said for said in told.not_covered)
    assert told.scope == "for values of one record, where the model is right: a chain of 12 records"
    assert not any("claimed here" in said for said in told.assumptions)


def test_twins_are_as_bad_as_a_group():
    twins = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
    answer = with_model("table", probabilities=[[0.5, 0.0], [0.0, 0.5]]).answer()
    exact = worst_curve(twins, Sum(), ta.Laplace(answer.value)).epsilon(0.0)
    assert answer.curve.epsilon(0.0) == pytest.approx(exact, rel=1e-12)
    assert exact == pytest.approx(2 / answer.value)
