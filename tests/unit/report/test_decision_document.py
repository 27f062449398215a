"""The document of a decision: its first page answers four questions, and hides nothing."""

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_words import answered
from parsed_page import Page

import tellapart as ta
from tellapart import decision, deployments, report
from tellapart._numeric.text import fixed, short
from tellapart.report import decision_document
from tellapart.report.decision_document import unit_kind
from tellapart.risk.catalogue import MEASURES
from tellapart.risk.sentences import counted
from tellapart.web import record as records

EXAMPLES = Path(__file__).parents[3] / "examples" / "decisions"
CASES = ("census", "cohort", "training")
FIRST = decision.parse(answered())


@cache
def document(case):
    record = decision.read(EXAMPLES / f"{case}.toml")
    return report.of_decision(record, command="tellapart decide decision.toml")


@cache
def first():
    return report.of_decision(FIRST)


def first_page(text):
    """What is printed before the first break."""
    start = text.index('<section class="first')
    return Page(text[start : text.index("</section>", start) + len("</section>")]).text


# -- page one ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_first_page_answers_the_four_questions(case):
    told = document(case)
    record = told.answer.decision
    words = first_page(report.page(told))
    # What could go wrong for a person in the data?
    assert "What could go wrong for a person in the data" in words
    for harm in {limit.measure.harm for limit in record.limits}:
        assert harm in words
    # How likely is it without and with the release?
    for row, limit in zip(told.limits, told.answer.limits, strict=True):
        assert row.attacker in words
        assert row.sentence in words
        assert "without the release, " in row.sentence
        assert limit.limit.reason in words
    assert "without the release" in words
    # What was chosen?
    assert told.noise in words
    assert f"The limit that decides is that on {told.answer.binding.attacker}" in words
    # Who decided, and when is it looked at again?
    decided = record.decided
    assert f"{decided.owner} decided on {decided.date.day} {decided.date:%B %Y}" in words
    assert f"looked at again on {decided.review.day} {decided.review:%B %Y}" in words
    assert record.release.what in words
    assert record.privacy.unit in words


@pytest.mark.parametrize("case", CASES)
def test_no_word_of_the_trade_is_left_unexplained(case):
    words = first_page(report.page(document(case))).partition("For engineers")[0]
    assert ("flag" in words) == ("To flag a person is to say" in words)
    terms = ("TPR", "FPR", "PPV", "membership advantage", "ε", "δ", "None", "nan", "probability")
    terms += ("binding", "nit of privacy", "least private", "ensitivity", "standard deviation")
    for term in terms:
        assert term not in words, term
    assert not re.search(r"\d\.\d{5}", words)


@pytest.mark.parametrize("case", CASES)
def test_what_it_means_to_be_in_the_data_is_said(case):
    told = document(case)
    meant, words = told.answer.decision.release.member, first_page(report.page(told))
    said = ": " if case != "census" else "A person in the data is "  # where that is no secret
    assert f"{said}{meant}." in words
    assert words.count(meant) == 1
    silent = replace(
        told.answer.decision, release=replace(told.answer.decision.release, member=None)
    )
    assert meant not in report.page(report.of_decision(silent))


def test_who_is_known_to_be_in_the_data_is_not_said_to_be_found_there():
    """Under a model of correlation a value of one record is the secret, not whose record it is."""
    told = document("correlated")
    record = told.answer.decision
    assert "is in the cohort" in record.attackers[0].knows
    words = first_page(report.page(told))
    assert f"could find out that the person is {record.release.member}." in words
    assert "suspects equally, at most 172 are such people (" in words
    assert "a filled one is such a person (" in words
    said = words.replace("What could go wrong for a person in the data", "")
    assert "in the data" not in said
    silent = replace(record, release=replace(record.release, member=None))
    unsaid = first_page(report.page(report.of_decision(silent)))
    assert "that the person is somebody with the record that is suspected." in unsaid


def test_of_people_who_are_flagged_in_a_model_of_correlation_the_same_is_said():
    record = document("correlated").answer.decision
    (limit,) = record.limits
    limits = tuple(
        replace(limit, risk=risk, at_most=bound) for risk, bound in (("ppv", 0.5), ("tpr", 0.5))
    )
    words = first_page(report.page(report.of_decision(replace(record, limits=limits))))
    assert "To flag a person is to say so of the person." in words
    assert "are such people (5 % of the others are flagged by mistake)" in words
    assert re.search("Of 1,000 such people, at most [0-9]+ are flagged", words)


def test_where_everybody_is_in_the_data_no_number_is_said_twice():
    words = first_page(report.page(document("census")))
    assert "about 48,000 people, all who could have been in it." in words
    assert "3,100 people of 410,000 who could" in first_page(report.page(document("cohort")))


def test_what_more_noise_does_and_what_a_training_loses_is_said_to_anybody():
    words = " ".join(first_page(report.page(document("training"))).split())
    said = "More noise hides people better, and makes what is released less accurate. Chosen: "
    assert f"{said}{document('training').noise}" in words
    assert "the error of each number in a step of the training (mean gradient) is at most" in words
    assert "; the least that keeps every limit is DP-SGD, noise multiplier 0.9358." in words


@pytest.mark.parametrize("case", CASES)
def test_what_an_attacker_has_without_the_release_is_not_the_release(case):
    for attacker in document(case).answer.decision.attackers:
        assert "weights" not in attacker.knows
        assert "release" not in attacker.knows


def dots(drawn):
    """How many an icon array has: rows are lines of dashes, six pixels from dot to dot."""
    rows = re.findall(r"(?<=\d)h([\d.]+)", drawn)
    return sum(round(float(length) / 6) + 1 for length in rows)


@pytest.mark.parametrize("case", CASES)
def test_the_picture_is_a_limit_on_people_without_and_with_the_release(case):
    told = document(case)
    page = report.page(told)
    drawn = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    assert len(drawn) == 2  # one picture: without, and with
    assert [dots(one) for one in drawn] == [1_000, 1_000]
    used = told.answer.at(told.answer.decision.mechanism.configured)
    binding = used.binding
    if case == "census":  # attempts to describe somebody are no people
        binding = used.limits[0]
    about = told.answer.decision.about(told.answer.decision.attacker(binding.attacker))
    count = counted(binding.reading, about, "release")
    assert count.of_people
    assert told.picture.attacker == binding.attacker
    assert (told.picture.without, told.picture.with_output) == (count.without, count.with_output)
    assert f"at most {count.with_output:,} of {count.out_of:,} with it" in page


@pytest.mark.parametrize("key", [key for key, one in MEASURES.items() if one.counted])
@pytest.mark.parametrize("mechanism", [ta.Gaussian(3), ta.Laplace(0.7), ta.guarantee(1, 1e-6)])
def test_counts_never_make_an_attack_look_weaker(key, mechanism):
    about = {"prior": 0.013, "fpr": 0.0007, "recall": 0.3, "weight": 1.0, "baseline": 0.003}
    about |= {"predicate_weight": 3e-6, "people": 5_000, "at_least": 1e-6, "delta": 1e-6}
    measure, curve = MEASURES[key], mechanism
    if isinstance(mechanism, ta.Mechanism):
        curve = mechanism.curve()
    own = {argument.key: about[argument.key] for argument in measure.arguments}
    reading = measure.reading(curve, **own)
    count = counted(reading, about)
    shown, blind = count.with_output / count.out_of, count.without / count.out_of
    if measure.smaller_is_worse:
        assert shown <= reading.value + 1e-9
        assert blind >= reading.baseline - 1e-9
        assert "at least" in count.sentence
    else:
        assert shown >= reading.value - 1e-9
        assert blind <= reading.baseline + 1e-9
        assert "at most" in count.sentence
    assert abs(shown - reading.value) <= 1 / count.out_of + 1e-9
    assert "{" not in count.sentence + count.caption


def test_a_risk_that_is_no_share_has_no_count_and_another_is_drawn():
    limits = (replace(FIRST.limits[0], risk="epsilon", at_most=1.0),)
    told = report.of_decision(replace(with_configured(None), limits=limits))
    said = "ε at δ = 6.94444e-9: ≈ 1.0000; without the release, 0. Of 1,000 people in the data, "
    assert told.limits[0].sentence.startswith(said)
    assert "more are flagged" in report.page(told) or "more is flagged" in report.page(told)
    assert told.picture.without == 0


def test_a_rare_risk_is_counted_among_more_people():
    attackers = (replace(FIRST.attackers[0], about={"baseline": 1e-6}),)
    limits = (replace(FIRST.limits[0], risk="reconstruction", at_most=1e-5),)
    told = report.of_decision(replace(FIRST, attackers=attackers, limits=limits))
    assert told.picture.out_of == 1_000_000
    assert told.picture.each == 1_000
    assert "A dot is 1,000 people" in report.page(told)


# -- alerts --------------------------------------------------------------------------------------


def audited(folder, **changed):
    """The data of an audit's report, in a file beside the decision."""
    held = {
        "headline": "REFUTED: the claim ε = 1",
        "reasons": ["p ≤ 1e-9"],
        "refuted": True,
        "claim": "ε = 1",
        "design": "calls",
        "made": {"command": "tellapart probe release.py"},
    }
    text = json.dumps({**held, **changed})
    (folder / "audit.json").write_text(text, encoding="utf-8")
    return replace(FIRST, evidence=(decision.record.EvidenceFile("audit.json", "calls"),))


def test_a_refuted_verdict_is_on_the_first_page(tmp_path):
    told = report.of_decision(audited(tmp_path), folder=tmp_path)
    page = report.page(told)
    assert "REFUTED: the claim ε = 1 (audit.json)" in first_page(page)
    assert 'class="verdict refuted"' in page
    assert told.evidence[0].reasons == ("p ≤ 1e-9",)


def test_what_was_not_refuted_is_no_alert_and_no_proof(tmp_path):
    record = audited(tmp_path, refuted=False, headline="NOT REFUTED: the claim ε = 1")
    told = report.of_decision(record, folder=tmp_path)
    page = report.page(told)
    assert told.alerts == ()
    assert "NOT REFUTED" not in first_page(page)
    assert "NOT REFUTED" in Page(page).text
    assert "Not refuted is not proven" in Page(page).text


def test_a_real_report_is_read_as_evidence(tmp_path):
    draw = __import__("numpy").random.default_rng(5)
    scores = ta.audit.Scores(members=draw.normal(2, 1, 300), non_members=draw.normal(0, 1, 300))
    verdict = ta.audit.judge(ta.guarantee(0.5), ta.audit.many_runs(scores))
    report.write(report.of(verdict, brief=True), tmp_path / "audit.html")
    told = report.of_decision(
        replace(FIRST, evidence=(decision.record.EvidenceFile("audit.json"),)), folder=tmp_path
    )
    assert told.alerts == (
        "Evidence speaks against the code: REFUTED: the claim ε = 0.5, δ = 0, at 95 % confidence "
        "(audit.json).",
    )


@pytest.mark.parametrize("name", ["audit.html", "linked.html"])
def test_no_page_takes_the_place_of_the_evidence_that_it_is_made_from(tmp_path, name):
    record = audited(tmp_path, curves={})
    if name == "linked.html":
        (tmp_path / "linked.json").hardlink_to(tmp_path / "audit.json")
    (tmp_path / name).write_text("the page of the audit", encoding="utf-8")
    held = (tmp_path / "audit.json").read_bytes()
    document = report.of_decision(record, folder=tmp_path)
    with pytest.raises(ta.InvalidArgument, match=r"^path must leave .*audit\.json as it is"):
        report.write(document, tmp_path / name)
    assert (tmp_path / "audit.json").read_bytes() == held
    assert report.write(document, tmp_path / "decision.html")[1].exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"refuted": "false"},
        {"refuted": 0},
        {"headline": None},
        {"reasons": "p ≤ 1e-9"},
        {"made": []},
        {"design": None},  # a claim alone was never tested
    ],
)
def test_what_is_no_audit_is_no_evidence(tmp_path, changed):
    record = audited(tmp_path, **changed)
    with pytest.raises(ta.InvalidArgument, match=r"^evidence\[1\]\.file must be the JSON that"):
        report.of_decision(record, folder=tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", "{", "\x00", '"text"'])
def test_a_file_that_is_no_report_is_refused(tmp_path, text):
    record = audited(tmp_path)
    (tmp_path / "audit.json").write_text(text, encoding="utf-8")
    with pytest.raises(ta.InvalidArgument, match=r"^evidence\[1\]\.file must be the JSON that"):
        report.of_decision(record, folder=tmp_path)


def test_a_missing_file_is_named(tmp_path):
    record = audited(tmp_path)
    (tmp_path / "audit.json").unlink()
    with pytest.raises(ta.InvalidArgument, match=r"^evidence\[1\]\.file must be a file that"):
        report.of_decision(record, folder=tmp_path)


def test_an_overdue_review_and_a_broken_limit_are_alerts():
    late = report.of_decision(FIRST, today=datetime.date(2027, 11, 18))
    assert "overdue" in first_page(report.page(late))
    assert first().alerts == ()
    told = report.of_decision(with_configured(1.0))
    assert "is broken" in told.alerts[0]
    silent = with_configured(None)
    assert report.of_decision(silent).alerts == ()
    later = report.of_decision(silent, today=datetime.date(2027, 11, 18)).alerts
    assert [alert.partition(" is overdue")[1] for alert in later] == [" is overdue"]


def test_questions_that_block_are_alerts_with_their_text():
    privacy = replace(FIRST.privacy, unit="one patient, all visits", records_per_unit=None)
    told = report.of_decision(replace(FIRST, privacy=privacy))
    (alert,) = told.alerts
    assert alert.startswith("Open question: the unit is 'one patient, ")
    asked = alert.removeprefix("Open question: ")
    assert any(f": {asked} " in question for question in told.questions)  # and what to do about it
    words = first_page(report.page(told))
    assert alert in words
    assert "only if the open questions above are answered as assumed" in words
    other = [question for question in first().questions if question.startswith("mechanism.name")]
    assert len(other) == 1  # asked, and blocks nothing
    assert first().alerts == ()


def test_alerts_and_limits_that_the_first_page_has_no_room_for_follow_on_the_next():
    many = tuple(
        decision.record.Attacker(f"attacker {k}", "a list", {"prior": 5e-3, "fpr": 1e-3})
        for k in range(6)
    )
    limits = tuple(
        decision.record.RiskLimit(each.name, "ppv", at_most=0.02 + k / 100, reason=f"reason {k}")
        for k, each in enumerate(many)
    )
    told = report.of_decision(replace(FIRST, attackers=many, limits=limits))
    assert len(told.alerts) == 6  # every prior lies below the base rate
    page = report.page(told)
    words, whole = first_page(page), Page(page).text
    binding = next(row for row in told.limits if row.binding)
    assert binding.reason in words
    assert sum(row.reason in words for row in told.limits) == 3
    assert "3 more of the limits: below" in words
    assert [alert in words for alert in told.alerts] == [True] * 4 + [False] * 2
    assert "2 more, below: “What speaks against it, or is open”" in words
    assert all(alert in whole for alert in told.alerts)
    assert all(row.reason in whole for row in told.limits)


def test_of_an_answer_whose_evidence_was_not_read_it_is_read(tmp_path):
    record = audited(tmp_path)
    told = report.of_decision(record, folder=tmp_path, answer=record.answer())
    assert told.alerts == (
        "Evidence speaks against the code: REFUTED: the claim ε = 1 (audit.json).",
    )


def test_an_answer_that_is_too_far_off_is_an_alert():
    told = report.of_decision(replace(FIRST, utility=replace(FIRST.utility, at_most=3)))
    (alert,) = [one for one in told.alerts if one.startswith("The answer is less accurate")]
    assert "95 % interval of a histogram ≤ 3 clashes with an insurer" in alert
    assert alert in first_page(report.page(told))


def test_levels_of_nist_are_quoted_with_their_source_and_what_is_not_judged(tmp_path):
    told = first()
    words = Page(report.page(told)).text
    assert "nist.gov/news-events/news/2023/12" in words
    top, middle, bottom = told.nist.values()
    assert f"ε {told.epsilon} at δ = {told.delta}" in top
    assert middle.startswith("tests of the code: no audit or probe is on record; ")
    assert bottom == "Patient registry, 2025; its collection is not judged here"
    refuted = report.of_decision(audited(tmp_path), folder=tmp_path).nist
    assert "REFUTED: the claim ε = 1 (audit.json)" in [*refuted.values()][1]
    for level, said in told.nist.items():
        assert level in words
        assert said in words


# -- what is in use ------------------------------------------------------------------------------


def with_configured(value, record=FIRST):
    return replace(record, mechanism=replace(record.mechanism, configured=value))


def test_the_document_describes_what_is_in_use():
    told, least = first(), report.of_decision(with_configured(None))
    own = ta.Gaussian(4).curve()
    about = {"prior": 0.006, "fpr": 0.001}
    (row,) = told.limits
    assert row.reached == MEASURES["ppv"].reading(own, **about).columns[1]
    assert row.reached != least.limits[0].reached
    assert told.epsilon == f"≤ {fixed(own.epsilon(FIRST.delta), up=True)}"
    assert told.registry["privacy_loss.privacy_parameters.epsilon"] == told.epsilon[2:]
    assert told.noise == "Gaussian, σ = 4"
    assert told.registry["implementation.mechanisms"] == "Gaussian, σ = 4, sensitivity 1"
    assert told.data()["answer"]["value"] == least.answer.value
    assert told.setting == "sigma = 4"
    assert told.picture.with_output < least.picture.with_output
    assert [part.risks for part in told.attackers] != [part.risks for part in least.attackers]
    words = first_page(report.page(told))
    said = "It is in use now, and keeps every limit; the least that keeps every limit is "
    assert f"{said}Gaussian, σ = 2.6186." in words  # in the words of what is in use
    assert "In 95 of 100 cases the largest error of 40 counts is at most 12.9" in words
    (ours,) = [row for row in told.comparable.same if row.ours]
    assert told.epsilon in ours.promise
    assert told.least == "sigma ≥ 2.6186"  # all that is not of the value in use


def test_without_a_value_in_use_it_describes_the_least():
    told = report.of_decision(with_configured(None))
    assert told.noise == "Gaussian, σ = 2.6186"
    words = first_page(report.page(told))
    assert "It is the least that keeps every limit. What is in use now is not on record." in words
    same = first_page(report.page(report.of_decision(with_configured(told.answer.value))))
    assert "It is in use now, and the least that keeps every limit." in same


def test_what_breaks_a_limit_is_described_with_its_own_risks():
    told = report.of_decision(with_configured(1.0))
    words = first_page(report.page(told))
    assert words.index("is broken") < words.index("What is released")
    assert "in use now, and breaks a limit; the least that keeps every limit is Gaussian" in words
    assert told.picture.with_output > 20  # of 1,000: more than is accepted
    assert told.kept == "breaks a limit"
    assert "sigma = 1: breaks a limit" in Page(report.page(told)).text


def test_of_a_mechanism_by_its_epsilon_the_largest_keeps_every_limit():
    mechanism = decision.record.Configuration("laplace", "epsilon", 0.1, {"sensitivity": 1})
    told = report.of_decision(replace(FIRST, mechanism=mechanism))
    assert "the largest that keeps every limit is Laplace, ε = " in first_page(report.page(told))
    assert told.least.startswith("epsilon ≤ ")


@given(
    bound=st.floats(0.0061, 0.9),
    more=st.floats(1, 3),
)
def test_counts_keep_a_limit_that_the_risk_keeps(bound, more):
    about = {"prior": 0.006, "fpr": 0.001}
    curve = ta.Gaussian(2.6 * more).curve()
    reading = MEASURES["ppv"].reading(curve, **about)
    count = counted(reading, about, bound=bound)
    if reading.value > bound:
        assert count.with_output > count.accepted(bound)
    elif bound - reading.value > 1e-8:
        assert count.with_output <= count.accepted(bound)
    assert count.accepted(bound) / count.out_of <= bound * (1 + 1e-9)


def test_what_is_reached_never_looks_like_more_than_what_is_accepted():
    record = decision.read(EXAMPLES / "cohort.toml")
    limits = (replace(record.limits[0], at_most=0.0195), *record.limits[1:])
    told = report.of_decision(replace(with_configured(None, record), limits=limits))
    assert "Of 10,000 people whom the attacker flags, at most 195 are" in told.limits[0].sentence
    assert told.limits[0].accepted == "at most 195 of 10,000"


def test_an_alternative_too_near_to_a_limit_does_not_break_it():
    (other,) = document("census").answer.alternatives
    row = decision_document._alternative(replace(other, kept=None))
    assert row.kept == "not known to keep every limit"


def test_an_alternative_has_its_error_beside_that_of_what_is_in_use():
    told = document("census")
    (other,) = told.alternatives
    own = ta.choose.answer_error(ta.Gaussian(5.3), "histogram", cells=400).margin
    assert told.error == f"± {short(own, 4, up=True)}"
    margin = told.answer.alternatives[0].error.margin
    assert other.error == f"± {short(margin, 4, up=True)}"
    words = Page(report.page(told)).text
    assert told.error in words
    assert other.error in words
    assert margin > own  # as the file gives for a reason


def test_an_alternative_in_full_has_numbers():
    (other,) = document("training").alternatives
    assert other.epsilon.startswith("≤ ")
    assert (other.setting, other.kept) == ("as it is", "breaks a limit")


# -- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_risk_stands_beside_its_baseline_and_every_limit_beside_its_reason(case):
    told = document(case)
    page = report.page(told)
    used = told.answer.at(told.answer.decision.mechanism.configured)
    for part, attacker in zip(told.attackers, used.attackers, strict=True):
        shown = [one for one in attacker.readings if one.key != "epsilon"]
        assert [one.columns for one in part.risks] == [one.columns for one in shown]
        assert all(column in Page(page).text for one in shown for column in one.columns)
    for row in told.limits:
        assert row.without
        assert Page(f"<p>{page}</p>".replace("<!DOCTYPE html>", "")).text.count(row.reason) >= 2
    assert [row.binding for row in told.limits] == [one.binding for one in told.answer.limits]
    assert page.count("Binding constraint.") == sum(row.binding for row in told.limits)


@pytest.mark.parametrize("case", CASES)
def test_all_parts_are_there_in_order(case):
    told = document(case)
    heads = re.findall(r"<h2[^>]*>(.*?)</h2>", report.page(told))
    assert heads == [
        "What is released",
        "What could go wrong for a person in the data, and how likely it is",
        "What was chosen, and why",
        "Who decided, and when it is looked at again",
        "Limits and reasons",
        "Alternatives that were considered",
        "Comparable published deployments",
        "Assumptions",
        "Not covered",
        "Evidence of audits and probes",
        "Questions",
        "The numbers",
        "Sensitivity analysis",
        "For a public registry",
        "For an evaluation after NIST SP 800-226",
        "How to reproduce",
        "Signatures",
    ]
    words = Page(report.page(told)).text
    for question in told.questions:
        assert question in words
    for other in told.answer.decision.alternatives:
        assert other.why_not in words
    group = told.answer.decision.privacy.group
    several = "Several records" if group == 1 else f"More than {group} records"
    for uncovered in (f"{several} of one person", "Correlated records", "Other releases"):
        assert uncovered in words


@pytest.mark.parametrize("case", CASES)
def test_its_data_are_json_and_hold_the_decision(case):
    told = document(case)
    data = told.data()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert decision.parse(data["toml"]) == told.answer.decision
    assert data["answer"]["value"] == told.answer.value
    assert "answer" in data
    assert data["limits"][0]["sentence"] == told.limits[0].sentence


def test_both_files_are_written_and_written_again(tmp_path):
    for _ in range(2):  # an earlier document of the same page makes way
        page, data = report.write(first(), tmp_path / "decision.html")
    assert json.loads(data.read_text(encoding="utf-8")) == first().data()
    assert page.read_text(encoding="utf-8") == report.page(first())


def test_units_that_differ_stand_apart():
    told = first().comparable
    assert told.unit == "one person"
    ours = [row for row in told.same if row.ours]
    assert [row.per for row in ours] == ["one patient"]
    others = {row.name.rpartition(" (")[0] for row in told.same if not row.ours}
    by_name = {one.name: one for one in deployments.DEPLOYMENTS}
    assert others
    assert {unit_kind(by_name[name].unit) for name in others} == {"one person"}
    assert not any(line.startswith("one person:") for line in told.other)
    counts = [int(re.search(r": (\d+), such as", line)[1]) for line in told.other]
    same = sum(unit_kind(one.unit) == "one person" for one in deployments.DEPLOYMENTS)
    assert sum(counts) + same == len(deployments.DEPLOYMENTS)


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("one customer, all their messages", "one person"),
        ("User-trip-level", "one record"),
        ("one household", "one household"),
        ("Person-level; housing-unit-level", "one person"),
        ("eine Zeile", ""),
        ("", ""),
    ],
)
def test_kinds_of_units(unit, kind):
    assert unit_kind(unit) == kind


def test_a_unit_of_no_known_kind_is_compared_with_nothing():
    privacy = replace(FIRST.privacy, unit="ein Mensch")
    told = report.of_decision(replace(FIRST, privacy=privacy))
    assert told.comparable.same == ()
    assert "None is known to be about the same kind" in report.page(told)


def test_only_decisions_have_such_a_document():
    with pytest.raises(ta.InvalidArgument, match=r"^decision must be a decision"):
        report.of_decision("decision.toml")


# -- hostile words -------------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style></pre></svg><svg/onload=alert(1)>",
    "{{ document.answer }}{% raw %}",
    "&lt;b&gt; &amp;amp; &#x3c;script&#62;",
    "javascript:alert(1)\x00\x1b[31m\u202e\ud800",
]
UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def said(value, words, at=""):
    """A document with hostile words in every text of it, each with its place."""
    if isinstance(value, str):
        return f"{words} {at}"
    if isinstance(value, tuple):
        return tuple(said(one, words, f"{at}.{k}") for k, one in enumerate(value))
    if isinstance(value, Mapping):
        return {f"{words}{key}": said(one, words, f"{at}.{key}") for key, one in value.items()}
    if not is_dataclass(value):
        return value
    same = {"attacker", "name"}  # by which parts of a document belong together
    # What nobody writes: numbers with their side, and words of the catalogue.
    fixed_words = ("answer", "side", "asked", "about", "risk", "reading", "readings", "advantage")
    changed = {
        one.name: words
        if one.name in same and isinstance(held, str)
        else said(held, words, f"{at}.{one.name}")
        for one in fields(value)
        if (held := getattr(value, one.name)) is not None and one.name not in fixed_words
    }
    return replace(value, **changed)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    return report.of_decision(audited(folder), folder=folder, command="tellapart decide")


@given(words=st.one_of(st.sampled_from(NASTY), st.text(max_size=40)))
def test_no_words_change_what_a_page_is_made_of(base, words):
    text, plain = (report.page(said(base, one)) for one in (words, "x"))
    tags = [[tag for tag in Page(one).tags if tag != "span"] for one in (text, plain)]
    assert tags[0] == tags[1]
    names = [[name for name, _ in Page(one).values] for one in (text, plain)]
    assert names[0] == names[1]
    assert not re.search(UNSEEN, text)
    seen = re.sub(r"\s", "", Page(text).text)
    shown = re.sub(r"\s", "", re.sub(UNSEEN, "\ufffd", words))
    for place in (".title", ".noise", ".decided_by", ".evidence.0.headline", ".questions.0"):
        assert f"{shown}{place}" in seen


def test_the_page_forbids_scripts_and_asks_for_nothing():
    text = report.page(first())
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r"(href|src)\s*=", text)
    assert decision_document.REGISTRY in text


def test_a_draft_says_so_first_and_names_what_is_missing():
    page = report.page(report.of_decision(decision.parse(decision.template())))
    page_one = first_page(page)
    assert page_one.startswith("DRAFT")
    for key in ("title", "release.what", "limit[1].reason", "decided.owner"):
        assert key in page_one
    assert "what people call the release ( title )" in " ".join(page_one.split())
    assert "DRAFT" not in report.page(report.of_decision(FIRST))


def test_a_file_begun_on_the_page_has_as_many_people_as_the_training_data():
    text = "dpsgd:epochs=15,batch_size=256,data_size=60000"
    about = {"prior": 0.5, "fpr": 0.01, "people": 1000}
    begun = records.begun(text, "noise_multiplier", {"max_advantage": 0.1}, about, 1e-5)
    assert begun.release.people == 60_000


def test_a_file_begun_on_the_page_is_a_draft_whose_review_is_not_overdue():
    begun = records.begun(
        "laplace", "epsilon", {"max_advantage": 0.1}, {"prior": 0.5, "fpr": 0.01}, 0
    )
    told = report.of_decision(begun, today=datetime.date(2027, 11, 18))
    assert {"title", "decided.owner", "decided.date", "decided.review"} <= {*told.missing}
    assert "release.people" in told.missing  # nobody was asked
    assert told.alerts == ()
    page_one = first_page(report.page(told))
    assert "Not decided yet." in page_one
    assert "1970" not in page_one
    check = told.answer.check(datetime.date(2027, 11, 18))
    assert (check.stands, check.overdue) == (None, False)
