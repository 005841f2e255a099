CREATE TABLE dataset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL,
    name text NOT NULL,
    time_column text NOT NULL,
    custom_partition text,
    static_schema boolean NOT NULL,
    telemetry_type text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Events older than so many days are deleted; null: never.
    retention_days integer,
    retention_description text NOT NULL DEFAULT '',
    UNIQUE (tenant, name)
);

CREATE TABLE dataset_column (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    name text NOT NULL,
    type text NOT NULL,
    position integer NOT NULL,
    -- Holds integers beyond 2^53: such a column never widens to float64.
    holds_large boolean NOT NULL DEFAULT false,
    PRIMARY KEY (dataset_id, name),
    UNIQUE (dataset_id, position)
);

-- No reference to dataset: the files of a deleted dataset stay listed until they are gone from disk.
CREATE TABLE file (
    path text PRIMARY KEY,
    dataset_id bigint NOT NULL,
    tmin bigint NOT NULL,
    tmax bigint NOT NULL,
    rows bigint NOT NULL,
    bytes bigint NOT NULL,
    -- The file's share of the bytes of the bodies that its events came in.
    body_bytes bigint NOT NULL,
    level smallint NOT NULL,
    -- Column name to [least, greatest, count of nulls], for every column in the file.
    stats jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz
);
-- A file never spans two hours, so a range on tmin finds all files of a time range.
CREATE INDEX file_live ON file (dataset_id, tmin) WHERE removed_at IS NULL;
CREATE INDEX file_removed ON file (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE segment (
    name text PRIMARY KEY,
    node text NOT NULL,
    converted_at timestamptz NOT NULL DEFAULT now()
);

-- What was ever ingested, and what retention took away again. Its own table, so that counting never waits for a
-- schema change. What compaction replaces is in neither.
CREATE TABLE dataset_total (
    dataset_id bigint PRIMARY KEY REFERENCES dataset ON DELETE CASCADE,
    events bigint NOT NULL DEFAULT 0,
    body_bytes bigint NOT NULL DEFAULT 0,
    deleted_stored_bytes bigint NOT NULL DEFAULT 0
);

-- Requests with an Idempotency-Key. `receipt` identifies tenant, dataset, credential and key; `body` is the digest of
-- what was sent; `owner` names the process that stores it; `events` is null until it is known to be stored.
CREATE TABLE receipt (
    receipt bytea PRIMARY KEY,
    body bytea NOT NULL,
    owner text NOT NULL,
    events bigint,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX receipt_created ON receipt (created_at);
