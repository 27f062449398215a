"""What code copied from a page prints when it is run on its own, by public names alone."""

import ast
import contextlib
import importlib
import io
from collections.abc import Iterator

# What makes mechanisms of texts and curves of mechanisms inside; outside it is ta.parse and .curve.
INSIDE = "tellapart.mechanisms"


def printed(code: str) -> str:
    assert list(hidden_names(code)) == []
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "copied", "exec"), {})  # noqa: S102
    return out.getvalue()


def hidden_names(code: str) -> Iterator[str]:
    """Names that this code imports and that no page would tell a person to import."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and "tellapart." in node.module:
            module = importlib.import_module(node.module)
            for name in (name.name for name in node.names):
                listed = name in getattr(module, "__all__", [name])
                if not listed or name.startswith("_") or node.module.startswith(INSIDE):
                    yield f"{node.module}.{name}"
