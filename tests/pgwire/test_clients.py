"""Real clients of PostgreSQL against a real Weir, unmodified; those that are not installed are skipped."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.pgwire.conftest import Door
from tests.running import ADMIN, clean_environment, free_port

pytestmark = [pytest.mark.service, pytest.mark.clients]
PROGRAMS = Path(__file__).parent / "programs"
COUNTED = "SELECT level, count(*) AS n FROM app WHERE took > 100 GROUP BY 1 ORDER BY 1"


def run(command: list[str], folder: Path, seconds: float = 120, **environment: str) -> str:
    """What the program prints; a failure of it is one of the test."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=seconds, env=clean_environment() | environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# --- psql ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("psql"), reason="psql is not installed")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("\\dt", " public | app | table | weir"),
        ("\\d app", " took | double precision"),
        ("\\d+ app", "Access method: heap"),
        ("\\l", " weir "),
        ("\\l+", " weir "),
        ("\\dn", " public"),
        ("\\du", " admin"),
        ("\\df", "(0 rows)"),
        ("\\dT", "(0 rows)"),
        ("\\di", ""),
        ("\\dv", ""),
        ("\\conninfo", "weir"),
        (COUNTED, " error | 300"),
        (
            "\\copy (SELECT level, took FROM app ORDER BY took LIMIT 1) TO STDOUT (FORMAT csv, HEADER)",
            "level,took\ninfo,0",
        ),
        ("BEGIN; DECLARE c CURSOR FOR SELECT took FROM app ORDER BY took; FETCH 2 FROM c; COMMIT", "0.25"),
    ],
)
def test_psql(door: Door, tmp_path: Path, command: str, expected: str):
    connection = door.conninfo().replace(f"password={ADMIN[1]}", "")

    said = run(["psql", "-X", connection, "-v", "ON_ERROR_STOP=1", "-c", command], tmp_path, PGPASSWORD=ADMIN[1])

    # How wide a column is depends on what else is in the service.
    assert expected in re.sub(" +", " ", said)


@pytest.mark.skipif(not shutil.which("psql"), reason="psql is not installed")
def test_psql_fetches_bit_by_bit(door: Door, tmp_path: Path):
    """FETCH_COUNT makes cursors of queries."""
    script = tmp_path / "script.sql"
    script.write_text("\\set FETCH_COUNT 100\nSELECT message FROM app;\n")

    said = run(["psql", "-X", "-A", "-t", door.conninfo(), "-f", str(script)], tmp_path)

    assert len(said.splitlines()) == 1000


# --- Python --------------------------------------------------------------------------------------------------------


def test_psycopg2(door: Door):
    psycopg2 = pytest.importorskip("psycopg2")
    with psycopg2.connect(door.conninfo()) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT p_timestamp, ok, tags, 1.5::numeric FROM app WHERE level = %s LIMIT 1", ("error",))
        assert [column.type_code for column in cursor.description] == [1184, 16, 1009, 1700]
        assert cursor.fetchone()[2] == ["a", "b,c"]
        named = connection.cursor("named")
        named.itersize = 300
        named.execute("SELECT message FROM app")
        assert sum(1 for _ in named) == 1000


def test_asyncpg(door: Door):
    asyncpg = pytest.importorskip("asyncpg")
    members: dict[str, Any] = {"host": "127.0.0.1", "port": door.port, "user": ADMIN[0], "password": ADMIN[1]}

    async def ask() -> None:
        connection = await asyncpg.connect(**members, database="weir", ssl=False)
        assert [tuple(row) for row in await connection.fetch(COUNTED.replace("100", "$1"), 100.0)] == (
            [("error", 300), ("info", 299)]
        )
        prepared = await connection.prepare("SELECT $1::text[] AS a, $2 + 1 AS b")
        assert [kind.name for kind in prepared.get_parameters()] == ["text[]", "int4"]
        assert tuple(await prepared.fetchrow(["x", None], 4)) == (["x", None], 5)
        async with connection.transaction():
            rows = [row async for row in connection.cursor("SELECT message FROM app", prefetch=100)]
        assert len(rows) == 1000
        await connection.reset()
        await connection.close()
        pool = await asyncpg.create_pool(**members, database="weir", ssl=False, min_size=2, max_size=2)
        assert await asyncio.gather(*[pool.fetchval("SELECT count(*) FROM app") for _ in range(4)]) == [1000] * 4
        await pool.close()

    asyncio.run(ask())


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_reflects_and_asks(door: Door, driver: str):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip(driver)
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://{ADMIN[0]}:{ADMIN[1]}@127.0.0.1:{door.port}/weir")
    with engine.connect() as connection:
        inspector = sqlalchemy.inspect(connection)
        assert "app" in inspector.get_table_names()
        assert {"took": "DOUBLE PRECISION", "level": "TEXT"}.items() <= (
            {each["name"]: str(each["type"]) for each in inspector.get_columns("app")}.items()
        )
        assert inspector.get_pk_constraint("app")["constrained_columns"] == []
        assert inspector.get_indexes("app") == inspector.get_foreign_keys("app") == []
        table = sqlalchemy.Table("app", sqlalchemy.MetaData(), autoload_with=connection)
        asked = (
            sqlalchemy.select(table.c.level, sqlalchemy.func.count()).where(table.c.took > 100).group_by(table.c.level)
        )
        assert sorted(connection.execute(asked.limit(5)).all()) == [("error", 300), ("info", 299)]


def test_pandas(door: Door):
    pandas, sqlalchemy = pytest.importorskip("pandas"), pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{ADMIN[0]}:{ADMIN[1]}@127.0.0.1:{door.port}/weir")

    frame = pandas.read_sql("SELECT took, p_timestamp FROM app WHERE took < 1 ORDER BY took", engine)

    assert frame["took"].tolist() == [0.0, 0.25, 0.5, 0.75]
    assert str(frame["p_timestamp"].dt.tz) == "UTC"


# --- other languages -----------------------------------------------------------------------------------------------


def jdbc_driver() -> Path | None:
    places = [Path("/usr/share/java"), Path.home() / ".m2/repository/org/postgresql/postgresql"]
    return next((jar for place in places if place.exists() for jar in sorted(place.rglob("postgresql*.jar"))), None)


@pytest.mark.skipif(
    not shutil.which("java") or jdbc_driver() is None, reason="Java or its PostgreSQL driver is missing"
)
def test_jdbc(door: Door, tmp_path: Path):
    url = f"jdbc:postgresql://127.0.0.1:{door.port}/weir"

    said = run(["java", "-cp", str(jdbc_driver()), str(PROGRAMS / "Ask.java"), url, *ADMIN], tmp_path)

    assert said.splitlines() == [
        "weir public admin",
        *("table app", "column took float8", "column tags _text", "key false", "index false"),
        *("counted 488 true", "[a, b,c]", "fetched 1000", "ended 57014", "refused 25006 true"),
    ]


def test_node_postgres(door: Door, tmp_path: Path):
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    shutil.copytree(PROGRAMS / "javascript", tmp_path, dirs_exist_ok=True)
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        pytest.skip("npm install took more than three minutes")
    if done.returncode:
        pytest.skip(f"npm cannot install pg: {done.stderr[-300:]}")

    said = json.loads(run(["node", "ask.js", str(door.port), *ADMIN], tmp_path))

    assert said == {
        "counted": [{"level": "error", "n": 300}, {"level": "info", "n": 299}],
        "named": [{"tags": ["a", "b,c"], "ok": True}],
        "read": [5, 7],
        "failed": ["42703", "8"],
    }


def test_pgx(door: Door, tmp_path: Path):
    go = shutil.which("go") or ("/usr/local/go/bin/go" if Path("/usr/local/go/bin/go").exists() else None)
    if go is None:
        pytest.skip("Go is not installed")
    shutil.copytree(PROGRAMS / "go", tmp_path, dirs_exist_ok=True)
    for command in (["mod", "tidy"], ["build", "-o", "ask", "."]):
        try:
            done = subprocess.run(
                [go, *command], cwd=tmp_path, capture_output=True, text=True, timeout=180, env=os.environ
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"go {command[0]} took more than three minutes")
        if done.returncode:
            pytest.skip(f"pgx cannot be built: {done.stderr[-300:]}")

    said = json.loads(
        run(["./ask", f"postgres://{ADMIN[0]}:{ADMIN[1]}@127.0.0.1:{door.port}/weir?sslmode=disable"], tmp_path)
    )

    assert said == {"count": 300, "at": True, "tags": ["a", "b,c"], "ok": True, "failed": "42703"}


# --- another PostgreSQL --------------------------------------------------------------------------------------------


@pytest.fixture
def other_postgresql(tmp_path: Path) -> Iterator[psycopg.Connection]:
    """A PostgreSQL of the system's, with postgres_fdw."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/lib/postgres_fdw.so"))
    if not places:
        pytest.skip("no PostgreSQL with postgres_fdw is installed")
    programs, folder, port = places[-1].parents[1] / "bin", tmp_path / "cluster", free_port()
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    folder.mkdir()
    if as_user:
        shutil.chown(folder, "postgres", "postgres")
        for parent in (tmp_path, *tmp_path.parents):
            if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
                parent.chmod(parent.stat().st_mode | 0o011)
    run([*as_user, str(programs / "initdb"), "-D", str(folder / "data"), "-U", "other", "-A", "trust", "-N"], Path("/"))
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -p {port}"
    control = [*as_user, str(programs / "pg_ctl"), "-D", str(folder / "data")]
    subprocess.run([*control, "-w", "-o", options, "-l", str(folder / "log"), "start"], cwd="/", check=True, timeout=60)
    try:
        with psycopg.connect(host=str(folder), port=port, user="other", dbname="postgres", autocommit=True) as opened:
            yield opened
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], cwd="/", check=True, timeout=60, capture_output=True)


def test_postgres_fdw(door: Door, other_postgresql: psycopg.Connection):
    """IMPORT FOREIGN SCHEMA, conditions that are sent along, cursors."""
    setup = f"""
        CREATE EXTENSION postgres_fdw;
        CREATE SERVER weir FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '127.0.0.1', port '{door.port}', dbname 'weir', sslmode 'disable', fetch_size '100');
        CREATE USER MAPPING FOR CURRENT_USER SERVER weir OPTIONS (user '{ADMIN[0]}', password '{ADMIN[1]}');
        CREATE SCHEMA events;
        IMPORT FOREIGN SCHEMA public LIMIT TO (app) FROM SERVER weir INTO events;
    """
    other_postgresql.execute(setup)

    assert other_postgresql.execute("SELECT count(*), max(took) FROM events.app").fetchone() == (1000, 249.75)
    asked = "SELECT message, tags FROM events.app WHERE level = 'error' AND took > 249 ORDER BY took LIMIT 1"
    assert other_postgresql.execute(asked).fetchone() == ("it's 997", ["a", "b,c"])
    joined = "SELECT count(*) FROM events.app a JOIN (VALUES ('info')) AS v(level) USING (level)"
    assert other_postgresql.execute(joined).fetchone() == (500,)
    with pytest.raises(psycopg.Error, match="read-only"):
        other_postgresql.execute("DELETE FROM events.app")
