"""The record behind the Choose view: nothing of a decision is lost in a link, a file or an edit."""

import base64
import tomllib
import zlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart import decision
from tellapart.decision.missing import missing
from tellapart.decision.record import Attacker, RiskLimit
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS, families
from tellapart.risk.catalogue import arguments, limited
from tellapart.web import record as records

EXAMPLES = Path(__file__).parents[3] / "examples" / "decisions"
RECORDS = {path.stem: decision.read(path) for path in sorted(EXAMPLES.glob("*.toml"))}
RECORDS["template"] = decision.parse(decision.template())
COHORT = RECORDS["cohort"]
USUAL = {key: each.default for key, each in arguments().items()}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_link_and_a_file_bring_every_record_back(record):
    assert records.unpacked(records.packed(record)) == record
    assert records.loaded("decision.toml", decision.dumps(record).encode()) == record


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_what_is_set_to_what_it_is_changes_nothing(record):
    assert records.edited(record, records.values_of(record)) == record
    assert records.edited(record, {}) == record


FAMILIES = [(start, key) for kind in KINDS.values() for key, start in families(kind).items()]


@pytest.mark.parametrize(("mechanism", "parameter"), FAMILIES)
def test_dials_make_a_record_of_every_mechanism_that_says_what_is_to_do(mechanism, parameter):
    bounds = {"max_advantage": 0.1, "max_singling_out": 0.01}
    record = records.begun(mechanism, parameter, bounds, USUAL, 1e-5)
    assert records.unpacked(records.packed(record)) == record
    assert records.edited(record, records.values_of(record)) == record
    assert [limit.bound for limit in record.limits] == [0.1, 0.01]
    assert record.attackers[0].about.keys() == {"prior", "fpr", "predicate_weight"}
    assert {"title", "release.what", "privacy.unit", "limit[2].reason", "decided.owner"} <= {
        *missing(record)
    }
    assert {"decided.date", "decided.review"} <= {*missing(record)}
    assert records.values_of(record)["parameter"] == parameter


def test_every_limit_can_be_in_a_record_with_what_it_asks():
    bounds = {key: accepted.start for key, (_, accepted) in limited().items()}
    record = records.begun("gaussian:sensitivity=1", "sigma", bounds, USUAL, 1e-6)
    assert {limit.measure.limit_key: limit.bound for limit in record.limits} == bounds
    assert record.asked()  # each has its arguments


def test_an_edit_changes_what_it_names_and_keeps_the_rest():
    new = records.edited(
        COHORT,
        {
            "title": "Visits",
            "release.people": "4_000",
            "decided.review": "2028-01-31",
            "a2.prior": 0.25,
            "a2.max_max_posterior": 0.5,
            "a2.reason_max_posterior": "agreed",
            "a1.name": "an employer",
        },
    )
    assert (new.title, new.release.people) == ("Visits", 4000)
    assert new.decided == replace(COHORT.decided, review=date(2028, 1, 31))
    assert [each.name for each in new.attackers] == ["an employer", "a relative"]
    assert new.limits[0] == replace(COHORT.limits[0], attacker="an employer")
    assert (new.limits[1].attacker, new.limits[1].reason) == ("a relative", "agreed")
    assert new.attackers[1].about == {"prior": 0.25, "fpr": 0.05}
    for part in ("privacy", "mechanism", "utility", "alternatives", "evidence"):
        assert getattr(new, part) == getattr(COHORT, part)


def test_a_limit_comes_with_what_it_asks_and_goes_alone():
    more = records.edited(COHORT, {"a1.on_max_precision": True})
    assert more.limits[:2] == COHORT.limits
    assert (more.limits[2].attacker, more.limits[2].risk) == ("an insurer", "precision")
    assert more.attackers[0].about["recall"] == 0.5
    assert more.attackers[1] == COHORT.attackers[1]
    less = records.edited(more, {"a1.on_max_ppv": False, "a1.max_precision": 0.1})
    assert [(each.risk, each.bound) for each in less.limits] == [
        ("max_posterior", 0.4),
        ("precision", 0.1),
    ]


def test_the_same_risk_of_two_attackers_stays_apart():
    twice = replace(COHORT, limits=(*COHORT.limits, RiskLimit("a relative", "ppv", 0.3, None, "x")))
    new = records.edited(twice, {"a2.max_ppv": 0.35})
    assert [each.bound for each in new.limits] == [0.02, 0.4, 0.35]


def test_two_limits_on_one_risk_are_both_kept():
    twice = replace(COHORT, limits=(*COHORT.limits, RiskLimit("an insurer", "ppv", 0.3, None, "x")))
    assert records.edited(twice, records.values_of(twice)) == twice
    assert [x.bound for x in records.edited(twice, {"a1.max_ppv": 0.01}).limits] == [0.01, 0.4, 0.3]


def test_delta_is_a_number_or_a_rule_whichever_was_set_last():
    ruled = records.edited(COHORT, {"privacy.delta_rule": "1/n^2"})
    assert (ruled.privacy.delta, ruled.privacy.delta_rule) == (None, "1/n^2")
    assert records.edited(ruled, {"privacy.delta": "1e-9"}).privacy.delta == 1e-9
    # A δ that follows from a rule is not written down when something else is set.
    begun = decision.parse(decision.template().replace('choose = "sigma"', 'choose = "epsilon"'))
    values = records.values_of(begun)
    assert "delta=" in values["mechanism"]
    more = records.edited(begun, {**values, "release.people": "13000"})
    assert "delta" not in more.mechanism.fixed
    moved = records.edited(begun, {"mechanism": values["mechanism"].replace("=1,", "=2,")})
    assert moved.mechanism.fixed == {"sensitivity": 2}


def test_a_mechanism_is_set_as_text_and_keeps_what_is_configured_while_it_is_the_same():
    moved = records.edited(COHORT, {"mechanism": "laplace:sensitivity=2", "parameter": "scale"})
    assert (moved.mechanism.fixed, moved.mechanism.configured) == ({"sensitivity": 2}, 9)
    other = records.edited(COHORT, {"mechanism": "gaussian:sensitivity=1", "parameter": "sigma"})
    assert (other.mechanism.name, other.mechanism.configured) == ("gaussian", None)


def test_another_attacker_is_added_without_a_limit():
    more = records.with_attacker(records.with_attacker(COHORT))
    assert more.attackers[:2] == COHORT.attackers
    assert [each.name for each in more.attackers[2:]] == ["TODO: attacker 3", "TODO: attacker 4"]
    assert more.limits == COHORT.limits


def link(content):
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


GOOD = records.packed(COHORT)
BAD_LINKS = {
    "no base64": "%%%",
    "no zip": "aGVsbG8",
    "cut": GOOD[:-9],
    "something after": link(zlib.compress(decision.dumps(COHORT).encode()) + b"x"),
    "a bomb": link(zlib.compress(bytes(2**26), 9)),
    "too long": "A" * (records.LONGEST_LINK + 1),
    "no text": link(zlib.compress(b"\xff\xfe")),
    "empty": link(zlib.compress(b"")),
    "other alphabets": "é" + GOOD,
}


@pytest.mark.parametrize("text", BAD_LINKS.values(), ids=BAD_LINKS)
def test_a_link_that_carries_no_record_is_refused(text):
    with pytest.raises(InvalidArgument, match="record must be the record of a decision as this"):
        records.unpacked(text)


def test_a_link_with_a_wrong_record_says_what_is_wrong():
    with pytest.raises(InvalidArgument, match=r"title must be given"):
        records.unpacked(link(zlib.compress(b"[release]\n")))


@given(st.binary(max_size=200))
def test_no_bytes_in_a_link_break_anything(content):
    for made in (content, zlib.compress(content)):
        with pytest.raises(InvalidArgument):
            records.unpacked(link(made) or "-")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "mine.toml must be text in UTF-8"),
        (b"x" * (records.LARGEST_FILE + 1), "mine.toml must have at most 65,536 bytes"),
        (b"= 1", "mine.toml: a decision file must be TOML"),
        (b'title = "x"', r"mine.toml: \[release\] must be given"),
    ],
)
def test_a_file_that_is_no_decision_is_refused_by_its_name(content, said):
    with pytest.raises(InvalidArgument, match=said):
        records.loaded("mine.toml", content)


def test_a_record_too_large_for_a_link_names_the_command():
    noise = "".join(chr(0x4E00 + (k * 7919) % 20000) for k in range(20_000))
    with pytest.raises(InvalidArgument, match="must fit into a link of 40,000 letters"):
        records.packed(replace(COHORT, title=noise))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"release.people": "many"}, "release.people must be"),
        ({"release.people": ""}, "release.people must be"),
        ({"decided.date": "soon"}, "decided.date must be a date"),
        ({"a1.prior": 2.0}, r"attacker\[1\].prior must"),
        ({"a1.max_ppv": 2.0}, r"limit\[1\].at_most must"),
        ({"a1.name": "a relative"}, r"attacker\[2\].name must differ"),
        ({"mechanism": "randomized-response"}, "privacy.neighbours must be"),
        ({"a1.on_max_ppv": False, "a2.on_max_posterior": False}, r"\[\[limit\]\] must be given"),
    ],
)
def test_a_bad_value_is_refused_by_its_place_in_the_file(values, said):
    with pytest.raises(InvalidArgument, match=said):
        records.edited(COHORT, values)


def test_what_is_cleared_is_still_to_be_said():
    cleared = records.edited(COHORT, {"title": " ", "decided.owner": "", "decided.review": ""})
    assert missing(cleared) == ("title", "decided.owner", "decided.review")


def test_attackers_keep_numbers_that_no_limit_asks_for():
    known = replace(
        COHORT,
        attackers=(
            *COHORT.attackers[:1],
            Attacker("a relative", "much", {"prior": 0.2, "fpr": 0.05, "baseline": 0.1}),
        ),
    )
    new = records.edited(known, {"a2.prior": 0.3})
    assert new.attackers[1].about == {"prior": 0.3, "fpr": 0.05, "baseline": 0.1}
    assert tomllib.loads(decision.dumps(new))["attacker"][1]["baseline"] == 0.1
