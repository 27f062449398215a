"""Parts of a page that several tests hold against what its code prints."""

import pytest

from tellapart.web.answer import Table


@pytest.fixture
def folder():
    """Commands of these tests write nothing."""


@pytest.fixture
def table():
    def call(answer, title):
        (found,) = [x for x in answer.parts if isinstance(x, Table) and x.title.startswith(title)]
        return found

    return call
