"""Attacks: what they score is what their papers say, by a plain loop beside."""

import math
from statistics import mean, stdev

import numpy as np
import pytest
from scipy.stats import norm

from tellapart import audit
from tellapart.audit.trainings import attacks, lira
from tellapart.audit.trainings.lira import logits
from tellapart.errors import InvalidArgument, Unsupported

MODELS, TARGETS, POPULATION = 24, 3, 5


def outputs(seed=0, shift=1.5):
    """Confidences that grow with membership, coins, and the population's confidences."""
    rng = np.random.default_rng(seed)
    inside = rng.random((MODELS, TARGETS)) < 0.5
    logit = rng.normal(0.5 + shift * inside, [1.0, 0.5, 2.0])
    others = rng.normal(0.5, 1.0, (MODELS, POPULATION))
    return 1 / (1 + np.exp(-logit)), inside, 1 / (1 + np.exp(-others))


def logit(p):
    return math.log(p / (1 - p))


def naive_lira(raw, inside, confidence, target, online, fixed_variance):
    """One score, from lists."""

    def values(k, side):
        return [logit(raw[m, k]) for m in range(len(raw)) if inside[m, k] == side]

    def spread(side):
        if not fixed_variance:
            return stdev(values(target, side))
        squares, free = 0.0, 0
        for k in range(raw.shape[1]):
            each = values(k, side)
            squares += sum((one - mean(each)) ** 2 for one in each)
            free += len(each) - 1
        return math.sqrt(squares / free)

    x = logit(confidence)
    out_at, out_by = mean(values(target, False)), spread(False)
    if not online:
        return (x - out_at) / out_by
    return norm.logpdf(x, mean(values(target, True)), spread(True)) - norm.logpdf(x, out_at, out_by)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("fixed_variance", [True, False])
def test_lira_is_what_a_plain_loop_gives(online, fixed_variance):
    raw, inside, population = outputs()
    fresh, _, other = outputs(seed=1)
    fitted = attacks.Lira(online, fixed_variance).fit(raw, inside, population)
    expected = [
        [naive_lira(raw, inside, one, k, online, fixed_variance) for k, one in enumerate(row)]
        for row in fresh
    ]
    assert fitted(fresh, other) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("fixed_variance", [True, False])
@pytest.mark.parametrize("at_once", [1, 2**21])
def test_lira_for_description_leaves_the_model_itself_out(
    online, fixed_variance, at_once, monkeypatch
):
    monkeypatch.setattr(lira, "_AT_ONCE", at_once)
    raw, inside, _ = outputs()
    found = attacks.lira(raw, inside, online=online, fixed_variance=fixed_variance)
    for model in (0, 7, MODELS - 1):
        rest = np.arange(MODELS) != model
        expected = [
            naive_lira(raw[rest], inside[rest], raw[model, k], k, online, fixed_variance)
            for k in range(TARGETS)
        ]
        assert found.scores[model] == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("online", [True, False])
def test_lira_for_description_is_a_fit_on_the_others_for_any_numbers(online):
    """Far from zero and close together, where sums of squares would lose all digits."""
    rng = np.random.default_rng(3)
    inside = rng.random((40, 5)) < 0.5
    raw = 1e6 + rng.normal(size=(40, 5)) * [1, 1e-2, 10, 1e-4, 1]
    found = attacks.lira(raw, inside, online=online, scaled=True)
    attack, none = attacks.Lira(online, scaled=True), np.empty((40, 0))
    for model in range(40):
        rest = np.arange(40) != model
        fitted = attack.fit(raw[rest], inside[rest], none[rest])
        expected = fitted(raw[[model]], none[[model]])[0]
        assert found.scores[model] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("online", [True, False])
def test_a_model_s_own_coins_do_not_touch_its_scores(online):
    """Not even by rounding, which would tell the coins of equal scores apart."""
    raw, inside, _ = outputs()
    before = attacks.lira(raw, inside, online=online).scores
    for model in range(MODELS):
        flipped = inside.copy()
        flipped[model] = ~flipped[model]
        after = attacks.lira(raw, flipped, online=online).scores
        assert np.array_equal(after[model], before[model])


def test_models_that_say_the_same_are_not_told_apart():
    inside = np.random.default_rng(1).random((30, 40)) < 0.5
    found = attacks.lira(np.full((30, 40), 0.3), inside)
    assert not found.scores.any()
    assert audit.one_run(found.of_model(0)).epsilon_lower(0).value == 0


def test_a_description_offers_no_audit_of_many_runs():
    raw, inside, _ = outputs()
    found = attacks.lira(raw, inside)
    assert "for description only" in repr(found)
    assert found.metrics().auc > 0.6
    assert found.metrics(target=1).members == inside[:, 1].sum()
    model = next(m for m in range(MODELS) if 0 < inside[m].sum() < TARGETS)
    with pytest.raises(Unsupported, match="not independent"):
        audit.many_runs(found.of_model(model))


def test_a_description_by_unfair_coins_is_no_audit_of_one_run():
    """One model alone would not show that 60 % were in, and all models do."""
    rng = np.random.default_rng(2)
    inside = rng.random((40, 100)) < 0.6
    found = attacks.lira(rng.uniform(0.1, 0.9, (40, 100)), inside)
    with pytest.raises(InvalidArgument, match=r"coins say in, of a chance of 0\.5 each"):
        found.of_model(0)


def naive_rmia(raw, inside, population, confidence, others, target, attack):
    def usual(values, sides):
        without = mean(v for v, s in zip(values, sides, strict=True) if not s)
        if attack.online and any(sides):
            return (mean(v for v, s in zip(values, sides, strict=True) if s) + without) / 2
        if attack.online:
            return without
        return ((1 + attack.growth) * without + (1 - attack.growth)) / 2

    gained = confidence / usual(raw[:, target], inside[:, target])
    won = 0
    for k, other in enumerate(others):
        theirs = other / usual(population[:, k], [False] * len(population))
        won += gained / theirs >= attack.gamma
    return won / len(others)


@pytest.mark.parametrize(
    "attack", [attacks.Rmia(), attacks.Rmia(gamma=1.3), attacks.Rmia(online=False, growth=0.4)]
)
def test_rmia_is_what_a_plain_loop_gives(attack):
    raw, inside, population = outputs()
    fresh, _, others = outputs(seed=1)
    found = attack.fit(raw, inside, population)(fresh, others)
    expected = [
        [
            naive_rmia(raw, inside, population, one, others[m], k, attack)
            for k, one in enumerate(row)
        ]
        for m, row in enumerate(fresh)
    ]
    assert found.tolist() == expected
    assert 0 < found.mean() < 1


def test_the_score_along_a_gradient_is_a_projection():
    updates = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 9.0]])
    assert attacks.gradient_dot(updates, [0.0, 2.0, 0.0]).tolist() == [4.0, 0.0]
    with pytest.raises(InvalidArgument, match="updates must have 2 numbers"):
        attacks.gradient_dot(updates, [1.0, 2.0])
    with pytest.raises(InvalidArgument, match="gradient must not be zero"):
        attacks.gradient_dot(updates, [0.0, 0.0, 0.0])


def test_small_losses_accuse():
    assert attacks.loss_threshold([[0.5, 2.0]]).tolist() == [[-0.5, -2.0]]
    with pytest.raises(InvalidArgument, match="losses must not contain NaN"):
        attacks.loss_threshold([np.nan])


def test_confidences_of_labels():
    class Model:
        classes_ = np.array([2, 5])

        def predict_proba(self, features):
            return np.array([[0.25, 0.75]] * len(features))

    found = attacks.label_confidences(Model(), (np.zeros((3, 1)), np.array([5, 2, 7])))
    assert found.tolist() == [0.75, 0.25, 0.0]


def test_logits_of_certainty_are_finite():
    found = logits([0.0, 0.5, 1.0])
    assert np.isfinite(found).all()
    assert found[1] == 0
    with pytest.raises(InvalidArgument, match=r"confidences must lie in \[0, 1\]"):
        logits([1.5])


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (attacks.Lira(), "needs 2 or more models on each side of every target, and target 1 has 0"),
        (attacks.Rmia(), "give the game a population"),
    ],
)
def test_attacks_that_cannot_learn_say_what_they_need(attack, said):
    raw, inside, _ = outputs()
    inside[:, 1] = True
    with pytest.raises(Unsupported, match=said):
        attack.fit(raw, inside, np.empty((MODELS, 0)))


def test_tables_must_fit():
    raw, inside, _ = outputs()
    with pytest.raises(InvalidArgument, match="one row a model"):
        attacks.lira(raw, inside[:, :2])
    with pytest.raises(InvalidArgument, match="True and False"):
        attacks.lira(raw, inside * 1.0)


def test_lira_of_losses_says_what_it_reads():
    game = audit.MembershipGame(3, models=40, seed=1)
    played = game.with_outputs(np.linspace(0, 4, 40)[:, None])
    with pytest.raises(
        InvalidArgument, match=r"scores must be probabilities.*scaled=True.*got 1\."
    ):
        audit.game_evidence(played, attack=attacks.Lira())


def test_confidences_of_labels_need_labels():
    with pytest.raises(InvalidArgument, match=r"examples must be a pair \(X, y\)"):
        attacks.label_confidences(None, np.ones((4, 2)))


def test_each_target_is_judged_by_the_coins_of_the_models_that_count():
    """Fitted on the first half, every example is told apart on the second, by its own coins."""
    game = audit.MembershipGame(3, audit.Pool(), models=200, seed=6)
    noise = np.random.default_rng(7).normal(size=(200, 3))
    played = game.with_outputs(noise + 9.0 * game.inclusion)
    found = audit.exposure(played, attack=attacks.Lira(scaled=True))
    assert all(one.epsilon.value > 1.5 for one in found)
    each = audit.game_evidence(played, attack=attacks.Lira(scaled=True), each_target=True)
    assert each.epsilon_lower(0.0).value == max(one.epsilon.value for one in found)


def test_a_spread_of_none_does_not_decide_alone():
    """One target's outputs hardly move: its spread is a thousandth of the usual one."""
    inside = np.arange(8)[:, None] % 2 == [0, 0]
    raw = np.column_stack([np.zeros(8), np.tile([-1.0, 3.0, 1.0, 5.0], 2)])
    fitted = attacks.Lira(online=False, scaled=True).fit(raw, inside, np.empty((8, 0)))
    usual = math.sqrt(4 / 6)  # four zeros and 3, 5, 3, 5, less one for each mean
    assert fitted.spreads[0] == pytest.approx([1e-3 * usual, math.sqrt(4 / 3)])


def test_a_target_that_gains_as_much_as_the_population_outgrows_it():
    """Zarifzadeh et al. count ratios of at least gamma."""
    inside = np.array([[True], [False], [True], [False]])
    raw, population = np.full((4, 1), 0.5), np.full((4, 3), 0.25)
    fitted = attacks.Rmia().fit(raw, inside, population)
    assert fitted(raw, population).tolist() == [[1.0]] * 4
    assert fitted(raw - 0.01, population).tolist() == [[0.0]] * 4
