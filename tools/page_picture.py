"""Writes `docs/pictures/verdict.png`: the page of the demo's verdict, as Chromium shows it. `./do picture` runs it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "verdict.png"
WIDTH, HEIGHT = 1120, 1100
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--force-color-profile=srgb"]


def main() -> int:
    """Judge the shipped evaluation, open its page, and keep what is seen of it first."""
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_path is None:
        sys.stderr.write("Chromium is not installed (Debian: apt-get install chromium)\n")
        return 1
    demo = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, str(ROOT / "examples" / "demo.py")], stdout=subprocess.PIPE, text=True
    )
    try:
        page, key = _told(demo)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
            shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            address = urlsplit(page)
            shown.goto(f"{address.scheme}://{address.netloc}/login?next={address.path}")
            shown.fill("input[name=key]", key.read_text())
            shown.keyboard.press("Enter")
            shown.wait_for_url(page)
            shown.wait_for_load_state("networkidle")
            shown.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})
            browser.close()
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(60)
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB\n")
    return 0


def _told(demo: subprocess.Popen[str]) -> tuple[str, Path]:
    """The page of the verdict, and the file of a key that may read it."""
    page = key = None
    for line in demo.stdout or ():
        if match := re.search(r"^The page: (\S+)$", line):
            page = match[1]
        if match := re.search(r"the first one is in (\S+)", line):
            key = Path(match[1])
        if page and key:
            return page, key
    raise RuntimeError("the demo ended without a page")


if __name__ == "__main__":
    sys.exit(main())
