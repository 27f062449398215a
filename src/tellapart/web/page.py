"""HTML of the page's first paint."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping


def document(path: str, values: Mapping[str, str], answer: Mapping[str, object] | None) -> str:
    """The whole page, without scripts."""
    said = html.escape(json.dumps(answer, default=str))
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>tellapart</title>'
        f"<h1>{html.escape(path)}</h1><p>{html.escape(str(dict(values)))}</p><pre>{said}</pre>"
    )
