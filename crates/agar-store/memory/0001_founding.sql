-- The founding schema of a memory: one for all projects of a state directory, and one of the same
-- shape for each sandbox.
--
-- The first part has the names and columns of the first seed, so that whoever knows that document
-- finds its way; further columns are ours. Moments there are RFC 3339 text, elsewhere milliseconds.

CREATE TABLE sandboxes (
    id              TEXT PRIMARY KEY,
    user_id         TEXT NOT NULL,
    created_at      DATETIME DEFAULT CURRENT_TIMESTAMP,
    status          TEXT DEFAULT 'running',
    suggestion      TEXT NOT NULL,
    context         JSON,
    resource_limits JSON,
    outcome         TEXT,
    finalized_at    DATETIME
);

CREATE TABLE sandbox_metadata (
    sandbox_id         TEXT PRIMARY KEY,
    parent_memory_path TEXT,
    created_at         DATETIME DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE sandbox_memories (
    id          TEXT PRIMARY KEY,
    sandbox_id  TEXT NOT NULL,
    memory_type TEXT NOT NULL,
    content     JSON NOT NULL,
    confidence  REAL DEFAULT 0.5,
    graduated   BOOLEAN DEFAULT FALSE,
    created_at  DATETIME DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
);

CREATE INDEX sandbox_memories_by_sandbox ON sandbox_memories (sandbox_id);

CREATE TABLE experiment_outcomes (
    id         TEXT PRIMARY KEY,
    sandbox_id TEXT NOT NULL,
    success    BOOLEAN,
    metrics    JSON,
    errors     JSON,
    lessons    JSON,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
);

CREATE INDEX experiment_outcomes_by_sandbox ON experiment_outcomes (sandbox_id);

CREATE TABLE pattern_confidence (
    pattern_id      TEXT NOT NULL,
    confidence      REAL NOT NULL,
    successful_uses INTEGER DEFAULT 0,
    failed_uses     INTEGER DEFAULT 0,
    last_updated    DATETIME DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (pattern_id)
);

-- In a sandbox's memory: what was seen there. In the project's: what graduated from it.
CREATE TABLE sandbox_patterns (
    id           TEXT PRIMARY KEY,
    sandbox_id   TEXT NOT NULL,
    pattern_type TEXT NOT NULL,
    description  TEXT,
    occurrences  INTEGER DEFAULT 1,
    success_rate REAL,
    confidence   REAL,
    first_seen   DATETIME DEFAULT CURRENT_TIMESTAMP,
    last_seen    DATETIME DEFAULT CURRENT_TIMESTAMP,
    metadata     JSON,
    project      TEXT NOT NULL DEFAULT '',
    pattern_id   TEXT NOT NULL DEFAULT '',
    source       TEXT NOT NULL DEFAULT 'sandbox',
    FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
);

CREATE INDEX sandbox_patterns_by_pattern ON sandbox_patterns (project, pattern_id);
CREATE INDEX sandbox_patterns_by_sandbox ON sandbox_patterns (sandbox_id);

CREATE VIEW pattern_evolution AS
SELECT
    pattern_type,
    description,
    COUNT(DISTINCT sandbox_id) AS sandbox_count,
    AVG(success_rate) AS avg_success_rate,
    AVG(confidence) AS avg_confidence,
    SUM(occurrences) AS total_occurrences
FROM sandbox_patterns
GROUP BY pattern_type, description
HAVING sandbox_count > 3;

-- The successful exchange that a graduation keeps.
CREATE TABLE conversations (
    id          TEXT PRIMARY KEY,
    project     TEXT NOT NULL,
    user_input  TEXT NOT NULL,
    reply       JSON NOT NULL,
    success     BOOLEAN NOT NULL,
    metadata    JSON,
    created_at  DATETIME DEFAULT CURRENT_TIMESTAMP
);

-- What follows is ours alone.

-- Every experiment. The number grows and is never given out again.
CREATE TABLE experiment (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    sandbox_id TEXT NOT NULL REFERENCES sandboxes (id),
    project    TEXT NOT NULL,
    agent      TEXT NOT NULL,
    change     TEXT NOT NULL,
    status     TEXT NOT NULL,
    suggestion TEXT NOT NULL,
    context    TEXT NOT NULL,
    document   TEXT,
    decision   TEXT,
    started_ms INTEGER NOT NULL,
    ended_ms   INTEGER
) STRICT;

CREATE INDEX experiment_by_project ON experiment (project, number);
CREATE INDEX experiment_by_sandbox ON experiment (sandbox_id);

-- What an ended experiment teaches: one narrow row, in the order in which they ended.
CREATE TABLE evidence (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment INTEGER NOT NULL UNIQUE REFERENCES experiment (number) ON DELETE CASCADE,
    project    INTEGER NOT NULL,
    agent      INTEGER NOT NULL,
    change     INTEGER NOT NULL,
    closed_ms  INTEGER NOT NULL,
    success    REAL NOT NULL,
    expected   REAL NOT NULL,
    terms      BLOB NOT NULL
) STRICT;

-- Sums of evidence for each level of the hierarchy, as they weigh at `as_of_ms`.
CREATE TABLE rate (
    level    TEXT PRIMARY KEY,
    weight   REAL NOT NULL,
    success  REAL NOT NULL,
    count    INTEGER NOT NULL,
    as_of_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was said before the run, and what came of it.
CREATE TABLE prediction (
    experiment INTEGER PRIMARY KEY REFERENCES experiment (number) ON DELETE CASCADE,
    project    TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    raw        REAL NOT NULL,
    p          REAL NOT NULL,
    low        REAL NOT NULL,
    high       REAL NOT NULL,
    evidence   REAL NOT NULL,
    outcome    REAL,
    scored_ms  INTEGER
) STRICT;

CREATE INDEX prediction_scored ON prediction (scored_ms) WHERE outcome IS NOT NULL;
CREATE INDEX prediction_of_project ON prediction (project, scored_ms) WHERE outcome IS NOT NULL;

-- Small documents with a name, such as the recalibration in force.
CREATE TABLE state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Something that can be seen again: an error, a failing test, the shape of a command.
CREATE TABLE feature (
    number   INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    project  TEXT NOT NULL,
    kind     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    parts    TEXT NOT NULL,
    worked   INTEGER NOT NULL DEFAULT 0,
    failed   INTEGER NOT NULL DEFAULT 0,
    worked_weight REAL NOT NULL DEFAULT 0,
    failed_weight REAL NOT NULL DEFAULT 0,
    as_of_ms INTEGER NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms  INTEGER NOT NULL
) STRICT;

CREATE INDEX feature_by_project ON feature (project, kind, last_ms);

CREATE TABLE sighting (
    feature    INTEGER NOT NULL REFERENCES feature (number) ON DELETE CASCADE,
    experiment INTEGER NOT NULL REFERENCES experiment (number) ON DELETE CASCADE,
    success    REAL NOT NULL,
    value      REAL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (feature, experiment)
) STRICT, WITHOUT ROWID;

CREATE INDEX sighting_by_experiment ON sighting (experiment);

-- What failures teach, apart from the patterns.
CREATE TABLE lesson (
    id       TEXT PRIMARY KEY,
    project  TEXT NOT NULL,
    feature  INTEGER NOT NULL REFERENCES feature (number) ON DELETE CASCADE,
    state    TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    why      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX lesson_by_project ON lesson (project, state);
CREATE INDEX lesson_by_feature ON lesson (feature);

-- What somebody said. It carries no evidence.
CREATE TABLE note (
    id      TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    author  TEXT NOT NULL,
    text    TEXT NOT NULL,
    terms   BLOB NOT NULL,
    at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX note_by_project ON note (project, at_ms);

-- Which group a masked line belongs to. Once given, a group never changes: a newer way of masking
-- is a new version.
CREATE TABLE fingerprint (
    version  INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    template TEXT NOT NULL,
    bucket   TEXT NOT NULL,
    family   TEXT NOT NULL,
    PRIMARY KEY (version, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX fingerprint_by_bucket ON fingerprint (version, bucket);

-- The files of the index, each over a range of evidence numbers.
CREATE TABLE segment (
    name      TEXT PRIMARY KEY,
    first     INTEGER NOT NULL,
    last      INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    checksum  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
