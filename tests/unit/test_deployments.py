"""Published deployments: facts with a source, promises as curves, and what was left out and why."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib import resources

import pytest

import tellapart as ta
from tellapart import deployments, risk
from tellapart.deployments import DEPLOYMENTS, LEFT_OUT, Deployment, Variant, find, gains, read

TABLE = resources.files("tellapart").joinpath("deployments.csv")
HEAD = "name,curator,published,variant,model,unit,epsilon,delta,rho,status,source"
PURE = find("emojis")[0]
APPROXIMATE = find("vaccine")[0]
CONCENTRATED = find("user-url")[0]


def entry(variant="Pure DP", epsilon="1", delta="", rho="", source="a registry, entry x"):
    about = f"X,Someone,2020-01-01,{variant},Central,User-level"
    return f'{about},{epsilon},{delta},{rho},Draft,"{source}"'


# -- the registry -------------------------------------------------------------------------------


def test_every_row_of_the_table_is_kept_or_left_out_with_a_reason():
    with TABLE.open(encoding="utf-8", newline="") as file:
        names = sorted(row["name"] for row in csv.DictReader(file))
    assert sorted(one.name for one in (*DEPLOYMENTS, *LEFT_OUT)) == names
    assert (len(DEPLOYMENTS), len(LEFT_OUT)) == (33, 2)


def test_every_deployment_names_its_source_and_no_two_the_same():
    assert all(one.source == f"{deployments.SOURCE}, entry {one.key}" for one in DEPLOYMENTS)
    assert len({one.key for one in DEPLOYMENTS}) == len(DEPLOYMENTS)
    assert {one.status for one in DEPLOYMENTS} == {"Draft", "Pending"}


def test_those_left_out_are_these():
    assert [(one.name, one.why) for one in LEFT_OUT] == [
        (
            "Iconic scenes and photo sections for iOS apps",
            "delta must be left out for Pure DP, got 1.5e-7",
        ),
        ("FLEX", "delta must be given for Approximate DP, got None"),
    ]
    assert str(LEFT_OUT[1]) == "FLEX: delta must be given for Approximate DP, got None"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (entry(epsilon=""), "epsilon must be given for Pure DP, got None"),
        (entry(epsilon="0"), "epsilon must be finite and greater than 0, got 0.0"),
        (entry(epsilon="-1"), "epsilon must be finite and greater than 0, got -1.0"),
        (entry(epsilon="inf"), "epsilon must be finite and greater than 0, got inf"),
        (entry(epsilon="nan"), "epsilon must not be NaN, got nan"),
        (entry(epsilon="varies"), "epsilon must be a number, got 'varies'"),
        (entry(rho="0.1"), "rho must be left out for Pure DP, got 0.1"),
        (
            entry("Approximate DP", delta="0"),
            "delta must lie strictly between 0 and 1, got 0.0",
        ),
        (
            entry("Approximate DP", delta="1e-5", rho="1"),
            "rho must be left out for Approximate DP, got 1.0",
        ),
        (
            entry("Zero-concentrated DP", delta="1e-5"),
            "rho must be given for Zero-concentrated DP, got None",
        ),
        (
            entry("Zero-concentrated DP", rho="0"),
            "rho must be finite and greater than 0, got 0.0",
        ),
        (
            entry("Renyi DP"),
            "variant must be Pure DP or Approximate DP or Zero-concentrated DP, got 'Renyi DP'",
        ),
        (entry(source=" "), "source must not be empty, got ' '"),
        (
            entry().replace("2020-01-01", "2020"),
            "published must be a date such as 2017-12-01, got '2020'",
        ),
    ],
)
def test_an_entry_that_does_not_fit_its_variant_is_left_out(row, why):
    kept, left = read([HEAD, row, entry()])
    assert [one.why for one in left] == [why]
    assert [one.epsilon for one in kept] == [1.0]


def test_one_of_your_own_is_checked_as_well():
    with pytest.raises(ta.InvalidArgument, match=r"delta must be left out for Pure DP, got 0\.1"):
        replace(PURE, delta=0.1)
    with pytest.raises(ta.InvalidArgument, match=r"variant must be Pure DP or .*, got 'pure'"):
        replace(PURE, variant="pure")
    with pytest.raises(ta.InvalidArgument, match="unit must be a text, got None"):
        replace(PURE, unit=None)


# -- curves and words ---------------------------------------------------------------------------


def test_a_promise_is_the_curve_of_its_variant_from_below():
    rates = [1e-6, 0.01, 0.3]
    wanted = {
        PURE: ta.guarantee(4.0),
        APPROXIMATE: ta.guarantee(2.19, 1e-5),
        CONCENTRATED: ta.guarantee(zcdp=0.0728),
    }
    for one, curve in wanted.items():
        assert one.curve().bound is ta.Bound.LOWER
        assert [one.curve().tpr(x) for x in rates] == [curve.tpr(x) for x in rates]


def test_every_promise_in_the_registry_has_a_curve_of_its_parameters():
    for one in DEPLOYMENTS:
        if one.variant is not Variant.ZERO_CONCENTRATED:
            allowed = one.curve().delta(one.epsilon)
            assert allowed == pytest.approx(one.delta or 0.0, abs=1e-15)


def test_an_epsilon_beside_rho_is_kept_and_not_used():
    """It is less than ρ alone implies: a curve that rested on it would understate an attacker."""
    assert (CONCENTRATED.epsilon, CONCENTRATED.delta) == (1.453, 1e-5)
    assert CONCENTRATED.curve().epsilon(1e-5) > 1.453
    bare = replace(CONCENTRATED, epsilon=None, delta=None)
    assert bare.curve() is CONCENTRATED.curve()
    assert CONCENTRATED.promise == "ρ = 0.0728"


@pytest.mark.parametrize(
    ("unit", "per"),
    [
        ("User-day-level", "one user-day"),
        ("Person-level; housing-unit-level", "one person; one housing-unit"),
        ("Business establishment", "one business establishment"),
        ("", "an unspecified unit"),
    ],
)
def test_units_in_words(unit, per):
    assert replace(PURE, unit=unit).per == per


def test_a_deployment_in_one_sentence():
    assert str(find("exposure")[0]) == (
        "COVID-19 Exposure Notification Framework (Google, 2021): ε = 8, δ = 1e-6 for one "
        "user-day, model varies; Pending in the registry"
    )


# -- finding ------------------------------------------------------------------------------------


def test_finding_by_name_curator_entry_and_words():
    assert find("POPULAR  emojis") == find("apple_popular_emojis") == (PURE,)
    assert {one.curator for one in find("apple")} == {"Apple"}
    assert len(find("apple")) == 5
    assert [one.name for one in find("google mobility")] == [
        "Community Mobility Place Visits",
        "Shared Mobility Dataset",
    ]


def test_a_whole_name_is_that_deployment_alone():
    full = "Disclosure Avoidance System for Redistricting Data"
    assert [one.name for one in find(full)] == [full]


@pytest.mark.parametrize("one", DEPLOYMENTS, ids=lambda one: one.key)
def test_every_deployment_is_found_by_its_name_and_its_entry(one):
    assert find(one.name) == find(one.key) == (one,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("emojies", r"\(near: Popular Emojis\), got 'emojies'"),
        ("appel", r"\(near: Apple\), got 'appel'"),
        ("xyzzy", r"\(such as Popular Emojis, Census or Wikimedia\), got 'xyzzy'"),
        ("flex", r"\(FLEX was left out: delta must be given for Approximate DP, got None\)"),
        (" ", "deployment must not be empty"),
        (3, "deployment must be a text, got 3"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is_near(text, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        find(text)


# -- gains --------------------------------------------------------------------------------------


def test_gains_are_the_risks_of_the_promise_and_say_at_most():
    (row,) = gains([APPROXIMATE], fpr=0.001, prior=0.05)
    curve = ta.guarantee(2.19, 1e-5)
    assert row.advantage == risk.advantage(curve)
    assert row.tpr == curve.tpr(0.001)
    assert row.ppv == risk.ppv(curve, fpr=0.001, prior=0.05)
    assert [one.relation for one in row.readings] == ["≤"] * 3
    assert [one.key for one in row.readings] == ["advantage", "tpr", "ppv"]
    assert float(row.readings[0].shown[2:]) >= row.advantage


def test_gains_are_sorted_once_each_with_mechanisms_among_them():
    asked = (*find("apple"), *find("emojis"))
    rows = gains(asked, beside={"noise": ta.Laplace(1), "promise": ta.guarantee(3)})
    assert [one.advantage for one in rows] == sorted(one.advantage for one in rows)
    assert len(rows) == 7
    assert (rows[0].name, rows[0].deployment) == ("noise", None)
    assert rows[0].readings[0].relation == "="
    assert [one.name for one in rows if one.deployment is None] == ["noise", "promise"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gains([]), "asked must hold at least one deployment"),
        (lambda: gains(["emojis"]), "asked must be deployments, as deployments.find returns"),
        (lambda: gains(PURE), "asked must be a list of deployments"),
        (lambda: gains([PURE], beside=3), "subjects must map names to mechanisms or curves"),
        (lambda: gains([PURE], prior=1), "prior must lie strictly between 0 and 1, got 1"),
    ],
)
def test_bad_questions_are_refused(call, message):
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


def test_the_caveats_say_that_units_differ_and_on_which_side_numbers_err():
    said = " ".join(deployments.CAVEATS)
    assert "a user-day is not a user" in said
    assert "may leak less" in said
    assert deployments.SOURCE in said


def test_a_deployment_is_a_record():
    assert isinstance(PURE, Deployment)
    assert {PURE: 1}[replace(PURE)] == 1
