"""Audits of released tables: attacks on original records beside the same attacks on a control.

The null hypothesis: the release is independent of which records are original. Then original records
and control, drawn from one population, are exchangeable given the release, and Fisher's exact test
of each attack holds at its level, whatever the data are. Every attack sees the release, and of a
target what an attacker is said to know.

Success on the control is what the release says of people who are not in it: patterns of the
population. Only what goes beyond is leakage of records.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellapart import _checks, _progress, run
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.text import aligned as aligned_text
from tellapart._numeric.text import short
from tellapart.audit.bounds import Basis, LowerBound, percent
from tellapart.audit.counts.clopper_pearson import clopper_pearson
from tellapart.audit.counts.fisher_exact import fisher_p_value
from tellapart.audit.evidence.reconstruction_counts import (
    ReconstructionEvidence,
    reconstruction,
)
from tellapart.audit.released_tables import nearest_records, predicates
from tellapart.audit.released_tables.aligned_tables import AlignedTables, Mask, aligned
from tellapart.audit.scores import Scores
from tellapart.errors import Unsupported

_TARGETS, _UNIVARIATE, _MULTIVARIATE = 1, 2, 3


@dataclass(frozen=True, eq=False)
class TableAttack:
    """One attack on a released table: its successes, beside those on the control.

    ``level`` is its share of the level; ``hits`` says of each target whether it succeeded, and
    ``everyone`` whether all records of both tables were targets.
    """

    name: str
    hits: Mask
    control_hits: Mask
    level: float
    everyone: bool = True

    @property
    def successes(self) -> int:
        """Of how many original records the attack was right."""
        return int(self.hits.sum())

    @property
    def trials(self) -> int:
        """How many original records were attacked."""
        return self.hits.size

    @property
    def control(self) -> tuple[int, int]:
        """Successes and trials on records that were not in the release."""
        return int(self.control_hits.sum()), self.control_hits.size

    @property
    def interval(self) -> tuple[float, float]:
        """The success rate on original records (Clopper-Pearson, at this attack's level)."""
        return clopper_pearson(self.successes, self.trials, confidence=1 - self.level)

    @property
    def control_interval(self) -> tuple[float, float]:
        """The success rate on the control (Clopper-Pearson, at this attack's level)."""
        return clopper_pearson(*self.control, confidence=1 - self.level)

    @property
    def p_value(self) -> float:
        """The chance of so many successes if the release were independent of its records."""
        return fisher_p_value(self.successes, self.trials, *self.control)

    @property
    def leaks(self) -> bool:
        """Whether original records are shown to be more at risk than others."""
        return self.p_value <= self.level

    @property
    def gain_lower(self) -> LowerBound:
        """By how much the attack does better on original records, at least; 0 if not shown."""
        low = float(binomial.lower_limit(self.successes, self.trials, self.level / 2))
        high = float(binomial.upper_limit(*self.control, self.level / 2))
        gain = max(low - high, 0.0) if self.leaks else 0.0
        return LowerBound(gain, 1 - self.level, Basis.EXACT, "Fisher and Clopper-Pearson")

    def scores(self) -> Scores:
        """Successes as scores for `audit.one_run`, where fair coins put records into the release.

        A verdict on a claim of differential privacy: each record went to the original table or to
        the control by a fair coin of its own, and success is a guess that it was in. As many
        drawn from each table would no longer be fair coins: all records must be targets.
        """
        if not self.everyone:
            raise Unsupported(
                "an audit by coins needs all records as targets: set attacks to the number of rows"
            )
        runs = [np.zeros(side.size, dtype=np.intp) for side in (self.hits, self.control_hits)]
        members, non_members = (side.astype(float) for side in (self.hits, self.control_hits))
        return Scores(members, non_members, member_runs=runs[0], non_member_runs=runs[1])

    def evidence(self, baseline: float, confidence: float = 0.95) -> ReconstructionEvidence:
        """These successes as `audit.reconstruction`, for claims on attributes and records.

        ``baseline`` is the best blind success of someone who knows all other records, such as
        `risk.blind_guess` gives. The control is none: what it shows is of this one release, and
        the bound is about the mean over all. For the same reason only the mean of successes is
        bounded.
        """
        return reconstruction(
            successes=self.successes,
            trials=self.trials,
            baseline=baseline,
            independent=False,
            confidence=confidence,
        )


@dataclass(frozen=True, eq=False)
class TableAudit:
    """What attacks on a released table show; all their tests hold together.

    ``rounded`` has the columns whose type is coarser in one table than in another, with that type:
    they are compared at its precision, so that values which differ less count as equal. Of the
    control's records ``shared`` stand in the original table, too: some by chance, or all of them
    where the control was drawn from it, and then it leaks as much.
    """

    attacks: tuple[TableAttack, ...]
    confidence: float
    rounded: Mapping[str, str] = field(default_factory=dict)
    shared: int = 0

    @property
    def leaks(self) -> bool:
        """Whether some attack shows that the release depends on the original records."""
        return any(attack.leaks for attack in self.attacks)

    @property
    def copies(self) -> TableAttack:
        """Records that stand in the release as they are."""
        return self.attacks[0]

    def __getitem__(self, name: str) -> TableAttack:
        """An attack by its name."""
        known = {attack.name: attack for attack in self.attacks}
        if name not in known:
            _checks.refuse("name", f"be one of {', '.join(known)}", name)
        return known[name]

    @property
    def headline(self) -> str:
        """The verdict in a line."""
        sure = f"at {percent(self.confidence)} confidence"
        shown = [attack.name for attack in self.attacks if attack.leaks]
        if not shown:
            return f"NOT SHOWN: that the release tells original records from others, {sure}"
        return f"LEAKS: original records are more at risk than others ({', '.join(shown)}), {sure}"

    def __str__(self) -> str:
        width = max(len(attack.name) for attack in self.attacks)
        rows = [["".ljust(width), "original", "control", "gain ≥", "p ≤"]]
        for attack in self.attacks:
            hit, tried = attack.control
            rows.append(
                [
                    attack.name.ljust(width),
                    f"{attack.successes:,} of {attack.trials:,}",
                    f"{hit:,} of {tried:,}",
                    short(attack.gain_lower.value, 2, up=False),
                    short(attack.p_value, 2, up=True),
                ]
            )
        lines = [self.headline, aligned_text(rows)]
        if self.rounded:
            columns = ", ".join(f"{name} ({kind})" for name, kind in self.rounded.items())
            lines.append(f"Compared at the coarsest precision of the three tables: {columns}.")
        if self.shared:
            lines.append(
                f"Records of the control that stand in the original table, too: {self.shared:,}. "
                "Were they drawn from it? Take records that the release was not made from."
            )
        return "\n".join(lines)


def tables(
    original: Any,
    released: Any,
    control: Any,
    *,
    secrets: str | Sequence[str] | None = None,
    parts: tuple[Sequence[str], Sequence[str]] | None = None,
    columns: int = 3,
    attacks: int = 1_000,
    tolerance: float = 0.05,
    confidence: float = 0.95,
    seed: int = 0,
    progress: run.Progress | bool = False,
) -> TableAudit:
    """What a released or synthetic table gives away about the records it was made from.

    ``control`` has records of the same population that the release was not made from. Attacks:
    exact copies; singling out by one column and by so many ``columns``; linking the two ``parts``
    of a record (by default every other column); inferring each of the ``secrets`` (by default every
    column) from all other columns, numbers up to a relative ``tolerance``. At most ``attacks``
    descriptions are tried, and so many records of each table. Tables are pandas, Polars or Arrow
    tables or dicts of columns; a column whose type is coarser in one of them (single precision,
    seconds) is compared at that precision, and named. ``progress=True`` shows a bar with the time
    left, or a line a minute where nobody watches; where attacks take longer than a minute, a
    warning says how long.

    >>> import numpy as np
    >>> from tellapart import audit
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     return {"age": rng.integers(18, 90, n), "income": rng.lognormal(10, 1, n).round(),
    ...             "town": rng.choice(list("abcd"), n)}
    >>> original, control = people(200), people(200)
    >>> print(audit.tables(original, original, control, secrets="income").headline[:48])
    LEAKS: original records are more at risk than ot
    >>> audit.tables(original, people(200), control, secrets="income").leaks
    False

    See Also
    --------
    tellapart.risk.singling_out : what a trade-off curve allows
    tellapart.audit.reconstruction : a verdict on a claim, from counts
    """
    data = aligned(original, released, control)
    level = 1 - _checks.inside_unit(confidence=confidence)
    start = _checks.whole(0, 2**62, seed=seed)
    many = _checks.whole(1, 10**7, attacks=attacks)
    wide = _checks.whole(1, columns=columns)
    near = _checks.finite_at_least_zero(tolerance=tolerance)
    if not isinstance(progress, bool):
        _checks.function(progress=progress)
    places = {name: place for place, name in enumerate(data.columns)}
    hidden = _named(places, data.columns if secrets is None else secrets, "secrets")
    halves = _halves(places, parts)
    drawn = [
        _drawn(rows, many, run.generator((start, _TARGETS, k)))
        for k, rows in enumerate((data.original, data.control))
    ]
    found = [("exact copies", [nearest_records.copies(data, rows) for rows in drawn])]
    alone = predicates.univariate(data, many, run.generator((start, _UNIVARIATE)))
    found.append(("singling out (1 column)", _split(data, alone)))
    if len(places) > 1:
        generator = run.generator((start, _MULTIVARIATE))
        several = predicates.multivariate(data, many, wide, generator)
        found.append((f"singling out ({min(wide, len(places))} columns)", _split(data, several)))
        compared = sum(map(len, halves)) + len(hidden) * (len(places) - 1)
        total = compared * sum(map(len, drawn)) * len(data.released)
        with _progress.shown(progress, "% of the attacks", 100) as tell:
            work = _Work(total, tell)
            linked = [nearest_records.linked(data, rows, halves, work) for rows in drawn]
            found.append(("linkability", linked))
            for secret in hidden:
                known = [place for place in places.values() if place != secret]
                hits = [
                    nearest_records.inferred(data, rows, secret, known, near, work)
                    for rows in drawn
                ]
                found.append((f"inference of {data.columns[secret]}", hits))
            if tell is not None:
                tell(1.0)
    share = level / len(found)
    every = max(len(data.original), len(data.control)) <= many
    made = tuple(
        TableAttack(name, hits, other, share, every or name.startswith("singling out"))
        for name, (hits, other) in found
    )
    shared = int(nearest_records.standing(data.control, data.original).sum())
    return TableAudit(made, 1 - level, data.rounded, shared)


class SlowAttacks(UserWarning):
    """Tables are so large that attacks of default size take more than a minute."""


_MINUTE = 60.0


class _Work:
    """Told of what was computed: tells of the share, and once how long all of it takes."""

    def __init__(self, total: int, tell: run.Progress | None) -> None:
        self._total, self._tell, self._done = total, tell, 0
        self._began = time.monotonic()

    def __call__(self, more: int) -> None:
        first, self._done = not self._done, self._done + more
        took = time.monotonic() - self._began
        left = took * (self._total - self._done) / self._done
        if first and left > _MINUTE:
            warnings.warn(
                f"attacks on tables of this size take about {_progress.in_words(left)}. attacks=N "
                "draws fewer records, secrets= names the columns that are to be inferred, and "
                "progress=True shows the time left",
                SlowAttacks,
                stacklevel=5,
            )
        if self._tell is not None:
            self._tell(self._done / self._total)


def _named(places: dict[str, int], names: str | Sequence[str], what: str) -> list[int]:
    several = [names] if isinstance(names, str) else list(names)
    for name in several:
        if name not in places:
            _checks.refuse(what, f"be columns ({', '.join(places)})", name)
    if not several or len(set(several)) < len(several):
        _checks.refuse(what, "be columns, each named once", several)
    return [places[name] for name in several]


def _halves(
    places: dict[str, int], parts: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[list[int], list[int]]:
    if parts is None:
        every = list(places.values())
        return every[::2], every[1::2]
    if not isinstance(parts, tuple | list) or len(parts) != 2:
        _checks.refuse("parts", "be two lists of columns, one for each part", parts)
    first, second = (_named(places, part, "parts") for part in parts)
    if set(first) & set(second):
        _checks.refuse("parts", "have no column in common", parts)
    return first, second


def _drawn(rows: Array, most: int, rng: np.random.Generator) -> Array:
    """So many records, drawn without replacement; all where there are no more."""
    return rows if len(rows) <= most else rows[rng.choice(len(rows), most, replace=False)]


def _split(data: AlignedTables, found: Mask) -> list[Mask]:
    return [found[: len(data.original)], found[len(data.original) :]]
