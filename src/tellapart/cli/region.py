"""`tellapart region`: the privacy region of (ε, δ) or of a mechanism, and attacks beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks
from tellapart import risk as measures
from tellapart._checks import refuse
from tellapart._numeric.text import fixed, short
from tellapart.cli import terminal
from tellapart.cli.options import MECHANISM, NumberOptions, Option, Output, Page, numbers, page_for
from tellapart.cli.risk import Mechanism
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.curve.region import MechanismRegion, PrivacyRegion
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.catalogue import PARAMETERS, WORD_PARAMETERS, labelled, parse
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.risk.catalogue import FPR

if TYPE_CHECKING:
    from tellapart.report.result_model import ResultDocument

    class RegionValues(NumberOptions):
        """Parameters of a mechanism beside ε and δ."""

else:
    RegionValues = numbers(
        "RegionValues",
        "Parameters of a mechanism beside ε and δ.",
        {
            each.key: (each.option, None)
            for each in PARAMETERS.values()
            if each.option and each.key not in ("epsilon", "delta")
        },
        MECHANISM,
        words_of=WORD_PARAMETERS.values(),
    )
_NO_VALUES = RegionValues()
CAVEAT = (
    "Rates measured on samples need confidence limits to refute a claim: give their counts to "
    "tellapart audit (--true-positives and others)."
)
_POINT_ESTIMATE = (
    "Computed from reported numbers, not a certified bound: without the attack's sample sizes it "
    "has no confidence. tellapart audit takes its scores, or its counts (--true-positives and "
    "others)."
)


def _rate(words: str) -> Any:
    return Annotated[Option, Parameter(help=words)]


def region(
    mechanism: Mechanism = "any",
    /,
    *,
    epsilon: Annotated[
        tuple[float, ...],
        Parameter(help="ε of a guarantee; may be repeated.", negative="", show_default=False),
    ] = (),
    delta: Annotated[
        tuple[float, ...],
        Parameter(
            help="δ: one for all, or one for each ε; 0 unless given.",
            negative="",
            show_default=False,
        ),
    ] = (),
    values: RegionValues = _NO_VALUES,
    fpr: _rate(FPR.option) = None,  # type: ignore[valid-type]
    tpr: _rate("True-positive rate: share of members flagged.") = None,  # type: ignore[valid-type]
    precision: _rate("Published precision of an attack, instead of its FPR.") = None,  # type: ignore[valid-type]
    recall: _rate("Published recall of an attack: the same as its TPR.") = None,  # type: ignore[valid-type]
    prior: _rate("Share of members in the published evaluation.") = None,  # type: ignore[valid-type]
    report: Page = None,
    output: Output = Output(),
) -> None:
    r"""Privacy region of (ε, δ)-DP or of a mechanism: which error rates an attack can have.

    With the rates of an attack it says whether they are possible there, and the least ε under
    which they are. A paper often gives precision and recall instead: with the share of members in
    its evaluation (--prior) they fix the FPR. The exit code is 0 either way: this describes a
    guarantee, and tests nobody's claim.

    For example:

        tellapart region --epsilon 1 --fpr 0.01 --tpr 0.05 \
            --report attack.html
        tellapart region laplace --epsilon 1 --plot region.svg
        tellapart region gaussian --sigma 2
        tellapart region --precision 0.9 --recall 0.02 \
            --prior 0.5 --delta 1e-5
        tellapart region --epsilon 0.5 --epsilon 1 \
            --plot regions.svg
    """
    attack = _attack(fpr, tpr, precision, recall, prior)
    page = page_for(report)
    if page is not None and (attack is None or (mechanism == "any" and not epsilon)):
        rule = "come with a claim and the rates of an attack on it: --epsilon, --fpr and --tpr"
        refuse("--report", rule, str(page))
    if mechanism != "any" or values.given():
        _of_mechanism(mechanism, epsilon, delta, values, attack, output, page)
        return
    if not epsilon:
        if attack is None:
            raise InvalidArgument(
                "a guarantee, a mechanism or an attack must be given: tellapart region --epsilon "
                "1, tellapart region laplace --epsilon 1, or --precision, --recall and --prior"
            )
        if len(delta) > 1:
            refuse("delta", "be given once beside an attack", delta)
        _needs(attack, *(delta or (0.0,)), output=output)
        return
    if len(delta) not in (0, 1, len(epsilon)):
        refuse("delta", f"be given once or as often as epsilon ({len(epsilon)} times)", delta)
    deltas = (delta or (0.0,)) * (len(epsilon) if len(delta) < 2 else 1)
    regions = [PrivacyRegion(e, d) for e, d in zip(epsilon, deltas, strict=True)]
    if attack is None:
        _regions(regions, output)
    elif len(regions) > 1:
        refuse("epsilon", "be given once beside the rates of an attack", epsilon)
    else:
        _point(regions[0], attack, output, page)


class _Attack(NamedTuple):
    """The rates of an attack, and as what they were published."""

    fpr: float
    tpr: float
    published: str = ""

    @property
    def caveat(self) -> str:
        return _POINT_ESTIMATE if self.published else CAVEAT

    def __str__(self) -> str:
        rates = f"FPR {short(self.fpr, 4)} with TPR {short(self.tpr)}"
        return f"{self.published}: {rates}" if self.published else rates


def _allowed(curve: TradeoffCurve, attack: _Attack) -> list[str]:
    """How much TPR there can be at the FPR of an attack that is no worse than guessing."""
    if attack.tpr < attack.fpr:
        return []
    most, blind = float(measures.tpr(curve, fpr=attack.fpr)), fixed(attack.fpr, None)
    return [f"At this FPR the TPR is at most {fixed(most, True)}; that of guessing is {blind}."]


def _attack(
    fpr: float | None,
    tpr: float | None,
    precision: float | None,
    recall: float | None,
    prior: float | None,
) -> _Attack | None:
    if precision is None and recall is None and prior is None:
        if (fpr is None) != (tpr is None):
            lacking = "--tpr" if tpr is None else "--fpr"
            raise InvalidArgument(f"--fpr and --tpr must be given together: {lacking} is missing")
        if fpr is None or tpr is None:
            return None
        return _Attack(_checks.probability(fpr=fpr), _checks.probability(tpr=tpr))
    if precision is None or recall is None or prior is None:
        given = {"--precision": precision, "--recall": recall, "--prior": prior}
        lacking = " and ".join(option for option, value in given.items() if value is None)
        raise InvalidArgument(
            "--precision, --recall and --prior must be given together, as the FPR follows from all "
            f"three: without {lacking} it is unknown"
        )
    if fpr is not None or tpr is not None:
        option, value = ("--fpr", fpr) if fpr is not None else ("--tpr", tpr)
        refuse(option, "be left out beside --precision and --recall", value)
    rate, power = measures.rates_from_precision(precision=precision, recall=recall, prior=prior)
    shown = f"precision {short(precision)} at recall {short(recall)}, prior {short(prior)}"
    return _Attack(float(rate), float(power), shown)


def _needs(attack: _Attack, delta: float, *, output: Output) -> None:
    least = float(measures.least_epsilon(fpr=attack.fpr, tpr=attack.tpr, delta=delta))

    def text(console: Console) -> None:
        terminal.title(console, f"ε ≥ {fixed(least, False)} at δ = {short(delta)}", str(attack))
        terminal.line(console, "No mechanism with a smaller ε at this δ has such an attack.")
        terminal.line(console, attack.caveat)

    def picture() -> Any:
        from tellapart import plot

        shown = PrivacyRegion(min(least, 50.0), delta)
        return plot.region_point(shown, fpr=attack.fpr, tpr=attack.tpr)

    data = {
        "fpr": attack.fpr,
        "tpr": attack.tpr,
        "delta": delta,
        "least_epsilon": least,
        "caveat": attack.caveat,
    }
    output.give(data, text, picture)


def _of_mechanism(
    mechanism: str,
    epsilon: tuple[float, ...],
    delta: tuple[float, ...],
    values: NumberOptions,
    attack: _Attack | None,
    output: Output,
    page: Path | None,
) -> None:
    if max(len(epsilon), len(delta)) > 1:
        refuse("epsilon and delta", "be given once beside a mechanism", (epsilon, delta))
    given = values.given()
    given |= {"epsilon": epsilon[0]} if epsilon else {}
    given |= {"delta": delta[0]} if delta else {}
    subject, name = parse(mechanism, **given), labelled(mechanism, given)
    curve = curve_of(subject)
    area = MechanismRegion(curve)
    gain, corners = float(measures.advantage(curve)), _corners(area)
    equal = _equal_errors(curve)
    inside = attack is None or area.contains(fpr=attack.fpr, fnr=1 - attack.tpr)

    def text(console: Console) -> None:
        if attack is not None:
            terminal.title(console, "possible" if inside else "impossible", f"{attack}, for {name}")
            for sentence in _allowed(curve, attack):
                terminal.line(console, sentence)
            terminal.line(console, attack.caveat)
        title = f"membership advantage {fixed(gain, True)}"
        terminal.title(console, title, f"privacy region of {name}")
        terminal.line(
            console, f"Area of the region: {fixed(area.area(), True)} of the unit square."
        )
        terminal.line(console, f"Least FPR = FNR: {fixed(equal, False)}.")
        if corners is None:
            terminal.line(console, "The region is smooth: it has no corners.")
        else:
            shown = ", ".join(f"({short(x, 4)}, {short(y, 4)})" for x, y in corners)
            terminal.line(console, f"Corners (FPR, FNR), from (0, 1): {shown}.")

    def picture() -> Any:
        from tellapart import plot

        drawn: dict[str, PrivacyRegion | MechanismRegion] = {name: area}
        if epsilon:
            claim = PrivacyRegion(epsilon[0], delta[0] if delta else 0.0)
            drawn[f"any mechanism with ε = {short(claim.epsilon)}, δ = {short(claim.delta)}"] = (
                claim
            )
        return plot.regions(drawn)

    data = {
        "mechanism": name,
        "area": area.area(),
        "advantage": gain,
        "least_equal_errors": equal,
        "corners": corners,
        **({} if attack is None else {"fpr": attack.fpr, "tpr": attack.tpr, "possible": inside}),
    }
    output.give(data, text, picture)
    if attack is not None:
        output.file(page, lambda: _document(subject, name, attack))


def _document(claim: Subject, name: str, attack: _Attack) -> ResultDocument:
    from tellapart import report as reporting

    return reporting.of_attack(
        claim,
        fpr=attack.fpr,
        tpr=attack.tpr,
        name=name,
        published=attack.published,
        command=terminal.command_line(),
    )


def _regions(regions: list[PrivacyRegion], output: Output) -> None:
    def cells(region: PrivacyRegion) -> tuple[str, ...]:
        gain = measures.advantage(guarantee(region.epsilon, region.delta))
        knot = region.vertices()[2]
        share = fixed(region.area(), up=True)
        return (
            f"ε = {short(region.epsilon)}, δ = {short(region.delta)}",
            share,
            fixed(float(gain), True),
            fixed(float(knot[0]), False),
        )

    def text(console: Console) -> None:
        terminal.title(console, "Privacy regions", "pairs (FPR, FNR) that an attack can have")
        head = ("guarantee", "area of the region", "membership advantage", "least FPR = FNR")
        terminal.table(console, [head, *map(cells, regions)])

    def picture() -> Any:
        from tellapart import plot

        return plot.regions(regions)

    data = {
        "regions": [
            {
                "epsilon": region.epsilon,
                "delta": region.delta,
                "area": region.area(),
                "advantage": float(measures.advantage(guarantee(region.epsilon, region.delta))),
                "corners": region.vertices().tolist(),
            }
            for region in regions
        ]
    }
    output.give(data, text, picture)


def _point(region: PrivacyRegion, attack: _Attack, output: Output, page: Path | None) -> None:
    fpr, tpr, caveat = attack.fpr, attack.tpr, attack.caveat
    failures = region.failures(fpr=fpr, tpr=tpr)
    least = float(measures.least_epsilon(fpr=fpr, tpr=tpr, delta=region.delta))
    claim = f"ε = {short(region.epsilon)}, δ = {short(region.delta)}"

    def text(console: Console) -> None:
        verdict = "impossible" if failures else "possible"
        terminal.title(console, verdict, f"{attack}, under {claim}")
        for failure in failures:
            terminal.line(console, f"{failure}.")
        for sentence in _allowed(guarantee(region.epsilon, region.delta), attack):
            terminal.line(console, sentence)
        needs = f"Such an attack needs ε ≥ {fixed(least, False)} at δ = {short(region.delta)}."
        terminal.line(console, needs)
        terminal.line(console, caveat)

    def picture() -> Any:
        from tellapart import plot

        return plot.region_point(region, fpr=fpr, tpr=tpr)

    data = {
        "epsilon": region.epsilon,
        "delta": region.delta,
        "fpr": fpr,
        "tpr": tpr,
        "possible": not failures,
        "failures": [{"inequality": f.inequality, "excess": f.excess} for f in failures],
        "least_epsilon": least,
        "caveat": caveat,
    }
    output.give(data, text, picture)
    claimed = guarantee(region.epsilon, region.delta)
    output.file(page, lambda: _document(claimed, claim, attack))


def _corners(area: MechanismRegion) -> list[list[float]] | None:
    try:
        corners = area.vertices()
    except Unsupported:
        return None
    return [list(map(float, corner)) for corner in corners]


def _equal_errors(curve: TradeoffCurve) -> float:
    """The least FPR that equals its FNR: where the curve meets the diagonal, from below."""
    low, high = 0.0, 0.5
    while (middle := (low + high) / 2) not in (low, high):
        if float(curve.beta(middle)) > middle:
            low = middle
        else:
            high = middle
    return low
