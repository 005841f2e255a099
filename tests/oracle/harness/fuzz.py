"""Differential runs of generated queries: what does not pass is made small and kept."""

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.oracle.harness.answer import Failure
from tests.oracle.harness.corpus import Query
from tests.oracle.harness.generate import Generated, generate
from tests.oracle.harness.minimise import minimise
from tests.oracle.harness.session import Session
from tests.oracle.harness.verdict import Finding, Verdict

# What may differ between two queries that show the same fault.
DETAIL = re.compile(r"'[^']*'|\b[tuw]\d*\.\"?[\w.]+\"?|\b[ct]\d+\b|-?\b\d+(\.\d+)?\b|\b(FROM|AS) [\w()<= ]+")


GENERATED: Final = 400
"""Seeds from 0 that every run of the tests asks; runs by hand take others."""


@dataclass
class Report:
    """What a run found: `failures` are minimised, one of each shape; `refused` counts what we say we lack."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: dict[str, tuple[Query, Finding]] = field(default_factory=dict)


def generated(seed: int) -> Query:
    """The query of this seed, as the corpora hold one."""
    made = generate(seed)
    return Query(f"generated-{seed:05}", made.sql, made.ordered)


def run(session: Session, seeds: Iterable[int], seconds: float) -> Report:
    """Ask both sides the queries of these seeds, for at most so many seconds."""
    report = Report()
    deadline = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > deadline:
            break
        finding = session.ask(generated(seed))
        report.verdicts[finding.verdict] += 1
        if finding.verdict is Verdict.REFUSED:
            report.refused[finding.reason] += 1
        elif finding.verdict is not Verdict.PASS:
            _keep(session, report, seed, finding)
    return report


def _keep(session: Session, report: Report, seed: int, finding: Finding) -> None:
    def ask(made: Generated) -> Finding:
        return session.ask(Query("candidate", made.sql, made.ordered))

    small = Generated(minimise(generate(seed).tree, lambda tree: _alike(ask(Generated(tree)), finding)))
    theirs = session.reference.run(small.sql)
    error = theirs.sqlstate if isinstance(theirs, Failure) else None
    query = Query(f"kept-{seed:05}", small.sql, small.ordered and error is None, error)
    report.failures.setdefault(DETAIL.sub("?", query.sql), (query, ask(small)))


def _alike(left: Finding, right: Finding) -> bool:
    """The same verdict, and the same kind of difference: the reason's first word, or the SQLSTATE."""
    return left.verdict is right.verdict and left.reason.split()[:2] == right.reason.split()[:2]
