"""Decision files: what is read, what is refused and in which words, and what a template holds."""

import datetime
import re
import tomllib
from dataclasses import replace

import pytest

from tellapart import decision
from tellapart.decision.fields import TABLES, TITLE, delta_by_rule
from tellapart.decision.record import Attacker, from_data
from tellapart.errors import InvalidArgument
from tellapart.neighbours import Neighbours

TEMPLATE = decision.template()


def data(**changes):
    """The tables of the template, with some keys changed: ``limit__1__risk="tpr"``."""
    tables = tomllib.loads(TEMPLATE)
    for path, value in changes.items():
        *way, key = path.split("__")
        place = tables
        for step in way:
            place = place[int(step) - 1] if step.isdigit() else place[step]
        if value is None:
            del place[key]
        else:
            place[key] = value
    return tables


def test_the_template_is_a_decision_and_has_every_key_once_with_its_help():
    record = decision.parse(TEMPLATE)
    assert record.title == TITLE.example
    assert record.privacy.relation is Neighbours.ADD_REMOVE
    assert record.decided.date == datetime.date(2026, 11, 17)
    keys = re.findall(r"^#?(\w+) = ", TEMPLATE, re.M)
    declared = [each.key for table in TABLES.values() for each in table.fields]
    assert sorted(keys) == sorted([TITLE.key, *declared, "sensitivity", "prior", "fpr"])
    shown = " ".join(TEMPLATE.replace("#", " ").split())
    for table in TABLES.values():
        assert f"{table.head}\n" in TEMPLATE
        for each in table.fields:
            assert each.help in shown


def test_every_commented_line_of_the_template_is_valid_where_its_hash_is_taken_away():
    for line in re.findall(r"^#(\w+ = .+)$", TEMPLATE, re.M):
        key = line.partition(" = ")[0]
        if key in ("file", "what", "kind", "source", "transition", "stationary", "length"):
            continue  # of a table that is left out as a whole
        text = TEMPLATE.replace(f"#{line}", line)
        if key == "delta":
            text = re.sub(r"^delta_rule = .*$", "", text, flags=re.M)
        if key == "at_least":
            text = text.replace('risk = "ppv"', 'risk = "bayes_error"')
            text = re.sub(r"^at_most = 0.02$", "", text, flags=re.M)
        decision.parse(text)
    at = TEMPLATE.index("#[[evidence]]")
    more = re.sub(r"^#(?=\w|\[)", "", TEMPLATE[at:], flags=re.M)
    assert decision.parse(TEMPLATE[:at] + more).evidence[0].file == "audit.json"
    first, last = TEMPLATE.index("#[correlation]"), TEMPLATE.index("\n\n", TEMPLATE.index("#[corr"))
    model = re.sub(r"^#(?=\w|\[)", "", TEMPLATE[first:last], flags=re.M)
    text = f"{TEMPLATE[:first]}{model}{TEMPLATE[last:]}".replace('"add-remove"', '"replace"')
    assert decision.parse(text).correlation.kind == "chain"


def test_a_file_may_begin_as_some_editors_begin_it_and_end_lines_as_others_do(tmp_path):
    path = tmp_path / "decision.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEMPLATE.replace("\n", "\r\n").encode())
    assert decision.read(path) == decision.parse(TEMPLATE)


def test_one_bracket_too_few_is_said_to_be_one():
    with pytest.raises(InvalidArgument, match=r"TOML: .*; write \[\[limit\]\], once for each$"):
        decision.parse(TEMPLATE.replace("[[limit]]", "[limit]") + "\n[[limit]]\n")
    with pytest.raises(InvalidArgument, match=r"^limit must be written as \[\[limit\]\], once"):
        decision.parse(TEMPLATE.replace("[[limit]]", "[limit]"))


def test_delta_comes_from_its_rule():
    assert decision.parse(TEMPLATE).delta == 12_000.0**-2
    assert delta_by_rule("0.1 / n", 1000) == 1e-4
    assert delta_by_rule("1/n^1.5", 100) == pytest.approx(1e-3)
    assert from_data(data(privacy__delta_rule=None, privacy__delta=1e-6)).delta == 1e-6


def test_a_mechanism_made_by_epsilon_and_delta_has_the_one_delta():
    record = from_data(data(mechanism__choose="epsilon"))
    assert record.family().fixed == {"sensitivity": 1.0, "delta": record.delta}
    promise = from_data(data(mechanism={"name": "any", "choose": "epsilon"}))
    assert promise.family().fixed == {"delta": promise.delta}


REFUSED = [
    ({"titel": "x"}, "titel must be title or a table of a decision file (did you mean title?)"),
    ({"title": None}, 'title must be given, such as title = "Patients by district, 2026"'),
    ({"title": 3}, "title must be a text in quotes"),
    ({"title": " "}, "title must be a text in quotes"),
    ({"release": None}, "[release] must be given: What is released, and from which data."),
    ({"release": "all"}, "release must be a table, [release] with keys below it, got 'all'"),
    ({"release__what": None}, "release.what must be given, such as what = "),
    ({"release__poeple": 3}, "release.poeple must be a key of [release] (did you mean people?)"),
    ({"release__people": 0}, "release.people must be at least 1, got 0"),
    ({"release__people": "many"}, "release.people must be a whole number, got 'many'"),
    ({"release__people": 2.5}, "release.people must be a whole number, got 2.5"),
    ({"release__people": True}, "release.people must be a whole number, got True"),
    ({"release__population": 7}, "release.population must be at least release.people (12000)"),
    ({"privacy__neighbours": "remove"}, "privacy.neighbours must be one of add-remove, replace"),
    ({"privacy__neighbours": "replce"}, "(did you mean replace?)"),
    ({"privacy__records_per_unit": 0}, "privacy.records_per_unit must be at least 1, got 0"),
    ({"privacy__records_per_unit": 5000}, "privacy.records_per_unit must be at most 1000"),
    ({"privacy__delta": 1e-6}, "privacy.delta must be given, or privacy.delta_rule"),
    ({"privacy__delta_rule": None}, "privacy.delta must be given, or privacy.delta_rule"),
    ({"privacy__delta_rule": "n"}, 'privacy.delta_rule must be written as "1/n", "1/n^2"'),
    ({"privacy__delta_rule": "9e9/n"}, "privacy.delta_rule must give a δ of at most 1"),
    ({"mechanism__name": "gausian"}, "mechanism.name must be one of"),
    ({"mechanism__name": "gausian"}, "(did you mean gaussian?)"),
    ({"mechanism__sigmaa": 3}, "mechanism.sigmaa must be a key of [mechanism]"),
    ({"mechanism__choose": "scale"}, "mechanism.choose must be one that 'gaussian' leaves open"),
    ({"mechanism__sigma": 3}, "mechanism.choose must be one that 'gaussian' leaves open"),
    ({"mechanism__sensitivity": "x"}, "mechanism.sensitivity must be a number, got 'x'"),
    ({"mechanism__configured": -1}, "mechanism.configured must be finite and greater than 0"),
    ({"attacker": {}}, "attacker must be written as [[attacker]], once for each"),
    ({"attacker": []}, "[[attacker]] must be given, at least one"),
    ({"attacker": ["x"]}, "attacker[1] must be a table, [[attacker]] with keys below it"),
    (
        {"attacker__1__prio": 0.5},
        "attacker[1].prio must be a key of [[attacker]] (did you mean prior?)",
    ),
    ({"attacker__1__prior": 2}, "attacker[1].prior must lie strictly between 0 and 1, got 2"),
    ({"attacker__1__prior": None}, "attacker[1].prior must be given for limit[1] on ppv, such as"),
    ({"attacker__1__delta": 1e-3}, "attacker[1].delta must be a key of [[attacker]]"),
    ({"limit": None}, "[[limit]] must be given: How much of a risk is accepted, and why"),
    ({"limit": []}, "[[limit]] must be given, at least one"),
    (
        {"limit__1__attacker": "an insurrer"},
        "limit[1].attacker must be the name of an attacker (an insurer) (did you mean an insurer?)",
    ),
    ({"limit__1__risk": "pv"}, "limit[1].risk must be one of advantage, tpr, ppv"),
    ({"limit__1__risk": "max_ppv"}, 'limit[1].risk must be a risk, without its side: "ppv"'),
    ({"limit__1__at_most": None}, "limit[1].at_most must be given for ppv, and at_least left out"),
    ({"limit__1__at_least": 0.1}, "limit[1].at_most must be given for ppv, and at_least left out"),
    ({"limit__1__at_most": 1.5}, "limit[1].at_most must lie in [0, 1], got 1.5"),
    ({"limit__1__reason": None}, "limit[1].reason must be given, such as reason = "),
    ({"limit__1__risk": "bayes_error"}, "limit[1].at_least must be given for bayes_error"),
    ({"utility__statistic": None}, "utility.statistic must be given with utility.at_most"),
    ({"utility__statistic": "bias"}, "utility.statistic must be one of count, sum, mean"),
    ({"alternative__1__mechanism": "laplce"}, "alternative[1].mechanism must be one of any"),
    ({"alternative__1__mechanism": "dpsgd"}, "alternative[1].mechanism must have sampling_rate"),
    ({"alternative__1__why_not": 3}, "alternative[1].why_not must be a text in quotes"),
    ({"decided__date": "2026-11-17"}, "decided.date must be a date without quotes, such as 2026"),
    ({"decided__owner": None}, "decided.owner must be given, such as owner = "),
    ({"title": "half a pair \ud800"}, "title must be a text that UTF-8 can hold"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_what_is_wrong_is_said_by_its_place(changes, said):
    with pytest.raises(InvalidArgument, match=re.escape(said)):
        from_data(data(**changes))


def test_a_second_attacker_of_the_same_name_is_refused():
    tables = data()
    tables["attacker"].append(dict(tables["attacker"][0]))
    said = "attacker[2].name must differ from attacker[1].name, got 'an insurer'"
    with pytest.raises(InvalidArgument, match=re.escape(said)):
        from_data(tables)


def test_parts_made_in_python_are_checked_alike():
    record = decision.parse(TEMPLATE)
    with pytest.raises(InvalidArgument, match=r"^attacker\[1\].prior must lie strictly between"):
        replace(record, attackers=(Attacker("an insurer", "all", {"prior": 1.5}),))
    with pytest.raises(InvalidArgument, match=r"^attackers must be a tuple of Attacker records"):
        replace(record, attackers=[*record.attackers])
    with pytest.raises(InvalidArgument, match=r"^release must be a PlannedRelease record"):
        replace(record, release="all")


def test_a_file_names_itself(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("title = ", encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"wrong.toml: a decision file must be TOML: Invalid"):
        decision.read(path)
    path.write_bytes(b"title = '\xff'")
    with pytest.raises(InvalidArgument, match=r"must be text in UTF-8"):
        decision.read(path)
    with pytest.raises(FileNotFoundError):
        decision.read(tmp_path / "none.toml")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    record, path = decision.parse(TEMPLATE), tmp_path / "decision.toml"
    decision.write(record, path)
    assert decision.read(path) == record
    with pytest.raises(InvalidArgument, match=r"^decision must be a Decision"):
        decision.write("x", path)
    assert decision.read(path) == record
    assert [each.name for each in tmp_path.iterdir()] == ["decision.toml"]
