-- The founding schema.
--
-- Paths are blobs: a path is bytes, not text. Moments are milliseconds since 1970. Documents that
-- only their owner understands are JSON text.

CREATE TABLE project (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where a project was last seen. A project has several places when its repository has linked
-- worktrees. The inode and its birth let a project follow a directory that moved.
CREATE TABLE place (
    path          BLOB PRIMARY KEY,
    project       TEXT NOT NULL REFERENCES project (id),
    device        INTEGER NOT NULL,
    inode         INTEGER NOT NULL,
    born_ns       INTEGER,
    common_dir    BLOB,
    common_inode  INTEGER,
    common_device INTEGER,
    within        BLOB NOT NULL,
    seen_ms       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX place_by_inode ON place (inode, device);
CREATE INDEX place_by_common_dir ON place (common_dir) WHERE common_dir IS NOT NULL;
CREATE INDEX place_by_common_inode ON place (common_inode) WHERE common_inode IS NOT NULL;

CREATE TABLE sandbox (
    id         TEXT PRIMARY KEY,
    alias      TEXT NOT NULL,
    project    TEXT NOT NULL REFERENCES project (id),
    state      TEXT NOT NULL,
    tier       TEXT NOT NULL,
    network    TEXT NOT NULL,
    base       TEXT NOT NULL,
    generation INTEGER,
    stacks     TEXT NOT NULL,
    limits     TEXT NOT NULL,
    identity   TEXT NOT NULL,
    note       TEXT,
    parent     TEXT REFERENCES sandbox (id),
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    keeper     TEXT
) STRICT, WITHOUT ROWID;

-- An alias names one living sandbox; the word is free again once its layers are gone.
CREATE UNIQUE INDEX sandbox_by_alias ON sandbox (alias) WHERE state <> 'collected';
CREATE INDEX sandbox_by_project ON sandbox (project, created_ms);
CREATE INDEX sandbox_by_parent ON sandbox (parent) WHERE parent IS NOT NULL;

CREATE TABLE run (
    sandbox    TEXT NOT NULL REFERENCES sandbox (id),
    number     INTEGER NOT NULL CHECK (number > 0),
    argv       TEXT NOT NULL,
    cwd        BLOB NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    how        TEXT,
    exit_code  INTEGER,
    usage      TEXT,
    report     TEXT,
    log_bytes  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (sandbox, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_unfinished ON run (sandbox) WHERE ended_ms IS NULL;

CREATE TABLE promotion (
    id         TEXT PRIMARY KEY,
    sandbox    TEXT NOT NULL REFERENCES sandbox (id),
    project    TEXT NOT NULL REFERENCES project (id),
    state      TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    ended_ms   INTEGER,
    summary    TEXT NOT NULL,
    undone_by  TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX promotion_by_project ON promotion (project, id);
CREATE INDEX promotion_by_sandbox ON promotion (sandbox);

CREATE TABLE approval (
    project     TEXT NOT NULL REFERENCES project (id),
    hash        TEXT NOT NULL,
    what        TEXT NOT NULL,
    approved_ms INTEGER NOT NULL,
    PRIMARY KEY (project, hash, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE generation (
    project    TEXT NOT NULL REFERENCES project (id),
    number     INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    layer      BLOB NOT NULL,
    files      INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    used_ms    INTEGER NOT NULL,
    PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;

-- What happened, in order. Numbers start at 1 in each project and have no gaps.
CREATE TABLE journal (
    project TEXT NOT NULL REFERENCES project (id),
    number  INTEGER NOT NULL CHECK (number > 0),
    at_ms   INTEGER NOT NULL,
    sandbox TEXT,
    kind    TEXT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER journal_is_never_changed BEFORE UPDATE ON journal
BEGIN
    SELECT RAISE (ABORT, 'the journal only grows');
END;

CREATE TRIGGER journal_is_never_shortened BEFORE DELETE ON journal
BEGIN
    SELECT RAISE (ABORT, 'the journal only grows');
END;
