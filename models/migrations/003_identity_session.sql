-- What a browser's session cookie stands for. The cookie itself is stored nowhere, only its keyed digest.
CREATE TABLE session (
    digest bytea PRIMARY KEY,
    tenant_id text NOT NULL,
    user_name text NOT NULL,
    -- The names that the OIDC provider's groups claim held at the last login or renewal.
    groups json NOT NULL,
    -- When the provider has to be asked again, and when the session ends whatever it says.
    valid_until timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    sealed_refresh_token bytea,
    sealed_id_token bytea,
    FOREIGN KEY (tenant_id, user_name) REFERENCES "user" (tenant_id, name) ON DELETE CASCADE
);
CREATE INDEX ON session (tenant_id, user_name);
CREATE INDEX ON session (expires_at);

-- OIDC users who were deleted here: tokens that the provider issued before are refused.
CREATE TABLE oidc_revocation (
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    user_name text NOT NULL,
    revoked_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_name)
);
