-- What people asked lately, and what they keep: SQL of the owner's own, shown to nobody else. `name` NULL: history.
CREATE TABLE saved_query (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    owner_kind text NOT NULL,
    owner_id text NOT NULL,
    name text,
    query text NOT NULL,
    asked_at timestamptz NOT NULL
);
CREATE INDEX ON saved_query (tenant_id, owner_kind, owner_id, asked_at);
CREATE UNIQUE INDEX ON saved_query (tenant_id, owner_kind, owner_id, name);
