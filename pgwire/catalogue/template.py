"""What every database of the catalogue begins as: who may do what in it, and what stands in for the whole server's.

A function of `pg_catalog` can be replaced in one database, since pg_proc is its own: so `current_database()` tells the
name that the client connected to, in information_schema too, and the sizes of tables that have no rows here are
unknown rather than wrong. Of relations that all databases share there are views, `weir_pg_database` and so on, which
statements are pointed at (rewriting.py); in `pg_catalog`, as clients take what is anywhere else for the user's.

The reader may know of a dataset's table (REFERENCES) and not read it: were a statement over datasets ever sent here, it
would fail, and never answer from an empty table. `has_table_privilege` and its like tell what holds for datasets.
"""

from hashlib import blake2b
from typing import Final

READER: Final = "reader"
# Limits that a client cannot lift, as it cannot set anything here. Sessions set a shorter one (databases.py).
ROLE: Final = f"""
CREATE ROLE {READER} LOGIN CONNECTION LIMIT 40;
ALTER ROLE {READER} SET statement_timeout = '20s';
ALTER ROLE {READER} SET lock_timeout = '15s';
ALTER ROLE {READER} SET default_transaction_read_only = on;
ALTER ROLE {READER} SET idle_in_transaction_session_timeout = '30s';
"""
CONTENT: Final = """
SET allow_system_table_mods = on;
SET search_path = pg_catalog;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO reader;
CREATE TABLE pg_catalog.weir_content (hash text NOT NULL, tables jsonb NOT NULL);
INSERT INTO pg_catalog.weir_content VALUES ('', '{}');
GRANT SELECT ON pg_catalog.weir_content TO reader;

CREATE OR REPLACE FUNCTION pg_catalog."current_user"() RETURNS name LANGUAGE sql STABLE
    AS $$ SELECT current_setting('weir.login')::name $$;
CREATE OR REPLACE FUNCTION pg_catalog."user"() RETURNS name LANGUAGE sql STABLE
    AS $$ SELECT current_setting('weir.login')::name $$;
CREATE OR REPLACE FUNCTION pg_catalog."session_user"() RETURNS name LANGUAGE sql STABLE
    AS $$ SELECT current_setting('weir.login')::name $$;
CREATE OR REPLACE FUNCTION pg_catalog."current_role"() RETURNS name LANGUAGE sql STABLE
    AS $$ SELECT current_setting('weir.login')::name $$;
CREATE OR REPLACE FUNCTION pg_catalog."current_catalog"() RETURNS name LANGUAGE sql STABLE
    AS $$ SELECT current_setting('weir.database')::name $$;

CREATE VIEW pg_catalog.weir_pg_database AS
    SELECT oid, (CASE WHEN datname = current_setting('weir.here') THEN current_setting('weir.database')
        ELSE datname END)::name AS datname, datdba, encoding, datlocprovider, datistemplate, datallowconn,
        -1 AS datconnlimit, datfrozenxid, datminmxid, dattablespace, datcollate, datctype, daticulocale, daticurules,
        datcollversion, NULL::aclitem[] AS datacl
    FROM pg_catalog.pg_database WHERE datname IN (current_setting('weir.here'), 'template0', 'template1');
CREATE VIEW pg_catalog.weir_pg_roles AS
    SELECT current_setting('weir.login')::name AS rolname, false AS rolsuper, true AS rolinherit,
        false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit,
        '********'::text AS rolpassword, NULL::timestamptz AS rolvaliduntil, false AS rolbypassrls,
        NULL::text[] AS rolconfig, oid FROM pg_catalog.pg_roles WHERE rolname = 'reader'
    UNION ALL
    SELECT rolname, false, true, false, false, false, false, -1, '********', NULL, false, NULL, oid
    FROM pg_catalog.pg_roles WHERE rolname = 'weir';
CREATE VIEW pg_catalog.weir_pg_user AS
    SELECT rolname AS usename, oid AS usesysid, false AS usecreatedb, false AS usesuper, false AS userepl,
        false AS usebypassrls, '********'::text AS passwd, NULL::timestamptz AS valuntil, NULL::text[] AS useconfig
    FROM pg_catalog.weir_pg_roles WHERE rolcanlogin;
CREATE VIEW pg_catalog.weir_pg_group AS SELECT * FROM pg_catalog.pg_group WHERE false;
CREATE VIEW pg_catalog.weir_pg_auth_members AS SELECT * FROM pg_catalog.pg_auth_members WHERE false;
CREATE VIEW pg_catalog.weir_pg_shdescription AS SELECT * FROM pg_catalog.pg_shdescription WHERE false;
CREATE VIEW pg_catalog.weir_pg_shdepend AS SELECT * FROM pg_catalog.pg_shdepend WHERE false;
CREATE VIEW pg_catalog.weir_pg_shseclabel AS SELECT * FROM pg_catalog.pg_shseclabel WHERE false;
CREATE VIEW pg_catalog.weir_pg_db_role_setting AS SELECT * FROM pg_catalog.pg_db_role_setting WHERE false;
CREATE VIEW pg_catalog.weir_pg_user_mappings AS SELECT * FROM pg_catalog.pg_user_mappings WHERE false;
CREATE VIEW pg_catalog.weir_pg_parameter_acl AS SELECT * FROM pg_catalog.pg_parameter_acl WHERE false;
CREATE VIEW pg_catalog.weir_pg_settings AS
    SELECT * FROM pg_catalog.pg_settings WHERE name IN ('application_name', 'block_size', 'bytea_output',
        'client_encoding', 'DateStyle', 'default_text_search_config', 'extra_float_digits', 'integer_datetimes',
        'IntervalStyle', 'lc_collate', 'lc_ctype', 'lc_messages', 'max_function_args', 'max_identifier_length',
        'max_index_keys', 'search_path', 'server_encoding', 'server_version', 'server_version_num',
        'standard_conforming_strings', 'TimeZone', 'transaction_isolation', 'transaction_read_only');

CREATE OR REPLACE FUNCTION pg_catalog.current_database() RETURNS name LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT pg_catalog.current_setting('weir.database')::name $$;
CREATE OR REPLACE FUNCTION pg_catalog.pg_backend_pid() RETURNS int4 LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT pg_catalog.current_setting('weir.process')::int4 $$;
-- What it sets, the session has set before it is asked.
CREATE OR REPLACE FUNCTION pg_catalog.set_config(text, text, bool) RETURNS text LANGUAGE sql
    AS $$ SELECT $2 $$;

DO $do$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relname LIKE 'weir\\_pg\\_%' AND c.relkind = 'v'
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO reader', found.name);
    END LOOP;
    FOR found IN SELECT p.oid::regprocedure AS signature, p.pronargs, p.proname FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('pg_table_size', 'pg_relation_size',
            'pg_total_relation_size', 'pg_indexes_size', 'pg_database_size', 'pg_tablespace_size')
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS int8 LANGUAGE sql STABLE AS $$ SELECT NULL::int8 $$',
            found.signature);
    END LOOP;
    -- A table that is named has to be there, as ever.
    FOR found IN SELECT p.oid::regprocedure AS signature, p.pronargs, p.proname <> 'has_column_privilege'
            AND p.proargtypes[p.pronargs - 2] = 'text'::regtype AS is_named FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('has_table_privilege',
            'has_column_privilege', 'has_any_column_privilege')
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS bool LANGUAGE sql STABLE'
            ' AS $$ SELECT %s pg_catalog.strpos(pg_catalog.lower($%s), ''select'') > 0 $$', found.signature,
            CASE WHEN found.is_named THEN format('$%s::regclass IS NOT NULL AND', found.pronargs - 1) ELSE '' END,
            found.pronargs);
    END LOOP;
    FOR found IN SELECT p.oid::regprocedure AS signature, p.pronargs FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = 'has_database_privilege'
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS bool LANGUAGE sql STABLE'
            ' AS $$ SELECT pg_catalog.strpos(pg_catalog.lower($%s), ''connect'') > 0 $$',
            found.signature, found.pronargs);
    END LOOP;
    -- Logins of ours are no roles here.
    FOR found IN SELECT p.oid::regprocedure AS signature, p.pronargs FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = 'has_schema_privilege'
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS bool LANGUAGE sql STABLE'
            ' AS $$ SELECT pg_catalog.strpos(pg_catalog.lower($%s), ''usage'') > 0 $$',
            found.signature, found.pronargs);
    END LOOP;
    FOR found IN SELECT p.oid::regprocedure AS signature FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = 'pg_has_role' AND p.pronargs = 3
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS bool LANGUAGE sql STABLE AS $$ SELECT false $$',
            found.signature);
    END LOOP;
    -- What changes anything, waits, reads files or runs texts: nobody here has a use for it.
    FOR found IN SELECT p.oid::regprocedure AS signature FROM pg_catalog.pg_proc p
        WHERE p.provolatile = 'v' AND p.proname NOT IN ('set_config', 'pg_advisory_unlock_all', 'clock_timestamp',
            'pg_options_to_table') AND p.prorettype NOT IN ('trigger'::regtype, 'internal'::regtype)
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', found.signature);
    END LOOP;
END
$do$;
"""
# Another content is another template: databases of an earlier version of Weir are left alone.
VERSION: Final = blake2b(CONTENT.encode(), digest_size=4).hexdigest()
NAME: Final = f"template_{VERSION}"
