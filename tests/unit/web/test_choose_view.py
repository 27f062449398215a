"""The view that chooses: its numbers are the library's, and its code gives them again."""

import numpy as np
import pytest
from copied_code import printed
from queries import from_query

from tellapart import risk
from tellapart.choose import at_least, at_most
from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS, families, named_family, parse, terms
from tellapart.mechanisms.subject import curve_of
from tellapart.risk.catalogue import limited
from tellapart.web.controls import ControlGroup
from tellapart.web.view import to_query
from tellapart.web.views import choose, limits_drawn
from tellapart.web.views.choose import VIEW, ChooseState


def asked(changed=None, **values):
    return VIEW.read(values, changed)


def fields(controls):
    found = []
    for one in controls:
        found += fields(one.controls) if isinstance(one, ControlGroup) else [one.field]
    return found


CASES = {
    "laplace": {},
    "noise, two limits": {
        "mechanism": "gaussian:sensitivity=2",
        "on_max_ppv": "yes",
        "max_ppv": "0.05",
        "prior": "0.001",
    },
    "every limit": {f"on_{key}": "yes" for key in limited()},
    "any": {"mechanism": "any:delta=1e-5", "on_min_bayes_error": "yes"},
    "no number": {"mechanism": "randomized-response:categories=4"},
    "another parameter": {"mechanism": "laplace:sensitivity=1", "parameter": "scale"},
    "a composition, as certified as the command": {
        "mechanism": "gaussian:sensitivity=1,repeated=3"
    },
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_what_is_copied_gives_what_is_shown(values, table, parsed):
    state = asked(**values)
    answer = VIEW.answer(state)
    out, data = printed(answer.python), parsed(answer.command.removeprefix("tellapart "))
    first, _, by = answer.sentences[0].removesuffix(".").partition(f" for {state.mechanism}")
    shown = by.removeprefix(", by ") or first  # noise comes first, where ε was chosen
    number = float(answer.number)
    assert answer.number in answer.headline
    assert float(first.partition(" = ")[2]) == pytest.approx(number, rel=1e-4)
    assert shown in out.splitlines()
    assert shown == f"{data['parameter']} = {data['value']:.10g}"
    assert f": {data['rounded']} from {data['unrounded']:.10g}." in answer.sentences[2]
    rest = table(answer, "Every risk")
    lines = [" ".join(row[:4]) for row in rest.rows]
    assert lines == [line for line in out.splitlines() if line in lines]
    told = [(one["name"], one["shown"], one["meaning"]) for one in data["readings"]]
    assert told == [(row[0], row[2], row[4]) for row in rest.rows]
    cost = table(answer, "Sensitivity analysis")
    assert [row[0] for row in cost.rows] == [f"{row['value']:g}" for row in data["frontier"]]
    words = [line.split() for line in out.splitlines()]
    for row in cost.rows:
        assert list(filter(None, row[:-1])) in [[x for x in line if x != "–"] for line in words], (
            row
        )
    binds = [row[0] for row in table(answer, "Your limits").rows if row[3]]
    assert binds == [data["binding"]]
    assert answer.mark is Mark.GOOD


def test_a_composition_is_not_called_certified_unless_it_is():
    state = asked(mechanism="gaussian:sensitivity=1,repeated=3", certified="no")
    answer = VIEW.answer(state)
    assert any("not certified" in one for one in answer.sentences)
    assert "The command below certifies it" in answer.sentences[-1]
    assert answer.mark is Mark.PLAIN
    assert "certified=False" in answer.python
    assert "certified" in fields(VIEW.controls(state))
    assert "certified" not in fields(VIEW.controls(ChooseState()))


def test_page_code_and_command_choose_one_number(parsed):
    text = "dpsgd:epochs=15,batch_size=256,data_size=60000"
    answer = VIEW.answer(asked(mechanism=text))
    assert f"{answer.number} or more" in answer.headline
    assert parsed(answer.command.removeprefix("tellapart "))["value"] == float(answer.number)
    (training,) = [code.text for code in answer.codes if "noise_multiplier" in code.text]
    assert answer.number in training


def test_dp_sgd_is_chosen_by_noise_steps_or_rate():
    (start, *_) = families(KINDS["dpsgd"]).values()
    state = asked(mechanism=start, **{"mechanism.0.steps": 500})
    assert VIEW.answer(state).headline.startswith("Train with a noise multiplier of ")
    later = asked("parameter", mechanism=state.mechanism, parameter="steps")
    assert later.mechanism == "dpsgd:noise_multiplier=1,sampling_rate=0.01"


def test_what_is_left_open_follows_the_mechanism():
    assert asked("mechanism", mechanism="gaussian", parameter="epsilon").parameter == ""
    moved = asked(
        "parameter",
        mechanism="gaussian:sensitivity=1",
        parameter="epsilon",
        **{"mechanism.0.sensitivity": 3, "mechanism.0.repeated": 4},
    )
    assert moved.mechanism == "gaussian:delta=1e-5,sensitivity=3,repeated=4"
    assert named_family(moved.mechanism, moved.parameter or None).parameter == "epsilon"
    back = asked("parameter", mechanism=moved.mechanism, parameter="sigma")
    assert back.mechanism == "gaussian:sensitivity=3,repeated=4"


def test_every_start_leaves_open_what_it_says():
    for name, kind in KINDS.items():
        for parameter, text in families(kind).items():
            assert named_family(text, parameter).parameter == parameter
            assert named_family(text, parameter).name == name
            assert "mechanism" in fields(VIEW.controls(asked(mechanism=text, parameter=parameter)))


def test_a_url_brings_the_view_back():
    state = asked(mechanism="laplace:sensitivity=2", parameter="scale", on_max_tpr=True, fpr=0.1)
    assert VIEW.read(from_query(to_query(state))) == state
    assert to_query(ChooseState()) == ""


def test_limits_have_a_dial_while_they_are_on():
    found = fields(VIEW.controls(asked(on_max_advantage=False, on_max_precision=True)))
    assert {"max_precision", "recall"} <= set(found)
    assert not {"max_advantage", "weight", "at_delta"} & set(found)


def test_what_cannot_be_kept_is_said(run):
    answer = VIEW.answer(asked(mechanism="gaussian:sensitivity=1", on_max_posterior=True))
    assert (answer.headline, answer.mark) == ("No sigma keeps these limits", Mark.BAD)
    code, _, err = run(answer.command.removeprefix("tellapart "))
    assert code != 0
    assert answer.sentences[0].removesuffix(".") in " ".join(err.split())


def test_what_never_binds_and_what_is_not_asked_is_said(run):
    free = VIEW.answer(asked(max_advantage=1))
    assert run(free.command.removeprefix("tellapart "))[1].strip() == free.headline
    assert VIEW.answer(asked(on_max_advantage=False)).headline == "Set a limit"


@pytest.mark.parametrize(
    "values",
    [
        {"max_advantage": "1.5"},
        {"max_advantage": "lots"},
        {"prior": "0"},
        {"mechanism": "laplace:sensitivity=1+gaussian"},
        {"mechanism": "any:zcdp=1"},
        {"mechanism": "nonsense"},
    ],
    ids=str,
)
def test_bad_values_are_refused(values):
    with pytest.raises(InvalidArgument):
        VIEW.answer(asked(**values))


@pytest.mark.parametrize("mechanism", ["laplace:sensitivity=1", "randomized-response:categories=2"])
def test_the_picture_of_the_cost_has_the_choice_at_its_limit(mechanism):
    drawing = VIEW.answer(asked(mechanism=mechanism, on_max_f_score="yes")).drawing
    (spot,) = drawing.spots
    assert 0.999 < spot.y <= 1
    for line in drawing.traces[1:]:
        assert np.interp(spot.x, line.x, line.y) <= 1
        assert max(line.y) <= drawing.y.high
        assert list(line.x) == sorted(line.x)
        assert drawing.x.low <= min(line.x) <= max(line.x) <= drawing.x.high


def test_a_share_of_one_is_the_limit():
    assert limits_drawn.shares(at_most(0.2, risk.advantage), 0.1) == 0.5
    assert limits_drawn.shares(at_least(0.2, risk.bayes_error, prior=0.5), 0.4) == 0.5
    assert limits_drawn.shares(at_least(0.2, risk.bayes_error, prior=0.5), 0) == np.inf


@pytest.mark.parametrize(
    ("key", "measured"),
    [
        ("max_tpr", lambda x, y: y),
        ("max_ppv", lambda x, y: 0.1 * y / (0.1 * y + 0.9 * x)),
        ("max_precision", lambda x, y: 0.1 * y / (0.1 * y + 0.9 * x)),
    ],
    ids=["max_tpr", "max_ppv", "max_precision"],
)
def test_limits_lie_where_they_are_reached(key, measured):
    values = {"on_max_advantage": False, f"on_{key}": True, key: 0.3, "prior": 0.1}
    answer = VIEW.answer(asked(picture="roc", **values))
    (spot,) = answer.drawing.spots
    assert measured(spot.x, spot.y) == pytest.approx(0.3)
    # The limit binds: the curve that is chosen goes through it, or just beneath.
    line = answer.drawing.traces[1]
    assert np.interp(spot.x, line.x, line.y) == pytest.approx(spot.y, abs=0.01)


def test_limits_on_advantage_and_epsilon_are_lines_that_the_curve_keeps_beneath():
    drawing = VIEW.answer(asked(picture="roc-log", on_max_epsilon=True)).drawing
    _, curve, *bounds = drawing.traces
    assert [one.name for one in bounds] == ["membership advantage ≤ 0.1", "ε ≤ 1 at δ = 1e-5"]
    assert len({curve.ink, *(one.ink for one in bounds)}) == 3
    for bound in bounds:
        assert bound.x == curve.x
        assert np.all(np.array(curve.y) <= np.array(bound.y) + 1e-12)


def test_bounds_on_guesses_are_limits_and_said_in_words():
    state = choose.ChooseState(
        on_max_advantage=False, on_max_reconstruction=True, on_max_singling_out=True
    )
    answer = choose._answer(state)
    assert "reconstruction ≤ 0.02, baseline 0.01" in " ".join(answer.sentences)
    (said,) = [part for part in answer.parts if part.title == "In words"]
    assert said.sentences[0].startswith("Whoever could guess this about a person with chance 0.01")
    assert said.sentences[1].startswith("Among 1,000 people, a description that fits one person")
    assert "--baseline 0.01" in answer.command
    assert "--predicate-weight 1e-06 --people 1000.0" in answer.command
    plain = choose._answer(choose.ChooseState())
    assert "In words" not in [part.title for part in plain.parts]


def test_a_mechanism_from_another_view_is_chosen_anew_and_handed_on():
    for text, asked_of in (
        ("laplace:epsilon=1", "laplace"),
        ("gaussian:epsilon=1,delta=1e-5", "gaussian:delta=1e-5"),
        ("dpsgd:noise_multiplier=2,epochs=1,batch_size=64,data_size=6400", None),
        ("dpsgd:epsilon=8,delta=1e-5,epochs=1,batch_size=64,data_size=6400", None),
    ):
        state = asked(mechanism=text)
        schedule = "dpsgd:epochs=1,batch_size=64,data_size=6400"
        assert state.mechanism == (asked_of or schedule)
        handed = VIEW.answer(state).mechanism
        limit = at_most(0.1, risk.advantage)
        assert limit.value(curve_of(parse(handed))) <= 0.1
    mu = asked(mechanism="any:mu=1")
    assert (mu.mechanism, mu.parameter) == ("any", "mu")


def test_other_schedules_keep_the_same_limits_and_can_be_taken_over():
    state = asked(mechanism="dpsgd:epochs=1,batch_size=64,data_size=6400")
    found = choose.ways(state)
    assert VIEW.answer(state).later == ("ways", found.title)
    assert [row[0] for row in found.rows] == ["16", "64", "256", "1,024"]
    for row, sets in zip(found.rows[:2], found.sets[:2], strict=True):
        for cell, values in list(zip(row[1:], sets, strict=True))[:2]:
            noise = float(cell.split()[0])
            taken = asked("mechanism", **values)
            (term,) = terms(taken.mechanism)
            made = parse(str(term), noise_multiplier=noise)
            assert risk.advantage(made.curve()) <= 0.1
            assert row[0] == f"{term.values['batch_size']:,.0f}"


def test_cards_show_how_much_of_each_limit_is_used():
    answer = VIEW.answer(asked(on_max_tpr="yes", max_tpr="0.02"))
    binding, kept, epsilon, error = answer.cards
    assert binding.beside.startswith("binding constraint; without the output 0")
    assert kept.beside.startswith("kept; without the output 0")
    assert 0.99 < max(binding.share, kept.share) <= 1
    assert epsilon.name == "ε at δ = 1e-5"
    assert error.value.startswith("± ")


@pytest.mark.parametrize(
    "values",
    [
        {"mechanism": "randomized-response", "on_max_advantage": "no", "on_max_epsilon": "yes"},
        {"mechanism": "randomized-response"},
        {"on_max_advantage": "no", "on_max_tpr": "yes"},
        {"on_max_epsilon": "yes", "max_epsilon": "0.1"},
        {"mechanism": "dpsgd:epochs=15,batch_size=256,data_size=60000"},
    ],
)
def test_four_cards_say_four_things(values):
    cards = VIEW.answer(asked(**values)).cards
    names = [card.name for card in cards]
    assert len(set(names)) == len(names) == 4
    assert cards[0].beside.startswith("binding constraint")
