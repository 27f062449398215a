"""Controls: every dial says which way it goes, and nothing on the page is called by halves."""

import pytest

from tellapart.drawing.record import Mark
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS, PARAMETERS, PrivateSide
from tellapart.web import controls
from tellapart.web.controls import ControlGroup, Dial
from tellapart.web.views import VIEWS
from tellapart.web.views.compare import FIELDS

ALL_LIMITS = {
    f"on_{key}": "yes"
    for key in ("max_precision", "max_f_score", "max_epsilon", "min_bayes_error", "max_tpr")
}
STATES = [
    *((path, {}) for path in VIEWS),
    ("/choose", ALL_LIMITS),
    ("/correlated", {"about": "chain"}),
    ("/correlated", {"measure": "ppv"}),
    ("/check", {"mechanism": "gaussian:sigma=1"}),
    *(("/explore", {"mechanism": kind.first_text}) for kind in KINDS.values()),
    ("/explore", {"mechanism": "staircase:epsilon=1,sensitivity=1,fraction=0.3"}),
    ("/explore", {"mechanism": "truncated-laplace:epsilon=1,delta=1e-5"}),
    ("/explore", {"mechanism": "randomized-response:epsilon=1,categories=4"}),
]


def flat(controls):
    for one in controls:
        if isinstance(one, ControlGroup):
            yield from flat(one.controls)
        else:
            yield one


@pytest.mark.parametrize(("path", "values"), STATES)
def test_every_dial_says_what_its_ends_mean_and_has_a_name_of_its_own(path, values):
    view = VIEWS[path]
    dials = [one for one in flat(view.controls(view.read(values))) if isinstance(one, Dial)]
    assert [one.label for one in dials if one.private is PrivateSide.NEITHER and not one.ends] == []
    if path == "/choose":
        names = [one.label for one in dials]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize(("path", "values"), STATES)
def test_every_dial_goes_up_and_begins_between_its_ends(path, values):
    view = VIEWS[path]
    dials = [item for item in flat(view.controls(view.read(values))) if isinstance(item, Dial)]
    begin = [dial for dial in dials if dial.value]  # 0 may stand for none, or for not known
    assert [dial.field for dial in dials if not dial.low < dial.high] == []
    assert [dial.field for dial in begin if not dial.low <= dial.value <= dial.high] == []


def test_a_parameter_that_is_neither_more_nor_less_private_says_what_its_ends_mean():
    for key, parameter in PARAMETERS.items():
        neither = parameter.private_side is PrivateSide.NEITHER
        assert bool(controls.parameter_dial("x", key, 2).ends) == neither


def test_mechanisms_are_called_as_people_write_them():
    names = {kind.words for kind in KINDS.values()}
    assert {"Discrete Laplace", "Report noisy max", "Any mechanism with ε and δ"} <= names
    assert all(name[0].isupper() for name in names)


def test_groups_without_controls_are_not_shown():
    five = {field: f"laplace:epsilon={k}" for k, field in enumerate(FIELDS, 1)}
    view = VIEWS["/compare"]
    groups = [one for one in view.controls(view.read(five)) if isinstance(one, ControlGroup)]
    assert all(one.controls for one in groups)


def test_delta_of_a_promise_has_a_dial_even_where_it_is_zero():
    view = VIEWS["/explore"]
    state = view.read({"mechanism": "any:epsilon=2"})
    dial = next(one for one in flat(view.controls(state)) if one.field == "mechanism.0.delta")
    assert dial.value == 0
    values = {"mechanism": "any:epsilon=2", "mechanism.0.epsilon": 2, "mechanism.0.delta": 0}
    assert view.read(values, changed="prior").mechanism == "any:epsilon=2"
    turned = view.read({**values, "mechanism.0.delta": 1e-5}, changed="mechanism.0.delta")
    assert turned.mechanism == "any:epsilon=2,delta=1e-5"


@pytest.mark.parametrize("prior", [1e-6, 3e-5, 0.002, 0.5])
def test_words_speak_of_so_many_people_that_a_member_is_among_them(prior):
    view = VIEWS["/explore"]
    answer = view.answer(view.read({"prior": prior}))
    crowd = answer.parts[0].sentences[0]
    people = int(crowd.split()[1].replace(",", ""))
    guessed = people * prior * 0.01  # of the members, at the FPR
    assert guessed >= 1 - 1e-9
    assert people == 1_000 or guessed < 10
    assert "--out-of" not in answer.command


@pytest.mark.parametrize("kind", ["roc", "roc-log", "tradeoff"])
def test_the_attacker_of_the_numbers_is_on_the_curve(kind):
    view = VIEWS["/explore"]
    drawing = view.answer(view.read({"picture": kind, "fpr": 0.1})).drawing
    (spot,) = drawing.spots
    line = drawing.traces[1]
    near = min(zip(line.x, line.y, strict=True), key=lambda one: abs(one[0] - spot.x))
    assert spot.mark is Mark.PLAIN
    assert spot.x == 0.1
    assert spot.y == pytest.approx(near[1], abs=0.05)


@pytest.mark.parametrize("kind", ["roc", "roc-log", "tradeoff", "precision"])
def test_no_picture_cuts_the_corner_of_a_promise(kind):
    view = VIEWS["/explore"]
    drawing = view.answer(view.read({"mechanism": "any:epsilon=3", "picture": kind})).drawing
    corner = 1 / (1 + 2.718281828459045**3)
    wanted = 1 - corner if kind == "precision" else corner
    assert min(abs(x - wanted) for x in drawing.traces[1].x) < 1e-12


@pytest.mark.parametrize("path", ["/explore", "/choose"])
def test_a_sampling_scheme_is_a_list_that_keeps_what_was_chosen(path):
    view = VIEWS[path]
    noise = "noise_multiplier=1," if path == "/explore" else ""
    text = f"dpsgd:{noise}sampling_rate=0.01,steps=1000"
    (offered,) = (
        item
        for item in flat(view.controls(view.read({"mechanism": text})))
        if item.field == "mechanism.0.scheme"
    )
    assert isinstance(offered, controls.Select)
    assert offered.value == "poisson"
    assert [word for word, _ in offered.options] == [
        "poisson",
        "fixed-size",
        "random-allocation",
        "shuffled",
        "truncated-poisson",
    ]
    turned = {"mechanism": text, "mechanism.0.scheme": "fixed-size"}
    assert view.read(turned, "mechanism.0.scheme").mechanism == f"{text},scheme=fixed-size"
    back = {"mechanism": f"{text},scheme=fixed-size", "mechanism.0.scheme": "poisson"}
    assert view.read(back, "mechanism.0.scheme").mechanism == text


def test_an_unknown_sampling_scheme_is_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"^scheme must be one of poisson, fixed-size"):
        VIEWS["/explore"].read({"mechanism": "dpsgd:steps=1", "mechanism.0.scheme": "sorted"})
