"""Watched trainings in reports: both parts are told apart, and what was not refuted is not."""

import numpy as np
import pytest

pytest.importorskip("jinja2")

import tellapart as ta
from tellapart import audit, report
from tellapart.audit.trainings.watch_verdict import BETS, _epsilon_lower

CLAIM = ta.dp_sgd(1.0, 0.2, steps=40)


def verdict(noise):
    rng = np.random.default_rng(4)
    watch = audit.watch_updates([300], claim=CLAIM, clip=1.0, records=100, expected_batch=20)
    for _ in range(40):
        batch = np.flatnonzero(rng.random(100) < 0.2)
        gradients = rng.normal(size=(len(batch), 300))
        rows = np.vstack([gradients, watch.canaries()])
        rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        watch.saw((rows.sum(axis=0) + rng.normal(0, noise, 300)) / 20, gradients, batch)
    return watch.verdict()


@pytest.fixture(scope="module")
def filed():
    return {noise: report.of(verdict(noise), name="photos") for noise in (1.0, 2.0, 0.4)}


def states(one):
    return {item.key: item.state for item in one.checklist}


def test_a_right_training_is_not_refuted(filed):
    one = filed[1.0]
    assert one.refuted is False
    assert (one.watched.not_private, one.watched.not_as_stated) == (False, False)
    assert (one.samples, one.counted, one.title) == ("steps", "40 steps", "photos")
    assert states(one)["epsilon"] == "established"
    assert {"Private or not", "As stated or not"} <= {said.split(":")[0] for said in one.reasons}


def test_too_much_noise_refutes_the_mechanism_and_not_its_privacy(filed):
    one = filed[2.0]
    assert (one.refuted, one.watched.not_private, one.watched.not_as_stated) == (True, False, True)
    assert (states(one)["mechanism"], states(one)["epsilon"]) == ("refuted", "stated")
    assert one.watched.tests[0].refutes
    assert not one.watched.tests[-1].refutes


def test_too_little_noise_refutes_both(filed):
    one = filed[0.4]
    assert (one.refuted, one.watched.not_private, one.watched.not_as_stated) == (True, True, True)
    assert (states(one)["mechanism"], states(one)["epsilon"]) == ("refuted", "refuted")
    assert one.shown[0].value > 1
    assert one.shown[1].what.endswith("if all steps leak alike")


def test_page_and_data_have_both_parts_and_the_budget(filed):
    page, data = report.page(filed[2.0]), filed[2.0].data()
    for words in ("Private or not, and as stated or not", "test of conformance", "What the steps"):
        assert words in page
    assert BETS in page
    assert page.count("does not refute") == sum(
        not test.refutes for test in filed[2.0].watched.tests
    )
    assert data["watched"]["tests"][0]["name"] == "noise of a layer"
    assert [entry["what"] for entry in data["ledger"]["entries"]] == [BETS, "tests of conformance"]


def test_a_brief_report_has_the_verdict_alone():
    one = report.of(verdict(1.0), brief=True)
    assert one.meaning is None
    assert one.watched.steps == 40


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_the_epsilon_of_alike_steps_is_a_lower_bound(mu):
    least = ta.dp_sgd(1 / mu, 0.2, 40).bracket(1e-5)
    assert _epsilon_lower(mu, 0.2, 40, 1e-5) <= least.lower.epsilon(1e-5)
    assert _epsilon_lower(mu, 0.2, 40, 1e-5) > 0.999 * least.lower.epsilon(1e-5)


def test_more_than_can_be_certified_shows_what_less_would():
    # The curve of so little noise is known from one side alone, and would overclaim.
    assert ta.dp_sgd(1 / 25, 0.125, 60).curve().bound is ta.Bound.LOWER
    shown = [_epsilon_lower(mu, 0.125, 60, 1e-5) for mu in (3.0, 25.0, 400.0)]
    assert 50 < shown[0] < shown[1] < 6_000
    assert shown[2] > 50
    assert _epsilon_lower(0.0, 0.125, 60, 1e-5) == 0
