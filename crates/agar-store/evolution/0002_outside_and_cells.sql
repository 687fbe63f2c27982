-- What candidates put out while they were tried, answers from outside, and cells that last.

ALTER TABLE individual ADD COLUMN artifacts TEXT NOT NULL DEFAULT '[]';

-- What somebody outside answered, written as it came: a search that is taken up again does not ask
-- twice.
CREATE TABLE reply (
    search INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    island INTEGER NOT NULL,
    place INTEGER NOT NULL,
    document TEXT NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (search, generation, island, place)
) WITHOUT ROWID;

CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Limits, metrics, waiting messages: a document of the engine's.
    document TEXT NOT NULL,
    -- Its state; absent for one that crashed.
    image BLOB,
    created_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    UNIQUE (project, name)
);

CREATE TABLE cell_version (
    cell INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    wasm BLOB NOT NULL,
    parents TEXT NOT NULL,
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    -- What it saved when it left, if it saved anything.
    snapshot_schema INTEGER,
    snapshot BLOB,
    PRIMARY KEY (cell, number)
) WITHOUT ROWID;
