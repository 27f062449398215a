"""The statistical method of an audit: confidence, thresholds, guesses, shares of the level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from tellapart._checks import refuse
from tellapart.audit import (
    Band,
    Credible,
    Fixed,
    Guessing,
    IndependentCanaries,
    Prior,
    Ranks,
    Split,
)
from tellapart.audit.methods import Method
from tellapart.cli.options import Option, Whole
from tellapart.cli.report_text import Confidence


@Parameter(name="*", group=Group("Statistical method", sort_key=3))
@dataclass(frozen=True)
class MethodOptions:
    """The confidence, and how thresholds are chosen."""

    confidence: Confidence = 0.95
    method: Annotated[
        Literal["ranks", "split", "band", "fixed", "joint-beta", "jeffreys", "independent"] | None,
        Parameter(
            help="How thresholds are chosen. ranks: pre-set ranks, the default of many-runs; "
            "split: one rank, chosen on held-out scores; band: a band over all thresholds; "
            "fixed: --threshold; joint-beta, jeffreys: Bayesian bounds, which cannot refute. "
            "For one-run: leave it out, and the claim fixes how many canaries to guess; split; or "
            "independent: canaries independent by the claim, a mechanism: that is refuted, not "
            "differential privacy.",
            show_default=False,
        ),
    ] = None
    threshold: Annotated[
        Option,
        Parameter(
            help="For fixed, joint-beta, jeffreys, and for the PPV of one-model: chosen before "
            "seeing these scores."
        ),
    ] = None
    guesses_in: Annotated[
        tuple[Whole, ...],
        Parameter(
            help="For one-run: how many canaries to guess “in”; repeated, several numbers share "
            "the level.",
            negative="",
            show_default=False,
        ),
    ] = ()
    guesses_out: Annotated[
        tuple[Whole, ...],
        Parameter(
            help="For one-run: how many canaries to guess “out”; as often as --guesses-in.",
            negative="",
            show_default=False,
        ),
    ] = ()
    share: Annotated[
        tuple[str, ...],
        Parameter(
            help="A share of the level, fixed before seeing these scores; may be repeated. With "
            "--each-group as group=0.5 (groups without one divide the rest), with several "
            "--guesses-in one number for each.",
            negative="",
            show_default=False,
        ),
    ] = ()
    seed: Annotated[Whole, Parameter(help="Random seed of --method split, and of matrices.")] = 0

    def for_many_runs(self, delta: float) -> Method:
        """The method for many runs."""
        self.unused("many-runs", "guesses_in", "guesses_out")
        if self.method == "independent":
            rule = "be one for many runs, which are independent: ranks, split, band or fixed"
            refuse("--method", rule, self.method)
        at_one: dict[str | None, Callable[[float], Method]] = {
            "fixed": Fixed,
            "joint-beta": Credible,
            "jeffreys": lambda threshold: Credible(threshold, Prior.JEFFREYS),
        }
        if (self.method in at_one) != (self.threshold is not None):
            if self.threshold is None:
                refuse(
                    "--method",
                    "come with --threshold, chosen before seeing these scores",
                    self.method,
                )
            rule = "come with --method fixed, joint-beta or jeffreys, and only with them"
            refuse("--threshold", rule, self.threshold)
        if self.threshold is not None:
            return at_one[self.method](self.threshold)
        if self.method == "split":
            return Split(delta=delta, seed=self.seed)
        return Band() if self.method == "band" else Ranks()

    def shares(self, each_group: str | None) -> dict[str, float] | None:
        """The shares of the level, by group."""
        if self.share and each_group is None:
            refuse("--share", "come with --each-group, or with several --guesses-in", self.share[0])
        shares: dict[str, float] = {}
        for given in self.share:
            name, equals, share = given.rpartition("=")
            if not equals or name in shares:
                refuse("--share", "be written as group=0.5, once for a group", given)
            shares[name] = _share(share)
        return shares or None

    def for_one_run(self, delta: float) -> list[Guessing] | Split | IndependentCanaries | None:
        """The method for one run; None lets the claim fix how many canaries to guess."""
        self.unused("one-run", "threshold")
        known: dict[str | None, Split | IndependentCanaries | None] = {
            None: None,
            "split": Split(delta=delta, seed=self.seed),
            "independent": IndependentCanaries(),
        }
        if self.method not in known:
            rule = "be split or independent, or be left out, with --design one-run"
            refuse("--method", rule, self.method)
        count = max(len(self.guesses_in), len(self.guesses_out))
        if self.share and len(self.share) != count:
            rule = f"be given for each of {count} numbers of guesses" if count else _NOT_SHARED
            refuse("--share", rule, " ".join(self.share))
        if not count:
            return known[self.method]
        if self.method is not None:
            refuse("--method", "be left out where guesses are given", self.method)
        sides = [side or (0,) * count for side in (self.guesses_in, self.guesses_out)]
        if {len(side) for side in sides} != {count}:
            refuse("--guesses-out", "be given as often as --guesses-in", self.guesses_out)
        shares: list[float | None] = [_share(share) for share in self.share]
        shares = shares or [None] * count
        return [Guessing(*each) for each in zip(*sides, shares, strict=True)]

    def for_one_model(self, prior: float | None) -> None:
        """Nothing is to be looked for in one model but, with a prior, beyond one threshold."""
        self.unused("one-model", "method", "guesses_in", "guesses_out", "share")
        if prior is None and self.threshold is not None:
            rule = "come with --prior with --design one-model, for the PPV beyond it"
            refuse("--threshold", rule, self.threshold)

    def unused(self, design: str, *options: str) -> None:
        for name in options:
            if (value := asdict(self)[name]) not in (None, ()):
                option = f"--{name.replace('_', '-')}"
                value = value[0] if isinstance(value, tuple) else value
                refuse(option, f"be left out with --design {design}", value)


_NOT_SHARED = "come with several --guesses-in with --design one-run"


def _share(given: str) -> float:
    """A share of the level as typed."""
    try:
        return float(given)
    except ValueError:
        refuse("--share", "end in a number, such as 0.5", given)
