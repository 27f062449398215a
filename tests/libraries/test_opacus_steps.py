"""Opacus: its steps keep what their accountant claims where the data's size is public.

Steps draw from seeds of the audit, so that every run gives the same verdicts. Those that should be
spared are audited at a level of 1e-8 each.
"""

import numpy as np
import pytest

pytest.importorskip("opacus")

from opacus_steps import (
    LAYERS,
    Trained,
    clipped_together,
    noise_by_workers,
    noise_for,
    same_noise,
    unclipped_layer,
)

import tellapart as ta
from tellapart import audit

SURE, SPARED = 0.999, 1 - 1e-8
CLIP, LONG, LAYER, MATES = (
    "canary at the clip",
    "long canary",
    "canary in every layer",
    "canary against its mates",
)
ONE = Trained(noise=1.0)
TWO = Trained(noise=0.3, batch=2, steps=2)
HALF = {"sampling_rate": 0.5, "steps": 2}


def audited(trained, *only, samples=200, confidence=SURE, **settings):
    told = {
        "clip": trained.clip,
        "noise_multiplier": trained.noise,
        "layers": LAYERS,
        "expected_batch": trained.batch,
        "public_size": True,
    }
    return audit.step(
        trained,
        samples=samples,
        confidence=confidence,
        only=only or None,
        **(told | settings),
    )


def test_its_steps_are_spared():
    assert not audited(ONE, LONG, LAYER, samples=100, confidence=SPARED).refuted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trained", "settings"),
    [
        (ONE, {}),
        (Trained(noise=1.0, clip=3.0), {}),
        (Trained(noise=1.0, clipping="per_layer"), {}),
        (Trained(noise=1.0, mode="functorch"), {}),
        (Trained(noise=1.0, reduction="sum", told="sum", batch=4), {"expected_batch": 1}),
        (TWO, HALF),
    ],
    ids=["flat", "another norm", "per layer", "functorch", "sums", "two steps"],
)
def test_its_steps_are_spared_by_every_pair(trained, settings):
    assert not audited(trained, samples=1_000, confidence=SPARED, **settings).refuted


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_what_its_accountant_says_is_not_refuted(epsilon):
    """Four Poisson steps at rate 1/2, with the noise that Opacus itself finds for this ε."""
    trained = Trained(noise=noise_for(epsilon, rate=0.5, steps=4), batch=2, steps=4)
    told = {"sampling_rate": 0.5, "steps": 4, "claim": ta.guarantee(epsilon, 1e-5)}
    assert not audited(trained, CLIP, LONG, samples=2_000, **told).refuted


@pytest.mark.parametrize(
    ("spoil", "pair"),
    [(unclipped_layer, LAYER), (clipped_together, MATES), (noise_by_workers, CLIP)],
)
def test_planted_bugs_are_refuted(spoil, pair):
    trained = Trained(noise=1.0, spoil=spoil)
    assert audited(trained, pair, samples=150 if pair != MATES else 400).refuted


def test_a_seed_set_anew_before_each_step_is_refuted():
    trained = Trained(noise=1.0, batch=2, steps=2, spoil=same_noise)
    found = audited(trained, CLIP, samples=400, **HALF)
    assert "first less second release" in found.verdict.finding.where


def test_batches_without_poisson_sampling_are_refuted():
    """``poisson_sampling=False``, accounted as Poisson."""
    dealt = Trained(noise=0.3, batch=2, steps=2, poisson=False)
    assert audited(dealt, CLIP, samples=400, **HALF).refuted


def test_the_size_of_the_data_is_not_hidden():
    """Version 1.6.0, see docs/findings.md: sum and noise are divided by what the size says."""
    assert audited(ONE, "one record or two", public_size=False).refuted


def test_a_gradient_that_is_not_a_number_is_not_clipped():
    """Version 1.6.0: one such record makes every update NaN, and so tells that it is there."""

    def told(gradients, rng):
        released = ONE(gradients, rng)
        # As a number that is drawn: outputs that never change are asked for in other processes.
        return np.where(np.isnan(released), rng.normal(1e6, 1.0, released.shape), released)

    found = audit.step(
        told,
        clip=1.0,
        noise_multiplier=1.0,
        layers=LAYERS,
        expected_batch=ONE.batch,
        public_size=True,
        nan=True,
        only=["canary that is not a number"],
        samples=100,
        confidence=SURE,
    )
    assert found.refuted
