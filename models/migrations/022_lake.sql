-- What is published of the manifest as Iceberg tables (storage/lake). None of it refers to `dataset`, since what is on
-- disk outlives a dataset that is deleted.

-- A file that compaction or rewriting made has rows that were in others; those name it.
ALTER TABLE file ADD COLUMN replaces boolean NOT NULL DEFAULT false, ADD COLUMN replaced_by text;
-- The snapshots of its table that a file came with and went with; 0: it went before it was in any.
ALTER TABLE file ADD COLUMN added_snapshot bigint, ADD COLUMN added_sequence bigint, ADD COLUMN removed_snapshot bigint;
CREATE INDEX file_unpublished ON file (dataset_id) WHERE added_snapshot IS NULL AND removed_snapshot IS NULL;
CREATE INDEX file_removal_unpublished ON file (dataset_id)
    WHERE removed_at IS NOT NULL AND added_snapshot IS NOT NULL AND removed_snapshot IS NULL;

CREATE TABLE lake_table (
    dataset_id bigint PRIMARY KEY,
    location text NOT NULL,
    sequence bigint NOT NULL,
    -- Every schema that a snapshot has had, in the order of their ids.
    schemas jsonb NOT NULL,
    metadata_path text NOT NULL,
    metadata text NOT NULL,
    as_of timestamptz NOT NULL,
    columns_dropped integer NOT NULL,
    time_column text NOT NULL
);

CREATE TABLE lake_snapshot (
    dataset_id bigint NOT NULL,
    sequence bigint NOT NULL,
    snapshot jsonb NOT NULL,
    list_path text NOT NULL,
    -- When the first of the files that went with it was removed: some time later they are gone from disk.
    first_removed_at timestamptz,
    PRIMARY KEY (dataset_id, sequence)
);

-- Manifests are in the lists of the snapshots from `first` on, and before `until`.
CREATE TABLE lake_manifest (
    dataset_id bigint NOT NULL,
    path text NOT NULL,
    hours text NOT NULL,
    first bigint NOT NULL,
    until bigint,
    entry jsonb NOT NULL,
    PRIMARY KEY (dataset_id, path)
);

-- Metadata files that nothing refers to any more, or not yet.
CREATE TABLE lake_garbage (
    path text PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);
