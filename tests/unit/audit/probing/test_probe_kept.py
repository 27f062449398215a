"""A probe that was stopped goes on where it was, says the same, and is of one question alone."""

import importlib
import json
import math
import os
import random
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import audit
from tellapart.audit.probing.calling import kept_calls
from tellapart.audit.probing.calling.kept_calls import KeptCalls
from tellapart.audit.probing.calling.outputs import Broken

CLAIM = ta.guarantee(epsilon=1)


def noisy(data, rng):
    return data + rng.laplace(scale=1.0)


class Stops:
    """Noise that stops the run at its so many-th call, as a power cut would."""

    def __init__(self, at=math.inf):
        self.at, self.made = at, 0

    def __call__(self, data, rng):
        self.made += 1
        if self.made > self.at:
            raise KeyboardInterrupt
        return noisy(data, rng)


def probed(monkeypatch, folder, mechanism, **more):
    """Counts and stops are of this run: not part of what a folder belongs to."""
    monkeypatch.setattr(
        "tellapart.audit.checkpoints.code_fingerprint", lambda function, **_: "the same"
    )
    asked = {"claim": CLAIM, "samples": 3_000, **more}
    return audit.probe(mechanism, 0.0, 1.0, folder=folder, **asked)


def said(verdict):
    bound = verdict.epsilon_lower()
    return verdict.refuted, str(verdict), bound.value


@pytest.mark.parametrize(
    ("stop", "more"),
    [(40, {}), (3_000, {}), (5_000, {}), (1_000, {"until_decided": True})],
    ids=["at once", "on d0", "on d1", "until decided"],
)
def test_a_stopped_probe_goes_on_and_says_what_an_unstopped_one_says(
    tmp_path, monkeypatch, stop, more
):
    whole = Stops()
    wanted = said(probed(monkeypatch, tmp_path / "whole", whole, **more))
    assert stop < whole.made
    with pytest.raises(KeyboardInterrupt):
        probed(monkeypatch, tmp_path / "part", Stops(stop), **more)
    files = (tmp_path / "part").glob("calls-*")
    kept = sum(json.loads(one.read_text())["calls"] for one in files)
    assert kept > stop - kept_calls.PIECE - 300  # a piece, and trials of how to call it
    again = Stops()
    assert said(probed(monkeypatch, tmp_path / "part", again, **more)) == wanted
    assert again.made == whole.made - kept


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("samples", {"samples": 4_000}),
        ("seed", {"seed": 1}),
        ("confidence", {"confidence": 0.9}),
        ("claim", {"claim": ta.guarantee(epsilon=0.5)}),
        ("until_decided", {"until_decided": True}),
    ],
)
def test_a_folder_answers_one_question_alone(tmp_path, monkeypatch, name, more):
    probed(monkeypatch, tmp_path, noisy)
    with pytest.raises(ta.InvalidArgument, match=f"folder must be of this probe.* its {name} is "):
        probed(monkeypatch, tmp_path, noisy, **more)


def test_other_code_or_other_inputs_have_a_folder_of_their_own(tmp_path):
    def ask(function, d1):
        return audit.probe(function, 0.0, d1, claim=CLAIM, samples=600, folder=tmp_path)

    ask(noisy, 1.0)
    with pytest.raises(ta.InvalidArgument, match="its d1 is "):
        ask(noisy, 2.0)
    with pytest.raises(ta.InvalidArgument, match=r"its (mechanism|code) is "):
        ask(lambda data, rng: data + rng.laplace(scale=0.1), 1.0)


HELPERS = {
    "imported": ("from hlp import noise\ndef f(data, rng): return data + noise(rng)", "hlp.py"),
    "a module": ("import hlp\ndef f(data, rng): return data + hlp.noise(rng)", "hlp.py"),
    "imported later": (
        "def f(data, rng):\n    from hlp import noise\n    return data + noise(rng)",
        "hlp.py",
    ),
    "of a package": (
        "from pkg.deep.hlp import noise\ndef f(data, rng): return data + noise(rng)",
        "pkg/deep/hlp.py",
    ),
    "through another": (
        "from middle import noise\ndef f(data, rng): return data + noise(rng)",
        "hlp.py",
    ),
    "an object": (
        "from hlp import noise\nclass A:\n    def g(self, rng): return noise(rng)\n"
        "a = A()\ndef f(data, rng): return data + a.g(rng)",
        "hlp.py",
    ),
    "in its own file": ("", "own.py"),
}
NOISE = """def noise(rng): return rng.laplace(scale={0})
class N:
    def at(self, data, rng): return data + rng.laplace(scale={0})
n = N()
def f(data, rng): return n.at(data, rng)
"""


@pytest.mark.parametrize(("source", "file"), HELPERS.values(), ids=HELPERS)
def test_a_change_in_an_imported_file_of_the_user_makes_it_other_code(
    tmp_path, monkeypatch, source, file
):
    """Else calls of the old code would be judged after it was mended."""
    where = tmp_path / "code"
    (where / file).parent.mkdir(parents=True)
    (where / "mine.py").write_text(source)
    (where / "middle.py").write_text("import hlp\ndef noise(rng): return hlp.noise(rng)")
    monkeypatch.syspath_prepend(str(where))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)

    def ask(scale):
        (where / file).write_text(NOISE.format(scale))
        importlib.invalidate_caches()
        module = importlib.import_module("own" if file == "own.py" else "mine")
        try:
            audit.probe(module.f, 0.0, 1.0, claim=CLAIM, samples=300, folder=tmp_path / "kept")
        finally:
            for name in {"mine", "own", "hlp", "middle", "pkg", "pkg.deep", "pkg.deep.hlp"} - known:
                sys.modules.pop(name, None)

    ask(0.1)
    ask(0.1)
    with pytest.raises(ta.InvalidArgument, match="its code is "):
        ask(10.0)


def test_a_change_of_a_program_on_the_path_makes_it_another(tmp_path, monkeypatch):
    program = tmp_path / "myrel"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def ask(scale):
        program.write_text(
            f"#!{sys.executable}\nimport json, random, sys\nfor line in sys.stdin:\n"
            f"    print(json.loads(line)['data'] + random.gauss(0, {scale}))\n"
        )
        program.chmod(0o755)
        asked = {"claim": CLAIM, "samples": 300, "folder": tmp_path / "kept"}
        audit.probe(audit.Program("myrel"), 0.0, 1.0, **asked)

    ask(10.0)
    ask(10.0)
    with pytest.raises(ta.InvalidArgument, match="its code is "):
        ask(20.0)


def test_a_change_beside_a_script_makes_it_another_program(tmp_path):
    script = tmp_path / "release.py"
    script.write_text(
        "import json, sys\nfrom hlp import noise\nfor line in sys.stdin:\n"
        "    print(json.loads(line)['data'] + noise())\n"
    )

    def ask(scale):
        made = f"import random\ndef noise(): return random.gauss(0, {scale})"
        (tmp_path / "hlp.py").write_text(made)
        asked = {"claim": CLAIM, "samples": 300, "folder": tmp_path / "kept"}
        program = audit.Program([sys.executable, "-B", str(script)])
        audit.probe(program, 0.0, 1.0, **asked)

    ask(10.0)
    ask(10.0)
    with pytest.raises(ta.InvalidArgument, match="its code is "):
        ask(20.0)


def test_a_folder_with_other_things_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ta.InvalidArgument, match="folder must be empty or that of a probe"):
        probed(monkeypatch, tmp_path, noisy)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]


def test_damaged_files_are_called_again(tmp_path, monkeypatch):
    wanted = said(probed(monkeypatch, tmp_path, noisy))
    first, second, third, *_ = sorted(tmp_path.glob("calls-*"))
    first.write_text("{")
    second.write_bytes(b"\xff\x00")
    third.write_text(json.dumps({"calls": 1, "outputs": {"list": [1.0]}}))
    assert said(probed(monkeypatch, tmp_path, noisy)) == wanted


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.builds(np.float32, st.floats(width=32))
    | st.builds(np.int64, st.integers(-(2**63), 2**63 - 1))
    | st.builds(Broken, st.text(), st.text()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(plain, min_size=1, max_size=4))
def test_outputs_are_kept_as_they_are(values):
    written = json.dumps(kept_calls._written(values))
    found = kept_calls._outputs(json.loads(written)).values
    assert repr(found) == repr(values)
    assert [type(one) for one in found] == [type(one) for one in values]


@pytest.mark.parametrize(
    "values",
    [np.arange(6.0).reshape(3, 2), np.array([True, False]), np.array([1, 2**62]), [np.array([""])]],
    ids=str,
)
def test_arrays_are_kept_to_the_last_bit(values):
    found = kept_calls._outputs(json.loads(json.dumps(kept_calls._written(values)))).values
    for one, two in zip(found, values, strict=True):
        assert np.array_equal(one, two)
        assert np.asarray(one).dtype == np.asarray(two).dtype


def test_what_cannot_be_kept_is_said(tmp_path):
    def release(data, rng):
        return random.Random(int(rng.integers(9)))  # noqa: S311

    with pytest.raises(ta.Unsupported, match=r"folder keeps numbers, texts.* random\.Random"):
        audit.probe(release, 0, 1, claim=CLAIM, samples=50, folder=tmp_path)


@pytest.mark.parametrize(
    "outputs",
    [
        {"array": ["|O", [1], "00" * 8]},
        {"array": ["<f8", [10**12], "00" * 8]},
        {"eval": "print()"},
        {"list": {"list": []}},
        {"number": ["<f8", "zz"]},
        7,
        None,
    ],
    ids=str,
)
def test_what_no_probe_wrote_is_as_good_as_nothing(tmp_path, outputs):
    (tmp_path / "calls-0-0.json").write_text(json.dumps({"calls": 1, "outputs": outputs}))
    assert KeptCalls(tmp_path)._read((0, 0, 0), 1) is None


def test_a_killed_command_goes_on(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef f(data, rng):\n    time.sleep(0.0004)\n"
        "    return data + rng.laplace(scale=1.0)\n"
    )
    line = "from tellapart.cli import main; import sys; sys.exit(main())"
    words = shlex.split("probe slow.py:f --d0 0 --d1 1 --epsilon 1 --samples 2000 --folder kept")
    command = [sys.executable, "-c", line, *words]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)  # noqa: S603
    until = time.monotonic() + 60
    while not list(tmp_path.glob("kept/calls-0-*")) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(started.pid, signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    kept = {one: one.stat().st_mtime_ns for one in tmp_path.glob("kept/calls-*")}
    assert kept
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith("NOT REFUTED")
    assert {one: one.stat().st_mtime_ns for one in kept} == kept


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    from tellapart import _files

    def full(part):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files, "_settled", full)
    with pytest.raises(OSError, match="No space left") as raised:
        probed(monkeypatch, tmp_path, noisy)
    assert raised.value.filename == str(tmp_path / "manifest.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("older", [None, 256])
def test_calls_kept_in_files_of_another_size_are_refused_and_left_as_they_are(tmp_path, older):
    asked = {"claim": CLAIM, "samples": 40, "folder": tmp_path / "kept"}
    audit.probe(noisy, 0.0, 1.0, **asked)
    manifest = next(path for path in (tmp_path / "kept").iterdir() if "calls-" not in path.name)
    held = json.loads(manifest.read_text())
    assert held.pop("calls_per_file") == kept_calls.PIECE
    manifest.write_text(json.dumps(held if older is None else held | {"calls_per_file": older}))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    with pytest.raises(ta.InvalidArgument, match="files of another size, which"):
        audit.probe(noisy, 0.0, 1.0, **asked)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()} == before
