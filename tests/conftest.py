"""One setting for all property tests, and a way for functions to get to other processes."""

import gc
import os

# Workers share the cores. And a process that has used OpenMP's threads, as torch does, may not be
# copied: commands that run code in a copy of theirs, as `check-training` does, would wait forever.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import cloudpickle
import pytest
from hypothesis import settings

# `make test` must say the same of the same code, and soon; `make test-all` goes looking for
# trouble. How long an example takes says something of the machine, not of the code.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=15)
settings.register_profile("explore", print_blob=True, deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Twenty thousand tests and all that they import stay to the end: to look through them for garbage
# again and again takes a third of the time in which they are collected.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def by_value(request):
    """Functions of a test go to processes as they are.

    By name, each process would import the test's module first, and all that it imports.
    """
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)
