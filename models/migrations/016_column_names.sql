-- Events name columns as they like. What files and segments call a column is another name, never used for another one.
ALTER TABLE dataset ADD COLUMN columns_made integer NOT NULL DEFAULT 0;
-- Whoever keeps a schema keeps this number with it: the schema may name a column that is gone once the number moved.
ALTER TABLE dataset ADD COLUMN columns_dropped integer NOT NULL DEFAULT 0;
UPDATE dataset SET columns_made = (SELECT count(*) FROM dataset_column WHERE dataset_id = dataset.id);

ALTER TABLE dataset_column DROP CONSTRAINT dataset_column_pkey, DROP CONSTRAINT dataset_column_dataset_id_position_key;
-- Numbers of columns begin at 1, as Iceberg's field ids do, and say the order.
ALTER TABLE dataset_column RENAME COLUMN position TO id;
UPDATE dataset_column SET id = id + 1;
ALTER TABLE dataset_column ADD COLUMN stored text, ADD COLUMN added_by text;
UPDATE dataset_column SET stored = name;
ALTER TABLE dataset_column
    ALTER COLUMN stored SET NOT NULL,
    ADD PRIMARY KEY (dataset_id, id),
    ADD UNIQUE (dataset_id, name),
    ADD UNIQUE (dataset_id, stored);

-- Files made before still have them, so their stored names stay taken.
CREATE TABLE dropped_column (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    id integer NOT NULL,
    name text NOT NULL,
    stored text NOT NULL,
    dropped_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (dataset_id, id)
);
