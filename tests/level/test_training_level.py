"""How often audits of trainings refute what is true, where nothing of the targets is used.

The claim is ε = 0, which is true of a training that ignores its targets, and each audit may refute
it with a probability of 0.2 at most. More false alarms than `most` allows are seen with
probability below 1e-7; seeds are fixed.
"""

import numpy as np
import pytest
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit.trainings import attacks
from tellapart.audit.trainings.membership_game import Played

LEVEL = 0.2
NOTHING = ta.guarantee(epsilon=0)


def most(audits):
    """How many false alarms a correct audit exceeds with probability below 1e-7."""
    return int(binom.isf(1e-7, audits, LEVEL))


def played(seed, design, models, population=(), count=6):
    """Outputs of a model have something in common, and nothing to do with who was in."""
    game = audit.MembershipGame(count + len(population), design, models, seed, population)
    rng = np.random.default_rng([seed, 99])
    width = game.targets.size + len(population)
    logit = rng.normal(rng.normal(size=(models, 1)), 1, (models, width))
    raw = 1 / (1 + np.exp(-logit))
    split = game.targets.size
    return Played(game, game.inclusion, raw[:, :split], raw[:, split:], np.zeros(models))


SIX = audit.Targets(range(6))
PATHS = {
    "one target": lambda seed: audit.game_evidence(
        played(seed, audit.Targets(0), 40), 1 - LEVEL
    ).refutes(NOTHING),
    "a rare target": lambda seed: audit.game_evidence(
        played(seed, audit.Targets(0, prior=0.2), 60), 1 - LEVEL
    ).refutes(NOTHING),
    "the most exposed of six": lambda seed: audit.game_evidence(
        played(seed, SIX, 60), 1 - LEVEL
    ).refutes(NOTHING),
    "each of six": lambda seed: audit.game_evidence(
        played(seed, SIX, 60), 1 - LEVEL, each_target=True
    ).refutes(NOTHING),
    "exposure": lambda seed: (
        audit.exposure(played(seed, audit.Pool(), 60), 1 - LEVEL)[0].epsilon.value > 0
    ),
    "LiRA": lambda seed: audit.game_evidence(
        played(seed, audit.Pool(), 80), 1 - LEVEL, attack=attacks.Lira()
    ).refutes(NOTHING),
    "LiRA without models that had the target": lambda seed: audit.game_evidence(
        played(seed, SIX, 80), 1 - LEVEL, attack=attacks.Lira(online=False, fixed_variance=True)
    ).refutes(NOTHING),
    "RMIA": lambda seed: audit.game_evidence(
        played(seed, SIX, 60, tuple(range(6, 16))), 1 - LEVEL, attack=attacks.Rmia()
    ).refutes(NOTHING),
}


def false_alarms(path, audits):
    return sum(PATHS[path](seed) for seed in range(audits))


@pytest.mark.parametrize("path", ["the most exposed of six", "LiRA"])
def test_a_few_audits_of_trainings_that_ignore_the_targets(path):
    assert false_alarms(path, 24) <= most(24) < 20


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_audits_of_trainings_that_ignore_the_targets(path):
    # None at all would say that the test cannot fail.
    assert 0 < false_alarms(path, 600) <= most(600) < 200


@pytest.mark.slow
def test_whole_audits_of_a_training_that_ignores_the_targets():
    def train(data, seed):
        return np.random.default_rng(seed).normal(size=6)

    false = sum(
        audit.training(
            train, 6, claim=NOTHING, targets=SIX, models=60, confidence=1 - LEVEL, seed=seed
        ).refuted
        for seed in range(300)
    )
    assert 0 < false <= most(300)


@pytest.mark.slow
def test_one_model_s_scores_by_lira_fitted_on_the_others():
    """For description over models, but each model by itself is a sound audit of one run."""
    games, false = 100, 0
    for seed in range(games):
        whole = played(seed, audit.Pool(), 24, count=60)
        fitted = attacks.lira(whole.raw, whole.inclusion, fixed_variance=True)
        for model in range(4):
            false += audit.one_run(fitted.of_model(model), 1 - LEVEL).refutes(NOTHING)
    # Models of one game may fail together: of 100 games at most so many, four times.
    assert 0 < false <= 4 * most(games)


def test_a_target_chosen_on_the_models_that_judge_it_would_fail():
    """What the models set aside are for: the best of forty targets refutes what is true."""
    audits, false = 20, 0
    for seed in range(audits):
        one = played(seed, audit.Pool(), 40, count=40)
        each = (audit.many_runs(one.scores(k), 1 - LEVEL) for k in range(40))
        false += any(found.refutes(NOTHING) for found in each)
    assert false > most(audits)
