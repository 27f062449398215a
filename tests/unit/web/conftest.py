"""What a page's copied code prints, to be held against what the page shows."""

import contextlib
import io

import pytest

from tellapart.web._answer import Table


@pytest.fixture
def folder():
    """Commands of these tests write nothing."""


@pytest.fixture
def printed():
    def call(code):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "copied", "exec"), {})  # noqa: S102
        return out.getvalue()

    return call


@pytest.fixture
def table():
    def call(answer, title):
        (found,) = [x for x in answer.parts if isinstance(x, Table) and x.title.startswith(title)]
        return found

    return call
