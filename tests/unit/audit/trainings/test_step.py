"""Audits of steps: which pair shows which mistake, and how steps may be written."""

import sys

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit, zoo
from tellapart.audit.trainings.step_audit import ScoredStep, StepScores, flat, rows
from tellapart.audit.trainings.step_pairs import StepSetting, family, most_telling_first
from tellapart.errors import Unsupported

KNOWN = {one.name: one for one in zoo.TRAINING}
# What is plain to see in so many calls; the others are in the table of training bugs.
SHOWN = {
    "step-no-clip": "long canary",
    "step-clip-after-mean": "long canary",
    "step-noise-over-batch": "canary at the clip",
    "step-noise-without-clip-norm": "canary at the clip",
    "step-per-layer": "canary in every layer",
    "unclipped-layer": "canary in every layer",
    "step-microbatch": "canary against its mates",
    "accumulated-clipped-once": "canary against its mates",
    "step-workers": "canary at the clip",
    "one-noise-for-all": "canary at the clip",
    "step-shared-noise": "canary at the clip",
    "never-cleared": "canary at the clip",
    "step-realised-batch": "one record or two",
    "step-centred": "long canary",
}


def audited(step, samples=400, **settings):
    told = {"clip": 1.0, "noise_multiplier": 1.0, "confidence": 0.99} | settings
    return audit.step(step, samples=samples, **told)


@pytest.mark.parametrize("name", SHOWN)
def test_each_mistake_is_shown_first_by_its_own_pair(name):
    """Alone and with the pairs before it, which it must not need."""
    known = KNOWN[name]
    pairs = [pair.name for pair in family(setting(layers=(5, 5, 5, 5)))]
    before = pairs[: pairs.index(SHOWN[name]) + 1]
    found = audited(known.step, 1_000, only=before, **known.settings)
    assert [pair.name for pair in found.refuting] == [SHOWN[name]]
    assert found.hint == found.refuting[0].hint
    assert f"Hint, not proof: {found.hint}." in str(found)


def test_noise_used_again_shows_between_steps():
    known = KNOWN["same-noise-each-step"]
    found = audited(known.step, only=["canary at the clip"], **known.settings)
    assert found.verdict.finding.where.startswith("canary at the clip: first less second release")


@pytest.mark.slow  # outputs that never change are asked for in other processes
def test_a_gradient_that_is_not_a_number_shows_only_where_it_is_tried():
    step = KNOWN["step-nan"].step
    assert not audited(step, only=["long canary"]).refuted
    found = audited(step, 60, nan=True, only=["canary that is not a number"])
    assert found.refuted


def test_a_correct_step_is_told_so_without_a_promise():
    found = audited(KNOWN["flat"].step)
    assert not found.refuted
    assert found.hint == ""
    assert found.refuting == ()
    assert "Not refuted does not mean that the claim is true." in str(found)
    assert repr(found).startswith("StepAudit(NOT REFUTED: ")


def test_all_pairs_are_paid_for():
    found = audited(KNOWN["flat"].step)
    spent = [one.evidence.ledger.level for one in found.shown]
    assert np.allclose(spent, 0.01 / 5)
    assert found.verdict.confidence == pytest.approx(0.99)
    bounds = [one.epsilon_lower(1e-5).value for one in found.shown]
    assert found.epsilon_lower(1e-5).value == max(bounds)


def test_the_joint_finding_is_the_most_telling_of_the_pairs():
    """As the joint evidence has it when it is asked, but for the names of scores."""
    step = KNOWN["step-no-clip"].step
    found = audited(step)
    asked, told = found.verdict.evidence.finding(found.verdict.claim), found.verdict.finding
    assert (told.p_value, told.level, told.shown) == (asked.p_value, asked.level, asked.shown)
    pairs = [one.evidence.finding(found.verdict.claim) for one in found.shown]
    assert told.p_value == min(pair.p_value for pair in pairs if pair is not None)
    only = audited(step, only=["long canary"])
    asked, told = only.verdict.evidence.finding(only.verdict.claim), only.verdict.finding
    assert (told.p_value, told.level, told.shown) == (asked.p_value, asked.level, asked.shown)
    assert asked.where.startswith("long canary: output[0] ")
    assert told.where.startswith("long canary: sum along the canary ")


def test_steps_may_be_written_in_many_ways():
    """One call at a time, by layers, as a dictionary, with noise of its own."""
    own = np.random.default_rng(5)

    def plain(gradients):
        return list(gradients.sum(axis=0) + own.normal(size=20))

    def by_layer(gradients, rng):
        noisy = gradients.sum(axis=0) + rng.normal(size=20)
        return {"weight": noisy[:10].reshape(2, 5), "bias": [noisy[10:15], noisy[15:]]}

    def many(gradients, rng, size):
        return gradients.sum(axis=0) + rng.normal(size=(size, 20))

    for step in (plain, by_layer, many):
        found = audited(step, only=["long canary"])
        assert [pair.name for pair in found.refuting] == ["long canary"]


def test_the_claim_may_be_told():
    step = KNOWN["flat"].step
    assert audited(step, 2_000, claim=ta.guarantee(0.5, 1e-5), only=["long canary"]).refuted
    assert not audited(step, 2_000, claim=ta.guarantee(5, 1e-5), only=["long canary"]).refuted


def test_the_number_of_records_may_be_public():
    """Then division by it is no leak."""
    step = KNOWN["step-realised-batch"].step
    assert not audited(step, 1_000, public_size=True).refuted


def test_claims_about_replacing_a_record_need_a_public_size():
    step = KNOWN["step-realised-batch"].step
    claim = ta.Gaussian(1.0, 2.0, neighbours=ta.Neighbours.REPLACE)
    with pytest.raises(Unsupported, match="use public_size=True"):
        audited(step, claim=claim)
    assert not audited(step, claim=claim, public_size=True).refuted


def test_the_same_seed_gives_the_same_numbers():
    one, two, other = (
        audited(KNOWN["flat"].step, seed=seed, only=["long canary"]) for seed in (1, 1, 2)
    )
    assert one.epsilon_lower(0.1).value == two.epsilon_lower(0.1).value
    assert one.epsilon_lower(0.1).value != other.epsilon_lower(0.1).value


def setting(layers=(3, 2), public_size=False, nan=True):
    return StepSetting(layers, 2.0, 4, public_size, nan)


@pytest.mark.parametrize("public", [False, True])
def test_pairs_are_neighbours(public):
    """One row more, or one row that is not zero; all else is the same."""
    for pair in family(setting(public_size=public)):
        others = pair.present[:-1]
        assert np.array_equal(pair.absent[: len(others)], others)
        assert len(pair.absent) == len(others) + public
        assert not pair.absent[len(others) :].any()
        assert np.linalg.norm(pair.direction) == pytest.approx(1)


def test_canaries_are_as_long_as_told():
    pairs = {pair.name: pair.present[-1] for pair in family(setting())}
    norms = {name: np.linalg.norm(canary) for name, canary in pairs.items()}
    assert norms["canary at the clip"] == 2
    assert norms["long canary"] == 20
    assert list(pairs["canary in every layer"]) == [20, 0, 0, 20, 0]
    assert norms["canary against its mates"] > 4 * 20
    assert norms["one record or two"] == 0
    assert np.isnan(norms["canary that is not a number"])


def test_long_canaries_are_probed_first_and_canaries_of_no_length_last():
    pairs = family(setting())
    assert [pairs[place].name for place in most_telling_first(pairs, 2.0)] == [
        "long canary",
        "canary in every layer",
        "canary against its mates",
        "canary at the clip",
        "one record or two",
        "canary that is not a number",
    ]


def test_one_layer_has_no_pair_of_layers():
    names = [pair.name for pair in family(setting(layers=(5,)))]
    assert "canary in every layer" not in names


def test_scores_are_what_their_names_say():
    """Against a loop over outputs, releases and coordinates."""
    look = StepScores(np.array([0.6, 0.8]), noise=1.5, rate=0.25, unit=2.0)
    releases = np.random.default_rng(3).normal(size=(5, 3, 2))
    found = look(releases)
    assert found.shape == (5, len(look.names(3)))
    for row, output in zip(found, releases, strict=True):
        along = [(0.6 * x + 0.8 * y) / 2 for x, y in output]
        named = dict(zip(look.names(3), row, strict=True))
        ratios = [0.75 + 0.25 * np.exp((one - 0.5) / 1.5**2) for one in along]
        expected = {
            "sum along the canary": sum(along),
            "mean square": sum((z / 2) ** 2 for one in output for z in one) / 6,
            "first less last coordinate": (output[0][0] - output[0][1]) / 2,
            "likelihood of the canary": np.log(ratios).sum(),
            "first less second release": along[0] - along[1],
            "last release": along[2],
            "largest release": max(along),
            **{f"release {k + 1}": along[k] for k in range(3)},
        }
        assert named == pytest.approx(expected)


def test_many_outputs_are_scored_as_one_by_one():
    look = StepScores(np.eye(1, 6)[0], noise=1.0, rate=0.5, unit=1.0)
    outputs = np.random.default_rng(4).normal(size=(7, 2, 6))
    batch = ScoredStep(lambda data, size: outputs, look)(np.zeros((1, 6)), size=7)
    single = [ScoredStep(lambda data, one=one: one, look)(np.zeros((1, 6))) for one in outputs]
    assert np.array_equal(batch, single)


def test_batches_may_come_layer_by_layer():
    """Read one layer after another, calls would be mixed with each other."""
    outputs = np.arange(42.0).reshape(7, 6)
    layers = [outputs[:, :4], outputs[:, 4:]]
    for batch in (outputs, layers, {"one": layers[0], "two": layers[1]}, list(outputs)):
        assert np.array_equal(rows(batch, 7), outputs)
    assert np.array_equal(rows([[one[:4], one[4:]] for one in outputs], 7), outputs)
    assert np.array_equal(rows(layers, 7), rows([layers[0][:, :, None], layers[1]], 7))

    def step(gradients, rng, size):
        made = KNOWN["flat"].step(gradients, rng=rng, size=size)
        return [made[:, :10], made[:, 10:]]

    assert not audited(step, only=["canary in every layer"]).refuted


def test_outputs_are_read_in_order():
    nested = {"a": [np.ones((2, 1)), (2.0, 3.0)], "b": 4}
    assert flat(nested).tolist() == [1, 1, 2, 3, 4]
    assert flat([]).size == 0
    torch = pytest.importorskip("torch")
    assert flat([torch.ones(2, requires_grad=True)]).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clip": 0}, "clip must be"),
        ({"noise_multiplier": -1}, "noise_multiplier must be"),
        ({"sampling_rate": 0}, "sampling_rate must be greater than 0, got 0"),
        ({"steps": 0}, "steps must be"),
        ({"layers": ()}, "layers must list"),
        ({"layers": "ab"}, "layers must be"),
        ({"records": 1}, "records must be"),
        ({"expected_batch": 0}, "expected_batch must be"),
        ({"only": ["long"]}, "only must name some of one record or two, "),
        ({"only": "long canary"}, "only must name some of"),
        ({"only": 3}, "only must name some of"),
        ({"samples": 3}, "samples must be"),
        ({"confidence": 1}, "confidence must lie"),
        ({"layers": (7, 6)}, "what step returns must release 13 numbers"),
        ({"claim": 3}, "claim must be"),
    ],
)
def test_bad_input_is_refused(settings, message):
    def step(gradients, rng):
        return rng.normal(size=20)

    with pytest.raises(ta.InvalidArgument, match=message):
        audited(step, **({"samples": 100} | settings))


def test_what_is_no_step_is_refused():
    with pytest.raises(ta.InvalidArgument, match="step must be callable"):
        audited(3)
    with pytest.raises(ta.InvalidArgument, match="step must be a function of gradients that"):
        audited(lambda gradients: "text")


def test_what_is_not_a_number_does_not_hide_the_rest():
    look = StepScores(np.array([1.0, 0.0]), noise=1.0, rate=1.0, unit=1.0)
    found = dict(zip(look.names(1), look(np.array([[[np.nan, 3.0]]]))[0], strict=True))
    assert found["mean square"] == 4.5
    assert np.isnan(found["sum along the canary"])


def test_releases_are_read_in_units_of_what_one_gradient_adds(monkeypatch):
    units, look = [], sys.modules["tellapart.audit.trainings.step_audit"].StepScores

    def noted(direction, noise, rate, unit):
        units.append(unit)
        return look(direction, noise, rate, unit)

    monkeypatch.setattr("tellapart.audit.trainings.step_audit.StepScores", noted)
    audited(KNOWN["flat"].step, 60, clip=6.0, expected_batch=4.0, only=["canary at the clip"])
    assert units == [1.5]
