"""Every specimen of the zoo under a probe: what is found, with how many calls, in what time.

Tables come as Markdown, for the documentation with ``--page FILE``. ``--only NAME`` (again and
again) probes these specimens alone, ``--seeds`` sets of how many seeds the medians are,
``--samples`` how many calls a probe makes on each input; ``--seconds`` is the CPU time after which
a specimen that is not set beside others gets no further seed. ``--rows FILE`` keeps what was found
of each specimen, and reads what is there rather than probe again. ``--peers FOLDER`` (again and
again) puts the checkout of a peer on the path: StatDP, DP-Sniper, dp_auditorium; what the page of
``--page`` says of a peer that is not there is kept. CPU seconds are of this process, on one thread,
imports not counted.
"""

from __future__ import annotations

import os

# One thread for everyone: CPU seconds of threads that wait for each other say nothing.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import math
import re
import statistics
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from _detected import BEST_KNOWN, MU, Detected, detect, keep, kept, overclaims, probed
from _markdown import Page
from _probers import HALVINGS, PROBERS, Prober, timed
from _timing import cpu_seconds, versions
from _zoo_page import claimed, number
from scipy.stats import binom

import tellapart as ta
from tellapart import zoo
from tellapart.zoo.specimen import Specimen

SAMPLES, SEEDS = 100_000, 20
LEVEL = 0.05
# So rarely are so many correct mechanisms refuted by chance.
RARE = 1e-3
SECONDS, PAIRS = 0.1, 150
HEADLINES = {"laplace": 0.96, "laplace-half-scale": 1.96}
BESIDE = (
    "laplace",
    "laplace-half-scale",
    "noisy-max-1",
    "noisy-max-3",
    "sparse-vector-1",
    "sparse-vector-4",
    "histogram",
    "histogram-upside-down",
)
HEAD = """# Detection benchmark

Written by `make detection` (`benchmarks/detection.py`); do not edit. [The specimens](zoo.md) are
mechanisms as people write them, right and wrong; [a probe](probe.md) knows nothing of them but
how to call them. All bounds are from below, at 95 % confidence: each is too high with probability
at most one in twenty. Too high: how many of the seeds showed an ε above the true one.
"""


# -- the headline ---------------------------------------------------------------------------------


def headline(page: Page, samples: int, seeds: int) -> None:
    """Laplace noise, right and with half its scale."""
    page.say("## Laplace noise", "")
    page.say(f"{samples:,} calls on each input; {_medians(seeds)}.")
    probed(zoo.find("laplace"), samples, 0)  # a warm-up
    bounds, high = {}, {}
    for name in HEADLINES:
        runs = [_bound(name, samples, seed) for seed in range(seeds)]
        bounds[name] = [statistics.median(column) for column in zip(*runs, strict=True)]
        high[name] = _too_high([bound for bound, _ in runs], zoo.find(name))
    head = ("specimen", "true ε", "ε ≥", "too high", "CPU s")
    rows = (
        (name, number(zoo.find(name).truth), f"{bound:.4f}", high[name], f"{seconds:.3f}")
        for name, (bound, seconds) in bounds.items()
    )
    page.table(head, rows)
    for name, (bound, seconds) in bounds.items():
        page.target(f"{name}: ε ≥ {HEADLINES[name]:g}; {bound:.4f}", bound >= HEADLINES[name])
        page.target(f"{name}: under {SECONDS:g} CPU s; {seconds:.3f}", seconds < SECONDS)
    bug = zoo.find("laplace-half-scale")
    stops = [probed(bug, samples, seed, until_decided=True) for seed in range(seeds)]
    pairs = statistics.median(verdict.evidence.calls for verdict in stops)
    refuted = sum(verdict.refuted for verdict in stops)
    page.target(
        f"half the scale refuted, stopping when decided, after {PAIRS} pairs of calls; "
        f"{pairs:g}, refuted for {refuted} of {seeds} seeds",
        pairs <= PAIRS and refuted == seeds,
    )


def _too_high(bounds: Sequence[float], specimen: Specimen) -> str:
    return _of(overclaims(bounds, specimen.truth), len(bounds))


def _of(some: int | None, seeds: int) -> str:
    return "" if some is None else f"{some} of {seeds}"


def _bound(name: str, samples: int, seed: int) -> tuple[float, float]:
    bounds: list[float] = []
    specimen = zoo.find(name)
    seconds = cpu_seconds(
        lambda: bounds.append(probed(specimen, samples, seed).epsilon_lower().value)
    )
    return bounds[0], seconds


# -- the whole zoo --------------------------------------------------------------------------------


def whole_zoo(
    page: Page, names: Sequence[str], samples: int, seeds: int, most: float, rows_file: Path | None
) -> list[Detected]:
    """Two tables, the buggy and the correct, and what they come to."""
    page.say("## Every specimen", "")
    fewer = "" if math.isinf(most) else f", or of as many as {most:g} CPU s allow and at least 3"
    page.say(
        f"{samples:,} calls on each input; {_medians(seeds)}{fewer}. True ε and ε ≥ are at the "
        "claim's δ, or at 1e-5 where the claim is of Gaussian DP; those also have a μ ≥. Best "
        "known: from other auditors with 40,000 calls a stage, in ε or in μ. Decided after: calls "
        "on each input until a probe that stops by itself refutes the claim, or gives it up as out "
        f"of reach within {samples:,}.",
        "",
    )
    detected: list[Detected] = []
    for title, group in (("Buggy", zoo.buggy()), ("Correct", zoo.correct())):
        chosen = [specimen for specimen in group if specimen.name in names]
        if not chosen:
            continue
        page.say(f"### {title}")
        head = ("specimen", "claim", "true ε", "verdict", "ε ≥", "too high", "μ ≥", "best known")
        some: list[Detected] = []
        rows = (_row(specimen, some, samples, seeds, most, rows_file) for specimen in chosen)
        page.table((*head, "CPU s", "decided after", "seen in"), rows)
        detected += some
    summary(page, detected, samples)
    return detected


def _medians(seeds: int) -> str:
    return f"medians of {seeds} seeds" if seeds > 1 else "one seed"


def _row(
    specimen: Specimen,
    detected: list[Detected],
    samples: int,
    seeds: int,
    most: float,
    rows: Path | None,
) -> list[str]:
    seen = kept(rows, specimen, samples)
    if seen is None:
        seen = detect(specimen, samples, seeds, math.inf if specimen.name in BESIDE else most)
        keep(rows, seen, samples)
    detected.append(seen)
    unit, known = BEST_KNOWN.get(specimen.name, ("", math.nan))
    prefix = "μ " if unit == MU else ""
    return [
        specimen.name,
        claimed(specimen),
        number(specimen.truth),
        _verdict(seen),
        "" if seen.refusal else f"{seen.epsilon:.3f}",
        _of(seen.overclaims, seen.seeds),
        "" if seen.mu is None else f"{seen.mu:.3f}",
        "" if math.isnan(known) else f"{prefix}{known:.3f}{' (short)' if seen.short else ''}",
        f"{seen.seconds:.2f}",
        _decided(seen),
        seen.refusal or seen.event,
    ]


def _verdict(seen: Detected) -> str:
    if seen.refusal:
        return "cannot judge"
    if seen.refuted in (0, seen.seeds):
        return "refuted" if seen.refuted else "not refuted"
    return f"refuted, {seen.refuted} of {seen.seeds}"


def _decided(seen: Detected) -> str:
    if seen.stopped is None:
        return ""
    calls, refuted = f"{seen.stopped.calls:,}", seen.stopped.refuted
    if refuted == seen.seeds:
        return calls
    return f"{calls}, given up" if not refuted else f"{calls}, refuted {refuted} of {seen.seeds}"


def summary(page: Page, detected: Sequence[Detected], samples: int) -> None:
    """What the tables come to."""
    page.say("### In sum", "")
    bugs = [row for row in detected if row.findable]
    correct = [row for row in detected if row.specimen.correct]
    missed = [row.specimen.name for row in bugs if not row.found]
    if bugs:
        page.target(
            f"every bug in the law of one output refuted with {samples:,} calls on each input; "
            f"{len(bugs) - len(missed)} of {len(bugs)}{_named(missed)}",
            not missed,
        )
    for row in detected:
        if not row.specimen.correct and not row.findable:
            flaw = row.specimen.flaw.value if row.specimen.flaw else ""
            page.say(f"{row.specimen.name}, whose flaw is in its {flaw}: {_verdict(row)}.", "")
    if correct:
        alarms, runs = sum(row.refuted for row in correct), sum(row.seeds for row in correct)
        most = int(binom.isf(RARE, runs, LEVEL))
        page.target(
            f"correct specimens spared but for {LEVEL:.0%} of probes, of {runs} at most {most}; "
            f"refuted {alarms}",
            alarms <= most,
        )
    # Nothing is too high where the truth is infinite.
    judged = [
        row for row in detected if row.overclaims is not None and row.specimen.truth != math.inf
    ]
    if judged:
        high, runs = sum(row.overclaims or 0 for row in judged), sum(row.seeds for row in judged)
        most = int(binom.isf(RARE, runs, LEVEL))
        page.target(
            f"bounds too high in {LEVEL:.0%} of probes, of {runs} at most {most}; {high}",
            high <= most,
        )
    known = [row for row in bugs if row.specimen.name in BEST_KNOWN]
    if known:
        short = [row.specimen.name for row in known if row.short]
        page.target(
            f"bounds on bugs at least the best known; {len(known) - len(short)} of {len(known)}"
            f"{_named(short, 'short')}",
            not short,
        )
    short = [row.specimen.name for row in correct if row.short]
    if short:
        page.say(f"On correct specimens more is known to be provable of: {', '.join(short)}.", "")


def _named(names: Sequence[str], word: str = "missed") -> str:
    return f", {word}: {', '.join(names)}" if names else ""


# -- beside others --------------------------------------------------------------------------------


def beside(page: Page, detected: Sequence[Detected], samples: int, former: str) -> None:
    """Peers on the same pair of inputs, one after another."""
    page.say("## Comparison with other auditors", "")
    page.say(
        f"One after another in this process. Ours makes {samples:,} calls on each input; "
        "its numbers are those above. Peers run once: they get about as many calls in all, then "
        "as many for each of their stages. StatDP and dp_auditorium answer for one ε at a time; "
        f"the largest they refute is sought by halving, in {HALVINGS} steps, which they do not "
        f"correct for, and one step takes 1/{HALVINGS} of StatDP's time. Times ours: CPU seconds "
        "over ours in the same process.",
        "",
    )
    running = []
    for prober in PROBERS:
        why = prober.missing()
        page.say(f"- {prober.name}: {_missing(prober, why, former) if why else _commit(prober)}")
        running += [] if why else [prober]
    for prober in running:
        timed(prober, zoo.find("laplace"), 1_000)  # compiles and loads what it needs
    head = ("specimen", "true ε", "auditor", "ε ≥", "too high", "CPU s", "times ours")
    rows = (
        row
        for name in BESIDE
        for ours in detected
        if ours.specimen.name == name
        for row in _peers(ours, running, samples, former)
    )
    page.table((*head, "calls on each input"), rows)


def _commit(prober: Prober) -> str:
    return f"commit {prober.commit()}"


def _missing(prober: Prober, why: str, former: str) -> str:
    """Why a peer was not run, and of what its rows are where a former page has some."""
    known = re.search(rf"^- {re.escape(prober.name)}: .*?(commit .*)$", former, re.M)
    kept = f"; its rows are of an earlier run, {known[1]}" if known else ""
    return f"not run, {why}{kept}"


def _former_rows(specimen: Specimen, prober: Prober, former: str) -> Iterable[list[str]]:
    """What a former page says of a peer; its columns have names, so that they may move."""
    section = former.partition("## Comparison with other auditors")[2]
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    for cells in lines[2:]:
        row = dict(zip(lines[0], cells, strict=True))
        if (row["specimen"], row["auditor"]) == (specimen.name, prober.name):
            yield _peer_row(specimen, prober, *(row[name] for name in lines[0] if name in _PEER))


_PEER = ("ε ≥", "CPU s", "times ours", "calls on each input")


def _peer_row(
    specimen: Specimen, prober: Prober, bound: str, cpu: str, times: str, calls: str
) -> list[str]:
    high = "" if bound == "–" else _too_high([float(bound)], specimen)
    return [specimen.name, number(specimen.truth), prober.name, bound, high, cpu, times, calls]


def _peers(
    ours: Detected, running: Sequence[Prober], samples: int, former: str
) -> Iterable[list[str]]:
    specimen = ours.specimen
    cells = (f"{ours.epsilon:.3f}", _of(ours.overclaims, ours.seeds), f"{ours.seconds:.2f}")
    yield [specimen.name, number(specimen.truth), "tellapart", *cells, "", f"{samples:,}"]
    for prober in PROBERS:
        if prober not in running:
            yield from _former_rows(specimen, prober, former)
            continue
        if specimen.name in prober.left_out:
            yield _peer_row(specimen, prober, "–", "–", "", prober.left_out[specimen.name])
            continue
        # DP-Sniper takes thousands.
        in_all = max(samples // prober.stages // 1_000 * 1_000, 1_000)
        for each in sorted({in_all, samples}):
            epsilon, seconds = timed(prober, specimen, each)
            shown = (f"{epsilon:.3f}", f"{seconds:.2f}", f"{seconds / ours.seconds:.3g}")
            yield _peer_row(specimen, prober, *shown, f"{each * prober.stages:,}")


# -- the whole ------------------------------------------------------------------------------------


def _installed(*packages: str) -> list[str]:
    there = []
    for package in packages:
        try:
            version(package)
        except PackageNotFoundError:
            continue
        there.append(package)
    return there


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="The detection table.")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--rows", type=Path, metavar="FILE")
    parser.add_argument("--peers", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--page", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    sys.path.extend(asked.peers)
    names = [
        zoo.find(name).name for name in asked.only or [specimen.name for specimen in zoo.SPECIMENS]
    ]
    former = asked.page.read_text(encoding="utf-8") if asked.page and asked.page.exists() else ""
    page = Page()
    page.say(*HEAD.splitlines(), "")
    used = versions(*_installed("numpy", "scipy", "torch", "numba"))
    page.say(f"Versions: tellapart {ta.__version__}, {used}. CPU seconds on one thread.", "")
    if not asked.only:
        headline(page, asked.samples, asked.seeds)
    detected = whole_zoo(page, names, asked.samples, asked.seeds, asked.seconds, asked.rows)
    if not asked.only or asked.peers:
        beside(page, detected, asked.samples, former)
    if asked.page:
        page.write(asked.page)
    return int(page.missed)


if __name__ == "__main__":
    sys.exit(main())
