"""One setting for all property tests: the same examples every time, or new ones."""

import os

from hypothesis import settings

# `make test` must say the same of the same code; `make test-all` goes looking for trouble.
settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
