"""The explorer, an interactive page of trade-off curves and risks, on your own machine or a team's.

It computes nothing: views ask the library and say what to show, as plain data; the page draws it.
Nothing comes from elsewhere, so it works with the network off (extra ``web``).

- `views`: the pages, each of them pure functions of a state; `view`: what a page is, and its URL;
- `record`: a decision as a link, a file and values to edit, for the view that chooses;
- `controls`, `presets`, `answer`: what can be set, what to start from and what is shown, as plain
  data; `glossary`: terms, each in a sentence;
- `questions`: what is asked and answered; `html`, `page`: its HTML; `jobs`: both, in a process;
- `workers`, `forkserver`, `limits`, `messages`: the processes, what an answer may cost, and what
  goes between;
- `app`, `gate`, `visits`, `static`: the ASGI application, whose requests are let in, what visitors
  send, and the page's own files; `server`, `connections`: uvicorn, on one's own machine or hosted.
"""

from tellapart.web.server import address, create, example, free_port, serve

__all__ = ["address", "create", "example", "free_port", "serve"]
