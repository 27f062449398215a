"""Curves in and out: JSON bit for bit, dp_accounting on the sound side."""

import dataclasses
import json
import math
import re
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.closed import LaplaceCurve

NAN, INF = math.nan, math.inf
LAPLACE = ta.Laplace(1).curve()
PLD = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

# -- JSON ---------------------------------------------------------------------------------------


def same(a, b):
    """The same numbers, bit for bit."""
    alpha = np.concatenate([[0, 1e-300, 1e-12], np.linspace(0, 1, 57), [1 - 1e-12]])
    epsilon = np.concatenate([[-INF], np.linspace(-9, 9, 57), [800, INF]])
    return (
        type(a) is type(b)
        and a.bound is b.bound
        and np.array_equal(a.beta(alpha), b.beta(alpha))
        and np.array_equal(a.tpr(alpha), b.tpr(alpha))
        and np.array_equal(a.delta(epsilon), b.delta(epsilon))
        and np.array_equal(a.epsilon(alpha), b.epsilon(alpha))
        and all(map(np.array_equal, a.rates(epsilon), b.rates(epsilon)))
        and a.area() == b.area()
    )


def test_json_brings_every_curve_back_bit_for_bit(curve):
    text = ta.to_json(curve)
    assert isinstance(text, str)
    assert same(ta.from_json(text), curve)
    assert ta.to_json(ta.from_json(text)) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: ta.Laplace.with_epsilon(5000).curve(),
        lambda: ta.Laplace.with_epsilon(1 / 3).curve(),
        lambda: ta.guarantee(0, 5e-324),
        lambda: ta.RandomizedResponse(800).curve(ta.Order.PRESENT),
        lambda: ta.from_pmfs([1, 0], [0, 1]),
        lambda: ta.from_pmfs([0.1, 0.2, 0.7], [0.7, 0.2, 0.1]).mirrored(),
        lambda: ta.worst_case([LAPLACE, ta.worst_case([ta.Gaussian(2).curve(), LAPLACE])]),
        lambda: ta.worst_case([LAPLACE, ta.DiscreteGaussian(2).curve()]),
    ],
)
def test_json_keeps_awkward_numbers(make):
    assert same(ta.from_json(ta.to_json(make())), make())


def test_json_is_strict(curve):
    """No NaN, no Infinity: any reader of JSON can read it."""

    def refuse(constant):
        pytest.fail(f"{constant} is not JSON")

    content = json.loads(ta.to_json(curve), parse_constant=refuse)
    assert content["tellapart_curve"] == 1
    assert content["kind"] == type(curve).__name__


def test_json_from_bytes_is_read_too():
    assert ta.from_json(ta.to_json(LAPLACE).encode()) == LAPLACE


START = '{"tellapart_curve": 1, "kind": "LaplaceCurve"'
ATOMS = '{"tellapart_curve": 1, "kind": "AtomicCurve", "bound": "exact", '
WORST = '{"tellapart_curve": 1, "kind": "WorstCase", "bound": "exact", '
WRITTEN = "text must be a curve written by to_json, got "
FORMAT = "text must be a curve written by to_json (format 1), got "
KINDS = (
    "kind in text must be one of AtomicCurve, DiscreteGaussianCurve, GaussianCurve, "
    "GuaranteeCurve, LaplaceCurve, LogisticCurve, PlanarLaplaceCurve, TruncatedLaplaceCurve, "
    "WorstCase, got "
)
FIELDS = "text must have the fields kind, shift, bound, got "


def kind(name, **fields):
    return json.dumps({"tellapart_curve": 1, "kind": name, **fields})


def laplace(shift, bound="exact"):
    return kind("LaplaceCurve", shift=shift, bound=bound)


def atoms(losses, absent, present):
    return kind("AtomicCurve", losses=losses, absent=absent, present=present, bound="exact")


BAD_TEXT = [
    # No JSON, or JSON of something else.
    ("", WRITTEN + "''"),
    ("{", WRITTEN + "'{'"),
    (None, WRITTEN + "None"),
    (3, WRITTEN + "3"),
    (b"\xff\xfe\xfa", WRITTEN + r"b'\xff\xfe\xfa'"),
    ("[]", FORMAT + "'[]'"),
    ("5", FORMAT + "'5'"),
    ("null", FORMAT + "'null'"),
    ('"LaplaceCurve"', FORMAT + "'\"LaplaceCurve\"'"),
    ("{}", FORMAT + "'{}'"),
    ('{"tellapart_curve": 2}', FORMAT + "'{\"tellapart_curve\": 2}'"),
    # No curve that is known.
    ('{"tellapart_curve": 1}', KINDS + "{}"),
    (kind("Nonsense"), KINDS + "'Nonsense'"),
    (WORST + '"curves": [1]}', KINDS + "1"),
    (WORST + '"curves": [{"kind": "WorstCas"}]}', KINDS + "'WorstCas'"),
    # Fields missing, or of another curve.
    (START + "}", FIELDS + "['kind']"),
    (START + ', "shift": 1}', FIELDS + "['kind', 'shift']"),
    (START + ', "mu": 1, "bound": "exact"}', FIELDS + "['bound', 'kind', 'mu']"),
    (
        START + ', "shift": 1, "bound": "exact", "more": 1}',
        FIELDS + "['bound', 'kind', 'more', 'shift']",
    ),
    (
        ATOMS + '"losses": [0]}',
        "text must have the fields kind, losses, absent, present, bound, "
        "got ['bound', 'kind', 'losses']",
    ),
    # Fields of the wrong type.
    (laplace("x"), "shift in text must be a number, got 'x'"),
    (laplace(None), "shift in text must be a number, got None"),
    (laplace(True), "shift in text must be a number, got True"),
    (laplace({}), "shift in text must be a number, got {}"),
    (laplace(NAN), "shift in text must not be NaN, got nan"),
    (laplace(10**400), "shift in text must fit a double, got 1" + "0" * 76 + "..."),
    (laplace([1]), "shift in text must be a number, got [1]"),
    (laplace(1, "sideways"), "bound in text must be lower, exact or upper, got 'sideways'"),
    (laplace(1, None), "bound in text must be lower, exact or upper, got None"),
    (laplace(1, ["exact"]), "bound in text must be lower, exact or upper, got ['exact']"),
    (atoms([[0]], [1], [1]), "losses in text must be a number, got [0]"),
    (atoms([0], [NAN], [1]), "absent in text must not be NaN, got nan"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXT)
def test_malformed_text_is_refused_word_for_word(text, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.from_json(text)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (kind(["LaplaceCurve"]), "kind in text must "),
        (kind({}), "kind in text must "),
        (atoms(1, 1, 1), "losses in text must "),
        (atoms("inf", [1], [1]), "losses in text must "),
        (atoms([0], 1, [1]), "absent in text must "),
        (WORST + '"curves": 5}', "curves in text must "),
        (WORST + '"curves": "inf"}', "curves in text must "),
    ],
)
def test_a_field_of_the_wrong_shape_is_named(text, start):
    with pytest.raises(ta.InvalidArgument, match=f"^{start}"):
        ta.from_json(text)


IMPOSSIBLE = [
    (laplace(-1), "shift must be finite and at least 0, got -1.0"),
    (laplace("inf"), "shift must be finite and at least 0, got inf"),
    (laplace(INF), "shift must be finite and at least 0, got inf"),
    (
        kind("LogisticCurve", shift=-1, bound="exact"),
        "shift must be finite and at least 0, got -1.0",
    ),
    (
        kind("GuaranteeCurve", claimed_epsilon=1, claimed_delta=5, bound="lower"),
        "claimed_delta must lie in [0, 1], got 5.0",
    ),
    (
        kind("GuaranteeCurve", claimed_epsilon="inf", claimed_delta=0, bound="lower"),
        "claimed_epsilon must be finite and at least 0, got inf",
    ),
    (
        kind("GaussianCurve", mu=0, bound="exact"),
        "mu must be finite and greater than 0, got 0.0",
    ),
    (
        kind("PlanarLaplaceCurve", shift=0, bound="exact"),
        "shift must lie in (0, 1e8], got 0.0",
    ),
    (
        kind("PlanarLaplaceCurve", shift=1e13, bound="exact"),
        "shift must lie in (0, 1e8], got 10000000000000.0",
    ),
    (
        kind("TruncatedLaplaceCurve", shift=2, cutoff=1, bound="exact"),
        "cutoff must exceed half the shift 2.0, got 1.0",
    ),
    (
        kind("TruncatedLaplaceCurve", shift=0, cutoff="inf", bound="exact"),
        "cutoff must be finite, got inf",
    ),
    (
        kind("DiscreteGaussianCurve", sigma=2, shift=1.5, bound="exact"),
        "shift must be a whole number, got 1.5",
    ),
    (
        kind("DiscreteGaussianCurve", sigma=2, shift=0, bound="exact"),
        "shift must be at least 1, got 0",
    ),
    (
        kind("DiscreteGaussianCurve", sigma=0, shift=1, bound="exact"),
        "sigma must be finite and greater than 0, got 0.0",
    ),
    (atoms([1, 2], [0.5, 0.5], [0.5, 0.5]), "losses must fall strictly, got array([1., 2.])"),
    (atoms([0, 0], [0.5, 0.5], [0.5, 0.5]), "losses must fall strictly, got array([0., 0.])"),
    (atoms([0], [0.5], [1]), "absent must be at least 0 and sum to 1, got array([0.5])"),
    (atoms([0], [1], [0.7]), "present must be at least 0 and sum to 1, got array([0.7])"),
    (
        atoms([1, 0], [1.5, -0.5], [0.5, 0.5]),
        "absent must be at least 0 and sum to 1, got array([ 1.5, -0.5])",
    ),
    (WORST + '"curves": []}', "curves must not be empty, got ()"),
]


@pytest.mark.parametrize(("text", "message"), IMPOSSIBLE)
def test_an_impossible_curve_is_refused_word_for_word(text, message):
    """A number read off such a curve would be wrong without a word."""
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.from_json(text)


def test_no_atoms_are_not_said_to_differ_in_number():
    with pytest.raises(ta.InvalidArgument, match=r"^losses.* must not be empty"):
        ta.from_json(atoms([], [], []))


@pytest.mark.parametrize("lengths", [(2, 1, 2), (2, 2, 3), (1, 2, 2)])
def test_columns_of_different_length_are_refused_and_all_lengths_shown(lengths):
    columns = (np.linspace(1, 0, lengths[0]), *(np.full(n, 1 / n) for n in lengths[1:]))
    with pytest.raises(ta.InvalidArgument, match=r"^losses, absent and present must ") as caught:
        ta.from_json(atoms(*(column.tolist() for column in columns)))
    shown = str(caught.value).partition(", got ")[2]
    assert [int(n) for n in re.findall(r"\d+", shown)] == list(lengths)


def test_losses_that_contradict_their_masses_are_refused():
    """Equal masses have loss 0; called 5, the profile and the rates would disagree."""
    with pytest.raises(ta.InvalidArgument, match=r"^losses "):
        ta.from_json(atoms([5, -5], [0.5, 0.5], [0.5, 0.5]))


def test_a_side_that_the_parts_do_not_have_is_refused():
    """The worst of two attacks is no exact curve, that of an attack and a claim no curve."""
    parts = [json.loads(laplace(1, side)) for side in ("upper", "lower")]
    for part in parts:
        del part["tellapart_curve"]
    for curves, bound in ((parts, "exact"), (parts[:1] * 2, "exact"), (parts[1:] * 2, "upper")):
        with pytest.raises(ta.InvalidArgument):
            ta.from_json(kind("WorstCase", curves=curves, bound=bound))


def test_a_text_nested_too_deeply_is_refused():
    part = '{"kind": "WorstCase", "bound": "exact", "curves": ['
    for text in ("[" * 100_000, WORST + '"curves": [' + part * 100_000):
        with pytest.raises(ta.InvalidArgument, match=r"^text must "):
            ta.from_json(text)


@pytest.mark.parametrize(("bad", "shown"), [(None, "None"), ("x", "'x'"), (1, "1")])
def test_only_curves_are_written(bad, shown):
    for write in (ta.to_json, ta.to_dp_accounting):
        message = f"curve must be a TradeoffCurve (a mechanism's is mechanism.curve()), got {shown}"
        with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
            write(bad)


@dataclass(frozen=True)
class Homemade(LaplaceCurve):
    """A curve class that from_json does not know."""


class Bare(ta.TradeoffCurve):
    """A curve that is no dataclass."""

    bound = ta.Bound.EXACT

    def _rates(self, threshold):
        return LAPLACE._rates(threshold)

    def _largest_loss(self):
        return 1.0

    def _mirrored(self):
        return self


@pytest.mark.parametrize("curve_of_ones_own", [Homemade(1.0), Bare()], ids=["dataclass", "bare"])
def test_what_cannot_be_read_back_is_not_written(curve_of_ones_own):
    name = type(curve_of_ones_own).__name__
    message = f"a curve of the class {name} cannot be stored: keep what it was made from"
    for unknown in (curve_of_ones_own, ta.worst_case([LAPLACE, curve_of_ones_own])):
        with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
            ta.to_json(unknown)


MADE_OF_STEPS = [
    ta.dp_sgd(1.0, 0.01, 1_000),
    ta.Laplace(1).repeated(2),
    ta.Laplace.with_epsilon(0.05).repeated(400),
    ta.Gaussian(1).sampled(0.1),
    ta.Gaussian(1).sampled(0.1).for_group(2),
    ta.Promise(1, 1e-3).then(ta.Gaussian(1)),
    ta.dp_sgd(1.0, 0.01, 1, scheme=ta.Sampling.WITHOUT_REPLACEMENT),
]


@pytest.mark.parametrize("mechanism", MADE_OF_STEPS, ids=repr)
@pytest.mark.parametrize("order", [None, ta.Order.PRESENT])
def test_the_curve_of_steps_is_refused_in_words_and_its_bracket_is_stored(mechanism, order):
    message = (
        "the curve of a composition or a sample cannot be stored: keep the mechanism, or store "
        "mechanism.bracket(...).lower"
    )
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        ta.to_json(mechanism.curve(order))
    advised = mechanism.bracket(delta=1e-2, gap=1e-3, order=order).lower
    read = ta.from_json(ta.to_json(advised))
    assert read.bound is ta.Bound.LOWER
    assert read.epsilon(0.01) == advised.epsilon(0.01)


# -- to dp_accounting ---------------------------------------------------------------------------

BAD_MESH = [
    (0, "discretization must be finite and greater than 0, got 0"),
    (-1, "discretization must be finite and greater than 0, got -1"),
    (INF, "discretization must be finite and greater than 0, got inf"),
    (NAN, "discretization must not be NaN, got nan"),
    ("a", "discretization must be a number, got 'a'"),
    (None, "discretization must be a number, got None"),
]


@pytest.mark.parametrize(("mesh", "message"), BAD_MESH)
def test_a_bad_mesh_is_refused_word_for_word(mesh, message):
    for call in (
        lambda: ta.to_dp_accounting(LAPLACE, mesh),
        lambda: ta.from_dp_accounting(None, mesh),
    ):
        with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
            call()


def test_a_mesh_too_fine_is_refused():
    message = "discretization must be coarser for a curve of this reach, got 1e-9"
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.to_dp_accounting(LAPLACE, 1e-9)


def test_an_attack_is_no_guarantee():
    message = "an attack's curve (Bound.UPPER) is no guarantee: dp_accounting needs one"
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        ta.to_dp_accounting(ta.attack([(0.1, 0.6)]))


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    message = "to_dp_accounting needs: pip install 'tellapart[accounting]'"
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        ta.to_dp_accounting(LAPLACE)


def test_the_library_works_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    assert same(ta.from_json(ta.to_json(LAPLACE)), LAPLACE)


MESH = 1e-2
EPSILONS = np.array([0, 0.0037, 0.1, 0.25, 0.4999, 0.77, 1, 1.003, 1.7, 2.5, 4.01, 8, 15])


def deltas(pld):
    return np.array([pld.get_delta_for_epsilon(float(e)) for e in EPSILONS])


def test_dp_accounting_errs_towards_the_attacker_and_not_by_much(curve):
    if curve.bound is ta.Bound.UPPER:
        pytest.skip("an attack is no guarantee")
    exact = curve.symmetrised().delta(EPSILONS)
    found = deltas(ta.to_dp_accounting(curve, MESH))
    assert np.all(found >= exact - 1e-12)
    assert found == pytest.approx(exact, abs=MESH**2)


def test_a_round_trip_comes_back_close_and_on_the_sound_side(curve):
    if curve.bound is ta.Bound.UPPER:
        pytest.skip("an attack is no guarantee")
    both = curve.symmetrised()
    back = ta.from_dp_accounting(ta.to_dp_accounting(curve, MESH), MESH)
    assert back.bound is ta.Bound.LOWER
    assert np.all(back.delta(EPSILONS) >= both.delta(EPSILONS) - 1e-12)
    assert back.delta(EPSILONS) == pytest.approx(both.delta(EPSILONS), abs=2 * MESH**2)
    alpha = np.linspace(0, 1, 21)
    assert np.all(back.beta(alpha) <= both.beta(alpha) + 1e-12)
    assert back.beta(alpha) == pytest.approx(both.beta(alpha), abs=2e-3)


def test_a_finer_mesh_comes_closer():
    curve = ta.Gaussian(1).curve()
    errors = [
        np.max(deltas(ta.to_dp_accounting(curve, mesh)) - curve.delta(EPSILONS))
        for mesh in (1e-1, 1e-2, 1e-3)
    ]
    assert errors[0] > 20 * errors[1] > 400 * errors[2] > 0


def test_what_went_out_can_be_composed_there():
    """Four Gaussians of μ = ½ are one of μ = 1."""
    composed = ta.to_dp_accounting(ta.Gaussian(2).curve(), MESH).self_compose(4)
    exact = ta.Gaussian(1).curve().delta(EPSILONS)
    assert np.all(deltas(composed) >= exact - 1e-12)
    assert deltas(composed) == pytest.approx(exact, abs=4 * MESH**2)


def test_a_revealing_chance_beside_unbounded_losses_is_carried_over():
    curve = ta.worst_case([ta.guarantee(1, 0.01), ta.Gaussian(0.5).curve()])
    found = deltas(ta.to_dp_accounting(curve, MESH))
    assert np.all(found >= curve.delta(EPSILONS) - 1e-12)


# -- from dp_accounting -------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "shown"), [(None, "None"), (LAPLACE, repr(LAPLACE)), (1, "1")])
def test_only_a_distribution_is_read(bad, shown):
    message = f"pld must be a dp_accounting PrivacyLossDistribution, got {shown}"
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.from_dp_accounting(bad)


REAL = {
    "gaussian": (
        lambda: PLD.from_gaussian_mechanism(1.0, value_discretization_interval=1e-3),
        lambda: ta.Gaussian(1).curve(),
    ),
    "laplace": (
        lambda: PLD.from_laplace_mechanism(2.0, value_discretization_interval=1e-3),
        lambda: ta.Laplace(2).curve(),
    ),
    "response": (  # noise 0.4 over 4 categories: the true one with probability 0.7
        lambda: PLD.from_randomized_response(0.4, 4, value_discretization_interval=1e-3),
        lambda: ta.RandomizedResponse(math.log(7), categories=4).curve(),
    ),
    "discrete_laplace": (
        lambda: PLD.from_discrete_laplace_mechanism(0.5, 2, value_discretization_interval=1e-3),
        lambda: ta.DiscreteLaplace(2.0, 2).curve(),
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_real_distributions_come_in_on_the_sound_side(name):
    pld, exact = (make() for make in REAL[name])
    curve = ta.from_dp_accounting(pld, 1e-3)
    assert curve.bound is ta.Bound.LOWER
    assert np.all(curve.delta(EPSILONS) >= deltas(pld) - 1e-12)
    assert np.all(curve.delta(EPSILONS) >= exact.delta(EPSILONS) - 1e-9)
    assert curve.delta(EPSILONS) == pytest.approx(exact.delta(EPSILONS), abs=2e-3)
    alpha = np.linspace(0, 1, 21)
    assert curve.beta(alpha) == pytest.approx(exact.beta(alpha), abs=2e-3)


def test_a_composed_and_lopsided_distribution_serves_both_orders():
    step = PLD.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=1e-3)
    pld = step.self_compose(10)
    curve = ta.from_dp_accounting(pld, 1e-3)
    assert np.all(curve.delta(EPSILONS) >= deltas(pld) - 1e-12)
    assert curve.epsilon(1e-5) == pytest.approx(pld.get_epsilon_for_delta(1e-5), abs=2e-3)
    assert curve.mirrored().delta(1.0) == pytest.approx(curve.delta(1.0), abs=1e-12)


def test_identity_reveals_nothing_and_certainty_everything():
    assert ta.from_dp_accounting(PLD.identity()).beta(0.3) == pytest.approx(0.7, abs=1e-12)
    everything = ta.to_dp_accounting(ta.guarantee(mu=INF), MESH)
    assert ta.from_dp_accounting(everything, MESH).beta(0.3) == 0


def test_the_curve_from_outside_is_frozen():
    curve = ta.from_dp_accounting(PLD.identity())
    with pytest.raises(dataclasses.FrozenInstanceError):
        curve.bound = ta.Bound.EXACT
