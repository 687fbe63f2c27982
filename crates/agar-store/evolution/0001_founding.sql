-- Searches: populations that breed, and all that is needed to take one up again.

CREATE TABLE search (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What was asked for, as a document of the engine's.
    wish TEXT NOT NULL,
    -- Where it stands, likewise; absent before the first generation.
    checkpoint TEXT,
    -- Why it ended; absent while it has not.
    ended TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    UNIQUE (project, name)
);

-- What individuals are made of, once however many share it.
CREATE TABLE code (
    search INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (search, digest)
) WITHOUT ROWID;

CREATE TABLE individual (
    search INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    island INTEGER NOT NULL,
    parent_id INTEGER,
    other_parent_id INTEGER,
    mutation_type TEXT NOT NULL,
    operator TEXT NOT NULL,
    seed INTEGER NOT NULL,
    lineage_depth INTEGER NOT NULL,
    digest BLOB NOT NULL,
    -- For people and queries; `verdict` has every bit.
    score REAL,
    verdict TEXT NOT NULL,
    penalties TEXT NOT NULL DEFAULT '[]',
    instructions INTEGER NOT NULL,
    evaluated_at_ms INTEGER NOT NULL,
    -- Its code may be gone; its place in the lineage stays.
    collected INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (search, number)
) WITHOUT ROWID;

CREATE INDEX individual_by_digest ON individual (search, digest);

CREATE TABLE census (
    search INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    document TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (search, generation)
) WITHOUT ROWID;
