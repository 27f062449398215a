"""The Dash application: one layout, answers as HTML, and callbacks that hand each question on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar

import flask
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import DashException, PreventUpdate

from tellapart.drawing.record import Mark
from tellapart.errors import LimitReached
from tellapart.web import gate, limits, questions
from tellapart.web.answer import Answer, Table, TextFile, Words
from tellapart.web.questions import Malformed, PageQuestion
from tellapart.web.views import VIEWS
from tellapart.web.workers import Crashed, Superseded, WorkerPool

Result = TypeVar("Result")
# Who answers: here, or in a process that can be ended.
Answering = Callable[[Callable[[PageQuestion], Result], PageQuestion], Result]

_ENDPOINT = "/_dash-update-component"
_FILES = re.compile(r"/assets/[\w.-]+|/_dash-[\w./@-]+|/_favicon\.ico|/_reload-hash", re.ASCII)
_TOLD = "..told.data...answer.children...question.children.."
_REPORT = "..download.data...unreported.data.."
_SIGNS = {Mark.GOOD: "✓ ", Mark.BAD: "✗ ", Mark.PLAIN: ""}
_BUG = "The page could not answer this: a bug in tellapart; see the terminal that runs the page."

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


def here(function: Callable[[PageQuestion], Result], question: PageQuestion) -> Result:
    """Answer in this process."""
    return function(question)


def in_processes(pool: WorkerPool) -> Answering[Any]:
    """Answer in one of these processes, each window for itself."""

    def answer(function: Callable[[PageQuestion], Any], question: PageQuestion) -> Any:
        try:
            return pool.ask(function, question, (question.window, function.__name__))
        except Superseded:
            raise PreventUpdate from None
        except Crashed:  # its process has said why
            flask.abort(500)

    return answer


def create(answering: Answering[Any] = here) -> Dash:
    """The explorer as a Dash application that answers this machine alone."""
    app = Dash(
        "tellapart",
        assets_folder=str(files("tellapart.web").joinpath("assets")),
        title="tellapart: membership inference risk",
        update_title="",
        index_string=_INDEX,
        serve_locally=True,
        enable_mcp=False,
        add_log_handler=False,
    )
    app.layout = _layout()
    _callbacks(app, answering)
    _guarded(app)
    return app


def _layout() -> html.Div:
    links = [
        html.A(
            view.title,
            href=view.path,
            **{"data-view": view.path, "data-file": "yes" if view.takes_file else "no"},
        )
        for view in VIEWS.values()
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
                            html.P(id="trouble", role="alert", className="trouble"),
                            html.P(id="working", role="status"),
                            html.Div(id="switches"),
                            html.Div(id="picture"),
                        ],
                        className="stage",
                    ),
                    html.Section(id="answer", tabIndex="-1"),
                    html.P(id="no-report", role="alert", className="trouble"),
                ]
            ),
            # What the page asks (view, values, what changed, a file) and what it is told. Both
            # live in this window alone: the server keeps nothing between two questions.
            dcc.Store(id="asked"),
            dcc.Store(id="told"),
            dcc.Store(id="wanted"),
            dcc.Store(id="ready", data=0),
            dcc.Download(id="download"),
            dcc.Store(id="unreported"),
        ]
    )


def _callbacks(app: Dash, answering: Answering[Any]) -> None:
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
    )(lambda asked: tell(asked, answering))
    app.callback(
        Output("download", "data"),
        Output("unreported", "data"),
        Input("wanted", "data"),
        State("asked", "data"),
        prevent_initial_call=True,
    )(lambda _wanted, asked: report(asked, answering))
    app.clientside_callback(
        ClientsideFunction("tellapart", "unreported"),
        Output("unreported", "modified_timestamp"),
        Input("unreported", "data"),
        prevent_initial_call=True,
    )


def tell(asked: Any, answering: Answering[Any] = here) -> tuple[Any, Any, Any]:
    """What the page shows for what it asks: controls, picture, answer, and the URL of it."""
    question = questions.read(asked)
    update: questions.PageUpdate
    try:
        update = answering(questions.answer, question)
    except LimitReached as reached:
        update = questions.refused(question, str(reached))
    drawing = update.answer.drawing
    data = {
        "number": update.number,
        "view": update.view,
        "controls": update.controls,
        "shape": update.shape,
        "query": update.query,
        "drawing": None if drawing is None else drawing.data(),
        "problem": update.problem,
        "lead": update.lead,
    }
    return data, rendered(update.answer, update.number), update.question


def report(asked: Any, answering: Answering[Any] = here) -> tuple[Any, str]:
    """The report of what is on screen, as a file to keep; or none, and the words for why."""
    try:
        page, why = answering(questions.report, questions.read(asked))
    except LimitReached as reached:
        page, why = "", str(reached)
    if not page:
        return no_update, f"No report was made: {why}."
    return dcc.send_string(page, "tellapart-report.html"), ""


def rendered(given: Answer, number: int = 0) -> list[Any]:
    """The headline, what explains it, and code that says the same, for this question."""
    parts: list[Any] = [
        html.Div(
            [
                html.H2(_breakable(f"{_SIGNS[given.mark]}{given.headline}")),
                *(html.P(sentence) for sentence in given.sentences),
            ],
            className=f"headline {given.mark}",
            # The answer's core is read out when it changes; tables are there for who looks.
            **{"data-number": str(number), "aria-live": "polite", "aria-atomic": "true"},
        )
    ]
    parts += [_part(part) for part in given.parts]
    codes = [("Copy as Python", given.python), ("Copy as command", given.command)]
    blocks = [_code(label, text) for label, text in codes if text]
    blocks += [_file(each) for each in given.files]
    if given.reports:
        blocks.append(html.Button("Download a privacy report", id="report-button", type="button"))
    if blocks:
        parts.append(html.Section([html.H3("Export"), *blocks], className="take"))
    return parts


def _part(part: Table | Words) -> html.Section:
    if isinstance(part, Words):
        return html.Section(
            [html.H3(part.title), *(html.P(_breakable(text)) for text in part.sentences)]
        )
    head = html.Thead(html.Tr([html.Th(_breakable(cell), scope="col") for cell in part.head]))
    body = html.Tbody(
        [
            html.Tr([html.Th(_breakable(row[0]), scope="row"), *map(_cell, row[1:])])
            for row in part.rows
        ]
    )
    table = html.Div(
        html.Table([head, body]),
        className="wide",
        tabIndex="0",
        role="region",
        **{"aria-label": part.title},
    )
    note = [html.P(part.note, className="quiet")] if part.note else []
    return html.Section([html.H3(part.title), table, *note])


def _breakable(text: str) -> list[Any]:
    """A text that may go on in the next line after the signs within a mechanism's name."""
    first, *later = re.split(r"(?<=[,:(+])(?=[a-z])", text)
    return [first, *(part for each in later for part in (html.Wbr(), each))]


def _cell(text: str) -> html.Td:
    """A number stays on one line with its sign."""
    return html.Td(text, className="number" if re.fullmatch(r"[≈≤≥=]? ?[\d.e+-]+", text) else None)


def _code(label: str, text: str) -> html.Details:
    return html.Details(
        [
            html.Summary(label),
            html.Button(label, type="button", **{"data-copies": text}),
            html.Pre(html.Code(text), tabIndex="0"),
        ]
    )


def _file(file: TextFile) -> html.Details:
    return html.Details(
        [
            html.Summary(f"Save as {file.name}"),
            html.Button(
                f"Save as {file.name}",
                type="button",
                **{"data-saves": file.text, "data-name": file.name},
            ),
            html.P(file.use),
            html.Pre(html.Code(file.text), tabIndex="0"),
        ]
    )


def _checked(body: bytes) -> bytes:
    """What Dash is given in place of a body: a question and nothing besides."""
    try:
        sent = json.loads(body.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Malformed("it must be JSON, in UTF-8") from None
    if not isinstance(sent, dict) or sent.get("output") not in (_TOLD, _REPORT):
        raise Malformed("it must name what is asked for")
    asks_report = sent["output"] == _REPORT
    asked = _only(sent, "state" if asks_report else "inputs")
    questions.read(asked)
    question = {"id": "asked", "property": "data", "value": asked}
    wanted = {"id": "wanted", "property": "data", "value": 1}
    outputs = [dict(zip(("id", "property"), part.split("."), strict=True)) for part in _parts(sent)]
    return json.dumps(
        {
            "output": sent["output"],
            "outputs": outputs,
            "inputs": [wanted if asks_report else question],
            "state": [question] if asks_report else [],
            "changedPropIds": ["wanted.data" if asks_report else "asked.data"],
        }
    ).encode()


def _parts(sent: dict[str, Any]) -> list[str]:
    return str(sent["output"]).strip(".").split("...")


def _no_number(name: str) -> Any:
    raise Malformed(f"numbers must be finite, got {name}")


def _only(sent: dict[str, Any], place: str) -> Any:
    """What was asked, from the one place where the page puts it."""
    held = sent.get(place)
    if not isinstance(held, list) or len(held) != 1 or not isinstance(held[0], dict):
        raise Malformed(f"{place} must hold one question")
    return held[0].get("value")


def _guarded(app: Dash) -> None:
    server: flask.Flask = app.server
    scripts = " ".join(app.csp_hashes())
    # Dash's parts bring styles of their own; scripts come from here, but for the one it starts by.
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    server.wsgi_app = gate.gate(  # type: ignore[assignment,method-assign]
        server.wsgi_app,
        largest=limits.LARGEST_REQUEST,
        pages=VIEWS,
        files=_FILES,
        questions={_ENDPOINT: _checked},
        headers={
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        },
    )

    @server.errorhandler(DashException)
    def no_such_file(_: object) -> tuple[str, int]:
        return "There is no such file.\n", 404

    @server.errorhandler(500)
    def bug(_: object) -> tuple[str, int, dict[str, str]]:
        return _BUG + "\n", 500, {"Content-Type": "text/plain; charset=utf-8"}
