"""Training bugs under `audit.step`: what is shown of each, in how many runs and seconds.

Tables come as Markdown, for the documentation with ``--page FILE``. ``--samples`` sets how many
runs an audit makes of each pair on each side, ``--only NAME`` (again and again) takes these
specimens alone, ``--opacus N`` audits Opacus with N runs. CPU seconds are of this process, on one
thread.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from _markdown import Page
from _timing import versions

import tellapart as ta
from tellapart import audit, zoo
from tellapart.audit.trainings.step_audit import StepAudit
from tellapart.zoo.training import Training

SAMPLES, CONFIDENCE = 10_000, 0.999
DELTA = 1e-5
ROOT = Path(__file__).resolve().parents[1]
HEAD = """# DP-SGD implementation bugs

Written by `make training-bugs` (`benchmarks/training_bugs.py`); do not edit. Each row is a step of
private training from `tellapart.zoo.TRAINING`, audited by one call of `audit.step`: the step is run
on pairs of neighbouring gradients chosen so that known mistakes show, and the claim is the exact
curve of DP-SGD with the noise, the sampling and the number of steps that the code states.

```python
from tellapart import audit, zoo

bug = next(specimen for specimen in zoo.TRAINING if specimen.name == "step-per-layer")
audited = audit.step(bug.step, samples=2_000, confidence=0.999, **bug.settings)
audited.refuted, audited.refuting[0].name    # -> (True, 'canary in every layer')
audited.hint.partition(",")[0]               # -> every layer clipped to the whole norm
```
"""
SHOWN = ("shown ε ≥", "if Gaussian, ε ≥")
COLUMNS = (
    *("step", "what it does", "runs", "claimed ε", "true ε"),
    *(*SHOWN, "verdict", "by", "s"),
)
READING = (
    "Runs are calls of the step on both sides of all pairs. ε is at δ = 1e-5; what is shown holds "
    f"with {100 * CONFIDENCE:g} % confidence for all pairs of a row together, and how much can be "
    "shown is limited by the number of runs, whatever the truth. A true ε of ∞ means gradients of "
    "any length, batches of any size, or an output without noise. Verdicts are on the whole curve, "
    "so that a claim may fall while the ε shown at this one δ is less than claimed; what is shown "
    "“if Gaussian” is the ε of the least μ that is left, and speaks against promises of Gaussian "
    "DP alone. Batches that are dealt leak less than claimed at this δ and more elsewhere. “By” is "
    "the pair that explains the bug."
)


def main() -> int:
    """Print the tables; 1 if a verdict is not the one expected."""
    options = arguments()
    page = Page()
    every = [case for case in zoo.TRAINING if not options.only or case.name in options.only]
    page.say(*HEAD.splitlines(), "", versions("numpy", "scipy"), "", READING, "")
    wrong = list[str]()
    for title, right in (("Wrong", False), ("Right", True)):
        page.say(f"## {title}")
        some = [specimen for specimen in every if specimen.correct is right]
        page.table(COLUMNS, rows(some, options.samples, wrong))
    page.target("every bug refuted and nothing else", not wrong)
    if options.page:  # the rest takes a while
        page.write(options.page)
    if options.opacus:
        of_opacus(page, options.opacus)
    if options.page:
        page.write(options.page)
    return int(page.missed)


def rows(some: list[Training], samples: int, wrong: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each step."""
    for specimen in some:
        begun = time.process_time()
        audited = audit.step(
            specimen.step, samples=samples, confidence=CONFIDENCE, **specimen.settings
        )
        spent = time.process_time() - begun
        if audited.refuted is specimen.correct:
            wrong.append(specimen.name)
        yield (
            f"`{specimen.name}`",
            specimen.words,
            f"{2 * samples * len(audited.pairs):,}",
            number(claimed(specimen.settings)),
            number(specimen.truth),
            *shown(audited),
            "refuted" if audited.refuted else "not refuted",
            audited.refuting[0].name if audited.refuted else "",
            f"{spent:.1f}",
        )


def shown(audited: StepAudit) -> tuple[str, str]:
    """What any promise must allow, and what one of Gaussian DP must."""
    gaussian = audited.verdict.evidence.gaussian_epsilon_lower(DELTA)
    return number(audited.epsilon_lower(DELTA).value), number(gaussian.value)


def claimed(settings: Any) -> float:
    """The ε that the step's own numbers promise."""
    rate, steps = settings.get("sampling_rate", 1.0), settings.get("steps", 1)
    return ta.dp_sgd(settings["noise_multiplier"], rate, steps).curve().epsilon(DELTA)


def number(epsilon: float) -> str:
    """Rounded down, as bounds from below are."""
    return "∞" if math.isinf(epsilon) else f"{math.floor(100 * epsilon) / 100:g}"


# -- Opacus --------------------------------------------------------------------------------------


def of_opacus(page: Page, samples: int) -> None:
    """Opacus at three budgets, and with bugs planted."""
    sys.path.insert(0, str(ROOT / "tests" / "libraries"))
    import opacus_steps as opacus

    page.say(
        f"## Opacus {version('opacus')}",
        "",
        "Steps of its `PrivacyEngine` on a linear model whose gradients are the records. At the "
        "budgets ε the noise is what Opacus finds for four Poisson steps at rate 1/2 "
        "and δ = 1e-5, and the claim is that budget. The size of the data is public (see "
        "[what it gives away](findings.md)), but for the last row.",
    )
    trained = opacus.Trained(noise=1.0)
    two = opacus.Trained(noise=0.3, batch=2, steps=2)
    half = {"sampling_rate": 0.5, "steps": 2}
    cases: list[tuple[str, Any, dict[str, Any], bool]] = []
    for epsilon in (1.0, 4.0, 10.0):
        noise = opacus.noise_for(epsilon, rate=0.5, steps=4)
        settings = {"sampling_rate": 0.5, "steps": 4, "claim": ta.guarantee(epsilon, DELTA)}
        settings["only"] = ("canary at the clip", "long canary")
        four = opacus.Trained(noise=noise, batch=2, steps=4)
        cases.append((f"four steps at ε = {epsilon:g}", four, settings, False))
    cases += [
        ("one step", trained, {}, False),
        ('one step, `clipping="per_layer"`', replace(trained, clipping="per_layer"), {}, False),
        ("two Poisson steps", two, half, False),
        ("two steps, `poisson_sampling=False`", replace(two, poisson=False), half, True),
        ("planted: noise for eight workers", planted(trained, opacus.noise_by_workers), {}, True),
        ("planted: a layer unclipped", planted(trained, opacus.unclipped_layer), {}, True),
        ("planted: the batch clipped at once", planted(trained, opacus.clipped_together), {}, True),
        (
            "planted: the same noise in two steps",
            replace(planted(two, opacus.same_noise), noise=1.0),
            half,
            True,
        ),
        ("one step, size of the data secret", trained, {"public_size": False}, True),
    ]
    page.table(
        ("what", "σ", "runs", "claimed ε", *SHOWN, "verdict", "by", "s"),
        opacus_rows(page, cases, samples, opacus.LAYERS),
    )


def planted(trained: Any, bug: Any) -> Any:
    """The same training with a bug."""
    return replace(trained, spoil=bug)


def opacus_rows(
    page: Page, cases: list[tuple[str, Any, dict[str, Any], bool]], samples: int, layers: Any
) -> Iterator[tuple[str, ...]]:
    """A row for each case."""
    for name, trained, own, bad in cases:
        settings = {"clip": trained.clip, "noise_multiplier": trained.noise, "public_size": True}
        begun = time.process_time()
        audited = audit.step(
            trained,
            samples=samples,
            confidence=CONFIDENCE,
            layers=layers,
            expected_batch=trained.batch,
            **(settings | own),
        )
        spent = time.process_time() - begun
        page.missed |= audited.refuted is not bad
        epsilon = audited.verdict.claim.curve().epsilon(DELTA) if "claim" not in own else None
        yield (
            name,
            f"{trained.noise:.3g}",
            f"{2 * samples * len(audited.pairs):,}",
            number(epsilon) if epsilon is not None else f"{own['claim'].claimed_epsilon:g}",
            *shown(audited),
            "refuted" if audited.refuted else "not refuted",
            audited.refuting[0].name if audited.refuted else "",
            f"{spent:.0f}",
        )


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--opacus", type=int, default=0)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    unknown = set(options.only) - {specimen.name for specimen in zoo.TRAINING}
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
