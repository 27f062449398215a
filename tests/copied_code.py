"""What code copied from a page prints when it is run on its own."""

import contextlib
import io


def printed(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "copied", "exec"), {})  # noqa: S102
    return out.getvalue()
