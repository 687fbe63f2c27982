"""What schemathesis is told besides the description: which names are real.

Three of four requests name things that are there, so that they come further than "not found"; the
rest are as drawn, hostile names included. `cargo xtask contract` makes the things and the server.
"""

import json
import os
import re
import zlib

import schemathesis

REAL = json.loads(os.environ["AGAR_CONTRACT"])

# What must stay as it is for the other operations has a thing of its own to work on: a sandbox that
# is paused or removed would answer everything else with the same refusal.
OWN = {
    ("DELETE", "/v1/sandboxes/{id}"): "removed",
    ("DELETE", "/v1/sandboxes/{id}/snapshots/{name}"): "travelled",
    ("POST", "/api/sandbox/{id}/finalize"): "finalized",
    ("POST", "/v1/sandboxes/{id}/promote"): "promoted",
    ("POST", "/v1/sandboxes/{id}/pause"): "paused",
    ("POST", "/v1/sandboxes/{id}/resume"): "paused",
    ("POST", "/v1/suggestions/{id}/reject"): "rejected",
    # The stream of a sandbox that is over ends.
    ("GET", "/api/sandbox/{id}/stream"): "over",
}

# An id, the beginning of one, or an alias.
NAME = re.compile(r"[0-9a-f-]+|[a-z]+(-[a-z0-9]+)+")


def real(operation, name):
    """The name of something that is there, for this part of the operation's path."""
    path = operation.path
    if name == "id":
        usual = "suggestion" if "/suggestions/" in path else "sandbox"
        return REAL[OWN.get((operation.method.upper(), path), usual)]
    if name == "name" and path.startswith("/assets/"):
        return "app.js"
    if name == "name" and "/snapshots/" in path:
        return "first"
    if name == "run":
        return 1
    return None


def stays(operation, drawn):
    """Whether a drawn name is sent as it is; the same choice in each run."""
    # What covers the rules of other parts draws "0" for this one; and what happens to be a name or
    # the beginning of one must not lead to what belongs to another operation.
    if NAME.fullmatch(str(drawn)):
        return False
    words = f"{operation.label} {drawn}"
    return zlib.crc32(words.encode("utf-8", "surrogatepass")) % 4 == 0


@schemathesis.hook
def before_call(context, case, kwargs):
    """Puts real names into most requests, whichever way they were made."""
    for name, drawn in list((case.path_parameters or {}).items()):
        known = real(case.operation, name)
        if known is not None and not stays(case.operation, drawn):
            case.path_parameters[name] = known
    query = case.query or {}
    if isinstance(query.get("path"), str) and not stays(case.operation, query["path"]):
        query["path"] = "notes.txt"
    # Nobody asks for a stream that never ends.
    for name in [name for name in case.headers or {} if name.lower() == "accept"]:
        del case.headers[name]
    # What to run is said in one way, as most clients do: both or none is refused at once.
    if case.operation.path.endswith("/exec") and isinstance(case.body, dict):
        if not case.body.get("argv") and not stays(case.operation, case.body):
            case.body["command"] = case.body.get("command") or "cat notes.txt; exit 3"
        if case.body.get("command"):
            for name in ("argv", "cwd", "env"):
                case.body.pop(name, None)
