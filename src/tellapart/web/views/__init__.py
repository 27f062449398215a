"""The views: each reads its state from values, says which controls it has, and answers."""

from typing import Any

from tellapart.web.view import View
from tellapart.web.views import explore, glossary, start

_ALL: tuple[View[Any], ...] = (
    start.VIEW,
    explore.VIEW,
    glossary.VIEW,
)
VIEWS: dict[str, View[Any]] = {view.path: view for view in _ALL}
