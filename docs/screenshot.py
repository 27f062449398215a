"""Take pictures of explorer and decision in Debian's Chromium. Run `make screenshot`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tellapart import decision, report

HERE = Path(__file__).parent
VIEW = "explore?mechanism=dpsgd:noise_multiplier=1.12,epochs=60,batch_size=256,data_size=60000"
CASE = HERE.parent / "examples" / "decisions" / "cohort.toml"
# The explorer's window; a sheet of A4 between its margins, and a rim: all in pixels of CSS.
WINDOW, SHEET, RIM = (1280, 900), 680, 28


def main() -> int:
    """Look at both pages, write what is seen."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is missing: `make chromium` installs it")
        return 1
    command = [sys.executable, "-m", "tellapart", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:  # noqa: S603
        words = server.stdout.readline().split() if server.stdout else []
        address = next(word for word in words if word.startswith("http"))
        _picture(chromium, "explorer.png", WINDOW, 96, lambda page: _explorer(page, address))
        server.terminate()
    _picture(chromium, "decision.png", (SHEET + 2 * RIM, 960), 128, _decision)
    return 0


def _explorer(page: Page, address: str) -> dict[str, Any]:
    """The README's picture: a page of the explorer, once it has its answer."""
    page.goto(address + VIEW)
    page.wait_for_selector("html[data-kept] .card")  # on a busy machine the script asks again
    page.wait_for_function("() => document.querySelector('#chart [data-reads]')")
    return {}


def _decision(page: Page) -> dict[str, Any]:
    """The first page of a decision, as paper shows it."""
    page.emulate_media(media="print")
    page.set_content(report.page(report.of_decision(decision.read(CASE))))
    page.add_style_tag(content=f"body {{ padding: {RIM}px; }}")
    first = page.locator(".first").bounding_box()
    assert first is not None  # noqa: S101
    size = {"width": SHEET + 2 * RIM, "height": first["y"] + first["height"] + 4}
    return {"clip": {"x": 0, "y": 0, **size}, "full_page": True}


def _picture(
    chromium: str,
    name: str,
    window: tuple[int, int],
    colours: int,
    shown: Callable[[Page], dict[str, Any]],
) -> None:
    """A picture of what a page shows, in few colours and so a quarter of the bytes."""
    path = HERE / name
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": window[0], "height": window[1]},
            device_scale_factor=2,
            color_scheme="light",
        )
        page.screenshot(path=path, **shown(page))
        browser.close()
    with Image.open(path) as seen:
        seen.convert("RGB").quantize(colours).save(path, optimize=True)
    print(f"written: {path} ({path.stat().st_size:,} bytes)")


if __name__ == "__main__":
    sys.exit(main())
