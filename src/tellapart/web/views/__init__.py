"""The views: each reads its state from values, says which controls it has, and answers."""

from typing import Any

from tellapart.web.view import View
from tellapart.web.views import audit, auxiliary, choose, compare, explore, point

_ALL: tuple[View[Any], ...] = (
    explore.VIEW,
    point.VIEW,
    choose.VIEW,
    compare.VIEW,
    auxiliary.VIEW,
    audit.VIEW,
)
VIEWS: dict[str, View[Any]] = {view.path: view for view in _ALL}
