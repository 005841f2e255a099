-- What writers author: dashboards, filters, targets and alerts. Titles are kept unique by constraint, and `revision`
-- counts the changes of an object: an update names the revision that it was made from.

CREATE TABLE dashboard (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    author_kind text NOT NULL,
    author_id text NOT NULL,
    author_name text NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    title text NOT NULL,
    kind text NOT NULL,
    is_favorite boolean NOT NULL,
    -- json, not jsonb: members are given back in the order in which they were sent, and text may hold \u0000.
    tags json NOT NULL,
    tiles json NOT NULL,
    datasets json NOT NULL,
    extra json NOT NULL,
    UNIQUE (tenant_id, title)
);

-- Unique per dataset, so that a taken name tells nothing of datasets that one may not read.
CREATE TABLE filter (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    author_kind text NOT NULL,
    author_id text NOT NULL,
    author_name text NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    dataset text NOT NULL,
    name text NOT NULL,
    query json NOT NULL,
    time_filter json,
    tags json NOT NULL,
    UNIQUE (tenant_id, dataset, name)
);

-- `sealed` holds address, headers and password: the address of a Slack hook is a secret itself.
CREATE TABLE target (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    author_kind text NOT NULL,
    author_id text NOT NULL,
    author_name text NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('webhook', 'slack', 'alertManager')),
    sealed bytea NOT NULL,
    UNIQUE (tenant_id, name),
    UNIQUE (tenant_id, id)
);

CREATE TABLE alert (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    author_kind text NOT NULL,
    author_id text NOT NULL,
    author_name text NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    title text NOT NULL,
    query text NOT NULL,
    query_type text NOT NULL,
    dataset text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('critical', 'high', 'medium', 'low')),
    operator text NOT NULL CHECK (operator IN ('>', '<', '=', '!=', '>=', '<=')),
    threshold double precision NOT NULL,
    window_seconds integer NOT NULL CHECK (window_seconds > 0),
    frequency_seconds integer NOT NULL CHECK (frequency_seconds > 0),
    notify_seconds integer NOT NULL CHECK (notify_seconds > 0),
    tags json NOT NULL,
    extra json NOT NULL,
    -- From here on what evaluation knows; none of it advances `revision`.
    state text NOT NULL DEFAULT 'not-triggered' CHECK (state IN ('not-triggered', 'triggered', 'disabled')),
    disabled_reason text,
    muted_until timestamptz,
    last_value double precision,
    last_error text,
    last_evaluated_at timestamptz,
    last_triggered_at timestamptz,
    last_notified_at timestamptz,
    -- The instant up to which the next evaluation looks; null exactly while disabled.
    next_run_at timestamptz,
    -- Whoever evaluates it holds a lease: of several hosts one does, and another takes over when that one dies.
    lease text,
    leased_until timestamptz,
    UNIQUE (tenant_id, title),
    CHECK ((state = 'disabled') = (next_run_at IS NULL))
);
CREATE INDEX alert_due ON alert (next_run_at) WHERE next_run_at IS NOT NULL;

-- Deferred, so that a tenant can be purged in whatever order the rows go; a target in use still cannot be deleted.
CREATE TABLE alert_target (
    alert_id text NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
    position smallint NOT NULL,
    tenant_id text NOT NULL,
    target_id text NOT NULL,
    PRIMARY KEY (alert_id, target_id),
    FOREIGN KEY (tenant_id, target_id) REFERENCES target (tenant_id, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX ON alert_target (tenant_id, target_id);

-- Changes of state, not evaluations: those of 1,000 alerts would be 1.4 million rows a day.
CREATE TABLE alert_event (
    id text PRIMARY KEY,
    alert_id text NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    value double precision,
    detail text
);
CREATE INDEX ON alert_event (alert_id, id);
CREATE INDEX ON alert_event (at);

-- What is to be delivered, and the log of what was. `id` goes out with every attempt, so receivers can tell repeats.
CREATE TABLE delivery (
    id text PRIMARY KEY,
    alert_id text NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
    target_id text NOT NULL REFERENCES target (id) ON DELETE CASCADE,
    kind text NOT NULL,
    notice json NOT NULL,
    created_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    last_status integer,
    last_error text,
    -- Null once it is delivered or given up.
    next_attempt_at timestamptz,
    delivered_at timestamptz,
    lease text,
    leased_until timestamptz
);
CREATE INDEX ON delivery (alert_id, id);
CREATE INDEX ON delivery (created_at);
CREATE INDEX delivery_due ON delivery (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX delivery_pending ON delivery (alert_id, target_id, id) WHERE next_attempt_at IS NOT NULL;
