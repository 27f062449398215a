"""The command line: every command calls the library and shows what it says, nothing more."""

from tellapart.cli.app import main

__all__ = ["main"]
