"""The views: each reads its state from values, says which controls it has, and answers."""

from typing import Any

from tellapart.web.view import View
from tellapart.web.views import audit, check, choose, compare, correlated, explore, glossary, start

_ALL: tuple[View[Any], ...] = (
    start.VIEW,
    explore.VIEW,
    choose.VIEW,
    compare.VIEW,
    check.VIEW,
    audit.VIEW,
    correlated.VIEW,
    glossary.VIEW,
)
VIEWS: dict[str, View[Any]] = {view.path: view for view in _ALL}
