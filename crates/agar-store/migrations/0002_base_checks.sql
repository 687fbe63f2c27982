-- What each check said about an untouched base, so that it is run once per generation.
CREATE TABLE base_check (
    project TEXT NOT NULL REFERENCES project (id),
    key     TEXT NOT NULL,
    trial   TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (project, key)
) STRICT, WITHOUT ROWID;
