"""Where commands are typed: what writes files has a folder of its own."""

import pytest


@pytest.fixture
def folder(monkeypatch):
    """Anywhere, on a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
