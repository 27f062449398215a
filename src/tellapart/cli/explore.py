"""`tellapart explore`: the interactive page, served on this machine only."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from tellapart import web
from tellapart.cli.options import Whole
from tellapart.web import limits


def explore(
    opens: Annotated[
        str, Parameter(help="What to open: a view and its values, as in a link.", name="link")
    ] = "",
    /,
    *,
    port: Annotated[
        Whole | None, Parameter(help="Where to serve; by default a free one.", show_default=False)
    ] = None,
    browser: Annotated[bool, Parameter(help="Open the page in a browser.")] = True,
    patience: Annotated[
        float, Parameter(help="Seconds after which a question is given up.")
    ] = limits.LONGEST,
) -> None:
    r"""Interactive page: explore, choose, compare and audit in a browser, on this machine only.

    It needs no network and sends nothing anywhere. Ctrl-C ends it.

    For example:

        tellapart explore
        tellapart explore --no-browser --port 8050
        tellapart explore 'explore?mechanism=laplace:epsilon=1'
    """
    where = web.free_port() if port is None else port

    def ready() -> None:
        place = web.address(where) + opens.lstrip("/")
        Console(highlight=False, soft_wrap=True).print(f"The page is at {place} (Ctrl-C ends it)")

    web.serve(where, browser=browser, opens=opens, ready=ready, patience=patience)
