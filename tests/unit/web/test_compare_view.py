"""The view that compares: what it shows is the library's, and its code gives it again."""

import json
import shlex

import pytest
from copied_code import printed
from queries import from_query

from tellapart import deployments
from tellapart.choose.comparison import GAPS
from tellapart.cli import main
from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import parse
from tellapart.web.answer import Words
from tellapart.web.controls import ControlGroup
from tellapart.web.view import to_query
from tellapart.web.views.compare import FIELDS, VIEW, CompareState, called

EMOJIS = "apple_popular_emojis"


def asked(changed=None, **values):
    return VIEW.read(values, changed)


def fields(controls):
    found = []
    for one in controls:
        found += fields(one.controls) if isinstance(one, ControlGroup) else [one.field]
    return found


def words(answer, title):
    return [x.sentences for x in answer.parts if isinstance(x, Words) and x.title == title]


def in_words(said, texts):
    for text, name in texts.items():
        said = said.replace(text, name)
    return said


CASES = {
    "two that cross": {},
    "three, rare members": {"m3": "any:epsilon=1", "prior": "0.01", "fpr": "0.001"},
    "the same mechanism twice counts once": {"m3": "laplace:epsilon=1"},
    "another delta": {"m2": "staircase:epsilon=2", "at_delta": "0.001"},
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_what_is_copied_gives_what_is_shown(values, table, parsed):
    answer = VIEW.answer(asked(**values))
    lines = [line.split() for line in printed(answer.python).splitlines()]
    data = parsed(answer.command.removeprefix("tellapart "))
    risks, gaps = table(answer, "Every risk"), table(answer, "By how much")
    for row in (*risks.rows, *gaps.rows):
        assert " ".join(row).split() in lines
    shown = [[one["shown"] for one in each["readings"]] for each in data["mechanisms"]]
    assert [list(column) for column in zip(*(row[2:] for row in risks.rows), strict=True)] == shown
    texts = {one["mechanism"]: called(one["mechanism"]) for one in data["mechanisms"]}
    assert risks.head[2:] == tuple(texts.values())
    pairs = [in_words(f"{one['words']}.", texts) for one in data["pairs"]]
    assert words(answer, "Who leaks more") == [tuple(pairs)]
    assert gaps.note == GAPS


def test_deployments_stand_beside_mechanisms(table, parsed):
    keys = [one.key for one in deployments.find("apple")[:2]]
    answer = VIEW.answer(asked(m2="", d1=keys[0], d3=keys[1], prior=0.1))
    risks = table(answer, "Every risk")
    lines = [line.split() for line in printed(answer.python).splitlines()]
    for row in risks.rows:
        assert " ".join(row).split() in lines
    data = parsed(answer.command.removeprefix("tellapart "))
    assert len(data["rows"]) == 3
    for row in data["rows"]:
        column = risks.head.index(in_words(row["name"], {"laplace:epsilon=1": "Laplace (ε = 1)"}))
        seen = {cells[0]: cells[column] for cells in risks.rows}
        assert {one["name"]: one["shown"] for one in row["readings"]}.items() <= seen.items()
    (said,) = words(answer, "Who leaks more")
    first = {"laplace:epsilon=1": "Laplace (ε = 1)"}
    assert {in_words(f"{one['words']}.", first) for one in data["pairs"]} <= set(said)
    assert words(answer, "Before comparing") == [deployments.CAVEATS]
    promises = table(answer, "Claims")
    for key, row in zip(keys, promises.rows, strict=True):
        (made,) = deployments.find(key)
        assert {made.name, made.promise, made.per, made.source} <= set(row)


def test_units_that_differ_are_said_at_once():
    units = {}
    for one in deployments.DEPLOYMENTS:
        if one.rho is None:
            units.setdefault(one.per, one)
    first, second = list(units.values())[:2]
    answer = VIEW.answer(asked(mechanism="", m2="", d1=first.key, d2=second.key))
    assert answer.sentences[0].startswith("Units of privacy differ")
    assert first.per in answer.sentences[0]
    alone = VIEW.answer(asked(m2="", d1=first.key))
    assert alone.sentences == (
        f"Units of privacy: {first.per} for deployments, one record for mechanisms.",
    )


def test_the_headline_names_who_leaks_most_or_that_it_depends():
    def headline(*texts):
        return VIEW.answer(asked(**dict(zip(FIELDS, texts, strict=False)))).headline

    assert headline() == "Laplace (ε = 1) leaks less, except at FPR 0.237 to 0.389."
    long = headline("dpsgd:noise_multiplier=1,batch_size=9,epochs=1,data_size=90", "any:epsilon=9")
    assert long == (
        "Any mechanism with ε = 9 allows more than DP-SGD leaks, at every FPR and FNR ≥ 1e-12; "
        "which leaks less is open."
    )
    alike = [f"laplace:epsilon={x},sampled=0.123456,repeated=2" for x in (1, 2)]
    assert headline(*alike) == "No. 1 (Laplace) allows least, at every FPR."
    least = headline("laplace:epsilon=1", "laplace:epsilon=3", "staircase:epsilon=2")
    assert least == "Laplace (ε = 1) leaks least, at every FPR."
    promised = headline("laplace:epsilon=1", "staircase:epsilon=3", "any:epsilon=6")
    assert promised == (
        "Laplace (ε = 1) leaks at most what each other allows or leaks, at every FPR; which leaks "
        "least is open."
    )
    most = headline("gaussian:sigma=1", "laplace:epsilon=1", "any:epsilon=1,delta=0.5")
    assert most == "Any mechanism with ε = 1 allows most, at every FPR."
    depends = headline("laplace:epsilon=1", "gaussian:sigma=1", "laplace:epsilon=1.2")
    assert depends == "Which of them leaks least depends on the FPR."


SHUFFLED = "dpsgd:noise_multiplier=1.1,epochs=15,batch_size=256,data_size=60000,scheme=shuffled"


def test_a_guarantee_without_amplification_is_not_taken_for_a_leak():
    answer = VIEW.answer(asked(mechanism="gaussian:sigma=0.5", m2=SHUFFLED))
    assert answer.headline == (
        "DP-SGD allows at least as much as Gaussian (σ = 0.5) leaks, at every FPR; which leaks "
        "less is open."
    )
    (unlike,) = [x for x in answer.sentences if x.startswith("Neighbouring relations differ")]
    assert "Gaussian (σ = 0.5): add or remove one record; DP-SGD" in unlike
    exact, bound = answer.cards
    assert not exact.value.startswith("≤")
    assert "ε = " in exact.beside
    assert bound.value.startswith("≤ ")
    assert "ε ≤ " in bound.beside
    assert {card.mark for card in answer.cards} == {Mark.PLAIN}
    filed = VIEW.report(asked(mechanism="gaussian:sigma=0.5", m2=SHUFFLED))
    assert unlike in filed.reasons
    assert filed.numbers[1].value.startswith("≤ ")
    scopes = [row[-1] for row in filed.tables[0].rows]
    assert [scope.startswith("upper bounds") for scope in scopes] == [False, True]


def test_what_leaks_least_for_sure_is_marked():
    marks = [card.mark for card in VIEW.answer(asked(m2="laplace:epsilon=2")).cards]
    assert marks == [Mark.GOOD, Mark.PLAIN]
    marks = [card.mark for card in VIEW.answer(asked(m2="any:epsilon=0.5")).cards]
    assert marks == [Mark.PLAIN, Mark.GOOD]


def test_two_that_would_be_called_alike_keep_their_texts(table):
    texts = ("gaussian:sigma=1", "gaussian:sigma=1.0000001")
    answer = VIEW.answer(asked(mechanism=texts[0], m2=texts[1]))
    assert [card.name for card in answer.cards] == [*texts]
    assert table(answer, "Every risk").head[2:] == texts


@pytest.mark.parametrize("picture", ["roc", "roc-log", "tradeoff"])
def test_crossings_lie_on_both_curves(picture):
    drawing = VIEW.answer(asked(picture=picture)).drawing
    assert len(drawing.spots) == 2
    for text in ("laplace:epsilon=1", "gaussian:sigma=1"):
        curve = parse(text).curve()
        for spot in drawing.spots:
            height = curve.tpr(spot.x) if picture.startswith("roc") else curve.beta(spot.x)
            assert spot.y == pytest.approx(float(height), abs=1e-9)


def test_a_crossing_beyond_the_picture_is_not_drawn_at_its_edge():
    values = {"mechanism": "laplace:epsilon=8", "m2": "gaussian:sigma=0.75"}
    everywhere = VIEW.answer(asked(**values)).drawing.spots
    seen = VIEW.answer(asked(picture="roc-log", **values)).drawing.spots
    assert min(one.x for one in everywhere) < 1e-6
    assert min(one.x for one in seen) >= 1e-6


def test_compositions_may_wait():
    values = {"m2": "gaussian:sigma=4,repeated=9"}
    assert "pairs" in fields(VIEW.controls(asked(**values)))
    assert "pairs" not in fields(VIEW.controls(CompareState()))
    waiting = VIEW.answer(asked(pairs=False, **values))
    assert waiting.headline == "2 mechanisms side by side."
    assert "not computed" in waiting.sentences[0]
    assert not waiting.drawing.spots
    # Without a composition there is no such tick to have cleared.
    assert VIEW.answer(asked(pairs=False)).drawing.spots


def test_places_are_filled_and_left():
    found = fields(VIEW.controls(CompareState()))
    assert {"mechanism", "mechanism.0.epsilon", "m2", "m2.0.sigma", "m3", "d1"} <= set(found)
    assert not {"m4", "d2"} & set(found)
    moved = asked(
        "m2.0.sigma", mechanism="", m2="gaussian:sigma=1", m3="any:mu=1", **{"m2.0.sigma": 3}
    )
    assert list(moved.mechanisms.values()) == ["gaussian:sigma=3", "any:mu=1"]
    assert "mechanism" in fields(VIEW.controls(moved))
    full = asked(m3="any:mu=1", m4="any:mu=2", d1=EMOJIS)
    assert not {"m5", "d2"} & set(fields(VIEW.controls(full)))


def test_a_composition_that_was_typed_keeps_its_dials():
    state = asked("mechanism", mechanism="gaussian:sigma=2,repeated=3+laplace:epsilon=1")
    assert {
        "mechanism.0.sigma",
        "mechanism.0.repeated",
        "mechanism.1.epsilon",
    } <= set(fields(VIEW.controls(state)))


def test_a_url_brings_the_view_back():
    state = asked(mechanism="", m4="any:mu=1", d2=EMOJIS, prior=0.1, picture="tradeoff")
    assert VIEW.read(from_query(to_query(state))) == state


@pytest.mark.parametrize(
    "values",
    [
        {"m2": ""},
        {"m2": "laplace:epsilon=1"},
        {"d1": "nowhere"},
        {"m3": "any:mu=1", "m4": "any:mu=2", "m5": "any:mu=3", "d1": EMOJIS},
        {"prior": "1"},
        {"mechanism": "nonsense"},
    ],
    ids=str,
)
def test_bad_values_are_refused(values):
    with pytest.raises(InvalidArgument):
        VIEW.answer(asked(**values))


def test_an_empty_text_is_no_mechanism_whatever_dials_say():
    assert VIEW.read({"mechanism": "", "mechanism.0.epsilon": 3}, "prior").mechanism == ""
    assert VIEW.read({}).mechanism == CompareState().mechanism
    assert (
        VIEW.read({"mechanism": "laplace:epsilon=1", "mechanism.0.epsilon": 3}).mechanism
        == "laplace:epsilon=3"
    )


@pytest.mark.parametrize("values", [*CASES.values(), {"m2": "", "d1": EMOJIS}])
def test_the_report_has_the_tables_and_crossings_of_the_page(values, table):
    answer, filed = VIEW.answer(asked(**values)), VIEW.report(asked(**values))
    assert answer.reports
    rows = {each.title: each.rows for each in filed.tables}
    for title in ("Every risk", "By how much"):
        shown = [row[1:] for row in table(answer, title).rows]
        assert [row[1:] for row in rows[title]] == shown
    places = [[(spot.x, spot.y) for spot in each.spots] for each in filed.drawings]
    assert places == [[(x.x, x.y) for x in each.spots] for each in answer.drawings[:2]]
    assert len(filed.reasons) == len(words(answer, "Who leaks more")[0])


def test_the_reports_command_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for values in ({}, {"m2": "", "d1": EMOJIS}):
        filed = VIEW.report(asked(**values))
        assert main(shlex.split(filed.made.command)[1:]) == 0
        written = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        there = [row[-1] for row in written["tables"][1]["rows"]]
        assert there == [row[-1] for row in filed.tables[1].rows]
