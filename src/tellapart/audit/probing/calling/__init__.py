"""Calling a black-box mechanism often, wherever there are workers, and keeping what comes out.

`caller` and `conventions` say how it wants to be called, `calls` calls it, `guarded` and `child`
where a call may hang, `program` for any other program; `independence` asks whether
calls share noise, `kept_calls` keeps them.
"""
