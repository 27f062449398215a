"""The explorer: a page on your own machine to see, drag and share what an attacker can do.

It computes nothing: views ask the library and say what to show, as plain data; the page draws it.
Nothing comes from elsewhere, so it works with the network off (extra ``web``).

Each of the `views` is pure functions of a state; the rest asks, answers and serves.
"""

from tellapart.web._server import address, example, free_port, serve

__all__ = ["address", "example", "free_port", "serve"]
