"""What `import tellapart` loads: NumPy, scipy.special and nothing else from outside."""

import subprocess
import sys

import pytest

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
SCRIPT = "import sys; import tellapart; print(*sorted(sys.modules))"


@pytest.fixture(scope="module")
def loaded():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("name", NOT_LOADED)
def test_the_heavy_ones_stay_out(loaded, name):
    assert {module for module in loaded if f"{module}.".startswith(f"{name}.")} == set()


def test_only_numpy_and_scipy_come_from_outside(loaded):
    known = sys.stdlib_module_names | {"numpy", "scipy", "tellapart", "cython_runtime"}
    roots = {module.partition(".")[0] for module in loaded}
    foreign = {root for root in roots - known if not root.startswith("_")}
    assert foreign == set()


def test_it_was_loaded_at_all(loaded):
    assert {"tellapart", "numpy", "scipy.special", "tellapart.mechanisms.noise"} <= loaded
