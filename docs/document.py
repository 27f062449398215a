"""Take the picture of a decision's first page, as it is printed. Run `make screenshot`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tellapart import decision, report

HERE = Path(__file__).parent
CASE = HERE.parent / "examples" / "decisions" / "cohort.toml"
# A sheet of A4 between its margins, and a rim, in pixels of CSS.
WIDTH, RIM = 680, 28


def main() -> int:
    """Write the document, look at its first page as paper shows it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is missing: `make chromium` installs it")
        return 1
    path = HERE / "decision.png"
    text = report.page(report.of_decision(decision.read(CASE)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH + 2 * RIM, "height": 960}, device_scale_factor=2
        )
        page.emulate_media(media="print")
        page.set_content(text)
        page.add_style_tag(content=f"body {{ padding: {RIM}px; }}")
        first = page.locator(".first").bounding_box()
        assert first is not None  # noqa: S101
        clip = {
            "x": 0,
            "y": 0,
            "width": WIDTH + 2 * RIM,
            "height": first["y"] + first["height"] + 4,
        }
        page.screenshot(path=path, clip=clip, full_page=True)
        browser.close()
    with Image.open(path) as seen:  # few colours, and a quarter of the bytes
        seen.convert("RGB").quantize(128).save(path, optimize=True)
    print(f"written: {path} ({path.stat().st_size:,} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
