"""What `import tellapart` loads: nothing; its names, NumPy, scipy.special and nothing else."""

import subprocess
import sys

import pytest

import tellapart

NOT_LOADED = [
    "scipy.stats",
    "scipy.optimize",
    "matplotlib",
    "joblib",
    "cloudpickle",
    "pandas",
    "dp_accounting",
    "opacus",
    "torch",
    "transformers",
]


def modules(*names, then="pass"):
    """What is loaded after importing these, in a process of its own."""
    script = f"import sys; import {', '.join(names)}; {then}; print(*sorted(sys.modules))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def loaded():
    return modules("tellapart", then="tellapart.Gaussian")


@pytest.mark.parametrize("name", NOT_LOADED)
def test_the_heavy_ones_stay_out(loaded, name):
    assert {module for module in loaded if f"{module}.".startswith(f"{name}.")} == set()


def test_only_numpy_and_scipy_come_from_outside(loaded):
    known = sys.stdlib_module_names | {"numpy", "scipy", "tellapart", "cython_runtime"}
    # NumPy takes some packages along where it finds them, such as charset_normalizer.
    roots = {module.partition(".")[0] for module in loaded - modules("numpy", "scipy.special")}
    foreign = {root for root in roots - known if not root.startswith("_")}
    assert foreign == set()


def test_audits_load_no_language_model():
    loaded = modules("tellapart.audit.language")
    assert {"torch", "transformers", "tokenizers"} & loaded == set()


def test_it_was_loaded_at_all(loaded):
    assert {"tellapart", "numpy", "scipy.special", "tellapart.mechanisms.noise"} <= loaded


def test_nothing_is_loaded_before_a_name_is_asked_for():
    assert {name for name in modules("tellapart") if name.startswith(("tellapart", "numpy"))} == {
        "tellapart",
        "tellapart._moved",
    }


@pytest.mark.parametrize(
    "line",
    [
        "from tellapart import Gaussian; Gaussian(1)",
        "from tellapart import *; Gaussian(1)",
        "import tellapart; tellapart.mechanisms.MECHANISMS",
        "import tellapart; assert 'Gaussian' in tellapart.__all__",
        "import tellapart; assert 'Gaussian' in dir(tellapart)",
        "from tellapart import deadline; import sys; assert 'numpy' not in sys.modules",
    ],
)
def test_names_are_there_however_they_are_asked_for(line):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", line], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


ROOMS = ("audit", "choose", "plot", "risk", "worlds")


def test_packages_inside_are_imported_when_they_are_asked_for(loaded):
    assert {f"tellapart.{room}" for room in ROOMS} & loaded == set()
    assert set(ROOMS) <= set(dir(tellapart))
    for room in ROOMS:
        assert getattr(tellapart, room).__name__ == f"tellapart.{room}"
    for wrong in ("nothing", "audit.nothing", "_nothing"):
        with pytest.raises(AttributeError, match=f"has no attribute '{wrong}'"):
            getattr(tellapart, wrong)
