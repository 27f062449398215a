"""Runs cases one by one, each in a child of its own that may crash, hang or fill the memory.

Reads a case a line from standard input, as JSON, and prints what became of it. What a case
needs is imported before the first child is forked, so that a child starts in milliseconds.
"""

import asyncio
import base64
import io
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from contextlib import redirect_stdout, suppress
from pathlib import Path

# Seconds of wall-clock time after which a child is killed: far more than any law allows.
WALL = 120
# Beyond this a child gets no memory, so that nothing else on the machine is harmed.
ROOM = 12 * 2**30
# An answer that takes longer is to be given up, as --time-limit does.
PATIENCE = 5.0


def command(case):
    """The command line, in a folder with these files."""
    from tellapart import cli, deadline

    with deadline.within(PATIENCE):
        return cli.main(case["argv"])


def file(case):
    """A file through every reader that its name asks for; 2 where it is refused in words."""
    from tellapart.curve.exchange import from_json
    from tellapart.errors import TellapartError
    from tellapart.worlds import described

    path = Path(case["name"])
    try:
        if path.suffix == ".toml":
            described.read(path)
        elif path.name == "f.json":
            from_json(path.read_bytes().decode("utf-8", errors="replace"))
        else:
            return _scores(path)
    except TellapartError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _scores(path):
    """Scores from a disk and in memory: both alike."""
    from tellapart.audit import Orientation, Scores
    from tellapart.data.columns import Names
    from tellapart.errors import TellapartError
    from tellapart.web.view import Dropped
    from tellapart.web.views.score_file import read_dropped

    told = []
    for read in (
        lambda: Scores.read(path),
        lambda: read_dropped(Dropped(path.name, path.read_bytes()), Names(), Orientation.HIGHER),
    ):
        try:
            found = read()
            sides = (found.members, found.non_members)
            told.append([one.descending(range(1, one.count + 1)).tolist() for one in sides])
        except TellapartError as error:
            told.append(getattr(error, "problem", str(error)))  # the advice differs
    if told[0] != told[1]:
        raise AssertionError(f"two readers: {told[0]!r:.300} and {told[1]!r:.300}")
    if isinstance(told[0], str):
        sys.stderr.write(f"{told[0]}\n")
        return 2
    return 0


def page(case):
    """One request to the explorer; 2 where it is refused, 70 where the server fails."""
    response = asyncio.run(_sent(case))
    if b"Traceback (most recent call last)" in response.content:
        sys.stderr.write("Traceback (most recent call last) in the answer\n")
    sys.stdout.write(f"{response.status_code}\n")
    return 70 if response.status_code >= 500 else 2 if response.status_code >= 400 else 0


async def _sent(case):
    """The answer, after the file that goes along."""
    import httpx

    headers, body, file = case["headers"], base64.b64decode(case["body"]), case["file"]
    host = {"Host": "localhost", "Content-Type": "application/octet-stream"}
    transport = httpx.ASGITransport(_application())
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        if file is not None:
            content, name = base64.b64decode(file["content"]), {"name": file["name"]}
            kept = await client.post("/api/file", content=content, params=name, headers=host)
            own = {"file": kept.json()["file"], "design": "many-runs"}
            with suppress(ValueError):
                values = json.loads(body)
                body = json.dumps({**own, **values} if isinstance(values, dict) else own).encode()
        path, method = case["path"], case["method"]
        return await client.request(method, path, content=body, headers=headers)


class _Here:
    """A pool that answers in this process, whose time and memory are counted."""

    def __init__(self):
        self.state = {}

    async def ask(self, function, *given, visitor=None, quick=False):
        from tellapart import deadline
        from tellapart.web import jobs

        with deadline.within(PATIENCE):
            return getattr(jobs, function)(*given)


def _application():
    from tellapart.web import app

    if not _APPLICATION:
        _APPLICATION.append(app.application(_Here()))
    return _APPLICATION[0]


_APPLICATION = []
KINDS = {"command": command, "file": file, "page": page}


def _prepared():
    """Import what cases need, without starting a thread."""

    import tellapart.plot
    import tellapart.report.html
    import tellapart.worlds.described  # noqa: F401
    from tellapart import cli
    from tellapart.web import jobs

    list(jobs.warm())
    _application()
    with redirect_stdout(io.StringIO()):
        cli.main(["risk", "--epsilon", "1"])


def _child(case, folder):
    os.chdir(folder)
    for name, content in case.get("files", {}).items():
        Path(name).write_bytes(base64.b64decode(content))
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f".{name}", os.O_WRONLY | os.O_CREAT, 0o600), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0)
    sys.stdout, sys.stderr = (os.fdopen(k, "w", encoding="utf-8", closefd=False) for k in (1, 2))
    Path(".held").write_text(str(_resident()))
    signal.alarm(WALL)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    code = 70
    try:
        code = KINDS[case["kind"]](case)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 (that is what is counted)
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)


def _ran(case):
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        child = os.fork()
        if not child:
            _child(case, folder)
        _, status, used = os.wait4(child, 0)
        err, out, held = (_read(Path(folder, f".{name}")) for name in ("err", "out", "held"))
    return {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "mib": used.ru_maxrss / 1024 - int(held) / 2**20,
        "err": err,
        "out": out,
    }


def _resident():
    """The bytes of memory that this process holds, some of them together with its parent."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _read(path):
    return path.read_bytes()[-200_000:].decode("utf-8", errors="replace") if path.exists() else ""


def main():
    _prepared()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_ran(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
