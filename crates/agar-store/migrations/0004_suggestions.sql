-- Changes that somebody offers for a person to try, and answers that are given twice.

-- A suggestion waits, is tried in a sandbox, and a person decides. Its commands are kept word for
-- word, since they are what will run.
CREATE TABLE suggestion (
    id         TEXT PRIMARY KEY,
    project    TEXT NOT NULL REFERENCES project (id),
    text       TEXT NOT NULL,
    context    TEXT NOT NULL,
    commands   TEXT NOT NULL,
    agent      TEXT NOT NULL,
    state      TEXT NOT NULL,
    sandbox    TEXT,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX suggestion_by_project ON suggestion (project, id);
CREATE INDEX suggestion_by_sandbox ON suggestion (sandbox) WHERE sandbox IS NOT NULL;

-- What was answered to a request that carried a key: the same request gets the same answer.
CREATE TABLE answered (
    key     TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    status  INTEGER NOT NULL,
    body    TEXT NOT NULL,
    at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
