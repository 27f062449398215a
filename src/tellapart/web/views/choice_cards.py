"""The cards of a choice: each limit with how much of it is used, ε, error and members found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tellapart._numeric.text import short
from tellapart.choose.calibrate import Choice
from tellapart.choose.limit import Limit
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.risk.catalogue import DELTA, FPR, Reading
from tellapart.web.answer import NumberCard
from tellapart.web.glossary import TERMS
from tellapart.web.views import limits_drawn
from tellapart.web.views.explore import one_decimal

_LIMITS, _CARDS = 3, 4  # as many as stand side by side


def binding_words(choice: Choice, limits: Sequence[Limit]) -> str:
    """What keeps the answer from being less private."""
    if choice.binding is None:
        return "No limit binds: the mechanism is not defined beyond this."
    if len(limits) == 1:
        return "Less privacy would exceed your limit."
    return f"That is the least that keeps {len(limits)} limits; {choice.binding} binds."


def limit_cards(
    limits: Sequence[Limit], values: Sequence[float], binding: Limit | None
) -> list[NumberCard]:
    """Each limit with how much of it is used, the binding one first."""
    order = sorted(zip(limits, values, strict=True), key=lambda pair: pair[0] != binding)
    return [
        NumberCard(
            limit.label,
            short(value, 3, up=not limit.least),
            f"limit {short(limit.bound)}",
            f"{'binding constraint' if limit == binding else 'kept'}; without the output "
            f"{short(limit.value(nothing()), 3)}",
            limit.label if limit.label in TERMS else "",
            limits_drawn.shares(limit, value),
        )
        for limit, value in order[:_LIMITS]
    ]


def cost_cards(
    family: NamedFamily,
    value: float,
    readings: Sequence[Reading],
    margin: float | None,
    attacker: Mapping[str, float],
) -> list[NumberCard]:
    """What it comes to as ε, and what it costs, where that is known."""
    epsilon = next(x for x in readings if x.key == "epsilon").value
    said = "0 without the output"
    at = f"ε at δ = {short(attacker[DELTA.key])}"
    cards = [NumberCard(at, short(epsilon, 3, up=True), "", said, "ε")]
    batch = family.fixed.get("batch_size")
    if family.parameter == "noise_multiplier" and batch:
        said = "on the mean gradient, clipped at norm C"
        cards.append(NumberCard("Noise per step", short(value / batch, 3, up=True), "C", said))
    elif margin is not None:
        cards.append(
            NumberCard(
                "Error of the answer", f"± {short(margin, 3, up=True)}", "", "95 % of answers"
            )
        )
    return cards


def with_people(
    cards: Sequence[NumberCard], readings: Sequence[Reading], attacker: Mapping[str, float]
) -> tuple[NumberCard, ...]:
    """Four of them: where there is room, what it comes to as a count of members."""
    fpr, tpr = attacker[FPR.key], next(x for x in readings if x.key == "tpr")
    if len(cards) >= _CARDS or any(card.name == tpr.name for card in cards):
        return tuple(cards)
    beside = f"at FPR {short(fpr)}; guessing finds {short(100 * fpr)}"
    flagged = one_decimal(100 * tpr.value, True)
    return (*cards, NumberCard("Members found", flagged, "of 100", beside, "TPR"))
