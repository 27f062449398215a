"""Firefox by WebDriver BiDi: Debian's firefox-esr, driven over a WebSocket by its Remote Agent.

A page here has as much of Playwright's `Page` as `screens.Screen` asks for, so that one
description of a screen holds in both browsers.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

_START = 60.0  # seconds in which Firefox must be there
_PATIENCE = 60.0  # and in which it must do as it is told
# A profile that asks nobody but the page anything, in as few processes as it can.
_SETTINGS = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "extensions.enabledScopes": 0,
    "fission.autostart": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,  # nobody answers there
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.type": 1,
    "toolkit.startup.max_resumed_crashes": -1,
    "ui.prefersReducedMotion": 1,
}
_DARK = "layout.css.prefers-color-scheme.content-override"  # 0 dark, 1 light
_KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Backspace": "\ue003"}
_KEYS |= {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
_KEYS |= {"Control": "\ue009"}


class Refused(Exception):
    """Firefox did not do as it was told: its own words."""


@dataclass
class Firefox:
    """One browser; what it says of pages is kept by the page's context."""

    wire: ClientConnection
    version: str = ""
    asked: int = 0
    pages: dict[str, FirefoxPage] = field(default_factory=dict)

    def tell(self, method: str, **given: Any) -> dict[str, Any]:
        """Have a command done; what happened meanwhile goes to the pages it happened on."""
        self.asked += 1
        number = self.asked
        self.wire.send(json.dumps({"id": number, "method": method, "params": given}))
        while True:
            said = json.loads(self.wire.recv(_PATIENCE))
            if said["type"] == "event":
                self._keep(said["method"], said["params"])
            elif said["id"] == number:
                break
        if said["type"] == "error":
            raise Refused(f"{method}: {said['error']}: {said['message']}")
        return said["result"]

    def _keep(self, event: str, said: dict[str, Any]) -> None:
        context = said.get("context") or said.get("source", {}).get("context")
        page = self.pages.get(context)
        if page is None:
            return
        if event == "log.entryAdded" and said["level"] in ("error", "warn"):
            page.errors.append(said["text"] or "an error without words")
        if event == "network.beforeRequestSent":
            url = said["request"]["url"]
            if not url.startswith((page.own, "data:", "blob:", "about:")):
                page.elsewhere.append(url)

    def visitor(self, width: int, height: int) -> FirefoxPage:
        """A tab with cookies and storage of its own."""
        user = self.tell("browser.createUserContext")["userContext"]
        made = self.tell("browsingContext.create", type="tab", userContext=user)["context"]
        page = self.pages[made] = FirefoxPage(self, made, user)
        page.set_viewport_size({"width": width, "height": height})
        return page

    def show_dark(self, dark: bool) -> None:
        """Have every page prefer dark colours, or light ones."""
        theme = "dark" if dark else "light"
        (chrome, *_) = self.tell("browsingContext.getTree", **{"moz:scope": "chrome"})["contexts"]
        self.tell(
            "script.evaluate",
            expression=f'Services.prefs.setIntPref("{_DARK}", {0 if dark else 1})',
            target={"context": chrome["context"]},
            awaitPromise=False,
        )
        for page in self.pages.values():  # which are told in their turn
            page.wait_for_function(f"() => matchMedia('(prefers-color-scheme: {theme})').matches")


@dataclass
class Keyboard:
    """Keys as a person presses them: by name, or one letter."""

    page: FirefoxPage

    def press(self, keys: str) -> None:
        """Press a key, or several held together: ``Control+a``."""
        names = [_KEYS.get(one, one) for one in keys.split("+")] if len(keys) > 1 else [keys]
        down = [{"type": "keyDown", "value": one} for one in names]
        up = [{"type": "keyUp", "value": one} for one in reversed(names)]
        self._done([*down, *up])

    def type(self, text: str) -> None:
        """Type a text, letter by letter."""
        self._done([{"type": do, "value": one} for one in text for do in ("keyDown", "keyUp")])

    def _done(self, actions: list[dict[str, str]]) -> None:
        source = {"type": "key", "id": "keys", "actions": actions}
        self.page.firefox.tell("input.performActions", context=self.page.context, actions=[source])


@dataclass
class FirefoxPage:
    """A tab, by the names that Playwright has for the same."""

    firefox: Firefox
    context: str
    user: str
    errors: list[str] = field(default_factory=list)
    own: str = ""  # the address whose page it is; what else is asked is kept
    elsewhere: list[str] = field(default_factory=list)

    @property
    def keyboard(self) -> Keyboard:
        """Where keys are pressed."""
        return Keyboard(self)

    @property
    def url(self) -> str:
        """The whole address."""
        return self.evaluate("() => location.href")

    def goto(self, url: str) -> None:
        """Open an address, until all of it is loaded."""
        self.firefox.tell(
            "browsingContext.navigate", context=self.context, url=url, wait="complete"
        )

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """What a function of the page says of one argument."""
        said = self.firefox.tell(
            "script.callFunction",
            functionDeclaration=f"""async (given) => JSON.stringify(
              (await ({function})(JSON.parse(given))) ?? null)""",
            arguments=[{"type": "string", "value": json.dumps(argument)}],
            target={"context": self.context},
            awaitPromise=True,
            userActivation=True,
        )
        if said["type"] == "exception":
            raise Refused(said["exceptionDetails"]["text"])
        return json.loads(said["result"]["value"])

    def wait_for_function(self, function: str) -> None:
        """Wait until a function of the page says yes."""
        until = time.monotonic() + _PATIENCE
        while not self.evaluate(function):
            if time.monotonic() > until:
                raise Refused(f"not within {_PATIENCE:g} s: {function}")
            time.sleep(0.03)

    def set_viewport_size(self, size: dict[str, int]) -> None:
        """Make the window as large as asked."""
        self.firefox.tell("browsingContext.setViewport", context=self.context, viewport=size)

    def screenshot(self, path: Path) -> None:
        """What is seen, as a PNG file."""
        said = self.firefox.tell("browsingContext.captureScreenshot", context=self.context)
        path.write_bytes(base64.b64decode(said["data"]))

    def close(self) -> None:
        """Leave, cookies and all."""
        self.firefox.tell("browser.removeUserContext", userContext=self.user)
        del self.firefox.pages[self.context]


@contextmanager
def firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """A browser without a window, with this folder as its profile."""
    written = "".join(
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in _SETTINGS.items()
    )
    (profile / "user.js").write_text(written, encoding="utf-8")
    command = [program, "--headless", "--no-remote", "--profile", str(profile)]
    command += ["--remote-debugging-port=0", "--remote-allow-system-access"]
    own = {**os.environ, "HOME": str(profile)}  # it starts in no home that is another's
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=own
    ) as process:
        try:
            with connect(f"{_listening(process, profile)}/session", max_size=None) as wire:
                browser = Firefox(wire)
                told = browser.tell("session.new", capabilities={})
                browser.version = told["capabilities"]["browserVersion"]
                events = ["log.entryAdded", "network.beforeRequestSent"]
                browser.tell("session.subscribe", events=events)
                browser.show_dark(False)
                yield browser
                browser.tell("browser.close")
            process.wait(timeout=_PATIENCE)
        finally:
            process.kill()


def _listening(process: subprocess.Popen[bytes], profile: Path) -> str:
    """Where its Remote Agent listens, which it writes into the profile."""
    file, until = profile / "WebDriverBiDiServer.json", time.monotonic() + _START
    while time.monotonic() < until and process.poll() is None:
        if file.exists() and (text := file.read_text(encoding="utf-8")).endswith("}"):
            where = json.loads(text)
            return f"ws://{where['ws_host']}:{where['ws_port']}"
        time.sleep(0.05)
    raise Refused(f"Firefox did not start within {_START:g} s, or ended ({process.poll()})")
