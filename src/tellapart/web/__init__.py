"""The explorer, an interactive page of trade-off curves and risks, on your own machine.

It computes nothing: views ask the library and say what to show, as plain data; the page draws it.
Nothing comes from elsewhere, so it works with the network off (extra ``web``).

- `views`: the pages, each of them pure functions of a state; `view`: what a page is, and its URL;
- `record`: a decision as a link, a file and values to edit, for the view that chooses;
- `controls`, `answer`, `pictures`: what can be set and what is shown, as plain data;
- `questions`, `limits`, `workers`: what is asked, what it may cost, and processes that answer;
- `app`, `gate`, `server`: the Dash application, whose requests are let in, and the server.
"""

from tellapart.web.server import address, example, free_port, serve

__all__ = ["address", "example", "free_port", "serve"]
