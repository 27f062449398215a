"""Reports of results: mechanisms compared, an attack against a claim, correlated records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tellapart import _checks, choose, pictures, risk
from tellapart._numeric.text import fixed, related, short
from tellapart.choose.comparison import GAPS, Comparison
from tellapart.choose.noise_tables import NoiseTable
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.region import Failure, MechanismRegion, PrivacyRegion
from tellapart.drawing.record import Drawing, Ink, Mark, Spot, Trace
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.in_words import in_words
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.report.building import versions
from tellapart.report.meaning import assumptions
from tellapart.report.model import Made
from tellapart.report.result_model import Number, ReportTable, ResultDocument
from tellapart.risk.catalogue import DELTA, FPR, PRIOR
from tellapart.worlds.frameworks.comparison import FrameworkComparison
from tellapart.worlds.frameworks.results_text import HEAD as FRAMEWORKS
from tellapart.worlds.frameworks.results_text import cells_of

_LEAST_DRAWN = 1e-6  # the FPR at which logarithmic axes begin
_RATES_ALONE = (
    "The rates are taken as exact. Rates measured on samples prove nothing by themselves: with the "
    "counts behind them, tellapart audit gives a verdict (--true-positives and others)."
)


def made_by(command: str) -> Made:
    """How to reproduce a result that no file was read for."""
    return Made(command, (), None, versions())


# -- mechanisms compared ---------------------------------------------------------------------------


def of_comparison(
    subjects: Mapping[str, Subject],
    *,
    name: str = "",
    about: Mapping[str, str] | None = None,
    caveats: Sequence[str] = (),
    command: str = "",
    comparison: Comparison | None = None,
    **arguments: Any,
) -> ResultDocument:
    """Which of several mechanisms leaks more and where, as a report.

    ``about`` says in words what each of them is, ``caveats`` what to know before comparing. A
    ``comparison`` that is known already is not computed again; ``arguments`` (prior, fpr, delta)
    are those of `choose.compare`.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> both = {"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(1)}
    >>> report.of_comparison(both, prior=0.01).headline
    'Laplace leaks less, except at FPR 0.237 to 0.389'
    """
    comparison_ = choose.compare(subjects, **arguments) if comparison is None else comparison
    curves = {label: curve_of(subject) for label, subject in subjects.items()}
    fpr, prior = arguments.get(FPR.key, FPR.default), arguments.get(PRIOR.key, PRIOR.default)
    head, *cells = comparison_.cells()
    said = about or {}
    described = tuple(
        (label, said.get(label) or in_words(subject), scope)
        for (label, subject), scope in zip(subjects.items(), comparison_.scopes, strict=True)
    )
    tables = [
        ReportTable("What is compared", ("name", "what it is", "the numbers are"), described),
        ReportTable(
            "Every risk",
            ("risk", *head[1:]),
            tuple(cells),
            f"The attacker's prior probability of membership is {short(prior)}.",
        ),
    ]
    if comparison_.pairs:
        head, *cells = comparison_.gaps()
        tables.append(ReportTable("By how much", ("against", *head[1:]), tuple(cells), GAPS))
    readings = [{each.key: each for each in row} for row in comparison_.readings]
    return ResultDocument(
        kind="Comparison of mechanisms",
        title=name.strip() or " and ".join(comparison_.names),
        headline=comparison_.brief(),
        reasons=(
            *(f"{str(pair)[0].upper()}{str(pair)[1:]}." for pair in comparison_.pairs),
            *filter(None, (comparison_.neighbours(),)),
        ),
        numbers=tuple(
            Number(
                f"{label}: members found, of 100",
                related(row["tpr"].relation, 100 * row["tpr"].value).removeprefix("= "),
                f"at FPR {short(fpr)}; guessing finds {short(100 * fpr)}; "
                f"{row['epsilon'].name} {row['epsilon'].shown}",
            )
            for label, row in zip(comparison_.names, readings, strict=True)
        ),
        drawings=tuple(_crossed(kind, curves, comparison_, prior) for kind in ("roc", "roc-log")),
        tables=tuple(tables),
        assumptions=(
            *caveats,
            *dict.fromkeys(x for s in subjects.values() for x in assumptions(s)),
        ),
        made=made_by(command),
    )


def _crossed(
    kind: str, curves: Mapping[str, TradeoffCurve], comparison: Comparison, prior: float
) -> Drawing:
    """The curves, and where two of them cross."""
    least = _LEAST_DRAWN if kind == "roc-log" else 0.0
    spots = tuple(
        Spot("the curves cross", crossing.fpr, 1 - crossing.fnr, Ink.PROMISE)
        for pair in comparison.pairs
        for crossing in pair.crossings
        if crossing.fpr >= least
    )
    drawn = pictures.draw(kind, curves, prior)
    return replace(drawn, title=dict(pictures.KINDS)[kind], spots=spots)


# -- an attack against a claim ---------------------------------------------------------------------


def allowed(curve: TradeoffCurve) -> PrivacyRegion | MechanismRegion:
    """All that attacks can do if the claim is true."""
    if isinstance(curve, GuaranteeCurve):
        return PrivacyRegion(curve.claimed_epsilon, curve.claimed_delta)
    return MechanismRegion(curve)


def failures(curve: TradeoffCurve, fpr: float, tpr: float) -> tuple[Failure, ...]:
    """The inequalities of the claim that a point breaks."""
    region = allowed(curve)
    if isinstance(region, PrivacyRegion):
        return region.failures(fpr, tpr=tpr)
    return region.failures(fpr, 1 - tpr)


def least_tpr(curve: TradeoffCurve, fpr: float) -> float:
    """The least TPR that the claim allows: who answers the other way is an attacker, too."""
    return max(0.0, 1 - float(curve.tpr(1 - fpr)))


def compared(curve: TradeoffCurve, fpr: float, tpr: float) -> tuple[str, str]:
    """The limit on an attack's side of guessing and its TPR, in digits that tell them apart.

    >>> import tellapart as ta
    >>> compared(ta.guarantee(epsilon=1), 0.1, 0.2719)
    ('≤ 0.27183', '0.2719')
    """
    up = tpr >= fpr
    limit = float(curve.tpr(fpr)) if up else least_tpr(curve, fpr)
    outside = bool(failures(curve, fpr, tpr))
    shown, rate = fixed(limit, up), short(tpr, 4)
    for digits in range(5, 18):
        apart = float(rate) > float(shown) if up else float(rate) < float(shown)
        if apart == outside:
            break
        shown, rate = short(limit, digits, up), short(tpr, digits)
    return f"{'≤' if up else '≥'} {shown}", rate


def outline(curve: TradeoffCurve, line: Trace) -> Trace:
    """All round the claim, by its corners where it has only those."""
    around, region = pictures.all_round(line), allowed(curve)
    if not isinstance(region, PrivacyRegion):
        return around
    fpr, fnr = region.vertices().T
    x, y = (tuple(map(float, side)) for side in (fpr, 1 - fnr))
    return replace(around, x=(*x, x[0]), y=(*y, y[0]))


def of_attack(
    claim: Subject,
    *,
    fpr: float,
    tpr: float,
    delta: float | None = None,
    name: str = "",
    published: str = "",
    unproved: str = "",
    command: str = "",
) -> ResultDocument:
    """Whether a reported attack is possible under a claim, as a report.

    ``delta`` is that of the least ε; without it, the claim's own. ``published`` says as what the
    rates were reported, where that was precision and recall; ``unproved`` why counts behind them
    refute nothing, such as those of one model: then the report has no verdict, wherever they lie.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> report.of_attack(ta.Laplace(1), fpr=0.1, tpr=0.2).headline
    'Possible under the claim, which proves nothing: TPR 0.2 at FPR 0.1'
    """
    fpr, tpr = _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    curve = curve_of(claim)
    if delta is None:
        delta = curve.claimed_delta if isinstance(curve, GuaranteeCurve) else DELTA.default
    broken = failures(curve, fpr, tpr)
    title = name.strip() or in_words(claim)
    least = float(risk.least_epsilon(fpr=fpr, tpr=tpr, delta=delta))
    said = "Impossible if the claim is true:" if broken else (
        "Possible under the claim, which proves nothing:"
    )  # fmt: skip
    if unproved:
        said = f"NO VERDICT: {'outside' if broken else 'inside'} the region of the claim, with"
    signs = tuple(f"{each}." for each in broken) or ("Every inequality of the claim holds here.",)
    mark = Mark.BAD if broken and not unproved else Mark.PLAIN
    limit, rate = compared(curve, fpr, tpr)
    reported = (f"Reported as {published}.",) if published else ()
    return ResultDocument(
        kind="An attack against a claim",
        title=title,
        headline=f"{said} TPR {short(tpr)} at FPR {short(fpr, 4)}",
        mark=mark,
        reasons=(*signs, *reported, unproved or _RATES_ALONE),
        numbers=(
            Number("TPR that the claim allows", limit, f"at FPR {short(fpr, 4)}"),
            Number("TPR reported", rate, f"guessing: {short(fpr, 4)}"),
            Number("Least ε that allows it", f"≥ {fixed(least, False)}", f"at δ = {short(delta)}"),
        ),
        drawings=tuple(
            _attacked(kind, title, curve, Spot("this attack", fpr, tpr, Ink.EVIDENCE, mark))
            for kind in ("roc", "roc-log")
        ),
        tables=(_margins(curve, fpr),),
        assumptions=assumptions(claim),
        made=made_by(command),
    )


def _attacked(kind: str, title: str, curve: TradeoffCurve, spot: Spot) -> Drawing:
    drawn = pictures.draw(kind, {f"what the claim allows: {title}": curve}, 0.5, [spot])
    title, words = (
        dict(pictures.KINDS)[kind],
        "If the claim is true, no attack lies above its line.",
    )
    if kind == "roc-log":
        return replace(drawn, title=title, caption=words)
    guess, line = drawn.traces
    words = "If the claim is true, no attack's true rates lie outside its outline."
    return replace(drawn, title=title, caption=words, traces=(guess, outline(curve, line)))


def _margins(curve: TradeoffCurve, fpr: float) -> ReportTable:
    """What the claim allows at the attack's FPR, and at others that people report."""
    rates = sorted({fpr, 1e-4, 1e-3, 0.01, 0.1})
    rows = tuple(
        (
            short(rate, 4),
            f"≥ {fixed(least_tpr(curve, rate), False)}",
            f"≤ {fixed(float(curve.tpr(rate)), True)}",
            short(rate, 4),
        )
        for rate in rates
    )
    head = ("at FPR", "least TPR", "largest TPR", "guessing")
    return ReportTable("What the claim allows", head, rows)


# -- correlated records ----------------------------------------------------------------------------


def of_correlated(
    *,
    noise: NoiseTable | None = None,
    frameworks: FrameworkComparison | None = None,
    name: str = "",
    about: Sequence[str] = (),
    release: str = "",
    drawings: Sequence[Drawing] = (),
    command: str = "",
) -> ResultDocument:
    """Noise for correlated records, and one release under every framework, as a report.

    ``noise`` is what `choose.noise_table` gives, ``frameworks`` what
    `worlds.frameworks.compare_frameworks` gives of the ``release``; one of them is enough.
    ``about`` says in sentences how records are correlated.

    >>> from tellapart import choose, report
    >>> from tellapart.worlds import MarkovChain, Sum
    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=5)
    >>> report.of_correlated(noise=choose.noise_table(chain, Sum(), 1)).headline
    'Laplace noise of scale 2.6341 or more keeps ε = 1 for these records'
    """
    if noise is None and frameworks is None:
        raise InvalidArgument("noise or frameworks must be given: there is nothing to report")
    headline, tables, terms = "", [], list[str]()
    numbers: tuple[Number, ...] = ()
    if noise is not None:
        headline = _least_noise(noise)
        numbers += _noise_numbers(noise)
        tables.append(_noise_rows(noise))
        terms += [f"{row.method}: {row.protects}." for row in noise]
    if frameworks is not None:
        # Beside noise it would be the ε of other noise than the headline's.
        headline = headline or _under_the_model(frameworks)
        what = f" of {release}" if release else ""
        tables.append(
            ReportTable(
                f"ε{what} under each framework",
                FRAMEWORKS,
                tuple(cells_of(row) for row in frameworks.rows),
                "Composes: whether the ε of several releases of the same data may be added.",
            )
        )
        terms += _gathered(frameworks)
    return ResultDocument(
        kind="Correlated records",
        title=name.strip() or "Correlated records",
        headline=headline,
        reasons=tuple(about),
        numbers=numbers,
        drawings=tuple(drawings),
        tables=tuple(tables),
        assumptions=tuple(terms),
        made=made_by(command),
        noise=noise,
        frameworks=frameworks,
    )


def _least_noise(noise: NoiseTable) -> str:
    best = min((row for row in noise if row.sound), key=lambda row: row.scale)
    scale, keep = fixed(best.scale, True), short(noise.epsilon)
    return f"Laplace noise of scale {scale} or more keeps ε = {keep} for these records"


def _noise_numbers(noise: NoiseTable) -> tuple[Number, ...]:
    by_name = {row.method: row for row in noise}
    plain, group = by_name["plain DP"], by_name["group privacy"]
    best, keep = min((row for row in noise if row.sound), key=lambda row: row.scale), noise.epsilon
    true = related(plain.side.value, plain.true_epsilon)
    return (
        Number("True ε of plain DP's noise", true, f"independent records: {short(keep)}"),
        Number("Scale needed", fixed(best.scale, True), f"plain DP: {fixed(plain.scale, True)}"),
        Number("Scale by group privacy", fixed(group.scale, True), "for any model of the records"),
    )


def _noise_rows(noise: NoiseTable) -> ReportTable:
    rows = tuple(
        (
            row.method,
            fixed(row.scale, True),
            related(row.side.value, row.true_epsilon),
            "always" if row.sound else "not in general",
        )
        for row in noise
    )
    keep = short(noise.epsilon)
    head = ("method", "scale", "true ε", f"keeps ε = {keep}")
    return ReportTable("Noise by method", head, rows, "Rounded conservatively: scales up.")


def _under_the_model(frameworks: FrameworkComparison) -> str:
    """The ε of the framework that this model is made for, or of the first that has one."""
    rows = {row.framework: row for row in frameworks.rows}
    row = rows.get("Pufferfish", frameworks.rows[0])
    return f"ε {related(row.side.value, row.epsilon)} under this model ({row.framework})"


def _gathered(frameworks: FrameworkComparison) -> list[str]:
    """What is assumed by several frameworks, said once; and what was left out, and why."""
    names: dict[str, list[str]] = {}
    for row in frameworks.rows:
        names.setdefault(row.assumptions, []).append(row.framework)
    said = [f"{', '.join(listed)}: {words}." for words, listed in names.items()]
    return said + [f"Left out: {left.framework}, {left.reason}." for left in frameworks.left_out]
