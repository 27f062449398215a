"""DP-SGD of thousands of small models: models a second, beside a loop of Opacus.

The task: a 64-32-10 MLP on scikit-learn's 1,797 digits, Poisson samples of 126 on average, 100
steps, clip 1, noise 1. Needs the extras ``torch`` and ``learn``, and Opacus for the peer's side.
Both run in this process, in turns; the peer has as many threads as serve it best. Options:
``--models N``, ``--device cuda``, ``--threads N``, ``--chunk N``, ``--compile`` (fused draws),
``--cnn`` (for information), ``--no-opacus``, ``--rounds N``.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _timing import print_rows, told, versions
from sklearn.datasets import load_digits

import tellapart as ta
from tellapart import fleet
from tellapart.fleet.architectures import Architecture

BATCH, STEPS, CLIP, NOISE, RATE = 126, 100, 1.0, 1.0, 0.5
RECIPE = fleet.DPSGD(
    steps=STEPS, learning_rate=RATE, expected_batch=BATCH, clip=CLIP, noise_multiplier=NOISE
)
MLP = fleet.MLP(inputs=64, hidden=(32,), classes=10)
LINEAR = fleet.LogisticRegression(inputs=64, classes=10)
CNN = fleet.CNN(inputs=(1, 8, 8), channels=(8,), classes=10)
ON_GPU, TIMES_OPACUS = 16_000, 12


def hardware(device: str) -> str:
    """What the numbers were measured on."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith("model name")]
        name = lines[0].split(":")[1].strip()
    except (OSError, IndexError):
        pass
    return f"{name}, {torch.get_num_threads()} threads"


def seconds(task: Callable[[], object], device: str) -> tuple[float, float]:
    """Wall and CPU seconds of a call, the device's work included."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    wall, cpu = time.perf_counter(), time.process_time()
    task()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - wall, time.process_time() - cpu


def by_opacus(X: Any, y: Any, steps: int) -> None:
    """One model by PrivacyEngine, as its documentation does it."""
    from opacus import PrivacyEngine

    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    data = torch.utils.data.TensorDataset(X, y)
    net, optimizer, batches = PrivacyEngine().make_private(
        module=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=RATE),
        data_loader=torch.utils.data.DataLoader(data, batch_size=BATCH),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
    )
    loss, done = torch.nn.CrossEntropyLoss(), 0
    while done < steps:
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss(net(inputs), labels).backward()
            optimizer.step()
            done += 1
            if done == steps:
                break


def opacus_steps(X: Any, y: Any, threads: int, steps: int) -> tuple[float, float]:
    """Model-steps for each wall and each CPU second."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wall, cpu = seconds(lambda: by_opacus(X, y, steps), "cpu")
    torch.set_num_threads(before)
    return steps / wall, steps / cpu


def rows_of(runs: dict[str, list[tuple[float, float]]]) -> list[list[str]]:
    """Medians over the rounds."""
    rows = []
    for name, pairs in runs.items():
        wall, cpu = (statistics.median(column) for column in zip(*pairs, strict=True))
        rows.append([name, f"{wall / STEPS:,.1f}", f"{wall:,.0f}", f"{cpu:,.0f}"])
    return rows


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--chunk", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    for flag in ("--compile", "--cnn", "--no-opacus"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def main() -> int:
    """Print the table; 1 if a target is missed."""
    asked = arguments()
    torch.set_num_threads(asked.threads)
    on_gpu = asked.device.startswith("cuda")
    models = asked.models or (65_536 if on_gpu else 256)
    X, y = load_digits(return_X_y=True)
    X = X / 16
    print(f"tellapart {ta.__version__}, {versions('torch', 'numpy')}")
    print(f"Hardware: {hardware(asked.device)}")
    print(f"{models:,} models at a time, {len(y):,} examples, {STEPS} steps, median of rounds\n")
    nets = {"tellapart, MLP": MLP, "tellapart, linear": LINEAR}
    if asked.cnn:
        nets["tellapart, CNN (for information)"] = CNN
    options = {"device": asked.device, "chunk": asked.chunk, "compiled": asked.compile}

    def ours(net: Architecture, count: int) -> tuple[float, float]:
        wall, cpu = seconds(
            lambda: fleet.train(net, RECIPE, X, y, models=count, seed=1, **options), asked.device
        )
        return count * STEPS / wall, count * STEPS / cpu

    tensors = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    tried = [] if asked.no_opacus or on_gpu else sorted({1, asked.threads})
    runs: dict[str, list[tuple[float, float]]] = {}
    for number in range(asked.rounds + 1):  # the first one warms up
        for name, net in nets.items():
            count = max(1, models // 16) if isinstance(net, fleet.CNN) else models
            runs.setdefault(name, []).append(ours(net, count))
        for threads in tried:
            pair = opacus_steps(*tensors, threads, 200 if number else 20)
            runs.setdefault(f"Opacus in a loop, threads: {threads}", []).append(pair)
    runs = {name: pairs[1:] for name, pairs in runs.items()}
    head = ["", "models/s", "steps/s", "per CPU s"]
    print_rows(head, rows_of(runs))
    trained = fleet.train(MLP, RECIPE, X, y, models=64, seed=1, **options)
    print(f"Accuracy of the MLPs on their data: {np.mean(trained.accuracy(X, y)):.3f}")
    speeds = {name: statistics.median(wall for wall, _ in each) for name, each in runs.items()}
    mine = speeds["tellapart, MLP"]
    if on_gpu:
        per_second = mine / STEPS
        return int(told(f"{ON_GPU:,} MLPs a second; {per_second:,.0f}", per_second >= ON_GPU))
    if not tried:
        return 0
    ratio = mine / max(speed for name, speed in speeds.items() if name.startswith("Opacus"))
    return int(told(f"{TIMES_OPACUS} times Opacus at its best; {ratio:.1f}", ratio >= TIMES_OPACUS))


if __name__ == "__main__":
    sys.exit(main())
