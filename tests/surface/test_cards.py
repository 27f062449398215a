"""The cards that docs/notebooks.md shows are those that its code makes."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_shows_what_its_code_shows():
    spec = importlib.util.spec_from_file_location("cards", DOCS / "cards.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shown = module.cards()
    assert shown.count('role="img"') >= 3
    assert (DOCS / "notebooks.html").read_text(encoding="utf-8") == shown, (
        "run python docs/cards.py"
    )
