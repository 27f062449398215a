"""Fair coins for canary texts, their manifest as JSON lines, and the file of scores.

The manifest has a line for each canary: its number, text, whether it is in, and its secret. It is
the auditor's: who attacks must not see it, and no score may depend on it.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks, _files
from tellapart._checks import Array
from tellapart.audit.language.canary_texts import CanaryTexts, Secret
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.trainings.canaries import CanarySet, Coins
from tellapart.data import sources
from tellapart.errors import InvalidArgument

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Planted:
    """Canary texts and their coins: what the training gets, and what the audit compares."""

    canaries: CanaryTexts
    inclusion: Coins

    @property
    def texts(self) -> tuple[str, ...]:
        """All canaries, those that are in and those left out, to be scored after the training."""
        return self.canaries.texts

    @property
    def included(self) -> list[str]:
        """The canaries that are in: one training example each, besides the data."""
        return [text for text, inside in zip(self.texts, self.inclusion, strict=True) if inside]

    def scores(self, losses: ArrayLike) -> Scores:
        """One loss for each canary, lower meaning member, as `audit.one_run` takes them."""
        made = CanarySet(np.array(self.texts, dtype=object))
        return made.scores(self._losses(losses), self.inclusion, Orientation.LOWER)

    def write_scores(self, path: PathLike, losses: ArrayLike) -> None:
        """Write a CSV file for `tellapart audit`: score is minus the loss, higher means member."""
        file, values = _csv(path), self._losses(losses)

        def write(part: Path) -> None:
            with part.open("w", newline="", encoding="utf-8") as out:
                rows = csv.writer(out)
                rows.writerow(["canary", "score", "member"])
                for number, (loss, inside) in enumerate(zip(values, self.inclusion, strict=True)):
                    rows.writerow([number, repr(float(-loss) + 0.0), int(inside)])

        _files.whole(file, write)

    def _losses(self, losses: ArrayLike) -> Array:
        values = _checks.reals("be numbers", losses=losses)
        if values.shape != (self.canaries.count,):
            _checks.refuse("losses", f"be one for each of {self.canaries.count} canaries", losses)
        return values


def plant(canaries: CanaryTexts, manifest: PathLike, seed: int) -> Planted:
    """Who is in: a fair coin for each canary, written to a manifest before the training.

    A manifest that is there already must be the same one. Train on your data and on ``included``,
    each text once, as one example.

    >>> import tempfile
    >>> from tellapart.audit import language
    >>> made = language.secrets("The PIN of box {number} is {secret}.", count=6, bits=13, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     planted = language.plant(made, f"{folder}/canaries.jsonl", seed=3)
    ...     again = language.read_manifest(f"{folder}/canaries.jsonl")
    >>> planted.included == again.included, len(again.included)
    (True, 1)
    """
    _checks.instance(CanaryTexts, "canary texts, as language.secrets makes", canaries=canaries)
    _checks.instance(str | os.PathLike, "a path", manifest=manifest)
    coins = CanarySet(np.array(canaries.texts, dtype=object)).inclusion(seed)
    file, text = Path(manifest), _lines(canaries, coins)
    if file.exists():
        if sources.text(file) != text:
            rule = "be a new file: this one holds other canaries or other coins"
            _checks.refuse("manifest", rule, str(file))
    else:
        _files.whole(file, lambda part: part.write_text(text, encoding="utf-8", newline="\n"))
    return Planted(canaries, coins)


def read_manifest(path: PathLike) -> Planted:
    """The canaries and coins of an audit, from the manifest that was written before it.

    >>> import pathlib, tempfile
    >>> from tellapart.audit import language
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "canaries.jsonl")
    ...     _ = file.write_text('{"canary": 0, "text": "red green blue", "included": true}')
    ...     language.read_manifest(file).included
    ['red green blue']
    """
    _checks.instance(str | os.PathLike, "a path", path=path)
    file = Path(path)
    rows = [
        _row(line, f"{file}, line {number}")
        for number, line in enumerate(sources.text(file).split("\n"), 1)
        if line.strip()
    ]
    if not rows:
        _checks.refuse("path", "be a manifest with a line for each canary", str(file))
    secrets = tuple(secret for _, _, secret in rows if secret is not None)
    if secrets and len(secrets) < len(rows):
        _checks.refuse("path", "have a secret on every line or on none", len(secrets))
    canaries = CanaryTexts(tuple(text for text, _, _ in rows), secrets or None)
    return Planted(canaries, np.array([inside for _, inside, _ in rows], dtype=np.bool_))


def _lines(canaries: CanaryTexts, coins: Coins) -> str:
    secrets = canaries.secrets or [None] * canaries.count
    rows = zip(canaries.texts, coins.tolist(), secrets, strict=True)
    return "".join(
        json.dumps(
            {"canary": number, "text": text, "included": inside}
            | ({} if secret is None else {"secret": asdict(secret)}),
            ensure_ascii=False,
        )
        + "\n"
        for number, (text, inside, secret) in enumerate(rows)
    )


def _row(line: str, where: str) -> tuple[str, bool, Secret | None]:
    try:
        row = json.loads(line)
        text, inside, secret = row["text"], row["included"], row.get("secret")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidArgument(
            f'{where} must be {{"text": ..., "included": true or false}}: {error}'
        ) from error
    if not isinstance(text, str) or not isinstance(inside, bool):
        _checks.refuse(where, "have a text, and included as true or false", row)
    return text, inside, None if secret is None else _secret(secret, where)


def _secret(secret: Any, where: str) -> Secret:
    try:
        before, after = secret["before"], secret["after"]
        symbols, alphabet = tuple(secret["symbols"]), tuple(secret["alphabet"])
    except (TypeError, KeyError) as error:
        raise InvalidArgument(
            f"{where} must have a secret with before, symbols, after and alphabet: {error}"
        ) from error
    if not all(isinstance(each, str) for each in (before, after, *symbols, *alphabet)):
        _checks.refuse(where, "have a secret made of texts", secret)
    if not symbols or not set(symbols) <= set(alphabet):
        _checks.refuse(where, "have a secret of symbols of its alphabet", list(symbols))
    return Secret(before, symbols, after, alphabet)


def _csv(path: PathLike) -> Path:
    _checks.instance(str | os.PathLike, "a path", path=path)
    file = Path(path)
    if file.suffix != ".csv":
        _checks.refuse("path", "end in .csv", str(path))
    return file
