"""`tellapart explore`: the interactive page, served on this machine only."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from tellapart import web
from tellapart.cli.options import Whole


def explore(
    *,
    port: Annotated[
        Whole | None, Parameter(help="Where to serve; by default a free one.", show_default=False)
    ] = None,
    browser: Annotated[bool, Parameter(help="Open the page in a browser.")] = True,
) -> None:
    r"""Interactive page: explore, choose, compare and audit in a browser, on this machine only.

    It needs no network and sends nothing anywhere. Ctrl-C ends it.

    For example:

        tellapart explore
        tellapart explore --no-browser --port 8050
    """
    where = web.free_port() if port is None else port

    def ready() -> None:
        Console(highlight=False).print(f"The page is at {web.address(where)} (Ctrl-C ends it)")

    web.serve(where, browser=browser, ready=ready)
