"""Parts of a page that several tests hold against what its code prints."""

import asyncio

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


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser():
    """Playwright leaves its event loop running between tests of pages, in the same process."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
