"""What the page on hosting tells to type, typed: the container's commands, and other servers."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "Containerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")


def instructions():
    """(what, how) of each line of the container file."""
    lines = [line for line in RECIPE.replace("\\\n", " ").splitlines() if line]
    return [tuple(line.split(" ", 1)) for line in lines if not line.startswith("#")]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def health(port, host="localhost"):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/health", headers={"Host": host})
    with urllib.request.urlopen(request, timeout=30) as found:  # noqa: S310
        return json.load(found)


@contextmanager
def started(command, port, **how):
    """A server, once it answers."""
    with subprocess.Popen(command, **how) as server:  # noqa: S603
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    health(port)
                    break
                except (OSError, urllib.error.URLError):
                    assert server.poll() is None, "it ended"
                    assert time.monotonic() < until, "it never answered"
                    time.sleep(0.1)
            yield server
        finally:
            server.terminate()
            server.wait(timeout=30)


def test_the_container_says_nothing_that_is_not_tried():
    known = {"FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "HEALTHCHECK"}
    assert {what for what, _ in instructions()} == {*known, "ENTRYPOINT", "CMD"}
    assert [how for what, how in instructions() if what == "USER"] == ["10001:10001"]  # not root


@pytest.mark.slow
def test_the_container_s_commands_work_in_a_clean_environment(tmp_path):
    """Each line in turn, in an empty folder and an environment with nothing but pip."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)  # noqa: S603
    folder = tmp_path / "work"
    folder.mkdir()
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))}
    seen = {**kept, "PATH": f"{tmp_path / 'clean' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    seen["HOME"] = str(tmp_path)
    starts = []
    for what, how in instructions():
        if what == "ENV":
            seen |= dict(word.split("=", 1) for word in shlex.split(how))
        elif what == "COPY":
            *sources, target = how.split()
            for name in sources:
                source = ROOT / name
                copy = shutil.copytree if source.is_dir() else shutil.copy
                copy(source, folder / (target if source.is_dir() else name))
        elif what == "RUN":
            subprocess.run(["sh", "-c", how], cwd=folder, env=seen, check=True)  # noqa: S603, S607
        elif what in ("ENTRYPOINT", "CMD"):
            starts += json.loads(how)
    port = free_port()
    command = [str(tmp_path / "clean" / "bin" / starts[0]), *starts[1:], "--port", str(port)]
    with started(command, port, cwd=tmp_path, env=seen, stderr=subprocess.PIPE):
        check = dict(instructions())["HEALTHCHECK"].removeprefix("CMD ")
        alive = check.replace("8050", str(port))
        subprocess.run(["sh", "-c", alive], cwd=tmp_path, env=seen, check=True)  # noqa: S603, S607
        with urllib.request.urlopen(f"http://localhost:{port}/explore", timeout=60) as page:
            assert b"<h1" in page.read()


def test_the_factory_runs_under_uvicorn_as_the_page_says(tmp_path):
    (line,) = re.findall(r"^uvicorn --factory tellapart\.web:create .*$", PAGE, re.M)
    port = free_port()
    words = shlex.split(line.replace("8050", str(port)))
    with started([sys.executable, "-m", *words], port, stderr=subprocess.DEVNULL):
        assert health(port)["status"] == "ok"
        with pytest.raises(urllib.error.HTTPError, match="421"):
            health(port, "privacy.example.org")
