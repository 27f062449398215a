"""`tellapart explore`, `tellapart serve`: the interactive page, on this machine or for a team."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from tellapart import web
from tellapart.cli.options import Whole, WholeOption
from tellapart.web import limits


def explore(
    opens: Annotated[
        str, Parameter(help="What to open: a view and its values, as in a link.", name="link")
    ] = "",
    /,
    *,
    port: Annotated[WholeOption, Parameter(help="Where to serve; by default a free one.")] = None,
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


def serve(
    *,
    host: Annotated[
        str, Parameter(help="The address to listen at; 0.0.0.0 is all of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[Whole, Parameter(help="The port to listen at.")] = 8050,
    allow_host: Annotated[
        list[str] | None,
        Parameter(
            help="A name that visitors type, such as privacy.example.org; once for each.",
            negative="",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        Whole, Parameter(help="Processes for quick questions; one more is for slow ones.")
    ] = limits.WORKERS,
    patience: Annotated[
        float,
        Parameter(help="Seconds after which a question is given up, and its command handed out."),
    ] = limits.PATIENCE,
) -> None:
    r"""Interactive page for a team: hosted under a name, behind a proxy that signs people in.

    It asks nobody who they are: let a proxy do that. Every request is a line of JSON on the
    standard error stream, without what was asked. /health says whether all is well.

    For example:

        tellapart serve --port 8050
        tellapart serve --host 0.0.0.0 --allow-host privacy.example.org
    """

    def ready() -> None:
        names = ", ".join(allow_host or ()) or "this machine alone"
        said = f"The page is at http://{host}:{port}/, for {names} (Ctrl-C ends it)"
        Console(highlight=False, soft_wrap=True).print(said)

    web.serve(
        port,
        browser=False,
        ready=ready,
        host=host,
        hosts=tuple(allow_host or ()),
        workers=workers,
        patience=patience,
        logs=True,
    )
