-- Which host keeps a copy of which segment of another. The row is there before the first byte of the copy and goes after the last.
CREATE TABLE segment_copy (
    segment text PRIMARY KEY,
    owner text NOT NULL,
    holder text NOT NULL,
    -- How many bytes of it count; null: all. What follows was taken back, and may be in another segment.
    size bigint
);
CREATE INDEX segment_copy_holder ON segment_copy (holder);
CREATE INDEX segment_copy_owner ON segment_copy (owner);
