"""The oracle by hand: `python -m tests.oracle.harness [run|lists|fuzz] ...`; `--help` tells more."""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.oracle.harness import corpus, functions, fuzz
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.session import Session, contradiction, open_session, open_shuffled, temporary_server
from tests.oracle.harness.verdict import Finding, Verdict, instability


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    with temporary_server() as url, open_session(url) as session:
        options.server_url = url
        return int(options.command(session, options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.harness")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run the corpora and print what does not pass")
    run.add_argument("prefix", nargs="?", default="", help="only queries whose id starts so")
    run.add_argument("--findings", type=Path, help="write the findings there, sorted by class")
    run.set_defaults(command=_run)
    lists = commands.add_parser("lists", help="rewrite refusals.txt and known_wrong.txt from a run")
    lists.set_defaults(command=_lists)
    check = commands.add_parser("check", help="check the corpora against PostgreSQL alone")
    check.set_defaults(command=_check)
    trying = commands.add_parser("functions", help="try the functions of the registry with the edges of their types")
    trying.add_argument("prefix", nargs="?", default="", help="only functions whose signature starts so")
    trying.add_argument("--rows", type=int, default=functions.ROWS)
    trying.add_argument("--sets", type=int, default=functions.CONSTANT_SETS, help="sets of constant arguments")
    trying.set_defaults(command=_functions)
    fuzzing = commands.add_parser("fuzz", help="run generated queries; minimise and keep what does not pass")
    fuzzing.add_argument("--first", type=int, default=100_000, help="the first seed")
    fuzzing.add_argument("--count", type=int, default=5000)
    fuzzing.add_argument("--seconds", type=float, default=300)
    fuzzing.add_argument("--keep", action="store_true", help=f"append the failures to {corpus.KEPT_FAILURES.name}")
    fuzzing.set_defaults(command=_fuzz)
    return parser


def _run(session: Session, options: argparse.Namespace) -> int:
    queries = [query for query in corpus.every_query() if query.id.startswith(options.prefix)]
    findings = [(query, session.ask(query)) for query in queries]
    report = _report(findings)
    if options.findings is not None:
        options.findings.write_text(report, "utf-8")
    print(report)
    return int(any(finding.verdict is not Verdict.PASS for _, finding in findings))


def _lists(session: Session, options: argparse.Namespace) -> int:
    queries = [*corpus.every_query(), *map(fuzz.generated, range(fuzz.GENERATED))]
    found = [(query, session.ask(query)) for query in queries]
    refused = {query.id: finding.reason for query, finding in found if finding.verdict is Verdict.REFUSED}
    rest = (Verdict.PASS, Verdict.REFUSED)
    wrong = {
        query.id: f"{finding.verdict}: {finding.reason}" for query, finding in found if finding.verdict not in rest
    }
    corpus.write_list(corpus.REFUSALS, "Queries that PostgreSQL answers and we refuse by name.", refused)
    corpus.write_list(corpus.KNOWN_WRONG, "Queries that we are known to answer wrongly.", wrong)
    print(f"{len(refused)} refusals, {len(wrong)} known to be wrong")
    return 0


def _check(session: Session, options: argparse.Namespace) -> int:
    """Whether PostgreSQL does what the corpora say, and whether each query has one answer only."""
    faults = 0
    with open_shuffled(options.server_url) as shuffled:
        for query in [*corpus.every_query(), *map(fuzz.generated, range(fuzz.GENERATED))]:
            outcome = session.reference.run(query.sql, query.zone)
            fault = "" if query.id.startswith("generated") else contradiction(query, outcome)
            fault = fault or instability(outcome, shuffled.run(query.sql, query.zone), query.ordered)
            faults += bool(fault)
            if fault:
                print(f"{query.id}\n    {query.sql}\n    {fault}")
    print(f"{faults} faults")
    return int(bool(faults))


def _functions(session: Session, options: argparse.Namespace) -> int:
    faults = 0
    for function in functions.callables():
        if not function.key.startswith(options.prefix):
            continue
        found = functions.check(session, function, options.rows, options.sets)
        faults += len(found)
        if found:
            print("\n    ".join([f"## {function.key}", *found[:20]]), flush=True)
    print(f"{faults} differences")
    return int(bool(faults))


def _fuzz(session: Session, options: argparse.Namespace) -> int:
    report = fuzz.run(session, range(options.first, options.first + options.count), options.seconds)
    print(", ".join(f"{count} {verdict}" for verdict, count in report.verdicts.most_common()))
    for reason, count in report.refused.most_common(40):
        print(f"{count:6} refused  {reason}")
    for query, finding in report.failures.values():
        print(f"\n{finding.verdict} {query.id}\n    {query.sql}\n    {finding.reason}")
    if options.keep:
        kept = {query.sql: query for query in corpus.read(corpus.KEPT_FAILURES)}
        kept.update({query.sql: query for query, _ in report.failures.values() if query.sql not in kept})
        corpus.write(corpus.KEPT_FAILURES, kept.values())
    return int(bool(report.failures))


def _report(findings: Iterable[tuple[Query, Finding]]) -> str:
    by_topic: dict[str, Counter[Verdict]] = defaultdict(Counter)
    total: Counter[Verdict] = Counter()
    details: dict[Verdict, list[str]] = defaultdict(list)
    for query, finding in findings:
        by_topic[query.topic][finding.verdict] += 1
        total[finding.verdict] += 1
        details[finding.verdict].append(f"{query.id}\n    {query.sql}\n    {finding.reason}")
    lines = [f"{'topic':16}" + "".join(f"{verdict:>14}" for verdict in Verdict)]
    for topic, counts in [*by_topic.items(), ("total", total)]:
        lines.append(f"{topic:16}" + "".join(f"{counts[verdict]:14}" for verdict in Verdict))
    for verdict in (Verdict.WRONG, Verdict.MISSED_ERROR, Verdict.WRONG_ERROR, Verdict.REFUSED):
        lines += [f"\n## {verdict} ({len(details[verdict])})", *details[verdict]]
    misplaced = [detail for detail in details[Verdict.PASS] if not detail.endswith("\n    ")]
    lines += [f"\n## errors that point elsewhere ({len(misplaced)}; they pass)", *misplaced]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
