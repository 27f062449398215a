"""``python -m tellapart`` is ``tellapart``."""

import sys

from tellapart.cli import main

sys.exit(main())
