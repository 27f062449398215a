"""The query of an address, read back as the page reads it."""

from urllib.parse import parse_qsl


def from_query(query):
    """The values that an address names."""
    return dict(parse_qsl(query, keep_blank_values=True))
