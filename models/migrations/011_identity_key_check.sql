-- A digest under the secret key, by which a host notices that its key is not the one the API keys were sealed with.
CREATE TABLE key_check (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    digest bytea NOT NULL
);
