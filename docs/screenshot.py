"""Take the README's picture of the explorer, in Debian's Chromium. Run `make screenshot`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
VIEW = "?mechanism=dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000&prior=0.01"
WIDTH, HEIGHT = 1310, 1180


def main() -> int:
    """Serve the page, look at it, write what is seen."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("Chromium is missing: `make chromium` installs it")
        return 1
    path = HERE / "explorer.png"
    command = [sys.executable, "-m", "tellapart", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:  # noqa: S603
        words = server.stdout.readline().split() if server.stdout else []
        address = next(word for word in words if word.startswith("http"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(
                viewport={"width": WIDTH, "height": HEIGHT},
                device_scale_factor=2,
                color_scheme="light",
            )
            page.goto(address + VIEW)
            page.wait_for_selector("html[data-kept]")
            page.screenshot(path=path)
            browser.close()
        server.terminate()
    with Image.open(path) as seen:  # few colours, and a quarter of the bytes
        seen.convert("RGB").quantize(96).save(path, optimize=True)
    print(f"written: {path} ({path.stat().st_size:,} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
