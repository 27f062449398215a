"""Probes that count refute no correct mechanism more often than they may."""

import pytest
from scipy.stats import binom

from tellapart import audit, zoo
from tellapart.audit.probing import probe_run

# A method at its level fails with probability below 1e-7.
LEVEL, RUNS = 0.05, 60
MOST = int(binom.isf(1e-7, RUNS, LEVEL))


@pytest.mark.parametrize("name", ["laplace", "geometric", "randomised-response", "noisy-max-1"])
def test_correct_mechanisms_are_spared(name, monkeypatch):
    monkeypatch.setattr(probe_run, "AT_HOME", 400)
    specimen = zoo.find(name)
    verdicts = [
        audit.probe(
            specimen.mechanism, *specimen.pairs[0], claim=specimen.claim, samples=900, seed=seed
        )
        for seed in range(RUNS)
    ]
    assert {verdict.evidence.method for verdict in verdicts} == {
        "thresholds fixed on held-out calls"
    }
    assert sum(verdict.refuted for verdict in verdicts) <= MOST
