"""Records that nobody made up, through HTTP and back out by SQL, checked against an independent count.

The Debian package index (`apt-cache dumpavail`, or a file of the same format) becomes JSON events. They are posted
as a shipper would post them; every SQL answer is compared with one computed here by plain Python.

    python bench/real_input.py --base http://127.0.0.1:8000 --basic admin:PASSWORD [--packages FILE] [--events 100000]
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

BATCH = 1000
NUMBERS = ("Installed-Size", "Size")


def main() -> int:
    arguments = _arguments()
    events = load(arguments.packages, arguments.events)
    session = requests.Session()
    session.auth = tuple(arguments.basic.split(":", 1))
    dataset = f"{arguments.dataset}_{int(time.time())}"
    print(f"{len(events)} events, dataset {dataset}")
    seconds = post(session, arguments.base, dataset, events)
    print(f"ingested in {seconds:.2f} s: {len(events) / seconds:,.0f} events/s on one connection")
    failures = sum(not check(session, arguments.base, *question) for question in questions(dataset, events))
    print("all answers equal the independent count" if not failures else f"{failures} answers differ")
    return int(bool(failures))


def load(packages: Path | None, wanted: int) -> list[dict[str, Any]]:
    """Package records as events; read again with a numbered `pass` until there are enough."""
    text = packages.read_text("utf-8") if packages else _dumpavail()
    records = list(_records(text))
    if not records:
        sys.exit("no package records: run `apt-get update`, or name a Packages file with --packages")
    passes = -(-wanted // len(records))
    return [{**record, "pass": number} for number in range(passes) for record in records][: max(wanted, len(records))]


def _dumpavail() -> str:
    return subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout.decode("utf-8", "replace")


def _records(text: str) -> Iterator[dict[str, Any]]:
    """One object per stanza of deb822 text. Continuation lines start with a space; sizes are numbers, the list of
    dependencies is a list, everything else is text as written."""
    for stanza in text.split("\n\n"):
        fields: dict[str, Any] = {}
        name = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t"):
                fields[name] += "\n" + line[1:]
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield _typed(fields)


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    for name in NUMBERS:
        if name in fields:
            fields[name] = int(fields[name])
    if "Depends" in fields:
        fields["Depends"] = [part.strip() for part in fields["Depends"].split(",")]
    return fields


def post(session: requests.Session, base: str, dataset: str, events: list[dict[str, Any]]) -> float:
    """Post everything in order; return the seconds until the last answer."""
    bodies = [json.dumps(events[at : at + BATCH]).encode() for at in range(0, len(events), BATCH)]
    headers = {"Content-Type": "application/json", "X-P-Stream": dataset}
    start = time.perf_counter()
    for body in bodies:
        session.post(f"{base}/api/v1/ingest", data=body, headers=headers, timeout=60).raise_for_status()
    return time.perf_counter() - start


def questions(dataset: str, events: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """SQL and the rows that a plain count gives."""
    yield f"SELECT count(*) FROM {dataset}", [{"count": len(events)}]

    sections = Counter(event.get("Section") for event in events)
    top = sorted(sections.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))[:10]
    yield (
        f'SELECT "Section" AS section, count(*) AS n FROM {dataset} GROUP BY 1 ORDER BY n DESC, section LIMIT 10',
        [{"section": name, "n": count} for name, count in top],
    )

    sizes = [event["Installed-Size"] for event in events if "Installed-Size" in event]
    yield (
        f'SELECT sum("Installed-Size") AS total, max("Installed-Size") AS largest, count("Installed-Size") AS n '
        f"FROM {dataset}",
        [{"total": sum(sizes), "largest": max(sizes), "n": len(sizes)}],
    )

    python = [event for event in events if event["Package"].startswith("python3-") and event.get("Size", 0) > 100_000]
    yield (
        f"""SELECT count(*) AS n FROM {dataset} WHERE "Package" LIKE 'python3-%' AND "Size" > 100000""",
        [{"n": len(python)}],
    )

    maintainers = Counter(event.get("Maintainer") for event in events if event.get("Priority") == "optional")
    yield (
        f"""SELECT count(DISTINCT "Maintainer") AS n FROM {dataset} WHERE "Priority" = 'optional'""",
        [{"n": len([name for name in maintainers if name is not None])}],
    )

    per_pass = Counter(event["pass"] for event in events if event.get("Architecture") == "all")
    yield (
        f"""WITH only_all AS (SELECT pass FROM {dataset} WHERE "Architecture" = 'all')
            SELECT pass, count(*) AS n FROM only_all GROUP BY pass ORDER BY pass""",
        [{"pass": number, "n": count} for number, count in sorted(per_pass.items())],
    )


def check(session: requests.Session, base: str, sql: str, expected: list[dict[str, Any]]) -> bool:
    start = time.perf_counter()
    answer = session.post(f"{base}/api/v1/query", json={"query": sql}, timeout=120)
    milliseconds = (time.perf_counter() - start) * 1000
    equal = answer.status_code == 200 and answer.json() == expected
    print(f"{'ok  ' if equal else 'FAIL'} {milliseconds:7.1f} ms  {' '.join(sql.split())[:110]}")
    if not equal:
        print(f"     got      {answer.text[:300]}\n     expected {json.dumps(expected)[:300]}")
    return equal


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="http://127.0.0.1:8000")
    parser.add_argument("--basic", required=True, help="user:password")
    parser.add_argument("--packages", type=Path, help="a Packages file instead of apt-cache")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--dataset", default="packages")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
