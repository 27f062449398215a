"""Pages in real browsers: one server and one of each a worker, a fresh visitor each time.

Nothing but the server can be reached. What a page logs as an error, or asks of anyone else, fails
the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from bidi import firefox as started
from playwright.sync_api import sync_playwright
from screens import Screen

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def address():
    """The page as the command serves it, with every warning an error."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        "ignore::ResourceWarning",
        "-m",
        "tellapart",
        "explore",
        "--no-browser",
    ]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, **ONE_THREAD}
    ) as server:
        try:
            words = server.stdout.readline().split()
            yield next(word for word in words if word.startswith("http"))
            server.terminate()  # not Ctrl-C, which may be ignored here
            assert server.wait(timeout=60) == 143
        finally:
            server.kill()  # one that does not listen would be waited for without end


@pytest.fixture(scope="session")
def browser():
    found = shutil.which("chromium")
    if found is None:
        pytest.fail("Chromium is missing: `make chromium` installs it", pytrace=False)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, address):
    """A new visitor, as wide and as dark as asked."""
    screens = []

    def come(width=1280, height=900, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            permissions=["clipboard-read", "clipboard-write"],
            reduced_motion="reduce",
        )
        context.set_default_timeout(60_000)  # machines may be busy
        screen = Screen(context.new_page(), address)
        screens.append(screen)

        def answer(route):
            if route.request.url.startswith(address):
                route.continue_()
            else:
                screen.elsewhere.append(route.request.url)
                route.abort()

        context.route("**/*", answer)
        screen.page.on("console", lambda one: _keep(screen, one))
        screen.page.on("pageerror", lambda one: screen.errors.append(str(one)))
        return screen

    yield come
    for screen in screens:
        screen.page.context.close()
    assert [one.errors for one in screens] == [[] for _ in screens]
    assert [one.elsewhere for one in screens] == [[] for _ in screens]


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.fail("Firefox is missing: `make firefox` installs it", pytrace=False)
    with started(program, tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


@pytest.fixture
def visit_firefox(firefox, address):
    """A new visitor with Firefox, as wide as asked."""
    screens = []

    def come(width=1280, height=900):
        page = firefox.visitor(width, height)
        screens.append(Screen(page, address, page.errors, page.elsewhere))
        page.own = address
        return screens[-1]

    yield come
    for screen in screens:
        screen.page.close()
    assert [one.errors for one in screens] == [[] for _ in screens]
    assert [one.elsewhere for one in screens] == [[] for _ in screens]


def _keep(screen, message):
    if message.type in ("error", "warning"):
        screen.errors.append(message.text)
