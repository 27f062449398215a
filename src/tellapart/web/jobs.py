"""Work of the page's processes: a question in, and bytes out that the server sends as they are."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tellapart.deadline import within
from tellapart.errors import TellapartError
from tellapart.web import limits, page, questions
from tellapart.web.messages import HTML, JSON, TEXT, Reply, Upload
from tellapart.web.questions import Malformed
from tellapart.web.view import Dropped
from tellapart.web.views import VIEWS

_SMALL = 1_000  # bytes that are not worth the while


def squeezed(job: str, squeeze: bool, *given: Any) -> Reply:
    """The reply of a job, compressed where the browser takes that."""
    reply = JOBS[job](*given)
    if not squeeze or len(reply.body) < _SMALL:
        return reply
    body = gzip.compress(reply.body, 5, mtime=0)
    return Reply(reply.status, reply.kind, body, reply.name, squeezed=True)


def paint(path: str, values: Mapping[str, Any], answered: bool = True) -> Reply:
    """A view as a page, with its answer unless that is left to the script."""
    if not known(path):
        return no_page()
    try:
        with within(memory=limits.LARGEST_ARRAY):
            answer = questions.first_answer(path, _opened(values)) if answered else None
    except Malformed as why:
        return malformed(str(why))
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    return Reply(200, HTML, page.document(path, texts, answer).encode())


def answer(path: str, values: Mapping[str, Any]) -> Reply:
    """What a view says, as the page's script reads it."""
    if not known(path):
        return no_page()
    try:
        with within(memory=limits.LARGEST_ARRAY):
            reply = questions.answer(path, _opened(values))
    except Malformed as why:
        return malformed(str(why))
    return Reply(200, JSON, json.dumps(reply, allow_nan=False, ensure_ascii=False).encode())


def download(path: str, values: Mapping[str, Any], kind: str) -> Reply:
    """What a view says, as a file to keep."""
    if not known(path):
        return no_page()
    try:
        with within(memory=limits.LARGEST_ARRAY):
            media, name, body = questions.download(path, _opened(values), kind)
    except Malformed as why:
        return malformed(str(why))
    except TellapartError as why:
        return Reply(422, JSON, json.dumps({"problem": str(why)}).encode(errors="replace"))
    return Reply(200, media, body, name)


def address(path: str, values: Mapping[str, Any]) -> str:
    """The link to a question, after the page's own address."""
    return questions.address(path, _opened(values))


def _opened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with files as views take them."""
    return {
        key: Dropped(value.name, value.content) if isinstance(value, Upload) else value
        for key, value in values.items()
    }


def known(path: str) -> bool:
    """Whether there is such a view."""
    return not path or f"/{path}" in VIEWS


def no_page() -> Reply:
    """There is no such view."""
    there = ", ".join(VIEWS)
    return Reply(404, TEXT, f"there is no such page; there are {there}\n".encode())


def malformed(why: str) -> Reply:
    """What was asked is no question."""
    problem = {"problem": f"this is no question of the page: {why}"}
    return Reply(400, JSON, json.dumps(problem).encode(errors="replace"))


JOBS: dict[str, Callable[..., Reply]] = {"paint": paint, "answer": answer, "download": download}


def warm() -> Iterator[str]:
    """What is loaded or worked out once a process, so that all have it: first what people open."""
    for path in ("", "explore"):
        paint(path, {})
    yield "pages"
    for path in VIEWS:
        paint(path.lstrip("/"), {})
        yield path
    download("explore", {}, "report")
    yield "report"
