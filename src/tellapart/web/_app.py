"""The page itself: one layout, one callback that asks a view, and what keeps strangers out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import flask
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from tellapart import _checks
from tellapart.deadline import within
from tellapart.errors import TellapartError
from tellapart.web import _controls, _render, _state
from tellapart.web._answer import Answer, Mark
from tellapart.web._controls import Control
from tellapart.web._scores import LARGEST_FILE
from tellapart.web._view import Dropped, View
from tellapart.web.views import VIEWS

# A file of scores in base64, and what is asked along with it.
LARGEST_REQUEST = LARGEST_FILE * 4 // 3 + 2**20
# Seconds: as long as the page waits before it asks the next question.
LONGEST = 30.0

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
    links = [
        html.A(
            one.title,
            href=one.path,
            **{"data-view": one.path, "data-file": "yes" if one.takes_file else "no"},
        )
        for one in VIEWS.values()
    ]
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
                    html.H1(id="question", tabIndex="-1"),
                    html.P(id="lead"),
                    html.Section(
                        [html.H2("What to look at", className="unseen"), html.Div(id="controls")],
                        className="controls",
                    ),
                    html.Section(
                        [
                            html.H2("Picture", className="unseen"),
                            html.P(id="trouble", role="alert"),
                            html.P(id="working", role="status"),
                            html.Div(id="switches"),
                            html.Div(id="picture"),
                        ],
                        className="stage",
                    ),
                    html.Section(id="answer", tabIndex="-1"),
                ]
            ),
            # What the page asks (view, values, what changed, a file) and what it is told. Both
            # live in this window alone: the server keeps nothing between two questions.
            dcc.Store(id="asked"),
            dcc.Store(id="told"),
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
        prevent_initial_call=True,
    )(tell)
    app.callback(
        Output("download", "data"),
        Input("wanted", "data"),
        State("asked", "data"),
        prevent_initial_call=True,
    )(report)


def _view(asked: Any) -> View[Any]:
    return VIEWS.get(asked.get("view", "/"), VIEWS["/"])


def _asked_values(asked: Any) -> dict[str, Any]:
    if "query" in asked:
        return dict(_state.from_query(asked["query"]))
    return dict(asked.get("values", {}))


def _dropped(view: View[Any], asked: Any) -> tuple[Dropped | None, ...]:
    """The file as it came from the browser, a data URL, for a view that takes one."""
    if not view.takes_file:
        return ()
    sent = asked.get("file")
    if not sent:
        return (None,)
    name = str(sent["name"])
    try:
        content = base64.b64decode(sent["content"].partition(",")[2], validate=True)
    except ValueError:  # no base64, or not even ASCII
        return _checks.refuse("file", "arrive as it was sent: drop it again", name[:80])
    return (Dropped(name, content),)


def tell(asked: Any) -> tuple[Any, Any, Any]:
    """What the page shows for what it asks: controls, picture, answer, and the URL of it."""
    view, problem = _view(asked), ""
    values, changed = _asked_values(asked), asked.get("changed")
    controls: Sequence[Control] | None
    try:
        state = view.read(values, changed)
        controls = view.controls(state)
        with within(LONGEST):
            answer = view.answer(state, *_dropped(view, asked))
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
        "lead": view.lead,
    }
    return told, _render.answer(answer, number), view.question


def report(_wanted: Any, asked: Any) -> Any:
    """The report of what is on screen, as a file to keep; none where the page tells of trouble."""
    from tellapart.report import page

    view = _view(asked)
    if view.report is None:
        return no_update
    try:
        state = view.read(_asked_values(asked), asked.get("changed"))
        with within(LONGEST):
            found = view.report(state, *_dropped(view, asked))
    except TellapartError:
        return no_update
    return dcc.send_string(page(found), "tellapart-report.html")


def _guarded(app: Dash, port: int) -> None:
    server: flask.Flask = app.server
    server.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    scripts = " ".join(app.csp_hashes())
    # Dash's parts bring styles of their own; scripts come from here, but for the one it starts by.
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )

    @server.before_request
    def own_address_alone() -> None:
        # Another site may make its name lead here; what a browser then sends still names it.
        host = flask.request.headers.get("Host", "")
        if host not in hosts:
            flask.abort(421, "this page answers at its own address alone")
        # Nor may another site's page have a browser ask for it.
        origin = flask.request.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            flask.abort(403, "this page answers its own questions alone")

    @server.after_request
    def sealed(response: flask.Response) -> flask.Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response
