"""One curve of every class, and of every way to make one; a command that is run in a folder."""

import json
import math
import shlex

import numpy as np
import pytest

import tellapart as ta
from tellapart.cli import main


def _laplace_density(centre):
    return lambda x: np.exp(-abs(x - centre)) / 2


CURVES = {
    "laplace": lambda: ta.Laplace.with_epsilon(1).curve(),
    "gaussian": lambda: ta.Gaussian(1).curve(),
    "logistic": lambda: ta.ExponentialMechanism(1).curve(),
    "planar": lambda: ta.PlanarLaplace(1).curve(),
    "truncated": lambda: ta.TruncatedLaplace.with_epsilon(1, delta=1e-3).curve(),
    "discrete_gaussian": lambda: ta.DiscreteGaussian(1.5, sensitivity=2).curve(),
    "discrete_laplace": lambda: ta.DiscreteLaplace(2.0, sensitivity=3).curve(),
    "response": lambda: ta.RandomizedResponse(1, categories=4).curve(),
    "utilities": lambda: ta.ExponentialMechanism(1, [0, 1, 2], [1, 1, 1]).curve(),
    "claim": lambda: ta.guarantee(1, 1e-3),
    "pairs": lambda: ta.guarantee(pairs=[(0.5, 0.1), (1, 0.01), (3, 1e-6)]),
    "mu": lambda: ta.guarantee(mu=0.5),
    "zcdp": lambda: ta.guarantee(zcdp=0.1),
    "rdp": lambda: ta.guarantee(rdp=[(2, 0.5), (8, 1.5)]),
    "one_order": lambda: ta.from_pmfs([0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.6, 0.1]),
    "attack": lambda: ta.attack(points=[(0.01, 0.1), (0.1, 0.5), (0.6, 0.7)]),
    "densities": lambda: ta.from_densities(
        _laplace_density(0), _laplace_density(1), support=(-30, 31), breaks=(0, 1), cells=500
    ),
    "worst_of_two": lambda: ta.worst_case([ta.Laplace(1).curve(), ta.Gaussian(0.9).curve()]),
    "nothing": lambda: ta.guarantee(mu=0),
    "everything": lambda: ta.guarantee(mu=math.inf),
}


@pytest.fixture(scope="session", params=CURVES)
def curve(request):
    return CURVES[request.param]()


@pytest.fixture
def folder(monkeypatch):
    """Where a command is run: anywhere, on a terminal of 100 columns. Modules have their own."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def run(capsys, folder):
    """Code, output and errors of a command."""

    def call(command):
        code = main(shlex.split(command))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def parsed(run):
    def call(command, code=0):
        found, out, err = run(f"{command} --json")
        assert (found, err) == (code, "")
        return json.loads(out)

    return call
