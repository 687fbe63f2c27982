"""What schemathesis is told besides the description: who asks, and which names are real.

The first request of each operation is a sound one, so that each is seen to do what it is for. Of the
others three of four name things that are there, so that they come further than "not found"; the
rest are as drawn, hostile names included. `cargo xtask contract` makes the things and the server.
"""

import json
import os
import re
import zlib

import schemathesis

REAL = json.loads(os.environ["AGAR_CONTRACT"])

# One line for each answer: the method, the path and the status.
ANSWERS = open(os.environ["AGAR_CONTRACT_ANSWERS"], "w", buffering=1, encoding="utf-8")

# What must stay as it is for the other operations has a thing of its own to work on: a sandbox that
# is paused or removed would answer everything else with the same refusal.
OWN = {
    ("DELETE", "/v1/sandboxes/{id}"): "removed",
    ("DELETE", "/v1/sandboxes/{id}/snapshots/{name}"): "travelled",
    ("POST", "/api/sandbox/{id}/finalize"): "finalized",
    ("POST", "/v1/sandboxes/{id}/check"): "checked",
    ("POST", "/v1/sandboxes/{id}/promote"): "promoted",
    ("POST", "/v1/sandboxes/{id}/pause"): "paused",
    ("POST", "/v1/sandboxes/{id}/resume"): "paused",
    ("POST", "/v1/suggestions/{id}/apply"): "tried",
    ("POST", "/v1/suggestions/{id}/reject"): "rejected",
    # The stream of a sandbox that is over ends.
    ("GET", "/api/sandbox/{id}/stream"): "over",
}

# What a sound request says behind the question mark.
QUERY = {
    ("GET", "/open"): {"key": REAL["key"]},
    ("GET", "/v1/memory/search"): {"words": "notes"},
    ("DELETE", "/v1/origins"): {"origin": REAL["guest"]},
    ("DELETE", "/v1/sandboxes/{id}"): {"force": "true"},
    ("GET", "/v1/sandboxes/{id}/files"): {"path": "notes.txt"},
    ("PUT", "/v1/sandboxes/{id}/files"): {"path": "made/new.txt"},
    ("DELETE", "/v1/sandboxes/{id}/files"): {"path": "new.txt"},
}

# What it says in its body, where an empty one says too little.
BODY = {
    ("POST", "/api/confidence/calculate"): {"suggestion": "update the notes"},
    ("POST", "/api/memory/graduate"): {"sandboxId": REAL["learned"]},
    ("POST", "/api/sandbox/create"): {"suggestion": "update the notes", "commands": ["true"]},
    ("POST", "/api/sandbox/{id}/execute"): {"command": "cat notes.txt"},
    ("POST", "/api/sandbox/{id}/finalize"): {"decision": "accept"},
    ("POST", "/v1/confidence"): {"suggestion": "update the notes"},
    ("POST", "/v1/memory/forget"): {"what": "name", "of": REAL["forgotten"]},
    ("POST", "/v1/memory/notes"): {"text": "the notes are plain text"},
    ("POST", "/v1/origins"): {"origin": "http://localhost:3001"},
    ("POST", "/v1/sandboxes/{id}/exec"): {"command": "cat notes.txt"},
    ("POST", "/v1/sandboxes/{id}/promote"): {"stop": True},
    ("POST", "/v1/sandboxes/{id}/restore"): {"snapshot": "first"},
    ("POST", "/v1/suggestions"): {"text": "update the notes", "commands": ["true"]},
    ("PUT", "/v1/sandboxes/{id}/files"): b"new\n",
}

# An id, the beginning of one, or an alias.
NAME = re.compile(r"[0-9a-f-]+|[a-z]+(-[a-z0-9]+)+")

begun = set()


def key(operation):
    """How the tables above name an operation."""
    return operation.method.upper(), operation.path


def real(operation, name):
    """The name of something that is there, for this part of the operation's path."""
    path = operation.path
    if name == "id":
        usual = "suggestion" if "/suggestions/" in path else "sandbox"
        return REAL[OWN.get(key(operation), usual)]
    if name == "name" and path.startswith("/assets/"):
        return "app.js"
    if name == "name" and "/snapshots/" in path:
        return "first"
    if name == "name" and "/populations/" in path:
        return REAL["population"]
    if name == "name":
        return REAL["experiment"]
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


def sound(case):
    """Makes the request one that can be answered with what the operation is for."""
    operation = key(case.operation)
    for name in list(case.path_parameters or {}):
        case.path_parameters[name] = real(case.operation, name)
    case.query = dict(QUERY.get(operation, {}))
    if case.operation.body:
        case.body = BODY.get(operation, {})
        content = "application/octet-stream" if operation[0] == "PUT" else "application/json"
        case.media_type = content
    case.headers = {}


def likely(case):
    """Puts real names into most requests, whichever way they were made."""
    operation = case.operation
    for name, drawn in list((case.path_parameters or {}).items()):
        known = real(operation, name)
        if known is not None and not stays(operation, drawn):
            case.path_parameters[name] = known
    query = case.query or {}
    if isinstance(query.get("path"), str) and not stays(operation, query["path"]):
        query["path"] = "notes.txt"
    if not isinstance(case.body, dict):
        return
    # What to run is said in one way, as most clients do: both or none is refused at once.
    if operation.path.endswith("/exec"):
        if not case.body.get("argv") and not stays(operation, case.body):
            case.body["command"] = case.body.get("command") or "cat notes.txt; exit 3"
        if case.body.get("command"):
            for name in ("argv", "cwd", "env"):
                case.body.pop(name, None)
    # What the others ask about is not forgotten.
    if operation.path.endswith("/forget") and case.body.get("what") != "name":
        case.body["what"] = "name"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Says who asks, and what about."""
    operation = key(case.operation)
    if operation not in begun and case.method.upper() == operation[0]:
        begun.add(operation)
        sound(case)
    else:
        likely(case)
    # Nobody asks for a stream that never ends.
    drop = ("accept", "authorization")
    headers = {name: it for name, it in (case.headers or {}).items() if name.lower() not in drop}
    if operation[1] == "/v1/origins":
        # Only the person's browser may ask for these, with what it got for a link.
        case.cookies = dict(REAL["cookies"])
        headers["Origin"] = REAL["origin"]
    else:
        headers["Authorization"] = f"Bearer {REAL['token']}"
    case.headers = headers


@schemathesis.hook
def after_call(context, case, response):
    """Writes down what was answered."""
    operation = key(case.operation)
    if case.method.upper() == operation[0]:
        ANSWERS.write(f"{operation[0]} {operation[1]} {response.status_code}\n")
