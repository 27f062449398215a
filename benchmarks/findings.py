"""Promises of other libraries that calls refute, each three times with fresh seeds, at 99.99 %.

Each is what the library itself promises, on neighbours as its noise means them. OpenDP draws from
the system, so that its numbers differ a little from run to run.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import opendp.prelude as dp
import torch
from diffprivlib import tools
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import tellapart as ta
from tellapart import audit
from tellapart._numeric.text import short

SAMPLES, CONFIDENCE, SEEDS = 5_000, 0.9999, (101, 102, 103)
NAN = float("nan")


class Finding(NamedTuple):
    """A call, two neighbours and the promise that comes with it."""

    call: str
    mechanism: Callable[..., Any]
    d0: Any
    d1: Any
    claim: ta.TradeoffCurve


def tool(call: str, function: Callable[..., Any], d0: Any, d1: Any, **settings: Any) -> Finding:
    """A tool of diffprivlib, at ε = 1."""

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        state = np.random.RandomState(rng.bit_generator)
        return function(data, epsilon=1.0, random_state=state, **settings)

    return Finding(f"diffprivlib {call}", mechanism, d0, d1, ta.guarantee(epsilon=1))


def weighted(data: Any, **settings: Any) -> Any:
    """A histogram of people who count more than once."""
    ages, weights = zip(*data, strict=True)
    return tools.histogram(ages, bins=3, range=(0, 3), weights=weights, **settings)[0]


def threshold() -> Finding:
    """Counts by name, shown from 2 on."""
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    measurement = dp.m.make_laplace_threshold(domain, metric, scale=1.0, threshold=2)
    claim = ta.guarantee(*measurement.map((1, 1, 1)))
    call = "OpenDP make_laplace_threshold of whole numbers"
    return Finding(call, lambda data: measurement(data), {"a": 1}, {"a": 1, "b": 1}, claim)


def private(records: int) -> tuple[Any, ...]:
    """A linear model made private by Opacus, for records whose gradients are zero."""
    model = torch.nn.Linear(500, 1, bias=False)
    data = DataLoader(TensorDataset(torch.zeros(records, 500)), batch_size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine()
        return engine, *engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=data,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
        )


def size_of_data() -> Finding:
    """One step of Opacus, with one record more."""
    made = {records: private(records) for records in (100, 101)}

    def mechanism(records: int, rng: np.random.Generator) -> float:
        _, model, optimizer, data = made[records]
        torch.manual_seed(int(rng.integers(2**62)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer.zero_grad()
            model(next(iter(data))[0]).mean().backward()
            optimizer.step()
        return float(optimizer.params[0].grad.square().mean())

    mechanism(100, np.random.default_rng(0))
    claim = ta.guarantee(float(made[100][0].get_epsilon(delta=1e-5)), 1e-5)
    call = "Opacus, one step on so many records, mean square of the update"
    return Finding(call, mechanism, 100, 101, claim)


def findings() -> list[Finding]:
    """All of them."""
    bounds, missing = (0.0, 10.0), [NAN] * 9
    spread = [0.0, 0.0, *missing], [0.0, 10.0, *missing]
    answered = [50.0, 50.0, NAN], [50.0, 50.0, 50.0]
    heavy = [(0.5, 1), (1.5, 10)], [(0.5, 1), (2.5, 10)]
    return [
        threshold(),
        tool("nanmean", tools.nanmean, [0.0, *missing], [10.0, *missing], bounds=bounds),
        tool("nanvar", tools.nanvar, *spread, bounds=bounds),
        tool("nanstd", tools.nanstd, *spread, bounds=bounds),
        tool("nansum", tools.nansum, *answered, bounds=(40.0, 60.0)),
        tool("histogram with weights", weighted, *heavy),
        size_of_data(),
    ]


def main() -> int:
    """Print what was found; 1 if a promise is not refuted."""
    print(f"OpenDP {version('opendp')}, diffprivlib {version('diffprivlib')}, ", end="")
    print(f"Opacus {version('opacus')}; ", end="")
    print(f"{SAMPLES:,} calls on each input, {100 * CONFIDENCE:g} % confidence, seeds {SEEDS}\n")
    missed = 0
    for finding in findings():
        print(f"{finding.call}\n  d0 = {finding.d0}\n  d1 = {finding.d1}")
        for seed in SEEDS:
            verdict = audit.probe(
                finding.mechanism,
                finding.d0,
                finding.d1,
                claim=finding.claim,
                samples=SAMPLES,
                confidence=CONFIDENCE,
                seed=seed,
            )
            missed += not verdict.refuted
            shown = verdict.epsilon_lower().value
            said = verdict.headline.partition(",")[0] if verdict.refuted else verdict.headline
            print(
                f"  {said}, δ = {short(verdict.delta, 3)}; shown "
                f"ε ≥ {np.floor(100 * shown) / 100:g}"
            )
        print()
    return min(missed, 1)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sys.exit(main())
