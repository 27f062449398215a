"""One setting for all property tests: the same examples every time, or new and more ones."""

import os

from hypothesis import settings

# `make test` must say the same of the same code, and soon; `make test-all` goes looking for
# trouble. How long an example takes says something of the machine, not of the code.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=15)
settings.register_profile("explore", print_blob=True, deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
