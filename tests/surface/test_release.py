"""What is released: one version everywhere, all files inside, working where nothing else is."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import tellapart

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = ["3.11", "3.12", "3.13"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


# -- what can be read ---------------------------------------------------------------------------


def test_there_is_one_version_and_one_date_or_none_yet():
    assert PROJECT["dynamic"] == ["version"]
    cited = dict(re.findall(r"^(version|date-released): (.+)$", text("CITATION.cff"), re.M))
    assert cited["version"] == tellapart.__version__
    when = f" ({cited['date-released']})" if "date-released" in cited else ""
    assert re.search(r"^## (.+)$", text("CHANGELOG.md"), re.M)[1] == tellapart.__version__ + when


def test_the_same_pythons_are_named_everywhere():
    classified = [
        classifier.rpartition(" :: ")[2]
        for classifier in PROJECT["classifiers"]
        if ":: 3." in classifier
    ]
    assert classified == VERSIONS
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"
    matrix = re.search(r"python: \[(.+)\]", text(".github/workflows/ci.yml"))[1]
    assert re.findall(r'"(.+?)"', matrix) == VERSIONS


def test_every_package_that_a_user_may_get_has_its_licence_told():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    licences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licences)
    page = text("docs/licences.md")
    assert all(part in page for part in licences.HEAD.split("{mathjax}"))
    rows = re.findall(r"^\| ([\w.-]+) \| (.+) \| (.+) \|$", page, re.M)
    documented = {name: by for name, by, _ in rows if name != "package"}
    assert documented == {name: ", ".join(sorted(by)) for name, by in licences.asked().items()}
    assert {"numpy", "torch", "starlette"} <= set(documented)
    assert all(said.strip() not in ("", "not said", "UNKNOWN") for _, _, said in rows)


def test_the_types_of_every_package_are_announced():
    packages = [path.parent for path in (ROOT / "src").glob("*/__init__.py")]
    assert {package.name for package in packages} == {"tellapart", "pytest_tellapart"}
    assert all((package / "py.typed").exists() for package in packages)


# -- what is built ------------------------------------------------------------------------------


def run(*command, cwd, code=0):
    """Standard output and error of a command that knows nothing of this checkout."""
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PYTHONUTF8": "1", "COLUMNS": "80"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive, and the wheel that is built from it and nothing else."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


def files_under(folder):
    """Every file of a folder that is not a cache."""
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built):
    _, wheel = built
    assert wheel.name == f"tellapart-{tellapart.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == files_under(ROOT / "src")
    assert {
        "pytest_tellapart/py.typed",
        "tellapart/py.typed",
        "tellapart/deployments/registry.csv",
        "tellapart/report/template.html",
        "tellapart/web/assets/page.js",
        "tellapart/web/assets/style.css",
    } <= inside
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_source_archive_holds_what_the_tests_need(built):
    source, _ = built
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    for folder in ("tests", "examples", "benchmarks"):
        assert {f"{folder}/{file}" for file in files_under(ROOT / folder)} <= names
    kept = {"Makefile", "CITATION.cff", "CHANGELOG.md", "SECURITY.md", "docs/conf.py", ".ci/run"}
    assert kept <= names
    assert not [name for name in names if name.startswith(("docs/api/", "build/", ".venv/"))]


def interpreter(version):
    """A Python of this version, if there is one that starts: a shim may stand for none."""
    path = shutil.which(f"python{version}")
    if path:
        ask = [path, "-c", "import sys; print(sys.executable)"]
        done = subprocess.run(ask, capture_output=True, text=True)  # noqa: S603
        if done.returncode == 0:
            return done.stdout.strip()
    return pytest.skip(f"no Python {version} here")


MISSING = {
    "web": ["explore"],
    "plot": ["risk", "--epsilon", "1", "--plot", "risk.svg"],
    "files": ["audit", "scores.csv", "--design", "many-runs", "--epsilon", "1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_works_where_nothing_else_is(built, version, tmp_path):
    run(interpreter(version), "-m", "venv", "bare", cwd=tmp_path)
    run("bare/bin/python", "-m", "pip", "install", "--quiet", built[1], cwd=tmp_path)
    shutil.copy(ROOT / "examples" / "scores.csv", tmp_path)
    command = "bare/bin/tellapart"
    script = "import tellapart as ta; print(ta.__file__, ta.Laplace(1).curve().bound.name)"
    out, _ = run("bare/bin/python", "-W", "error", "-c", script, cwd=tmp_path)
    assert f"/bare/lib/python{version}/site-packages/tellapart/" in out
    assert out.endswith("EXACT\n")
    assert run(command, "--version", cwd=tmp_path)[0] == f"tellapart {tellapart.__version__}\n"
    assert (
        "advantage                ≤ 0.4622"
        in run(command, "risk", "--epsilon", "1", cwd=tmp_path)[0]
    )
    assert "Emojis" in run(command, "compare", "--deployments", "emojis", cwd=tmp_path)[0]
    for extra, tokens in MISSING.items():
        out, said = run(command, *tokens, cwd=tmp_path, code=2)
        assert out == ""
        assert said.count("\n") == 1
        assert said.endswith(f"pip install 'tellapart[{extra}]'\n")


# -- what is promised of others -----------------------------------------------------------------

LEAST = "files,learn,plot,report,web"
USED = """
import tellapart as ta
from tellapart.web import app

assert ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=100).curve().tpr(0.01) < 0.1
app.create(8050)
"""


def least():
    """The lowest version that is promised to do, of each package that an extra asks for."""
    extras = PROJECT["optional-dependencies"]
    wanted = PROJECT["dependencies"] + [
        requirement for key in LEAST.split(",") for requirement in extras[key]
    ]
    return sorted(
        {
            re.sub(r">=([\d.]+).*", r"==\1", requirement)
            for requirement in wanted
            if ">=" in requirement
        }
    )


@pytest.mark.slow
def test_the_lowest_versions_that_are_promised_do(built, tmp_path):
    assert {"numpy==2.0", "starlette==0.45"} <= set(least())
    run(interpreter(VERSIONS[0]), "-m", "venv", "old", cwd=tmp_path)
    wheel = f"{built[1]}[{LEAST}]"
    run("old/bin/python", "-m", "pip", "install", "--quiet", wheel, *least(), cwd=tmp_path)
    shutil.copy(ROOT / "examples" / "scores.csv", tmp_path)
    run("old/bin/python", "-c", USED, cwd=tmp_path)
    command = "old/bin/tellapart"
    assert "For example:" in run(command, "--help", cwd=tmp_path)[0]
    audit = ["audit", "scores.csv", "--design", "many-runs", "--epsilon", "1"]
    assert "refuted" in run(command, *audit, "--report", "audit.html", cwd=tmp_path, code=1)[0]
    run(command, "risk", "--epsilon", "1", "--plot", "risk.svg", cwd=tmp_path)
    assert {"audit.html", "risk.svg"} <= {file.name for file in tmp_path.iterdir()}
