-- Where in a file its text index is, and its bytes, which count in those of the file; 0: it has none.
ALTER TABLE file ADD COLUMN index_start bigint NOT NULL DEFAULT 0, ADD COLUMN index_bytes bigint NOT NULL DEFAULT 0;
-- Names of the columns whose texts are indexed; null: they are chosen by their texts; none: there is no index.
ALTER TABLE dataset ADD COLUMN indexed_columns text[];
