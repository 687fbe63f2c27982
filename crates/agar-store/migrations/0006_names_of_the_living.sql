-- An alias names one living sandbox; the word is free again once it is in the trash. Those there keep
-- theirs, which may be the same as another's.
DROP INDEX sandbox_by_alias;
CREATE UNIQUE INDEX sandbox_by_alias ON sandbox (alias) WHERE state NOT IN ('discarded', 'collected');
CREATE INDEX sandbox_by_name ON sandbox (alias) WHERE state <> 'collected';
-- Whoever removes a snapshot gives its children to its parent.
CREATE INDEX snapshot_by_parent ON snapshot (parent) WHERE parent IS NOT NULL;
