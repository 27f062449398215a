"""One setting for all property tests: the same examples every time, or new ones."""

import os

from hypothesis import settings

# `make test` must say the same of the same code; `make test-all` goes looking for trouble.
# How long an example takes says something of the machine, not of the code.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
