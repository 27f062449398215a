"""The views: each reads its state from values, says which controls it has, and answers."""

from typing import Any

from tellapart.web._view import View
from tellapart.web.views import auxiliary, explore, point

VIEWS: dict[str, View[Any]] = {one.path: one for one in (explore.VIEW, point.VIEW, auxiliary.VIEW)}
