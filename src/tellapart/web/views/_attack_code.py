"""Code that says of an attack what the page says of it."""

from __future__ import annotations

import shlex

from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.web.views._attack import Sample, Seen, each_confidence


def python(claim: str, curve: TradeoffCurve, seen: Seen, delta: float) -> str:
    """Where the attack lies, what it needs and, with counts, what they prove."""
    region, fnr = "MechanismRegion(curve_of(claim))", "fnr=1 - attack.tpr"
    if isinstance(curve, GuaranteeCurve):
        region = f"PrivacyRegion({curve.claimed_epsilon!r}, {curve.claimed_delta!r})"
        fnr = "tpr=attack.tpr"
    one = seen.sample
    attack = f"SimpleNamespace(fpr={seen.fpr!r}, tpr={seen.tpr!r})"
    lines = [
        "from types import SimpleNamespace\n" if one is None else "",
        "import tellapart as ta",
        f"from tellapart import {'risk' if one is None else 'audit, risk'}",
        "from tellapart.mechanisms.named import named",
        "from tellapart.mechanisms.subject import curve_of\n",
        f"claim = named({claim!r})",
        f"attack = {attack if one is None else f'audit.{one.counts!r}'}",
        f"for failure in ta.{region}.failures(attack.fpr, {fnr}):",
        "    print(failure)",
        'print("FPR", attack.fpr, "TPR", attack.tpr)',
        'print("TPR ≤", curve_of(claim).tpr(attack.fpr))',
        f'print("ε ≥", risk.least_epsilon(fpr=attack.fpr, tpr=attack.tpr, delta={delta!r}))',
        *([] if one is None else _proof(claim, curve, one, delta)),
    ]
    return "\n".join(one for one in lines if one) + "\n"


def _proof(claim: str, curve: TradeoffCurve, sample: Sample, delta: float) -> list[str]:
    each = each_confidence(sample.confidence)
    called = "" if isinstance(curve, GuaranteeCurve) else f", name={claim!r}"
    return [
        "limits = audit.intervals.clopper_pearson",
        f"print(limits(attack.accused_others, attack.others, confidence={each!r}))",
        f"print(limits(attack.accused_members, attack.members, confidence={each!r}))",
        f"sure = {sample.confidence!r}",
        "evidence = audit.from_counts(attack, confidence=sure)",
        f"print(evidence.epsilon_lower({delta!r}))",
        f"verdict = audit.judge(claim, evidence{called})",
        "print(verdict.headline)",
        "print(verdict.finding)",
    ]


def command(claim: str, curve: TradeoffCurve, seen: Seen) -> str:
    """Where the attack lies; counts are judged in Python, as commands read files of scores."""
    if isinstance(curve, GuaranteeCurve):
        return (
            f"tellapart region --epsilon {curve.claimed_epsilon!r} "
            f"--delta {curve.claimed_delta!r} --fpr {seen.fpr!r} --tpr {seen.tpr!r}"
        )
    return f"tellapart risk {shlex.quote(claim)} --fpr {seen.fpr!r}"
