"""Watching a training with any framework: canaries, what is read, words and errors."""

import sys

import numpy as np
import pytest

import tellapart as ta
from tellapart import audit
from tellapart.errors import InvalidArgument, Unsupported

CLAIM = ta.dp_sgd(noise_multiplier=1.0, sampling_rate=0.25, steps=30)
LAYERS = [120, 30, 6]


def begun(layers=LAYERS, **more):
    return audit.watch_updates(
        layers, **({"claim": CLAIM, "clip": 2.0, "records": 40, "expected_batch": 10.0} | more)
    )


def trained(watch, seed=0, factor=1.0, steps=30, clip=2.0, limit=None):
    """A numpy training of so many steps; ``limit`` is what gradients are really clipped to."""
    rng, dimension = np.random.default_rng(seed), watch.dimension
    for _ in range(steps):
        batch = np.flatnonzero(rng.random(40) < 0.25)
        gradients = rng.normal(size=(len(batch), dimension))
        rows = np.vstack([gradients, watch.canaries()])
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows *= np.minimum(1, (limit or clip) / norms)
        noise = rng.normal(0, factor * clip, dimension)
        watch.saw((rows.sum(axis=0) + noise) / 10, gradients, batch.tolist())
    return watch.verdict()


@pytest.mark.parametrize("layers", [[120, 30, 6], [1, 1, 1], [5], [400] * 50, [2, 3]])
def test_canaries_are_orthogonal_and_ten_clips_long(layers):
    watch = begun(layers)
    sizes = set()
    for _ in range(20):
        rows = watch.canaries()
        drawn = watch._drawn
        sizes.add(len(drawn.coins))
        assert rows @ rows.T == pytest.approx(400 * np.eye(len(rows)), abs=1e-9)
        assert len(rows) == drawn.coins.sum()
        assert drawn.along(rows.sum(axis=0)) == pytest.approx(20.0 * drawn.coins)
    assert len(sizes) == 1


def test_coins_are_fair_and_places_fresh():
    watch = begun()
    every = [watch.draw() for _ in range(200)]
    coins = np.array([drawn.coins for drawn in every])
    assert abs(coins.mean() - 0.5) < 4 * 0.5 / np.sqrt(coins.size)
    assert len(np.unique(np.concatenate([drawn.places for drawn in every]))) == sum(LAYERS)


def test_a_right_training_is_not_refuted():
    verdict = trained(begun())
    assert not verdict.refuted
    assert verdict.refuting == ()
    assert 0 < verdict.mu_lower < 1
    assert str(verdict).startswith(
        "NOT REFUTED: DP-SGD with noise multiplier 1, sampling rate 0.25"
    )
    assert "does not mean that the claim is true" in str(verdict)
    assert "trained on canaries" in str(verdict)


def test_too_little_noise_is_refuted_by_both_parts():
    verdict = trained(begun(), factor=0.2)
    assert verdict.not_private
    assert verdict.refuting[:2] == ("bets on each step", "noise of a layer")
    assert verdict.mu_lower > 1 == verdict.mu_claimed
    assert str(verdict).startswith("REFUTED: DP-SGD with noise multiplier 1")
    assert "a step leaks μ ≥ " in verdict.headline
    assert "layer 0 has 0.2" in verdict.headline


def test_a_wider_clip_is_refuted_by_the_canaries():
    verdict = trained(begun(), limit=4.0)
    assert "canaries in one coordinate" in verdict.refuting


def test_more_noise_than_stated_is_not_the_mechanism_stated():
    verdict = trained(begun(), factor=1.5)
    assert not verdict.not_private
    assert "noise of a layer" in verdict.refuting
    assert "not (ε, δ)-DP" in str(verdict)


def test_epsilon_only_under_its_assumption():
    verdict = trained(begun(), factor=0.2)
    shown = verdict.epsilon_if_steps_alike(1e-5)
    truth = ta.dp_sgd(1 / verdict.mu_lower.value, 0.25, 30).curve().epsilon(1e-5)
    assert truth * (1 - 1e-4) <= shown.value <= truth  # a lower bound is certified from below
    assert "an assumption" in str(shown)
    few = trained(begun(), steps=2)
    assert few.epsilon_if_steps_alike(1e-5).value == 0
    assert "too few" in str(few)


def test_the_budget_is_shown():
    ledger = trained(begun(confidence=0.9, conformance=0.01), steps=3).ledger
    assert ledger.level == pytest.approx(0.1)
    assert [entry.spent for entry in ledger.entries] == pytest.approx([0.09, 0.01])


def test_a_card_for_notebooks():
    html = trained(begun(), factor=0.2)._repr_html_()
    assert "REFUTED" in html
    assert "bets on each step" in html


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"claim": ta.guarantee(1.0, 1e-5)}, "claim must state the training: ta.dp_sgd"),
        (
            {"claim": ta.dp_sgd(1.0, 0.25, 32, scheme=ta.Sampling.SHUFFLED)},
            "claim must state the training: ta.dp_sgd",
        ),
        (
            {"claim": ta.dp_sgd(1.0, 0.25, 32, scheme=ta.Sampling.WITHOUT_REPLACEMENT)},
            "claim must be on Poisson batches",
        ),
        ({"clip": 0.0}, "clip must be"),
        ({"layers": []}, "layers must list how many coordinates each layer has"),
        ({"layers": [3, 0]}, "layers must be"),
        ({"records": 0}, "records must be"),
        ({"names": ["one"]}, "names must name each of 3 layers"),
        ({"conformance": 0.05}, "conformance must be a part of the level"),
        ({"canaries": 0}, "canaries must be"),
    ],
)
def test_wrong_arguments_are_refused_by_name(wrong, said):
    with pytest.raises(InvalidArgument, match=said.replace("(", r"\(")):
        begun(**wrong)


def test_what_is_told_of_a_step_is_checked():
    watch = begun()
    with pytest.raises(Unsupported, match="no step was watched yet"):
        watch.verdict()
    with pytest.raises(Unsupported, match="canaries come before a step"):
        watch.saw(np.zeros(156), np.zeros((0, 156)))
    watch.canaries()
    with pytest.raises(InvalidArgument, match="gradients must have rows of 156 numbers"):
        watch.saw(np.zeros(156), np.zeros((2, 3)))
    with pytest.raises(InvalidArgument, match="update must have 156 numbers"):
        watch.saw(np.zeros(15), np.zeros((2, 156)))
    with pytest.raises(InvalidArgument, match="batch must number records from 0 to 39"):
        watch.saw(np.zeros(156), np.zeros((1, 156)), [40])


def test_without_opacus_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(Unsupported, match=r"pip install 'tellapart\[opacus\]'.*watch_updates"):
        audit.watch(None, None, claim=CLAIM, clip=1.0)


def test_coins_are_no_numbers_that_a_training_with_the_same_seed_draws():
    watch = audit.watch_updates([300], claim=ta.dp_sgd(1.0, 0.5, 4), clip=1.0, records=20, seed=7)
    own, other = watch.rng.random(100), np.random.default_rng(7).random(10_000)
    assert not np.isin(own, other).any()


def test_wealth_so_far_is_the_same_when_asked_again_later():
    """Of many layers only some have canaries in a step: stakes must not follow which."""
    rng = np.random.default_rng(3)
    claim = ta.dp_sgd(1.0, 0.5, 12)
    watch = audit.watch_updates([20] * 40, claim=claim, clip=1.0, records=20, canaries=4)
    paths = []
    for _ in range(12):
        update = watch.canaries().sum(axis=0) / 10 + rng.normal(0, 1.0, 800)
        watch.saw(update, np.zeros((0, 800)), [])
        paths.append(watch.verdict().bets.log_path(1.0))
    for path in paths:
        assert path == pytest.approx(paths[-1][: len(path)], abs=1e-9)
