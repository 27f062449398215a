"""The page itself: one layout, one callback that asks a view, and what keeps strangers out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import flask
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from tellapart.errors import TellapartError
from tellapart.web import _controls, _render, _state
from tellapart.web._answer import Answer, Mark
from tellapart.web._controls import Control
from tellapart.web._view import Dropped, View
from tellapart.web.views import VIEWS

# More than a file of scores and what is sent along with it: 32 MB of base64.
LARGEST_REQUEST = 48 * 1024 * 1024

_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{%title%}</title>
{%favicon%}
{%css%}
</head>
<body>
{%app_entry%}
<footer id="foot">{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""


def create(port: int) -> Dash:
    """The explorer as a Dash application that answers at this port alone."""
    app = Dash(
        "tellapart",
        assets_folder=_render.ASSETS,
        title="tellapart: what an attacker can do",
        update_title="",
        index_string=_INDEX,
        serve_locally=True,
        enable_mcp=False,
        add_log_handler=False,
    )
    app.layout = _layout()
    _callbacks(app)
    _guarded(app, port)
    return app


def _layout() -> html.Div:
    links = [html.A(one.title, href=one.path, **{"data-view": one.path}) for one in VIEWS.values()]
    return html.Div(
        [
            html.A("Skip to the answer", href="#answer", className="skip"),
            html.Header(
                [
                    html.A("tellapart", href="/", className="brand", **{"data-view": "/"}),
                    html.Nav(links, **{"aria-label": "Views"}),
                ]
            ),
            html.Main(
                [
                    html.H1(id="question"),
                    html.Section(
                        [html.H2("What to look at", className="unseen"), html.Div(id="controls")],
                        className="controls",
                    ),
                    html.Section(
                        [
                            html.H2("Picture", className="unseen"),
                            html.Div(id="switches"),
                            html.Div(id="picture"),
                        ],
                        className="stage",
                    ),
                    html.Section(id="answer", tabIndex="-1", **{"aria-live": "polite"}),
                ]
            ),
            # What the page asks (view, values, what changed) and what it is told.
            dcc.Store(id="asked"),
            dcc.Store(id="told"),
            dcc.Store(id="file"),
            dcc.Store(id="wanted"),
            dcc.Store(id="ready", data=0),
            dcc.Download(id="download"),
        ]
    )


def _callbacks(app: Dash) -> None:
    app.clientside_callback(
        ClientsideFunction("tellapart", "start"), Output("asked", "data"), Input("ready", "data")
    )
    app.clientside_callback(
        ClientsideFunction("tellapart", "show"),
        Output("ready", "modified_timestamp"),
        Input("told", "data"),
        prevent_initial_call=True,
    )
    app.callback(
        Output("told", "data"),
        Output("answer", "children"),
        Output("question", "children"),
        Input("asked", "data"),
        Input("file", "data"),
        prevent_initial_call=True,
    )(tell)
    app.callback(
        Output("download", "data"),
        Input("wanted", "data"),
        State("asked", "data"),
        State("file", "data"),
        prevent_initial_call=True,
    )(report)


def _view(asked: Any) -> View[Any]:
    return VIEWS.get(asked.get("view", "/"), VIEWS["/"])


def _asked_values(asked: Any) -> dict[str, Any]:
    if "query" in asked:
        return dict(_state.from_query(asked["query"]))
    return dict(asked.get("values", {}))


def _dropped(sent: Any) -> Dropped | None:
    """The file as it came from the browser: a data URL."""
    if not sent:
        return None
    try:
        content = base64.b64decode(sent["content"].partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return Dropped(str(sent["name"])[:200], content)


def tell(asked: Any, sent: Any) -> tuple[Any, Any, Any]:
    """What the page shows for what it asks: controls, picture, answer, and the URL of it."""
    view, problem = _view(asked), ""
    values, changed = _asked_values(asked), asked.get("changed")
    controls: Sequence[Control] | None
    try:
        state = view.read(values, changed)
        controls = view.controls(state)
        extra = (_dropped(sent),) if view.takes_file else ()
        answer = view.answer(state, *extra)
        if view.report is None:
            answer = replace(answer, reports=False)
    except TellapartError as error:
        problem = str(error)
        try:
            controls = view.controls(view.read(values, changed))
        except TellapartError:
            controls = view.controls(view.state()) if "query" in asked else None
        answer = Answer("This cannot be shown", (problem,), Mark.BAD)
        state = None
    shape = "" if controls is None else _controls.shape(controls)
    number = int(asked.get("number", 0))
    told = {
        "number": number,
        "view": view.path,
        "controls": None if controls is None else _controls.as_data(controls),
        "shape": shape,
        "query": None if state is None else _state.to_query(state),
        "drawing": None if answer.drawing is None else answer.drawing.data(),
        "problem": problem,
    }
    return told, _render.answer(answer, number), view.question


def report(_wanted: Any, asked: Any, sent: Any) -> Any:
    """The report of what is on screen, as a file to keep."""
    from tellapart.report.html import page

    view = _view(asked)
    if view.report is None:
        return no_update
    state = view.read(_asked_values(asked), asked.get("changed"))
    extra = (_dropped(sent),) if view.takes_file else ()
    return dcc.send_string(page(view.report(state, *extra)), "tellapart-report.html")


def _guarded(app: Dash, port: int) -> None:
    server: flask.Flask = app.server
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    scripts = " ".join(app.csp_hashes())
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )

    @server.before_request
    def own_address_alone() -> None:
        # Another site may make its name lead here; what a browser then sends still names it.
        if flask.request.host not in hosts:
            flask.abort(421, "this page answers at its own address alone")

    @server.after_request
    def sealed(response: flask.Response) -> flask.Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
