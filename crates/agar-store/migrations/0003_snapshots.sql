-- Snapshots, and what a sandbox descends from.

-- A named point in a sandbox's layers. Its stacks name the layers; their owner wrote the JSON.
CREATE TABLE snapshot (
    id         TEXT PRIMARY KEY,
    sandbox    TEXT NOT NULL REFERENCES sandbox (id),
    number     INTEGER NOT NULL CHECK (number > 0),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    note       TEXT,
    parent     TEXT,
    base       TEXT NOT NULL,
    generation INTEGER,
    stacks     TEXT NOT NULL,
    taken      TEXT NOT NULL,
    frozen_us  INTEGER,
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX snapshot_by_name ON snapshot (sandbox, name);
CREATE UNIQUE INDEX snapshot_by_number ON snapshot (sandbox, number);

-- The snapshot a sandbox was forked from, and how many forks lie between it and a created one.
ALTER TABLE sandbox ADD COLUMN origin TEXT;
ALTER TABLE sandbox ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;

-- The snapshot that its present state descends from.
ALTER TABLE sandbox ADD COLUMN head TEXT;

-- A change of its layers that was begun: what they will be. Nothing when none is under way.
ALTER TABLE sandbox ADD COLUMN pending TEXT;

CREATE INDEX sandbox_pending ON sandbox (id) WHERE pending IS NOT NULL;

-- Layers that were joined: one directory that stands for a run of others, topmost first.
CREATE TABLE joined (
    layer   BLOB PRIMARY KEY,
    sandbox TEXT NOT NULL REFERENCES sandbox (id),
    parts   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX joined_by_sandbox ON joined (sandbox);
