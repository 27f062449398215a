"""A decision on the Choose view: answered whole, carried by the link, saved as it was opened."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from copied_code import printed
from queries import from_query

from tellapart import decision
from tellapart.decision.record import EvidenceFile, RiskLimit
from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS, WORD_PARAMETERS, families
from tellapart.risk.catalogue import limited
from tellapart.web import questions, record
from tellapart.web.answer import Table, Words
from tellapart.web.controls import ControlGroup
from tellapart.web.view import Dropped, to_query
from tellapart.web.views.choose import VIEW, ChooseState, begun, decision_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "decisions"
FILES = sorted(EXAMPLES.glob("*.toml"))
COHORT = decision.read(EXAMPLES / "cohort.toml")


def opened(given, **more):
    return VIEW.read({"record": record.packed(given), **more})


def flat(controls):
    found = {}
    for one in controls:
        found |= flat(one.controls) if isinstance(one, ControlGroup) else {one.field: one}
    return found


def held(state):
    """What the page sends: every control with what it holds."""
    return {
        name: one.value
        for name, one in flat(VIEW.controls(state)).items()
        if name and (name not in ("file", "mechanism") or one.kind == "line")
    }


def change(state, **values):
    name, *_ = values
    path = name.replace("__", ".")
    return VIEW.read({**held(state), path: values[name]}, path)


STATES = {
    "first": {},
    "every limit": {f"on_{key}": "yes" for key in limited()},
    "another parameter": {"mechanism": "laplace:sensitivity=1", "parameter": "scale"},
    "any": {"mechanism": "any:delta=1e-05", "on_min_bayes_error": "yes"},
    "steps": {"mechanism": "gaussian:sensitivity=1,repeated=3", "at_delta": "1e-07"},
    "people": {"mechanism": "gaussian", "on_max_singling_out": "yes", "people": "5000"},
    "shuffled": {
        "mechanism": "dpsgd:data_size=1000,batch_size=100,epochs=2,scheme=shuffled",
        "parameter": "noise_multiplier",
    },
}


@pytest.mark.parametrize("values", STATES.values(), ids=STATES)
def test_a_link_brings_the_same_decision_back(values):
    state = VIEW.read(values)
    again = VIEW.read(from_query(to_query(state)))
    assert (again, decision_of(again)) == (state, decision_of(state))
    whole = opened(decision_of(state))
    again = VIEW.read(from_query(to_query(whole)))
    assert (again, decision_of(again)) == (whole, decision_of(state))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_opened_and_saved_with_all_that_it_says(path):
    values = {"file": Dropped(path.name, path.read_bytes()), "changed": "file", "shape": ""}
    update = questions.answer("choose", values)
    assert update["problem"] == ""
    again = VIEW.read(from_query(update["query"]))
    given = decision.read(path)
    assert decision_of(again) == given
    (file,) = VIEW.answer(again).files
    assert decision.parse(file.text) == given
    assert decision_of(VIEW.read(held(again), "certified")) == given  # sent back as it is shown


FAMILIES = [(start, key) for kind in KINDS.values() for key, start in families(kind).items()]


@pytest.mark.parametrize(("mechanism", "parameter"), FAMILIES)
def test_dials_and_their_decision_have_the_same_answer(mechanism, parameter):
    state = VIEW.read({"mechanism": mechanism, "parameter": parameter})
    plain, whole = VIEW.answer(state), VIEW.answer(opened(begun(state)))
    assert whole.headline.split(" for ")[0] == plain.headline.split(" for ")[0]
    assert plain.files == whole.files


def test_every_sampling_scheme_has_a_relation_that_a_decision_may_name():
    for scheme in WORD_PARAMETERS["scheme"].words:
        text = f"dpsgd:data_size=1000,batch_size=100,epochs=2,scheme={scheme}"
        state = VIEW.read({"mechanism": text, "parameter": "noise_multiplier"})
        assert begun(state).mechanism.fixed.get("scheme", "poisson") == scheme


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_attackers_are_answered_at_once_as_the_command_does(path, parsed, table, monkeypatch):
    given = decision.read(path)
    answer = VIEW.answer(opened(given, certified="yes"))
    data = parsed(f"decide '{path}'")
    assert answer.sentences[-1].startswith(
        ", ".join(f"{key} = {value:.10g}" for key, value in data["configure"].items())
    )
    for attacker in given.attackers:
        rows = table(answer, f"Limits: {attacker.name}").rows
        limits = [each for each in data["limits"] if each["attacker"] == attacker.name]
        assert [row[0] for row in rows] == [each["limit"] for each in limits]
        assert [row[3] for row in rows] == [f"{each['alone']:.10g}" for each in limits]
        assert [bool(row[4]) for row in rows] == [each["binding"] for each in limits]
        assert [row[5] for row in rows] == [each["reason"] for each in limits]
        assert table(answer, f"Every risk: {attacker.name}").rows
    bound = data["limits"][data["binding"] - 1]
    first = next(said for said in answer.sentences if said.startswith("Binding constraint"))
    assert first == f"Binding constraint: {bound['attacker']}, {bound['limit']}."
    asked = [part for part in answer.parts if part.title.startswith("Questions")]
    assert len(asked[0].sentences if asked else ()) == len(data["questions"])
    assert (answer.mark is Mark.BAD) == (not data["feasible"])
    assert answer.command == "tellapart decide decision.toml"


def test_what_is_copied_prints_what_is_shown(tmp_path, monkeypatch, table):
    answer = VIEW.answer(opened(COHORT))
    (tmp_path / "decision.toml").write_text(answer.files[0].text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    out = printed(answer.python)
    assert out.splitlines()[0].startswith("scale = 6.1215 (binding constraint: an insurer")
    for attacker in COHORT.attackers:
        for row in table(answer, f"Every risk: {attacker.name}").rows:
            assert " ".join((attacker.name, *row[:4])) in out


def test_what_the_page_does_not_set_is_shown_and_kept():
    given = replace(COHORT, evidence=(EvidenceFile("audit.json", "200,000 calls"),))
    answer = VIEW.answer(opened(given))
    (kept,) = [part for part in answer.parts if part.title == "Kept as the file has it"]
    said = " ".join(kept.sentences)
    for words in ("[utility]", "statistic = histogram", "[[alternative]]", "audit.json"):
        assert words in said
    moved = change(opened(given), title="Other visits")
    assert decision_of(moved) == replace(given, title="Other visits")


def test_dials_of_one_attacker_leave_the_others_alone():
    state = opened(COHORT, who="2")
    shown = flat(VIEW.controls(state))
    assert {"a2.prior", "a2.max_posterior", "a2.reason_max_posterior", "a2.knows"} <= set(shown)
    assert not any(name.startswith("a1.") for name in shown)
    moved = change(state, a2__prior=0.25)
    assert (moved.who, decision_of(moved).attackers[1].about["prior"]) == (2, 0.25)
    assert decision_of(moved).attackers[0] == COHORT.attackers[0]
    assert decision_of(moved).limits == COHORT.limits
    first = change(moved, who="1")
    assert (first.who, decision_of(first)) == (1, decision_of(moved))


def test_another_mechanism_and_another_parameter_are_set_in_the_record():
    state = opened(COHORT)
    by_epsilon = change(state, parameter="epsilon")
    assert decision_of(by_epsilon).mechanism.choose == "epsilon"
    moved = change(state, mechanism__0__sensitivity=2)
    assert decision_of(moved).mechanism.fixed == {"sensitivity": 2}
    other = change(state, mechanism="gaussian:sensitivity=1")
    assert decision_of(other).mechanism.name == "gaussian"


def test_words_and_another_attacker_turn_dials_into_a_record():
    titled = change(ChooseState(), title="Counts")
    assert decision_of(titled) == replace(begun(ChooseState()), title="Counts")
    more = change(ChooseState(), who="new")
    assert (more.who, len(decision_of(more).attackers)) == (2, 2)
    assert len(decision_of(change(more, who="new")).attackers) == 3
    # Until then the link is as short as it was.
    assert to_query(VIEW.read(held(ChooseState()), "prior")) == ""


def test_what_nobody_said_yet_is_listed():
    answer = VIEW.answer(opened(begun(ChooseState())))
    (missing,) = [part for part in answer.parts if part.title == "Still to fill in"]
    assert "(privacy.unit)" in missing.sentences[0]
    # What is not said yet names no card, table or attacker to choose from.
    shown = [card.name for card in answer.cards]
    assert len(set(shown)) == len(shown) == 4
    shown += [answer.aside, *(part.title for part in answer.parts)]
    two = record.with_attacker(begun(ChooseState()))
    both = VIEW.answer(opened(two))
    shown += [both.aside, *(card.name for card in both.cards), *(x.title for x in both.parts)]
    assert "Limits: attacker 2" in shown
    (who,) = (x for x in VIEW.controls(opened(two)) if getattr(x, "field", "") == "who")
    shown += [words for _, words in who.options]
    shown += [x for x in both.sentences if x.startswith("Binding constraint: attacker 1,")]
    (nearby,) = (part for part in both.parts if part.title == "Sensitivity analysis")
    shown += nearby.head
    assert not [words for words in shown if "TODO" in words]
    assert tomllib.loads(answer.files[0].text)["title"].startswith("TODO")


def test_the_same_risk_of_two_attackers_has_two_lines():
    both = replace(COHORT, limits=(*COHORT.limits, RiskLimit("a relative", "ppv", 0.9, None, "x")))
    names = [line.name for line in VIEW.answer(opened(both)).drawing.traces]
    assert len(names) == len(set(names)) == 4
    assert VIEW.answer(opened(both, picture="roc-log")).drawing.spots


def test_no_value_for_all_limits_is_said_and_the_file_can_still_be_saved():
    tight = replace(
        COHORT, limits=(*COHORT.limits, RiskLimit("a relative", "accuracy", 0.7, None, "x"))
    )
    answer = VIEW.answer(opened(tight))
    assert (answer.headline, answer.mark) == ("No scale is found for these limits", Mark.BAD)
    assert "limit[3] (a relative: accuracy ≤ 0.7) lies at or below its own" in answer.sentences[0]
    assert decision.parse(answer.files[0].text) == tight
    assert not answer.reports


def test_a_report_is_the_document_of_the_decision():
    query = {"record": record.packed(COHORT)}
    media, name, page = questions.download("choose", query, "report")
    assert (media, name) == ("text/html; charset=utf-8", "tellapart-report.html")
    assert COHORT.title in page.decode()
    assert "Cohort steering board" in page.decode()
    begun_alone = questions.download("choose", {}, "report")[2].decode()
    assert "TODO: what people call the release" in begun_alone


def test_a_report_reads_no_file_that_a_link_names(tmp_path):
    secret = tmp_path / "audit.json"
    secret.write_text(json.dumps({"headline": "secret"}), encoding="utf-8")
    given = replace(COHORT, evidence=(EvidenceFile(str(secret)),))
    query = {"record": record.packed(given)}
    words = "^the decision names files of evidence, which the page does not read"
    with pytest.raises(InvalidArgument, match=words) as why:
        questions.download("choose", query, "report")
    assert "secret" not in str(why.value)


PACKED = record.packed(COHORT)
BAD = {
    "no record": ("record=hello", "record must be the record of a decision as this page writes"),
    "cut": (f"record={PACKED[:-5]}", "record must be the record of a decision"),
    "nobody": (f"record={PACKED}&who=3", "who must be an attacker, from 1 to 2, got 3"),
    "no number": (f"record={PACKED}&who=me", "who must be a number"),
    "both": (f"record={PACKED}&max_tpr=0.1", "the address must name a record alone"),
    "unknown": (f"record={PACKED}&a1.prior=0.1", "the address must name what is on this page"),
    "picture": (f"record={PACKED}&picture=x", "picture must be one of cost"),
    "long": (f"record={'A' * 40_001}", "record must be the record of a decision"),
}


@pytest.mark.parametrize(("query", "said"), BAD.values(), ids=BAD)
def test_a_malformed_link_is_refused_in_words(query, said):
    update = questions.answer("choose", from_query(query))
    assert update["problem"].startswith(said)
    assert update["controls"]  # there is something to go on with
    assert update["query"] is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "x.toml must be text in UTF-8"),
        (b"title=1", "x.toml: [release] must be given"),
    ],
)
def test_a_file_that_is_no_decision_is_refused_in_words(content, said):
    values = {"file": Dropped("x.toml", content), "changed": "file", "shape": ""}
    update = questions.answer("choose", values)
    assert update["problem"].startswith(said)
    assert update["query"] is None


def test_a_bad_value_leaves_the_record_as_it_was():
    with pytest.raises(InvalidArgument, match=r"attacker\[1\]\.prior must"):
        change(opened(COHORT), a1__prior=3.0)


def test_parts_of_an_answer_are_plain_data():
    for part in VIEW.answer(opened(COHORT)).parts:
        assert isinstance(part, Table | Words)
        if isinstance(part, Table):
            assert all(len(row) == len(part.head) for row in part.rows)


def test_a_value_in_use_that_breaks_a_limit_is_not_shown_as_good():
    weak = replace(COHORT, mechanism=replace(COHORT.mechanism, configured=5.0))
    answer = VIEW.answer(opened(weak))
    assert answer.mark is Mark.BAD
    assert answer.sentences[:2] == (
        "What is in use does not stand: an insurer, PPV ≤ 0.02 at FPR 0.001 is broken: 0.0248 "
        "with scale = 5.",
        "What is in use does not stand: a relative, max posterior ≤ 0.4 is broken: 0.4536 with "
        "scale = 5.",
    )
    kept = VIEW.answer(opened(COHORT))
    assert kept.mark is Mark.GOOD
    assert "does not stand" not in " ".join(kept.sentences)


def test_limits_that_clash_with_the_accuracy_are_named_in_words():
    narrow = replace(COHORT, utility=replace(COHORT.utility, at_most=20.0))
    answer = VIEW.answer(opened(narrow))
    assert answer.mark is Mark.BAD
    assert answer.sentences[0].startswith(
        "Infeasible: 95 % interval of a histogram ≤ 20 clashes with an insurer, PPV ≤ 0.02 at FPR "
        "0.001; a relative, max posterior ≤ 0.4. Raise utility.at_most"
    )
