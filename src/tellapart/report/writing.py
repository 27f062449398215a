"""Writing a privacy report, as HTML and as JSON: both files whole, or neither."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tellapart import _checks, _files
from tellapart.data import sources
from tellapart.report.decision_model import DecisionDocument
from tellapart.report.model import Report
from tellapart.report.result_model import ResultDocument

# What the data of a report have, those of the document of a decision, and those of a result.
_KEYS = (
    {"headline", "reasons", "curves", "made"},
    {"headline", "answer", "toml", "made"},
    {"headline", "reasons", "drawings", "made"},
)
_KINDS = "a report, as report.of(verdict) gives, the document of a decision or of a result"
Document = Report | DecisionDocument | ResultDocument


def target(path: str | Path, called: str = "path") -> Path:
    """Where the page would go, checked before anything is computed for it."""
    from tellapart.report import html  # noqa: F401 - says which extra is missing

    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        _checks.refuse(called, "end in .html", str(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    _free(place, called)
    return place


def places(page: Path) -> tuple[Path, Path]:
    """Where a page goes, and its data."""
    return page, page.with_suffix(".json")


def _free(page: Path, called: str) -> None:
    """Only an earlier report makes way for a page and its data."""
    place, beside = places(page)
    if place.is_file() and not os.path.lexists(beside) and not _is_page(place):
        _checks.refuse(
            called,
            f"leave {place} as it is, which is no report of tellapart's: name another page, such "
            f"as {place.with_stem(f'{place.stem}-report')}, or move that file",
            str(place),
        )
    if os.path.lexists(beside) and not (place.exists() and _is_report(beside)):
        _checks.refuse(
            called,
            f"leave {beside} as it is, where the report's data would go: name another page, "
            f"such as {place.with_stem(f'{place.stem}-report')}, or move that file",
            str(place),
        )


def refuse_sources(page: Path, sources: Iterable[Path], called: str = "path") -> None:
    """Neither the page nor its data may take the place of what they are made from."""
    for written in places(page):
        for source in sources:
            if written.resolve() == source.resolve() or _same_file(written, source):
                _checks.refuse(
                    called,
                    f"leave {source} as it is, which the decision is made from; name another "
                    f"page, such as {page.with_stem(f'{page.stem}-decision')}",
                    str(page),
                )


def _same_file(written: Path, source: Path) -> bool:
    with suppress(OSError):
        return written.samefile(source)
    return False


# What every page of ours says of itself; an empty file is nobody's.
_MARK = '<meta name="generator" content="tellapart">'
_HEAD = 4096  # bytes


def _is_page(file: Path) -> bool:
    with file.open("rb") as held:
        head = held.read(_HEAD)
    return not head or _MARK.encode() in head


def _is_report(file: Path) -> bool:
    try:
        held = json.loads(sources.text(file))
    except (OSError, ValueError, RecursionError):  # no text, no JSON
        return False
    return isinstance(held, dict) and any(keys <= set(held) for keys in _KEYS)


def page(report: Document) -> str:
    """The whole report as one HTML text that needs nothing else, every word of it escaped.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> report.page(report.of(ta.Laplace(1)))[:15]
    '<!DOCTYPE html>'
    """
    _checks.instance((Report, DecisionDocument, ResultDocument), _KINDS, report=report)
    from tellapart.report import html

    if isinstance(report, DecisionDocument):
        return html.decision_page(report)
    if isinstance(report, ResultDocument):
        return html.result_page(report)
    return html.page(report)


def write(report: Document, path: str | Path) -> tuple[Path, Path]:
    """One page that needs nothing else, and the same as JSON beside it.

    Both are complete when they appear: they are written under other names first.

    >>> import tempfile
    >>> import tellapart as ta
    >>> from tellapart import report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page, data = report.write(report.of(ta.Laplace(1)), f"{folder}/claim.html")
    >>> page.name, data.name
    ('claim.html', 'claim.json')
    """
    _checks.instance((Report, DecisionDocument, ResultDocument), _KINDS, report=report)
    place, beside = places(target(path))
    if isinstance(report, DecisionDocument):
        refuse_sources(place, report.sources)
    data = json.dumps(report.data(), ensure_ascii=False, indent=2) + "\n"
    texts = {place: page(report), beside: data}
    _files.sweep(place.parent)
    _files.all_whole({file: _saying(text) for file, text in texts.items()})
    return place, beside


def _saying(text: str) -> Callable[[Path], object]:
    # A file's name may hold bytes that are no text; JSON reads its escape back.
    return lambda part: part.write_text(text, encoding="utf-8", errors="backslashreplace")
