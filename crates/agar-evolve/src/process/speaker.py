import os, sys

# What the code prints must not be taken for an answer.
source = os.fdopen(os.dup(0), "rb")
target = os.fdopen(os.dup(1), "wb")
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
os.dup2(2, 1)

known = {}


def answer(verb, data, schema):
    if verb == "load":
        known.clear()
        exec(compile(data, "genome", "exec"), known)
        return b"", None
    if verb == "evaluate":
        return known["evaluate"](data), None
    if verb == "step":
        return known["step"](data), None
    if verb == "save":
        return (known["save"]() if "save" in known else b""), known.get("SCHEMA", 0)
    if verb == "state":
        if schema != known.get("SCHEMA", 0) and "migrate" in known:
            data, schema = known["migrate"](data, schema), known.get("SCHEMA", 0)
        if "load" in known:
            known["load"](data, schema)
        return b"", None
    raise ValueError("unknown request: " + verb)


while True:
    words = source.readline().decode().split()
    if not words:
        break
    data = source.read(int(words[1]))
    schema = int(words[2]) if len(words) > 2 else 0
    try:
        said, schema = answer(words[0], data, schema)
        said = said if isinstance(said, bytes) else str(said).encode()
        line = "ok %d\n" % len(said) if schema is None else "ok %d %d\n" % (len(said), schema)
    except BaseException as error:
        said = ("%s: %s" % (type(error).__name__, error)).encode()[:4096]
        line = "no %d\n" % len(said)
    target.write(line.encode() + said)
    target.flush()
