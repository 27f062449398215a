"""DP-trained models audited end to end, white-box worst case at ε = 4, δ = 1e-5, 95 % confidence.

In every second model takes part a canary whose gradient the attacker chose. By default models are
tiny and take whole batches: the release is Gaussian, and the best attack reads the canary's
direction off the weights before and after. With ``--digits`` they are 64-32-10 MLPs on
scikit-learn's digits, by Poisson samples of 126 on average; the canary is the weight of a pixel
that is blank in all images, and the attack is the likelihood ratio of every step's release.

Two bounds: the ε of the least μ, which refutes claims of Gaussian DP alone, and the model-free one,
which refutes any claim. Options: ``--runs N`` (default 10^4), ``--device cuda``, ``--digits``,
``--compile``, ``--steps N``. A million runs on a GPU: ``--runs 1000000 --device cuda``.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from _timing import power_of_ten, print_rows, told, versions
from fleet import hardware
from numpy.typing import NDArray

import tellapart as ta
from tellapart import audit, fleet
from tellapart._numeric.text import short
from tellapart.fleet.architectures import Architecture
from tellapart.fleet.trained import Fleet

EPSILON, DELTA, CONFIDENCE = 4.0, 1e-5, 0.95
AT_ONCE = 65_536
SMALL, LARGE = 10**4, 10**6
# The share of the true ε that the Gaussian bound must reach, by the number of runs.
TARGETS = {SMALL: 0.85, LARGE: 0.95}
SECONDS = 180


@dataclass(frozen=True)
class Game:
    """What is trained, and where its canary is."""

    architecture: Architecture
    X: Any
    y: Any
    nobody: bool  # whether the canary is the only one who may take part
    rate: float
    steps: int

    def noise(self) -> float:
        """The noise multiplier for which the claim is exact."""
        claim = ta.dp_sgd_with_epsilon(EPSILON, DELTA, sampling_rate=self.rate, steps=self.steps)
        return float(claim.base.base.sigma)


def tiny(steps: int) -> Game:
    """A model of four weights, whole batches, nobody but the canary."""
    return Game(fleet.LogisticRegression(inputs=1, classes=2), [[0.0]], [0], True, 1.0, steps)


def digits(steps: int) -> Game:
    """The task of fleet.py."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    if X[:, 0].any():
        raise SystemExit("the first pixel of the digits was to be blank")
    mlp = fleet.MLP(inputs=64, hidden=(32,), classes=10)
    return Game(mlp, X / 16, y, False, 126 / len(y), steps)


def played(game: Game, runs: int, sigma: float, options: dict[str, Any]) -> NDArray[np.float64]:
    """The attack's score of each run; the canary is in the even ones."""
    recipe = fleet.DPSGD(
        steps=game.steps,
        learning_rate=0.5,
        sampling_rate=game.rate,
        expected_batch=game.rate * len(game.y),
        clip=1.0,
        noise_multiplier=sigma,
    )
    scores = []
    for first in range(0, runs, AT_ONCE):
        numbers = range(first, min(runs, first + AT_ONCE))
        inside = np.arange(numbers.start, numbers.stop)[:, None] % 2 == 0
        stepwise = game.rate < 1
        canary = fleet.Canaries.dirac([0], game.architecture.parameters, inside, observed=stepwise)
        nobody = np.zeros((len(numbers), len(game.y)), dtype=bool) if game.nobody else None
        trained = fleet.train(
            game.architecture,
            recipe,
            game.X,
            game.y,
            nobody,
            seed=1,
            models=numbers,
            canaries=canary,
            **options,
        )
        scores.append(score(trained, game.rate, sigma))
    return np.concatenate(scores)


def score(trained: Fleet, rate: float, sigma: float) -> NDArray[np.float64]:
    """The logarithm of the likelihood ratio, or something that grows with it."""
    if trained.observed is None:
        assert trained.released is not None  # noqa: S101
        return trained.released[:, 0].astype(float)
    gain = (trained.observed[:, :, 0].astype(float) - 0.5) / sigma**2
    return np.asarray(np.logaddexp(np.log1p(-rate), np.log(rate) + gain).sum(axis=1))


def bounds(scores: NDArray[np.float64]) -> tuple[float, float]:
    """The Gaussian and the model-free bound on ε, from runs in turn with and without the canary."""
    sides = audit.Scores(members=scores[::2], non_members=scores[1::2])
    evidence = audit.many_runs(sides, CONFIDENCE)
    return evidence.gaussian_epsilon_lower(DELTA).value, evidence.epsilon_lower(DELTA).value


def row(scores: NDArray[np.float64], runs: int) -> tuple[list[str], float]:
    """Medians over disjoint parts of so many runs, at most 20 of them."""
    parts = [scores[at : at + runs] for at in range(0, len(scores), runs)][:20]
    found_bounds = [bounds(part) for part in parts if len(part) == runs]
    family, free = (float(np.median(column)) for column in zip(*found_bounds, strict=True))
    shares = [f"{100 * epsilon / EPSILON:.1f} %" for epsilon in (family, free)]
    cells = [f"{family:.3f}", shares[0], f"{free:.3f}", shares[1], str(len(found_bounds))]
    words = power_of_ten(runs) if runs in TARGETS else f"{runs:,}"
    return [words, *cells], family / EPSILON


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=SMALL)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu")
    for flag in ("--digits", "--compile"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def main() -> int:
    """Print the table; 1 if a target is missed."""
    asked = arguments()
    print(f"tellapart {ta.__version__}, {versions('torch', 'numpy')}")
    print(f"Hardware: {hardware(asked.device)}")
    begun = time.perf_counter()
    game = digits(asked.steps) if asked.digits else tiny(asked.steps)
    sigma = game.noise()
    print(f"{game.architecture!r}, sampling rate {game.rate:.4f}, {game.steps} steps")
    print(f"Noise multiplier {sigma:.4f}: ε = {short(EPSILON)} at δ = {short(DELTA)}\n")
    options = {"device": asked.device, "compiled": asked.compile}
    scores = played(game, asked.runs, sigma, options)
    trained = time.perf_counter() - begun
    head = ["runs (half with the canary)", "μ-GDP ε ≥", "of 4", "any: ε ≥", "of 4", "audits"]
    sizes = sorted({size for size in (SMALL, LARGE) if size <= asked.runs} | {asked.runs})
    rows = {size: row(scores, size) for size in sizes}
    print_rows(head, [cells for cells, _ in rows.values()])
    print("The first bound refutes claims of Gaussian DP alone; the second refutes any claim.")
    total = time.perf_counter() - begun
    print(f"{asked.runs:,} models trained in {trained:.1f} s, audited after {total:.1f} s in all.")
    missed = False
    if not asked.digits:
        for size, least in TARGETS.items():
            if size in rows:
                share = rows[size][1]
                what = f"{100 * least:.0f} % of ε by μ-GDP with {power_of_ten(size)} runs"
                missed |= told(f"{what}; {100 * share:.1f} %", share >= least)
    if asked.runs >= LARGE and torch.device(asked.device).type == "cuda":
        missed |= told(f"all in {SECONDS} s; {total:.1f}", total <= SECONDS)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
