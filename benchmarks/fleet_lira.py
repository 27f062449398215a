"""What an attacker who sees only a model's answers finds: LiRA on fleets of small models.

64-32-10 MLPs on scikit-learn's digits, each example in or out of each model by a fair coin, ten
of them mislabelled. Trained without privacy and by DP-SGD at ε = 10, 4 and 1 (δ = 1e-5). Per
training: LiRA over all examples as papers describe it (AUC, TPR at FPR 0.1 %, no bound on
anything), then what is certified at 95 %: ε for the most exposed example, chosen and fitted on
half of the models and judged on the other half, and ε from one model alone. Options:
``--models N``, ``--steps N``, ``--device cuda``.
"""

from __future__ import annotations

import argparse
import time

import torch
from _timing import print_rows, versions
from sklearn.datasets import load_digits

import tellapart as ta
from tellapart import audit, fleet
from tellapart.audit.trainings import attacks
from tellapart.fleet.recipes import Recipe

# What others showed of DP-SGD from its models alone: the claim, and the ε they print (their own
# methods and confidence, as published and not run here).
PUBLISHED = [
    ("Annamalai and De Cristofaro 2024, MNIST, 1,000 records", 10, 7.21),
    ("Annamalai and De Cristofaro 2024, MNIST", 10, 6.48),
    ("Annamalai and De Cristofaro 2024, CIFAR-10, 1,000 records", 10, 6.95),
    ("Annamalai and De Cristofaro 2024, CIFAR-10", 10, 4.96),
    ("Yoon et al. 2024, MNIST", 10, 4.914),
]
DELTA, MISLABELLED, BATCH = 1e-5, 10, 126
MLP = fleet.MLP(inputs=64, hidden=(32,), classes=10)


def recipe(epsilon: float | None, steps: int, rate: float, batch: float) -> Recipe:
    """Training with the least noise for this ε, or with none at all."""
    plain = {"steps": steps, "sampling_rate": rate, "expected_batch": batch}
    if epsilon is None:
        return fleet.SGD(learning_rate=0.5, **plain)
    private = ta.dp_sgd_with_epsilon(epsilon, DELTA, sampling_rate=rate, steps=steps)
    sigma = private.base.base.sigma  # type: ignore[attr-defined]
    return fleet.DPSGD(learning_rate=0.5, clip=1.0, noise_multiplier=sigma, **plain)


def attacked(name: str, training: Recipe, models: int, device: str) -> list[str]:
    """One row: train by the game's coins, attack, certify."""
    X, y = load_digits(return_X_y=True)
    labels = y.copy()
    labels[:MISLABELLED] = (labels[:MISLABELLED] + 1) % 10
    game = audit.MembershipGame(len(labels), audit.Pool(), models=models, seed=1)
    start = time.perf_counter()
    trained = fleet.train(MLP, training, X / 16, labels, game.inclusion, seed=1, device=device)
    seconds = time.perf_counter() - start
    played = game.with_outputs(trained.scores(X / 16, labels, kind="confidence"))
    described = attacks.lira(played.raw, played.inclusion)
    rates = described.metrics()
    certified = audit.game_evidence(played, attack=attacks.Lira(), delta=DELTA)
    alone = audit.one_run(described.of_model(0))
    return [
        name,
        f"{trained.accuracy(X / 16, y).mean():.3f}",
        f"{rates.auc:.4f}",
        f"{rates.at_fpr[0.001].tpr:.4f}",
        f"{certified.epsilon_lower(DELTA).value:.3f}",
        f"{alone.epsilon_lower(DELTA).value:.3f}",
        f"{seconds:.1f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    size = len(load_digits().target) / 2
    print(versions("torch"))
    where = options.device
    print("Hardware:", torch.cuda.get_device_name() if where != "cpu" else "CPU")
    print(f"{options.models:,} models a row, {options.steps} steps")
    head = ["training", "accuracy", "AUC", "TPR, 0.1 %", "ε ≥", "1 model: ε", "s"]
    rows = []
    for epsilon in (None, 10.0, 4.0, 1.0):
        name = "no privacy" if epsilon is None else f"DP-SGD, ε = {epsilon:g}"
        training = recipe(epsilon, options.steps, BATCH / size, BATCH)
        rows.append(attacked(name, training, options.models, where))
    print_rows(head, rows)
    print("Published, for DP-SGD seen by its last model alone; not run here:")
    for who, claimed, shown in PUBLISHED:
        print(f"{who}: ε ≥ {shown:g} of {claimed:g}")


if __name__ == "__main__":
    main()
