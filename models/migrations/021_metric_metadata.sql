-- What senders say of metrics: the latest counts.
CREATE TABLE metric_metadata (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    metric text NOT NULL,
    type text NOT NULL,
    help text NOT NULL,
    unit text NOT NULL,
    PRIMARY KEY (dataset_id, metric)
);
