"""A measure or a mechanism is declared in one record: commands, page and report follow from it."""

import json
import subprocess
import sys

import pytest

# A measure of which less is worse, with an argument of its own; one that grows with the prior; and
# a mechanism with a parameter of its own, whose answer is off by so much. Nothing else says a word
# of any.
DECLARED = """
from dataclasses import dataclass

import tellapart as ta
from tellapart._numeric.text import Scale
from tellapart.mechanisms.catalogue import KINDS, PARAMETERS, Kind, Parameter, PrivateSide, Way
from tellapart.risk.catalogue import MEASURES, PRIOR, Argument, LimitRange, Measure

def overlooked(curve, *, alarms):
    return 1 - curve.tpr(alarms)

alarms = Argument(
    "alarms", 0.05, label="alarms that are raised", low=1e-3, high=1, ends=("few", "many"),
    option="Share of alarms.",
)
MEASURES["overlooked"] = Measure(
    "overlooked", overlooked, "overlooked at {alarms:g}", "share of members it misses",
    (alarms,), smaller_is_worse=True,
    limit=LimitRange("Share of members missed.", "members missed", 0.9, 0.01, 1, Scale.LINEAR),
)
MEASURES["odds"] = Measure(
    "odds", lambda curve, *, prior: asked.append(prior) or prior, "odds", "all that is known",
    (PRIOR,), grows_with_prior=True,
)
asked = []

@dataclass(frozen=True)
class Halved(ta.Mechanism):
    half: float = 1.0

    def _present_test(self):
        return ta.Laplace(2 * self.half).curve()

    def deviation(self):
        return 10 * self.half

    def margin(self, coverage=0.95):
        return 30 * self.half

PARAMETERS["half"] = Parameter(
    "half", "half of the scale", 0.1, 50, private_side=PrivateSide.LARGER, symbol="½",
    option="Half a scale.",
)
KINDS["halved"] = Kind("halved", (Way(Halved, ("half",)),), "half=1")
"""
DECISION = """
title = "Made up"
[release]
what = "A mean, published once"
data = "A register of 2026"
member = "whoever was there in 2026"
people = 1000
population = 2000
[privacy]
unit = "one resident"
neighbours = "add-remove"
records_per_unit = 1
delta_rule = "1/n^2"
[mechanism]
name = "halved"
choose = "half"
configured = 9
[[attacker]]
name = "a neighbour"
knows = "all others"
alarms = 0.1
[[limit]]
attacker = "a neighbour"
risk = "overlooked"
at_least = 0.8
reason = "four of five shall be missed"
[decided]
owner = "the head"
date = 2026-10-05
review = 2028-10-05
"""
SHOWN = """
import contextlib, io, json, pathlib, tempfile
from tellapart.cli import main

folder = tempfile.TemporaryDirectory()  # gone when the process ends
there = pathlib.Path(folder.name)
(there / "decision.toml").write_text(DECISION)

def run(line):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(line.split())
    return code, out.getvalue()

from tellapart.web.questions import answer, download
from tellapart.web.views import VIEWS
from dataclasses import asdict

def page(view, changed=None, **values):
    told = answer(view, {**values, **({"changed": changed, "shape": ""} if changed else {})})
    one = VIEWS[f"/{view}"]
    state = one.read(values, changed)
    return {"controls": [asdict(each) for each in one.controls(state)], "query": told["query"],
            "problem": told["problem"], "answer": asdict(one.answer(state))}

def of_priors(key, **arguments):
    asked.clear()
    try:
        about = ta.worlds.PriorRange(0.1, 0.3)
        ends = about.defender_bound(ta.guarantee(1), MEASURES[key].function, **arguments)
        return ends, len(asked)
    except ta.InvalidArgument as why:
        return str(why)

def on_top():
    from tellapart import choose, plot
    frontier = choose.frontier(Halved, [1, 2])
    return [word for axis in plot.frontier(frontier).axes for child in axis.child_axes
            for word in (text.get_text() for text in child.get_xticklabels())]

print(json.dumps({
    "priors": of_priors("odds"),
    "no priors": of_priors("overlooked", alarms=0.1),
    "pictured": on_top(),
    "help": run("choose halved --help"),
    "risk help": run("risk halved --help"),
    "risk": run("risk halved --half 1 --alarms 0.1 --json"),
    "table": run("risk halved --half 1"),
    "chosen": run("choose halved --min-overlooked 0.8 --alarms 0.1 --json"),
    "same": run("choose laplace --parameter scale --max-tpr 0.2 --fpr 0.1 --json"),
    "told": run("choose laplace --min-overlooked 0.9 --alarms 0.02 -v"),
    "refused": run("choose laplace --min-overlooked 1.5"),
    "compared": run("compare halved:half=1 laplace:epsilon=1 --alarms 0.2 --json"),
    "explore": page("explore", mechanism="halved:half=1"),
    "choose": page("choose", mechanism="halved", on_min_overlooked="yes", on_max_advantage="no",
                   alarms="0.02"),
    "turned": page("choose", "mechanism.0.half", mechanism="halved:half=1"),
    "report": download("explore", {"mechanism": "halved:half=1"}, "report")[2].decode(),
    "filed": run("report halved --half 1 --json"),
    "decided": run(f"decide {there}/decision.toml --json"),
    "checked": run(f"decide {there}/decision.toml --check"),
    "documented": run(f"decide {there}/decision.toml --report {there}/decision.html --json")[0:1]
    + ((there / "decision.html").read_text(),),
    "wrong": run("choose halved --min-overlooked 0.95 --alarms 0.1"),
    "planned": run("plan halved --half 1 --seconds 0.001 --json"),
    "opened": run(f"budget open {there}/pots.jsonl --steps halved:half=4,repeated=3"),
    "spent": run(f"budget spend {there}/pots.jsonl halved:half=4 --json"),
    "converted": run("convert halved:half=1 --json"),
}))
"""


@pytest.fixture(scope="module")
def seen():
    """Everything in a process of its own, which knows the two from its start on."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", f"DECISION = {DECISION!r}\n" + DECLARED + SHOWN],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def values(readings):
    return {one["key"]: one for one in readings}


def controls(shown):
    for one in shown["controls"]:
        yield from one.get("controls", [one])


def tables(answer):
    return {one["title"]: one["rows"] for one in answer["parts"] if "rows" in one}


def test_the_measure_is_in_every_table_on_its_own_side(seen):
    code, told = seen["risk"]
    reading = values(json.loads(told)["readings"])["overlooked"]
    assert code == 0
    assert reading["name"] == "overlooked at 0.1"
    assert reading["meaning"] == "share of members it misses"
    assert "overlooked at 0.05" in seen["table"][1]
    compared = json.loads(seen["compared"][1])["mechanisms"]
    assert [values(one["readings"])["overlooked"]["name"] for one in compared] == [
        "overlooked at 0.2"
    ] * 2
    # Of an error, less is worse: a promise says no attacker has less.
    (promised,) = (
        row for row in seen["told"][1].splitlines() if "overlooked at 0.02" in row and "≈" in row
    )
    assert "≈ 0.89" in promised or "≈ 0.9" in promised


def test_the_measure_is_a_limit_on_the_command_line(seen):
    code, told = seen["help"]
    assert code == 0
    assert {"--min-overlooked", "--alarms", "--half"} <= set(told.replace("│", " ").split())
    assert "Share of members missed." in told
    assert {"--alarms", "--half"} <= set(seen["risk help"][1].replace("│", " ").split())
    data, same = (json.loads(seen[key][1]) for key in ("chosen", "same"))
    assert data["parameter"] == "half"
    assert data["binding"] == "overlooked ≥ 0.8 at 0.1"
    assert data["rounded"] == "up"  # more of it is more private
    assert data["unrounded"] == pytest.approx(same["unrounded"] / 2, rel=1e-9)
    assert seen["refused"][0] == 2


def test_the_measure_is_a_limit_on_the_page(seen):
    shown = seen["choose"]
    fields = {one["field"]: one for one in controls(shown)}
    assert fields["min_overlooked"]["label"] == "members missed, at least"
    assert fields["min_overlooked"]["private"] == "larger"
    assert fields["alarms"]["label"] == "alarms that are raised"
    assert fields["alarms"]["value"] == 0.02
    assert shown["problem"] == ""
    assert shown["answer"]["headline"].startswith("Set the half of the scale to ")
    ((limit, *_),) = tables(shown["answer"])["Your limits"]
    assert limit == "overlooked ≥ 0.9 at 0.02"
    assert "--min-overlooked 0.9" in shown["answer"]["command"]
    assert "--alarms 0.02" in shown["answer"]["command"]
    assert "on_min_overlooked=yes" in shown["query"]


def test_the_mechanism_is_on_the_page(seen):
    shown = seen["explore"]
    which = next(one for one in controls(shown) if one["field"] == "mechanism")
    assert ["halved:half=1", "Halved"] in [list(one) for one in which["options"]]
    dial = next(one for one in controls(shown) if one["field"] == "mechanism.0.half")
    assert (dial["label"], dial["private"]) == ("half of the scale", "larger")
    rows = {row[0]: row[2] for row in tables(shown["answer"])["In numbers"]}
    assert rows["overlooked at 0.05"].startswith("≈ ")
    # What says all is asked anew, and handed on with what was chosen.
    assert seen["turned"]["query"].partition("&")[0] == "mechanism=halved"
    assert seen["turned"]["answer"]["mechanism"].startswith("halved:half=")


def test_how_far_off_answers_are_is_told_of_any_mechanism_that_knows(seen):
    row = json.loads(seen["chosen"][1])["frontier"][0]
    assert (row["deviation"], row["margin"]) == (10 * row["value"], 30 * row["value"])
    (utility,) = (x for x in json.loads(seen["filed"][1])["checklist"] if x["key"] == "utility")
    assert (
        "standard deviation 10.0000; 95 % of answers lie within ±30.0000" in utility["established"]
    )
    assert {"½ = 1", "½ = 2"} <= set(seen["pictured"])


def test_a_range_of_priors_knows_which_measures_grow_with_the_prior(seen):
    assert seen["priors"] == [0.3, 2]  # nothing is looked at between the ends
    assert seen["no priors"].startswith("measure must be larger for a stronger attacker")


def test_both_are_in_the_report(seen):
    assert "overlooked at 0.05" in seen["report"]
    assert "halved:half=1" in seen["report"]
    filed = json.loads(seen["filed"][1])
    assert "overlooked at 0.05" in json.dumps(filed)


def test_both_are_in_a_decision_file(seen):
    code, text = seen["decided"]
    answer, chosen = json.loads(text), json.loads(seen["chosen"][1])
    assert code == 0
    assert (answer["mechanism"], answer["parameter"]) == ("halved", "half")
    assert answer["unrounded"] == pytest.approx(chosen["unrounded"], rel=1e-9)
    (limit,) = answer["limits"]
    assert (limit["limit"], limit["baseline"]) == ("overlooked ≥ 0.8 at 0.1", 0.9)
    # More of it is more private, and so 9 stands where 0.7214 is enough.
    assert seen["checked"][0] == 0
    assert "half = 9 keeps every limit" in seen["checked"][1]
    code, page = seen["documented"]
    assert code == 0
    assert "overlooked at 0.1 ≥ 0.8" in page
    assert "½ = 0.7214" in page


def test_what_not_even_perfect_privacy_keeps_is_infeasible(seen):
    code, _ = seen["wrong"]
    assert code == 1  # guessing at FPR 0.1 misses 0.9 of the members


def test_the_mechanism_is_planned_budgeted_and_converted(seen):
    (code, planned), (opened, left), (spent, line) = (
        seen[key] for key in ("planned", "opened", "spent")
    )
    assert (code, opened, spent) == (0, 0, 0)
    assert json.loads(planned)["mechanism"] == "halved:half=1"
    assert "halved:half=4  0 steps  3 steps" in left
    assert json.loads(line)["pot"] == "halved:half=4"
    code, currencies = seen["converted"]
    assert code == 0
    assert json.loads(currencies)["currencies"][0]["value"] == pytest.approx(0.5)
