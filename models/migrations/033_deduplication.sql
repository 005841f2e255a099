-- For how long a body that the same sender repeats is recognised, in seconds; null: not at all.
ALTER TABLE dataset ADD COLUMN deduplication_seconds integer;
-- What the notes of a WAL record call the claim: another number for each claim, so that what was stored for a claim that has
-- expired is not taken for the events of the next claim of the same receipt.
ALTER TABLE receipt ADD COLUMN claim_id bytea;
UPDATE receipt SET claim_id = receipt;
ALTER TABLE receipt ALTER COLUMN claim_id SET NOT NULL;
CREATE UNIQUE INDEX receipt_claim ON receipt (claim_id);
