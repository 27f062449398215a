"""Calling a black-box mechanism often, wherever there are workers, and keeping what comes out.

`caller` finds out how it wants to be called, `calls` calls it, `guarded` and `child` where a call
may hang, `program` for any other program; `outputs` are what came out, `independence` asks whether
calls share noise, `kept_calls` keeps them.
"""
