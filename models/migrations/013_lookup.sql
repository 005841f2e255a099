-- A lookup dataset is a dimension table: its rows have no time, so no range and no retention cuts it.
ALTER TABLE dataset ADD COLUMN is_lookup boolean NOT NULL DEFAULT false;
