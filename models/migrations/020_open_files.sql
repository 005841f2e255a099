-- In which form a file has its columns (storage/files/file_schema.py); 0: as files were before there was a form.
ALTER TABLE file ADD COLUMN format smallint NOT NULL DEFAULT 0;
-- Columns that widened are numbered in the order in which they did. A file has the wider type of those up to its number.
ALTER TABLE dataset ADD COLUMN columns_widened integer NOT NULL DEFAULT 0, ADD COLUMN widened_at timestamptz;
ALTER TABLE dataset_column ADD COLUMN widened integer NOT NULL DEFAULT 0;
ALTER TABLE file ADD COLUMN widened integer NOT NULL DEFAULT 0;
-- Files that maintenance looks at, and rewrites where that is needed.
CREATE INDEX file_format ON file (dataset_id) WHERE removed_at IS NULL AND format = 0;
CREATE INDEX file_widened ON file (dataset_id, widened) WHERE removed_at IS NULL;
