-- What proves a password over the PostgreSQL protocol (SCRAM-SHA-256), sealed under the secret key. Missing until it is
-- known: of users that an earlier version made, until their next login over HTTP.
ALTER TABLE "user" ADD COLUMN scram bytea;
