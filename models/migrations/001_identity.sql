-- Who may do what. Every name is scoped by its tenant, and the constraints, not the code, keep names unique and
-- references whole: 20 processes that insert one name at once get one row.

CREATE TABLE tenant (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE role (
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    name text NOT NULL,
    -- json, not jsonb: the entries are given back as they were sent.
    entries json NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

-- The role of OIDC users whose groups name none. A table of its own, so that it goes with its role.
CREATE TABLE default_role (
    tenant_id text PRIMARY KEY,
    role_name text NOT NULL,
    FOREIGN KEY (tenant_id, role_name) REFERENCES role (tenant_id, name) ON DELETE CASCADE
);

CREATE TABLE "user" (
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    name text NOT NULL,
    method text NOT NULL CHECK (method IN ('native', 'oauth')),
    password_hash text,
    email text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, name),
    CHECK ((method = 'native') = (password_hash IS NOT NULL))
);

-- The references to role have no ON DELETE: deleting a role that somebody holds is an error.
CREATE TABLE user_role (
    tenant_id text NOT NULL,
    user_name text NOT NULL,
    role_name text NOT NULL,
    PRIMARY KEY (tenant_id, user_name, role_name),
    FOREIGN KEY (tenant_id, user_name) REFERENCES "user" (tenant_id, name) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, role_name) REFERENCES role (tenant_id, name)
);
CREATE INDEX ON user_role (tenant_id, role_name);

CREATE TABLE api_key (
    key_id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
    name text NOT NULL,
    digest bytea NOT NULL UNIQUE,
    sealed bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    modified_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    UNIQUE (tenant_id, name)
);

CREATE TABLE api_key_role (
    key_id text NOT NULL REFERENCES api_key (key_id) ON DELETE CASCADE,
    position smallint NOT NULL,
    tenant_id text NOT NULL,
    role_name text NOT NULL,
    PRIMARY KEY (key_id, role_name),
    FOREIGN KEY (tenant_id, role_name) REFERENCES role (tenant_id, name)
);
CREATE INDEX ON api_key_role (tenant_id, role_name);

-- One row. Every change of the tables above updates it first, so changes are serial and each has a number.
CREATE TABLE generation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    value bigint NOT NULL
);
INSERT INTO generation (value) VALUES (0);
INSERT INTO tenant (id) VALUES ('default');
