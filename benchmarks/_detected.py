"""What probes find in a specimen of the zoo, and what is known to be there to be found."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tellapart import audit
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import curve_of
from tellapart.zoo.specimen import Flaw, Specimen

EPSILON, MU = "ε", "μ"
# The best known from 40,000 calls a stage (gradient boosting, Clopper-Pearson on held-out calls,
# 95 %), and from 20,000 steps for μ, where 6.75 is the most that so many steps can show.
BEST_KNOWN: dict[str, tuple[str, float]] = {
    "laplace": (EPSILON, 0.966),
    "histogram": (EPSILON, 0.976),
    "histogram-upside-down": (EPSILON, 1.941),
    "noisy-max-1": (EPSILON, 0.876),
    "noisy-max-2": (EPSILON, 0.910),
    "noisy-max-3": (EPSILON, 2.220),
    "noisy-max-4": (EPSILON, 4.621),
    "sparse-vector-1": (EPSILON, 0.748),
    "sparse-vector-3": (EPSILON, 1.545),
    "sparse-vector-4": (EPSILON, 1.452),
    "sparse-vector-5": (EPSILON, 7.786),
    "sparse-vector-6": (EPSILON, 2.934),
    "numerical-sparse-vector": (EPSILON, 0.372),
    "prefix-sums": (EPSILON, 4.995),
    "step": (MU, 0.933),
    "step-no-clip": (MU, 6.750),
    "step-clip-after-mean": (MU, 6.750),
    "step-noise-over-batch": (MU, 6.750),
    "step-noise-without-clip-norm": (MU, 4.685),
    "step-per-layer": (MU, 1.929),
    "step-microbatch": (MU, 1.944),
    "step-workers": (MU, 2.706),
    "step-not-zeroed": (MU, 2.946),
    "step-realised-batch": (MU, 4.297),
}
_LONGEST = 60
# Seeds of a row, however long one takes.
_FEWEST = 3


@dataclass(frozen=True)
class Stopped:
    """When probes that stop by themselves stopped, in the middle of several."""

    calls: int
    refuted: int


@dataclass(frozen=True)
class Detected:
    """Probes of one specimen, one for each seed: medians of what they show and take."""

    specimen: Specimen
    seeds: int
    refuted: int
    epsilon: float
    overclaims: int | None  # seeds whose ε is above the true one, where that is known
    mu: float | None  # for claims of Gaussian DP
    seconds: float
    stopped: Stopped | None  # for claims of (ε, δ)
    event: str
    refusal: str = ""

    @property
    def short(self) -> bool:
        """Whether more is known to be findable."""
        if self.specimen.name not in BEST_KNOWN or self.refusal:
            return False
        unit, known = BEST_KNOWN[self.specimen.name]
        shown = self.mu if unit == MU else self.epsilon
        return shown is None or shown < known

    @property
    def found(self) -> bool:
        """Whether the claim is refuted for most seeds."""
        return 2 * self.refuted > self.seeds

    @property
    def findable(self) -> bool:
        """Whether there is a bug, and in the law of one output."""
        return self.specimen.flaw is Flaw.LAW


def detect(specimen: Specimen, samples: int, seeds: int, most: float = math.inf) -> Detected:
    """Probe with ``samples`` calls on each input of the first pair, and until decided.

    Once for each seed, or for as many as ``most`` CPU seconds allow, and at least 3.
    """
    of_promise = isinstance(curve_of(specimen.claim, "claim"), GuaranteeCurve)
    verdicts, bounds, seconds, stops = [], [], [], []
    begin = _spent()
    for seed in range(seeds):
        if seed >= _FEWEST and _spent() - begin > most:
            break
        start = time.process_time()
        try:
            verdict = probed(specimen, samples, seed)
        except Unsupported as why:
            spent = time.process_time() - start
            return Detected(specimen, seeds, 0, 0.0, None, None, spent, None, "", str(why))
        bounds.append(verdict.evidence.epsilon_lower(specimen.delta).value)
        seconds.append(time.process_time() - start)
        verdicts.append(verdict)
        if of_promise:
            stops.append(probed(specimen, samples, seed, until_decided=True))
    places = [verdict.finding.where for verdict in verdicts if verdict.finding]
    return Detected(
        specimen,
        len(verdicts),
        len(places),
        statistics.median(bounds),
        overclaims(bounds, specimen.truth),
        None if of_promise else statistics.median(v.evidence.mu_lower().value for v in verdicts),
        statistics.median(seconds),
        _stopped(stops) if of_promise else None,
        shortened(places[0]) if places else "",
    )


def kept(file: Path | None, specimen: Specimen, samples: int) -> Detected | None:
    """What an earlier run wrote of this specimen to a file of lines of JSON."""
    if file is None or not file.exists():
        return None
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    key = (specimen.name, samples)
    row = next((line for line in lines if (line.pop("name"), line.pop("samples")) == key), None)
    if row is None:
        return None
    stopped = row.pop("stopped")
    return Detected(specimen, stopped=None if stopped is None else Stopped(**stopped), **row)


def keep(file: Path | None, detected: Detected, samples: int) -> None:
    """Add a line for this specimen, in one go: runs side by side may share the file."""
    if file is not None:
        row = {field.name: getattr(detected, field.name) for field in fields(detected)}
        row |= {"name": row.pop("specimen").name, "samples": samples}
        row["stopped"] = None if detected.stopped is None else vars(detected.stopped)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")


def overclaims(bounds: Sequence[float], truth: float | None) -> int | None:
    """How many bounds from below lie above the truth; None where that is not known."""
    return None if truth is None else sum(bound > truth for bound in bounds)


def _spent() -> float:
    """CPU seconds so far, of processes that were started and have ended, too."""
    return sum(os.times()[:4])


def probed(
    specimen: Specimen, samples: int, seed: int, until_decided: bool = False
) -> audit.Verdict:
    """A probe of the specimen's most telling pair."""
    return audit.probe(
        specimen.mechanism,
        *specimen.pairs[0],
        claim=specimen.claim,
        samples=samples,
        seed=seed,
        until_decided=until_decided,
    )


def _stopped(verdicts: Sequence[audit.Verdict]) -> Stopped:
    calls = statistics.median(verdict.evidence.calls for verdict in verdicts)
    return Stopped(round(calls), sum(verdict.refuted for verdict in verdicts))


def shortened(where: str) -> str:
    """The event that refutes a claim, without counts, and with no more than a line of words.

    >>> shortened("output > 1: 61 % of outputs on d1 (61 of 100) against 8 % of outputs on d0")
    'output > 1: 61 % on d1 against 8 % on d0'
    """
    plain = re.sub(r" \([\d,]+ of [\d,]+\)", "", where).replace("of outputs on", "on")
    event, colon, rates = plain.rpartition(": ")
    parts = event.split(" or ")
    kept = parts[:1]
    for part in parts[1:]:
        if len(" or ".join([*kept, part])) > _LONGEST:
            break
        kept.append(part)
    more = f" or {len(parts) - len(kept)} more" if len(kept) < len(parts) else ""
    return " or ".join(kept) + more + colon + rates
