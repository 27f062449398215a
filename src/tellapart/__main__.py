"""``python -m tellapart`` is ``tellapart``."""

import sys

from tellapart.cli import main

if __name__ == "__main__":
    sys.exit(main())
