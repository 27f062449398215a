"""A page whose answers are known: what was asked comes back, or takes as long as asked."""

import json
import os
import time

from tellapart.web.messages import HTML, JSON, Reply

VIEWS = ("", "explore", "audit")


def squeezed(job, _squeeze, path, values, *more):
    if path not in VIEWS:
        return Reply(404, "text/plain", b"there is no such page\n")
    if values.get("sleep") and (job != "paint" or more != (False,)):
        time.sleep(float(values["sleep"]))
    if values.get("bug"):
        raise KeyError(values["bug"])
    if values.get("bytes"):
        bytearray(int(values["bytes"]))
    shown = {
        key: [value.name, len(value.content)] if hasattr(value, "content") else value
        for key, value in values.items()
    }
    said = {"job": job, "path": path, "values": shown, "more": more, "pid": os.getpid()}
    kind = HTML if job == "paint" else JSON
    return Reply(200, kind, json.dumps(said).encode(), "file.txt" if job == "download" else "")


def address(path, values):
    return f"{path}?mechanism={values.get('mechanism', '')}"


class Here:
    """A pool that answers in this process."""

    def __init__(self):
        self.state = {"at_work": 0}

    async def start(self):
        pass

    async def close(self):
        pass

    async def ask(self, function, *given, visitor=None, quick=False):
        return globals()[function](*given)
