"""Stored values of the betting process."""

import json
from pathlib import Path

import numpy as np
import pytest

from tellapart.audit.evidence.e_process import wealth

RECORDS = json.loads(Path(__file__).with_name("auditing.json").read_text(encoding="utf-8"))
PATH, STREAK = RECORDS["betting_e_process"]["cases"]


def test_path():
    bet = 0.5 / np.exp(PATH["eps"])
    assert bet == pytest.approx(PATH["lam"], abs=5.1e-6)
    path = wealth(PATH["x"], PATH["y"], epsilon=PATH["eps"], delta=PATH["delta"], bet=bet)
    assert path == pytest.approx(PATH["K_path"], abs=5.1e-7)
    assert path[-1] == pytest.approx(PATH["K_final"], abs=5.1e-7)


def test_streak():
    bet = 0.9 / (np.exp(STREAK["eps"]) + STREAK["delta"])
    assert bet == pytest.approx(STREAK["lam"], abs=5.1e-6)
    path = wealth([1] * 20, [0] * 20, epsilon=STREAK["eps"], delta=STREAK["delta"], bet=bet)
    assert path[-1] == pytest.approx(STREAK["K_final"], abs=5.1e-7)
    assert np.flatnonzero(path >= 20)[0] + 1 == STREAK["t_first_ge_20"]
