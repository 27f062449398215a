"""The designs of an audit in words: what each needs to be true, and so what it can prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tellapart.audit.evidence.base import Design


@dataclass(frozen=True)
class DesignWords:
    """One design: what it means, what one score is of, and what is taken on trust."""

    meaning: str
    sample: str
    assumptions: tuple[str, ...]


_ATTACK = (
    "The attack, and which of its scores speak for membership, were settled without these scores."
)

DESIGNS: Mapping[str, DesignWords] = {
    "many-runs": DesignWords(
        "every score is of its own independent training or call, with the record in or out",
        "one score per run: a member is a run with the record in, an other one with it out",
        (
            "Every score comes from its own training or call, independent of all others.",
            "Runs of members and of others differ in the record alone.",
            _ATTACK,
        ),
    ),
    "one-run": DesignWords(
        "one training, every canary in or out by its own fair coin",
        "one score per canary: a member is a canary that was in, an other one that was left out",
        (
            "Each canary was in or out by its own fair coin, drawn independently of all else.",
            "All scores are of this one training run, and every canary has exactly one.",
            _ATTACK,
        ),
    ),
    "one-model": DesignWords(
        "one trained model and no coins: attack metrics only, no bound on ε and no verdict",
        "one score per record: a member was in the training data, an other was not",
        (),
    ),
}

CALLS = DesignWords(
    "a mechanism was called, many times on each of two inputs",
    "one output per call, of the mechanism on one input or the other",
    (
        "The two inputs are neighbours in the sense of the claim: whoever gave them says so.",
        "Calls are independent: noise that they share was looked for and not found, which is no "
        "proof.",
        "Floats are read as real numbers: what their last bits reveal was not looked at.",
        "Outputs are all that an attacker sees: not how long a call takes, nor what else it does.",
    ),
)

NAMES = {Design.MANY_RUNS: "many-runs", Design.ONE_RUN: "one-run", Design.CALLS: "calls"}
RUNS_CHECKED = "No run has two scores: the column of runs was checked."
RUNS_ON_TRUST = "No column of runs was given, so independence is taken on trust."
