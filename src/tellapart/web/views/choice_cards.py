"""The cards of a choice: each limit with how much of it is used, ε, error and members found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tellapart._numeric.text import short
from tellapart.choose.calibrate import Choice
from tellapart.choose.limit import Limit
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.risk.catalogue import FPR, Reading
from tellapart.web.answer import NumberCard
from tellapart.web.glossary import TERMS
from tellapart.web.views import limits_drawn
from tellapart.web.views.explore import ADVANTAGE_ENDS, SIGNS, count, one_decimal

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


def epsilon_card(relation: str, value: float, delta: float) -> NumberCard:
    """What it comes to as ε."""
    shown = f"{SIGNS[relation]}{short(value, 3, up=True)}"
    return NumberCard(f"ε at δ = {short(delta)}", shown, "", "0 without the output", "ε")


def cost_cards(
    family: NamedFamily, value: float, epsilon: Reading, margin: float | None, delta: float
) -> list[NumberCard]:
    """What it comes to as ε, and what it costs, where that is known."""
    cards = [epsilon_card(epsilon.relation, epsilon.value, delta)]
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


def four(
    cards: Sequence[NumberCard], readings: Sequence[Reading], attacker: Mapping[str, float]
) -> tuple[NumberCard, ...]:
    """No risk twice; where there is room, what it comes to in members, in points and as PPV."""
    fpr, by_key = attacker[FPR.key], {reading.key: reading for reading in readings}
    guessed = count(100 * by_key["ppv"].baseline)
    more = {
        "tpr": ("Members found", f"at FPR {short(fpr)}; guessing finds {short(100 * fpr)}", "TPR"),
        "advantage": ("Membership advantage", ADVANTAGE_ENDS, "membership advantage"),
        "ppv": ("Flagged who are members", f"of 100 picked at random, {guessed}", "PPV"),
    }
    by_name: dict[str, NumberCard] = {}
    for card in cards:
        by_name.setdefault(card.name, card)
    for key, (name, beside, known_as) in more.items():
        if by_key[key].name not in by_name:
            shown = f"{SIGNS[by_key[key].relation]}{one_decimal(100 * by_key[key].value, True)}"
            unit = "points" if key == "advantage" else "of 100"
            by_name[name] = NumberCard(name, shown, unit, beside, known_as)
    return tuple(by_name.values())[:_CARDS]
