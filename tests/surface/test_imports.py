"""What `import tellapart` loads: NumPy, scipy.special and nothing else from outside."""

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
]


def modules(*names):
    """What is loaded after importing these, in a process of its own."""
    script = f"import sys; import {', '.join(names)}; print(*sorted(sys.modules))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def loaded():
    return modules("tellapart")


@pytest.mark.parametrize("name", NOT_LOADED)
def test_the_heavy_ones_stay_out(loaded, name):
    assert {module for module in loaded if f"{module}.".startswith(f"{name}.")} == set()


def test_only_numpy_and_scipy_come_from_outside(loaded):
    known = sys.stdlib_module_names | {"numpy", "scipy", "tellapart", "cython_runtime"}
    # NumPy takes some packages along where it finds them, such as charset_normalizer.
    roots = {module.partition(".")[0] for module in loaded - modules("numpy", "scipy.special")}
    foreign = {root for root in roots - known if not root.startswith("_")}
    assert foreign == set()


def test_it_was_loaded_at_all(loaded):
    assert {"tellapart", "numpy", "scipy.special", "tellapart.mechanisms.noise"} <= loaded


ROOMS = ("audit", "choose", "plot", "risk", "worlds")


def test_packages_inside_are_imported_when_they_are_asked_for(loaded):
    assert {f"tellapart.{room}" for room in ROOMS} & loaded == set()
    assert set(ROOMS) <= set(dir(tellapart))
    for room in ROOMS:
        assert getattr(tellapart, room).__name__ == f"tellapart.{room}"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tellapart.nothing
