"""Answers to decisions: what is said of limits out of reach, of groups, and of what was checked."""

import datetime
import re
from dataclasses import replace

import pytest
from own_words import answered

import tellapart as ta
from tellapart import decision
from tellapart.decision.alternatives import AROUND
from tellapart.decision.fields import NEIGHBOURS
from tellapart.decision.record import (
    Alternative,
    Attacker,
    Configuration,
    EvidenceFile,
    RiskLimit,
    Utility,
)
from tellapart.decision.unit import described
from tellapart.errors import Infeasible, InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.catalogue import KINDS, WORD_PARAMETERS

FIRST = replace(decision.parse(answered()), utility=None, alternatives=())
TODAY = datetime.date(2026, 11, 17)


def with_limits(*limits, **parts):
    named = (FIRST.attackers[0], Attacker("a colleague", "suspects", {"prior": 0.1, "fpr": 0.01}))
    return replace(FIRST, attackers=named, limits=limits, **parts)


def limit(risk, bound, attacker="an insurer"):
    return RiskLimit(attacker, risk, at_most=bound, reason="a reason")


def test_the_answer_says_all_of_it():
    record = with_limits(limit("ppv", 0.02), limit("ppv", 0.3, "a colleague"))
    answer = record.answer()
    assert str(answer) == "sigma = 2.6186 (binding constraint: an insurer, PPV ≤ 0.02 at FPR 0.001)"
    assert answer.binding is answer.limits[0]
    assert answer.limits[1].alone == 1.7895
    assert answer.epsilon == ta.Gaussian(2.6186).epsilon(record.delta)
    assert [near.factor for near in answer.sensitivity] == list(AROUND)
    assert [near.kept for near in answer.sensitivity] == [False, True, True]
    assert answer.sensitivity[0].risks[0] > 0.02 > answer.sensitivity[2].risks[0]
    blind = [reading.baseline for reading in answer.attackers[1].readings if reading.key == "ppv"]
    assert blind == [0.1]
    data = answer.data()
    assert (data["value"], data["binding"]) == (2.6186, 1)
    assert data["decision"]["decided"]["date"] == "2026-11-17"


def test_people_of_the_release_are_those_among_whom_somebody_is_singled_out():
    named = replace(FIRST.attackers[0], about={"predicate_weight": 1e-6})
    record = replace(FIRST, attackers=(named,), limits=(limit("singling_out", 0.05),))
    assert dict(record.asked()[0].arguments)["people"] == 12_000
    assert record.answer().limits[0].reading.baseline == pytest.approx(0.0119, abs=1e-4)


def test_a_limit_below_its_own_baseline_is_named_with_it():
    record = with_limits(limit("ppv", 0.5, "a colleague"), limit("ppv", 0.004))
    said = (
        "infeasible: limit[2] (an insurer: PPV ≤ 0.004 at FPR 0.001) lies at or below its own "
        "baseline: without the output it is 0.0060 already; accept more than that"
    )
    with pytest.raises(Infeasible, match=re.escape(said)):
        record.answer()


def test_a_limit_that_what_is_fixed_breaks_is_named_with_that():
    fixed = {"noise_multiplier": 0.3, "sampling_rate": 0.5}
    record = with_limits(
        limit("ppv", 0.9),
        limit("ppv", 0.02),
        mechanism=Configuration("dpsgd", "steps", fixed=fixed),
    )
    with pytest.raises(Infeasible) as refused:
        record.answer()
    said = str(refused.value)
    assert "limit[2] (an insurer: PPV ≤ 0.02 at FPR 0.001) clashes with the fixed" in said
    assert "noise_multiplier = 0.3, sampling_rate = 0.5 of dpsgd" in said
    assert "limit[1]" not in said


def test_a_gaussian_and_a_posterior_clash():
    with pytest.raises(Infeasible, match=r"limit\[1\] \(an insurer: max posterior ≤ 0.5\)"):
        with_limits(limit("max_posterior", 0.5)).answer()


def test_limits_that_everything_keeps_are_refused():
    with pytest.raises(InvalidArgument, match=r"^\[\[limit\]\] must leave something to choose"):
        with_limits(limit("ppv", 1.0)).answer()


def test_a_wrong_number_of_the_mechanism_is_named_by_its_key():
    record = replace(FIRST, mechanism=Configuration("gaussian", "sigma", fixed={"sensitivity": -1}))
    with pytest.raises(InvalidArgument, match=r"^mechanism\.sensitivity must be finite"):
        record.answer()


def test_the_size_of_the_data_is_not_solved_for():
    fixed = {"noise_multiplier": 1.0, "epochs": 2.0, "batch_size": 100}
    record = replace(FIRST, mechanism=Configuration("dpsgd", "data_size", fixed=fixed))
    with pytest.raises(Unsupported, match="cannot solve for data_size"):
        record.answer()


def test_a_group_has_the_curve_of_its_records_together():
    privacy = replace(FIRST.privacy, records_per_unit=4)
    fixed = {"sampling_rate": 0.01, "steps": 200}
    training = Configuration("dpsgd", "noise_multiplier", fixed=fixed)
    answer = replace(FIRST, privacy=privacy, mechanism=training).answer()
    alone = ta.dp_sgd(answer.value, sampling_rate=0.01, steps=200)
    assert answer.epsilon == alone.for_group(4).curve().epsilon(answer.delta)
    assert dict(answer.setting.values) == {"noise_multiplier": answer.value}


def test_a_person_who_answers_several_times_is_seen_as_often():
    privacy = replace(FIRST.privacy, records_per_unit=3, neighbours="replace")
    local = Configuration("randomized-response", "epsilon")
    answer = replace(FIRST, privacy=privacy, mechanism=local).answer()
    together = ta.RandomizedResponse(answer.value).repeated(3).curve()
    assert answer.epsilon == together.epsilon(answer.delta)


@pytest.mark.parametrize(
    ("mechanism", "neighbours", "said"),
    [
        ({"name": "dpsgd", "scheme": "shuffled"}, "add-remove", 'be "replace" or "zero-out" for'),
        ({"name": "dpsgd", "scheme": "fixed-size"}, "add-remove", 'be "replace" for dpsgd with'),
        ({"name": "dpsgd", "scheme": "random-allocation"}, "zero-out", 'be "add-remove" for'),
        ({"name": "randomized-response"}, "add-remove", 'be "replace" for randomized-response'),
    ],
)
def test_a_relation_that_is_not_accounted_for_is_refused(mechanism, neighbours, said):
    name, *scheme = mechanism.values()
    schedule = {"sampling_rate": 0.01, "steps": 100} if name == "dpsgd" else {}
    fixed = schedule | ({"scheme": scheme[0]} if scheme else {})
    choose = "noise_multiplier" if schedule else "epsilon"
    with pytest.raises(InvalidArgument, match=re.escape(f"privacy.neighbours must {said}")):
        replace(
            FIRST,
            mechanism=Configuration(name, choose, fixed=fixed),
            privacy=replace(FIRST.privacy, neighbours=neighbours),
        )


def test_alternatives_are_held_to_the_same_limits():
    others = (
        "laplace",
        "laplace:epsilon=5",
        "gaussian:sigma=9+laplace:scale=9",
        "exponential:epsilon=1",
    )
    record = replace(FIRST, alternatives=tuple(Alternative(other, "slower") for other in others))
    answers = record.answer().alternatives
    assert [other.kept for other in answers] == [True, False, True, True]
    assert answers[0].setting.startswith("laplace: scale = ")
    assert answers[1].risks[0] > 0.02


SHUFFLED = "dpsgd:sampling_rate=0.1,steps=10,scheme=shuffled"


LAST = KINDS["last-iterate"].first_text


@pytest.mark.parametrize("other", ["randomized-response", SHUFFLED, LAST])
def test_an_alternative_under_another_relation_has_no_answer(other):
    (answer,) = replace(FIRST, alternatives=(Alternative(other, "noisier"),)).answer().alternatives
    assert answer.kept is None
    assert answer.problem.startswith("privacy.neighbours must be ")


SCHEDULE = {"sampling_rate": 0.1, "steps": 10}


@pytest.mark.parametrize(
    ("scheme", "neighbours", "choose"),
    [
        ("poisson", "add-remove", "noise_multiplier"),
        ("poisson", "zero-out", "noise_multiplier"),
        ("poisson", "replace", "noise_multiplier"),
        ("fixed-size", "replace", "noise_multiplier"),
        ("random-allocation", "add-remove", "noise_multiplier"),
        ("shuffled", "zero-out", "noise_multiplier"),
        ("shuffled", "replace", "noise_multiplier"),
        ("poisson", "zero-out", "epsilon"),
        ("shuffled", "replace", "epsilon"),
    ],
)
def test_a_training_is_accounted_for_under_the_relation_of_the_file(scheme, neighbours, choose):
    relation = NEIGHBOURS[neighbours]
    made = Configuration("dpsgd", choose, fixed={**SCHEDULE, "scheme": scheme})
    record = replace(
        FIRST,
        privacy=replace(FIRST.privacy, neighbours=neighbours, delta=1e-6, delta_rule=None),
        mechanism=made,
    )
    sampling = WORD_PARAMETERS["scheme"].words[scheme][0]
    about = {**SCHEDULE, "scheme": sampling, "neighbours": relation}
    expected = (
        ta.dp_sgd(2.0, **about)
        if choose == "noise_multiplier"
        else ta.dp_sgd_with_epsilon(2.0, 1e-6, **about)
    )
    assert record.family().make(2.0) == expected
    spec = f"dpsgd:{choose}=2,sampling_rate=0.1,steps=10,scheme={scheme}"
    spec += ",delta=1e-6" if choose == "epsilon" else ""
    assert described(spec, neighbours, 1) == expected
    assert described(spec, neighbours, 3) == expected.for_group(3)


def test_replacing_a_record_of_a_training_leaks_more_than_removing_it():
    made = Configuration("dpsgd", "noise_multiplier", fixed=SCHEDULE)
    records = [
        replace(FIRST, privacy=replace(FIRST.privacy, neighbours=neighbours), mechanism=made)
        for neighbours in ("add-remove", "zero-out", "replace")
    ]
    removed, zeroed, replaced = (record.family().make(2.0).advantage() for record in records)
    assert removed == zeroed < replaced


def test_a_training_that_is_itself_repeated_is_accounted_for_under_its_own_relation():
    made = Configuration("dpsgd", "noise_multiplier", fixed={**SCHEDULE, "repeated": 2})
    privacy = replace(FIRST.privacy, neighbours="replace")
    with pytest.raises(InvalidArgument, match=r'privacy.neighbours must be "add-remove" for'):
        replace(FIRST, privacy=privacy, mechanism=made)


def test_a_check_without_a_configured_value_says_so():
    bare = replace(FIRST, mechanism=replace(FIRST.mechanism, configured=None))
    check = bare.answer().check(TODAY)
    assert check.stands is None
    assert check.reasons == ("the sigma in use now is not given (mechanism.configured)",)
    assert bare.answer().check(datetime.date(2030, 1, 1)).stands is False


def test_accuracy_is_held_against_the_answer_and_every_limit_alone():
    record = with_limits(limit("ppv", 0.02), limit("ppv", 0.3, "a colleague"))
    about = {"what": "counts", "statistic": "histogram", "cells": 40}
    at = {most: replace(record, utility=Utility(**about, at_most=most)) for most in (9, 7, 5)}
    answers = {most: each.answer() for most, each in at.items()}
    assert [answer.value for answer in answers.values()] == [2.6186] * 3
    clashes = {m: [limit.place for limit in answer.clashes] for m, answer in answers.items()}
    assert clashes == {9: [], 7: [1], 5: [1, 2]}
    assert [answer.feasible for answer in answers.values()] == [True, False, False]
    expected = ta.choose.answer_error(ta.Gaussian(2.6186), "histogram", cells=40)
    assert answers[9].error == expected


def test_the_batch_of_a_training_is_that_of_its_gradient():
    fixed = {"epochs": 1.0, "batch_size": 100, "data_size": 12_000}
    training = Configuration("dpsgd", "noise_multiplier", configured=9.0, fixed=fixed)
    utility = Utility("gradients", "gradient", at_most=0.1, clipping_norm=2.0)
    record = replace(FIRST, mechanism=training, utility=utility)
    answer = record.answer()
    assert answer.error.deviation == pytest.approx(answer.value * 2 / 100)
    check = answer.check(TODAY)
    assert check.kept is False
    assert "utility: 95 % interval of a gradient ≤ 0.1 is broken" in check.reasons[0]


def test_an_error_that_is_not_known_is_not_judged():
    record = replace(
        FIRST,
        mechanism=Configuration("any", "epsilon", configured=0.1),
        utility=Utility("counts", "count", at_most=1e-9),
    )
    answer = record.answer()
    assert (answer.error, answer.clashes) == (None, ())
    check = answer.check(TODAY)
    assert (check.kept, check.stands) == (None, None)
    assert "95 % interval of a count ≤ 1e-9 was not judged" in check.reasons[0]
    assert "utility.statistic" in [each.key for each in decision.questions(record, answer)]


def test_an_alternative_that_is_a_promise_holds_for_all_records_of_a_unit():
    privacy = replace(FIRST.privacy, records_per_unit=3)
    others = tuple(Alternative(f"any:{spec}", "w") for spec in ("epsilon=1", "mu=1", "epsilon=0.3"))
    of_one, of_mu, small = (
        replace(FIRST, privacy=privacy, alternatives=others).answer().alternatives
    )
    assert of_one.epsilon == pytest.approx(3, abs=1e-6)
    assert of_one.kept is False
    assert "is not known for 3 records of one unit together" in of_mu.problem
    assert small.kept is True


def test_evidence_that_nobody_read_is_no_green_light():
    record = replace(FIRST, evidence=(EvidenceFile("audit.json"),))
    check = record.answer().check(TODAY)
    assert (check.kept, check.stands) == (True, None)
    assert check.undecided == ('the evidence was not read: say its folder, as answer(folder=".")',)


def test_a_batch_that_is_chosen_is_that_of_the_gradient():
    fixed = {"noise_multiplier": 2.0, "epochs": 1.0, "data_size": 12_000}
    training = Configuration("dpsgd", "batch_size", configured=10, fixed=fixed)
    record = replace(FIRST, mechanism=training, utility=Utility("g", "gradient", at_most=0.1))
    answer = record.answer()
    assert answer.error.deviation == pytest.approx(2 / answer.value)
    assert "is broken: 0.392 with batch_size = 10" in answer.check(TODAY).broken[-1]


def test_a_promise_of_zcdp_is_not_composed_and_not_called_infeasible():
    composed = Configuration("any", "zcdp", fixed={"repeated": 3})
    with pytest.raises(InvalidArgument, match=r"^\[mechanism\] must compose a mechanism or a"):
        replace(FIRST, mechanism=composed)


def test_what_cannot_be_solved_for_is_not_called_infeasible():
    fixed = {"noise_multiplier": 3.0, "epochs": 20.0, "data_size": 60_000}
    record = with_limits(
        limit("ppv", 0.1),
        limit("ppv", 0.75, "a colleague"),
        limit("advantage", 0.25, "a colleague"),
        mechanism=Configuration("dpsgd", "batch_size", fixed=fixed),
    )
    with pytest.raises(NotCertified) as refused:
        record.answer()
    assert str(refused.value) == (
        'mechanism.choose = "batch_size" cannot be solved for with the fixed noise_multiplier = 3, '
        "epochs = 20, data_size = 60000 of dpsgd: the risks do not change in one direction with "
        "it; fix it, and choose another parameter"
    )


def test_alternatives_have_the_error_of_the_statistic():
    others = ("laplace", "gaussian:sigma=9", "any:epsilon=1")
    record = replace(
        FIRST,
        alternatives=tuple(Alternative(other, "w") for other in others),
        utility=Utility("counts", "histogram", cells=40),
        privacy=replace(FIRST.privacy, records_per_unit=2),
    )
    laplace, gaussian, promise = record.answer().alternatives
    scale = float(laplace.setting.rpartition(" ")[2])
    of = {"statistic": "histogram", "cells": 40}
    assert laplace.error.margin == pytest.approx(
        ta.choose.answer_error(ta.Laplace(scale), **of).margin
    )
    assert gaussian.error == ta.choose.answer_error(ta.Gaussian(9), **of)
    assert promise.error is None
    assert replace(laplace, kept=None).verdict == "is too near to a limit to tell"


def test_what_is_asked_for_begins_with_the_parameter_that_is_configured():
    made = Configuration("truncated-laplace", "epsilon", configured=0.5)
    answer = replace(FIRST, mechanism=made).answer()
    assert re.match(rf"epsilon = {answer.value} \(scale = \S+, cutoff = \S+\)$", answer.asks)
    assert str(answer).startswith(answer.asks)


@pytest.mark.parametrize("configured", [10.5, 0.5])
def test_a_whole_number_is_configured_by_one(configured):
    fixed = {"noise_multiplier": 2.0, "sampling_rate": 0.1}
    made = Configuration("dpsgd", "steps", fixed=fixed)
    with pytest.raises(InvalidArgument, match=r"^mechanism\.configured must be a whole number"):
        replace(FIRST, mechanism=replace(made, configured=configured))
    assert replace(FIRST, mechanism=replace(made, configured=10.0)).mechanism.configured == 10
