"""The same fleet on a GPU, and what is said where there is no PyTorch."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tellapart import fleet  # noqa: E402
from tellapart.errors import Unsupported  # noqa: E402
from tellapart.fleet import _random  # noqa: E402

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
WITHOUT = """
import sys
from tellapart import fleet
from tellapart.errors import Unsupported
assert "torch" not in sys.modules
sys.modules["torch"] = None
recipe = fleet.SGD(steps=1, learning_rate=1, sampling_rate=1)
try:
    fleet.train(fleet.LogisticRegression(2, 2), recipe, [[0.0, 1.0]], [0], models=1, seed=0)
except Unsupported as error:
    print(error)
"""


def test_without_pytorch_the_extra_is_named():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "training a fleet needs: pip install 'tellapart[torch]'"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_named():
    recipe = fleet.SGD(steps=1, learning_rate=1, sampling_rate=1)
    with pytest.raises(Unsupported, match="no GPU for device 'cuda'"):
        fleet.train(
            fleet.LogisticRegression(1, 2), recipe, [[0.0]], [0], models=1, seed=0, device="cuda"
        )


@on_gpu
def test_draws_on_a_gpu_are_the_same_bits():
    models = np.arange(100)
    words = [
        _random.words(
            _random.counters(models, 300, device), *_random.keys((1,), 1, models, 1, device)[0]
        ).cpu()
        for device in ("cpu", "cuda")
    ]
    assert torch.equal(*words)


@on_gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "architecture",
    [
        fleet.LogisticRegression(inputs=16, classes=3),
        fleet.MLP(inputs=16, hidden=(8, 8), classes=3, activation="tanh"),
        fleet.MLP(inputs=16, hidden=(32,), classes=3),
        fleet.CNN(inputs=(1, 4, 4), channels=(4,), classes=3, activation="tanh"),
        fleet.CNN(inputs=(1, 4, 4), channels=(4,), classes=3),
    ],
)
def test_scores_on_a_gpu_are_those_of_a_cpu(architecture, compiled):
    # ReLU has a kink: a sum within rounding of zero is cut on one device and not on the other,
    # and its example's gradient goes another way. One model in some hundred meets such a sum.
    kinked = getattr(architecture, "activation", "tanh") == "relu"
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 16)), rng.integers(0, 3, 200)
    recipe = fleet.DPSGD(
        steps=100, learning_rate=0.5, sampling_rate=0.1, clip=1.0, noise_multiplier=1.0
    )
    inclusion = rng.random((150, 200)) < 0.5

    def scores(device, chunk=None):
        options = {"device": device, "chunk": chunk, "compiled": compiled and device == "cuda"}
        trained = fleet.train(architecture, recipe, X, y, inclusion, seed=1, **options)
        return trained.scores(X, y)

    there = scores("cuda")
    for other in (scores("cpu"), scores("cuda", chunk=7)):
        apart = np.abs(there - other) > 1e-4 * (1 + np.abs(other))
        assert np.count_nonzero(apart.any(axis=1)) <= (3 if kinked else 0)
        assert np.median(np.abs(there - other)) < 1e-5
