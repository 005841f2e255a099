"""What clients ask by themselves before their user does, as their sources have it: all of it is answered."""

import psycopg
import pytest

pytestmark = pytest.mark.service

# A search path as a list: how Grafana finds the schemas that need not be written.
_VISIBLE = """(SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1),
        array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
    string_to_array(current_setting('search_path'), ',') s)"""
_NAMED = """'"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"'"""
STARTUPS = {
    "grafana": [
        "SELECT current_setting('server_version_num')::int/100 AS version",
        "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
        f"""SELECT CASE WHEN quote_ident(table_schema) IN {_VISIBLE} THEN quote_ident(table_name)
            ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
            FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')
            ORDER BY 1""",
        f"""SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
            WHERE CASE WHEN array_length(parse_ident('app'), 1) = 2
            THEN quote_ident(table_schema) = (parse_ident('app'))[1]
                AND quote_ident(table_name) = (parse_ident('app'))[2]
            ELSE quote_ident(table_name) = (parse_ident('app'))[1] AND quote_ident(table_schema) IN {_VISIBLE} END""",
        """SELECT floor(extract(epoch from p_timestamp)/60)*60 AS "time", level AS metric, count(*) AS value FROM app
            WHERE p_timestamp BETWEEN '2020-01-01T00:00:00Z' AND '2040-01-01T00:00:00Z' GROUP BY 1, 2 ORDER BY 1, 2""",
    ],
    "metabase": [
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SHOW timezone",
        "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%'",
        f"""WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
            pg_catalog.has_any_column_privilege(current_user, {_NAMED}, 'update') AS update,
            pg_catalog.has_any_column_privilege(current_user, {_NAMED}, 'select') AS select
            FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
                UNION SELECT schemaname, viewname FROM pg_catalog.pg_views
                UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) t
            WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
            AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
            SELECT t.* FROM table_privileges t WHERE t.select OR t.update""",
        """SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
            WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)""",
        'SELECT "public"."app"."level" AS "level", count(*) AS "count" FROM "public"."app"'
        ' GROUP BY "public"."app"."level" ORDER BY "public"."app"."level" ASC LIMIT 2000',
        """SELECT date_trunc('minute', "public"."app"."p_timestamp") AS "t", count(*) AS "count" FROM "public"."app"
            GROUP BY date_trunc('minute', "public"."app"."p_timestamp") ORDER BY 1""",
    ],
    "superset": [
        "select pg_catalog.version()",
        "select current_schema()",
        "show standard_conforming_strings",
        "show transaction isolation level",
        "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg\\_%' ORDER BY nspname",
        """SELECT DATE_TRUNC('day', p_timestamp) AS __timestamp, level AS level, COUNT(*) AS count FROM public.app
            WHERE p_timestamp >= TO_TIMESTAMP('2020-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
            GROUP BY DATE_TRUNC('day', p_timestamp), level ORDER BY count DESC LIMIT 100""",
    ],
    "dbeaver": [
        "SET extra_float_digits = 3",
        "SET application_name = 'DBeaver'",
        "SELECT current_schema(), session_user",
        "SHOW search_path",
        """SELECT db.oid, db.* FROM pg_catalog.pg_database db
            WHERE datallowconn AND NOT datistemplate OR db.datname = 'weir' ORDER BY db.datname""",
        "select * from pg_catalog.pg_settings where name = 'standard_conforming_strings'",
        "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs}'::text[])",
        """SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d
            ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname""",
        """SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
            pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c
            LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
            AND d.classoid = 'pg_class'::regclass
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c')""",
        """SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description,
            dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
            LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
            LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
            LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i'
            AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
            WHERE NOT a.attisdropped AND c.oid = 'app'::regclass ORDER BY a.attnum""",
        """SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name,
            d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem
            LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
            LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL
            AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')""",
        """select c.oid, pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,
            pg_catalog.pg_relation_size(c.oid) as rel_size FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace""",
    ],
    "tableau": [
        "SET DateStyle = 'ISO'; SET extra_float_digits = 2; show transaction_isolation",
        "select oid, typbasetype from pg_type where typname = 'lo'",
        """select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull,
            c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid),
            case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass
            from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                and c.oid = 'app'::regclass) inner join pg_catalog.pg_attribute a on (not a.attisdropped)
                and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid)
            left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum
            order by n.nspname, c.relname, attnum""",
        """BEGIN; declare "SQL_CUR0x7f" cursor with hold for SELECT "app"."level" AS "level", SUM(1) AS "n"
            FROM "public"."app" "app" GROUP BY 1; fetch 2048 in "SQL_CUR0x7f" """,
        'close "SQL_CUR0x7f"; COMMIT',
    ],
}


@pytest.mark.parametrize("client", STARTUPS)
def test_every_question_of_a_client_is_answered(connection: psycopg.Connection, client: str):
    for statement in STARTUPS[client]:
        connection.execute(statement)


def test_grafana_is_told_the_tables_and_their_columns(connection: psycopg.Connection):
    *_, tables, columns, _ = STARTUPS["grafana"]

    assert ("app",) in connection.execute(tables).fetchall()
    assert ("took", "double precision") in connection.execute(columns).fetchall()


def test_metabase_is_told_what_may_be_selected(connection: psycopg.Connection):
    told = connection.execute(STARTUPS["metabase"][3]).fetchall()

    assert (None, "public", "app", False, True) in told
