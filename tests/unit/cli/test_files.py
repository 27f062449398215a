"""Nothing finished is lost: answers come before files, files are whole or not there at all."""

import errno
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tellapart as ta
from tellapart import _files, plot, report
from tellapart.cli import main
from tellapart.data.sorted_runs import PrivateFolder

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

# An earlier report, which makes way for another.
OLD = '<meta name="generator" content="tellapart">old'


def names(folder):
    return sorted(one.name for one in folder.iterdir())


# -- whole or not at all ------------------------------------------------------------------------


def test_several_files_take_their_places_together(tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(OLD)

    def breaks(part):
        part.write_text("half")
        raise FULL

    with pytest.raises(OSError, match="No space left") as raised:
        _files.all_whole({one: lambda part: part.write_text("new"), two: breaks})
    assert raised.value.filename == str(two)
    assert (one.read_text(), names(tmp_path)) == (OLD, ["one.txt"])


def save_picture(path):
    return plot.save(plot.compare({"a": ta.Laplace(1)}), path)


def write_report(path):
    return report.write(report.of(ta.Laplace(1)), path)


@pytest.mark.parametrize(
    ("write", "name"),
    [(save_picture, "out.svg"), (save_picture, "out.png"), (write_report, "out.html")],
    ids=["svg", "png", "report"],
)
@pytest.mark.parametrize("breaks", ["fsync", "replace", "interrupt"])
def test_a_full_disk_keeps_what_was_there_and_names_the_file(
    write, name, breaks, tmp_path, monkeypatch
):
    target = tmp_path / name
    target.write_text(OLD)

    def broken(*_):
        raise KeyboardInterrupt if breaks == "interrupt" else FULL

    monkeypatch.setattr(os, "replace" if breaks == "replace" else "fsync", broken)
    with pytest.raises(KeyboardInterrupt if breaks == "interrupt" else OSError) as raised:
        write(target)
    if breaks != "interrupt":
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(target))
    assert (target.read_text(), names(tmp_path)) == (OLD, [name])


def test_files_have_the_rights_that_new_files_have(tmp_path):
    before = os.umask(0o027)
    try:
        write_report(tmp_path / "out.html")
        save_picture(tmp_path / "out.svg")
    finally:
        os.umask(before)
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o640}


# -- answers first ------------------------------------------------------------------------------

COMMANDS = {
    "risk": "risk gaussian --sigma 2 --plot out.svg",
    "region": "region --epsilon 1 --plot out.svg",
    "choose": "choose gaussian --max-advantage 0.1 --plot out.svg",
    "compare": "compare gaussian:sigma=2 laplace:scale=1 --plot out.svg",
    "deployments": "compare --deployments broadband --plot out.svg",
    "report": "report gaussian out.html --sigma 2",
    "report and plot": "report gaussian out.html --sigma 2 --plot out.svg",
    "audit": "audit scores.csv --design many-runs --epsilon 2 --plot out.svg",
    "audit report": "audit scores.csv --design many-runs --epsilon 2 --report out.html",
    "probe": "probe f.py:f --d0 0 --d1 1 --samples 400 --epsilon 2 --plot out.svg",
    "probe report": "probe f.py:f --d0 0 --d1 1 --samples 400 --epsilon 2 --report out.html",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    rows = [f"{k % 7 + member},{member}" for k in range(100) for member in (0, 1)]
    (tmp_path / "scores.csv").write_text("\n".join(["score,member", *rows, ""]))
    (tmp_path / "f.py").write_text("def f(data, rng):\n    return data + rng.laplace(scale=1.0)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "extra"),
    [*((words, "") for words in COMMANDS.values()), (COMMANDS["audit report"], " --json")],
    ids=[*COMMANDS, "json"],
)
def test_the_answer_is_out_before_a_file_can_fail(words, extra, here, capsys, monkeypatch):
    name = "out.html" if "out.html" in words else "out.svg"
    (here / name).write_text(OLD)
    alone = words.replace(" --plot out.svg", "").replace(" --report out.html", "") + extra
    if words.startswith("report"):
        alone = alone.replace(" out.html", "") if extra else "report gaussian other.html --sigma 2"
    assert main(shlex.split(alone)) == 0
    wanted = capsys.readouterr().out.partition("\n\nReport: ")[0].strip()
    there = names(here)

    def full(_):
        raise FULL

    monkeypatch.setattr(os, "fsync", full)
    assert main(shlex.split(words + extra)) == 2
    out, err = capsys.readouterr()
    assert err == f"tellapart: No space left on device: {name}\n"
    if extra:
        head = wanted.partition('"command":')[0].rstrip("}\n ,")
        assert out.startswith(head[:400])
    else:
        assert out.strip() == wanted
    assert ((here / name).read_text(), names(here)) == (OLD, there)


PROGRAM = "from tellapart.cli import main; import sys; sys.exit(main())"
# The picture waits until the answer was read and the reader has gone.
WAITING = f"""
import sys
from tellapart import plot
save = plot.save
plot.save = lambda *given: (sys.stdin.read(), save(*given))
{PROGRAM}
"""
REFUTED = COMMANDS["audit"].replace("--epsilon 2", "--epsilon 0.01")


@pytest.mark.parametrize(("words", "code"), [(COMMANDS["risk"], 0), (REFUTED, 1)])
@pytest.mark.parametrize("extra", ["", " --json"])
def test_who_reads_no_further_still_gets_the_file_and_the_verdict(words, code, extra, here):
    command = [sys.executable, "-c", PROGRAM, *shlex.split(words + extra)]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE) as started:  # noqa: S603
        started.stdout.close()
        assert started.wait(timeout=300) == code
    assert (here / "out.svg").read_bytes().startswith(b"<?xml")


def test_who_leaves_after_the_answer_does_not_change_the_verdict(here):
    command = [sys.executable, "-c", WAITING, *shlex.split(REFUTED)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=here, stdin=pipe, stdout=pipe) as started:  # noqa: S603
        assert started.stdout.readline().startswith(b"REFUTED")
        started.stdout.close()
        started.stdin.close()
        assert started.wait(timeout=300) == 1
    assert (here / "out.svg").read_bytes().startswith(b"<?xml")


# -- what a killed run leaves -------------------------------------------------------------------

WRITER = """
    import sys, time
    from pathlib import Path
    from tellapart import _files

    def slowly(part):
        part.write_text("half")
        print("ready", flush=True)
        time.sleep(600)

    folder = Path(sys.argv[1])
    _files.folder_aside(folder).joinpath("run").write_text("scores")
    _files.whole(folder / "out.html", slowly)
"""


@pytest.fixture
def writer(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    started = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", textwrap.dedent(WRITER), str(folder)], stdout=subprocess.PIPE
    )
    assert started.stdout.readline() == b"ready\n"
    yield started, folder
    started.kill()
    started.wait()
    started.stdout.close()


@pytest.mark.parametrize("write", [save_picture, write_report], ids=["picture", "report"])
def test_the_next_run_sweeps_what_a_killed_one_left_and_nothing_of_a_live_one(write, writer):
    started, folder = writer
    name = "new.svg" if write is save_picture else "new.html"
    write(folder / name)
    assert len([one for one in names(folder) if one.startswith(".tellapart-")]) == 2
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    (folder / ".tellapart-of-mine").write_text("not ours to remove")
    write(folder / name)
    left = [one for one in names(folder) if one.startswith(".")]
    assert left == [".tellapart-of-mine"]


def test_folders_of_scores_of_dead_runs_are_swept(writer, monkeypatch):
    started, folder = writer
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    own = PrivateFolder()
    assert names(folder) == [own.path.name]
    assert own.path.stat().st_mode & 0o777 == 0o700
    second = PrivateFolder()
    assert names(folder) == sorted([own.path.name, second.path.name])
    own.remove()
    second.remove()
    assert names(folder) == []


def test_what_another_machine_is_writing_is_left_alone(writer, monkeypatch):
    started, folder = writer
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    before = names(folder)
    monkeypatch.setattr(_files, "_machine", lambda: "00000000")
    _files.sweep(folder)
    assert names(folder) == before
    _files.sweep(Path(folder / "not there"))


def test_an_answer_that_finds_no_room_is_an_error():
    line = "from tellapart.cli import main; import sys; sys.exit(main())"
    with open("/dev/full", "w") as full:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", line, "risk", "--epsilon", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "tellapart: No space left on device: standard output\n"
    assert done.returncode == 2
