-- What each sender stored in a dataset, by five minutes, for a day: who it is that sends so much.
CREATE TABLE sender_count (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    kind text NOT NULL,
    sender text NOT NULL,
    begins timestamptz NOT NULL,
    events bigint NOT NULL,
    body_bytes bigint NOT NULL,
    requests bigint NOT NULL,
    latest timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, begins, kind, sender)
);
CREATE INDEX sender_count_begins ON sender_count (begins);
