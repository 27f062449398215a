"""How often the true claim of the fleet's DP-SGD is refuted in the worst case.

Each experiment repeats an audit of the best attack. A method whose true rate of false alarms is
the level or less fails a test here with probability below 1e-6 (binomial tail, stated limit).
"""

import numpy as np
import pytest
from scipy import stats

import tellapart as ta
from tellapart import audit, fleet

pytest.importorskip("torch")

LEVEL, AUDITS, RUNS = 0.1, 300, 400
STEPS, RATE = 5, 0.4
TINY = fleet.LogisticRegression(inputs=1, classes=2)


def refuted(noise_multiplier, claim):
    """The number of audits that refute the claim, all of them on models of their own."""
    recipe = fleet.DPSGD(
        steps=STEPS,
        learning_rate=1.0,
        sampling_rate=RATE,
        expected_batch=1.0,
        clip=2.0,
        noise_multiplier=noise_multiplier,
    )
    inside = (np.arange(AUDITS * RUNS) % 2 == 0)[:, None]
    canary = fleet.Canaries.dirac([1], TINY.parameters, inside, size=5.0, observed=True)
    nobody = np.zeros((AUDITS * RUNS, 1), dtype=bool)
    seen = fleet.train(TINY, recipe, [[0.0]], [0], nobody, seed=3, canaries=canary).observed
    gain = np.log1p(-RATE), np.log(RATE) + (seen[:, :, 0].astype(float) - 0.5)
    scores = np.logaddexp(*gain).sum(axis=1).reshape(AUDITS, RUNS)
    curve = claim.curve()
    return sum(
        audit.many_runs(audit.Scores(one[::2], one[1::2]), 1 - LEVEL).refutes(curve)
        for one in scores
    )


@pytest.mark.slow
@pytest.mark.parametrize(("noise_multiplier", "true"), [(1.0, True), (0.5, False)])
def test_a_true_claim_is_seldom_refuted_and_half_the_noise_often(noise_multiplier, true):
    found = refuted(noise_multiplier, ta.dp_sgd(1.0, sampling_rate=RATE, steps=STEPS))
    if true:
        assert found <= stats.binom.isf(1e-6, AUDITS, LEVEL)
    else:
        assert found > 0.9 * AUDITS
