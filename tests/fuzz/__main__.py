"""`python -m tests.fuzz [--seconds 600] [target ...]`: new inputs for what faces the network; what fails is kept.

A failing input is made as small as it can be, written to tests/fuzz/corpus and from then on part of the suite.
"""

import argparse
import time
import traceback

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz import archive, http_framing, json_events, otlp, pgwire_messages, remote_write, sql
from tests.fuzz.guard import TooSlow, within
from tests.fuzz.mutation import inputs, keep

TARGETS = {
    module.__name__.rpartition(".")[2]: module
    for module in (archive, http_framing, json_events, otlp, pgwire_messages, remote_write, sql)
}
SECONDS = 600.0
SECONDS_EACH = 5.0
# Inputs between two looks at the clock.
ROUND = 100


def fuzz(name: str, seconds: float) -> tuple[int, str | None]:
    """How many inputs the target was fed in that time, and what it failed with."""
    target, end = TARGETS[name], time.monotonic() + seconds
    count = 0
    last = b""

    @settings(max_examples=ROUND, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
    @given(inputs(name, target.WORDS))
    def attempt(data: bytes) -> None:
        nonlocal count, last
        count, last = count + 1, data
        try:
            with within(SECONDS_EACH):
                target.feed(data)
        except TooSlow as error:
            raise AssertionError(str(error)) from error

    while time.monotonic() < end:
        try:
            attempt()
        except Exception:
            # The last one that was tried is the smallest that fails.
            return count, f"{keep(name, last)}\n{traceback.format_exc(limit=-3)}"
    return count, None


PHASES = (Phase.generate, Phase.shrink)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all targets together")
    parser.add_argument("target", nargs="*", choices=[[], *TARGETS])
    arguments = parser.parse_args()
    names = arguments.target or list(TARGETS)
    failed = 0
    for name in names:
        count, failure = fuzz(name, arguments.seconds / len(names))
        failed += failure is not None
        print(f"{name}: {count} inputs, {failure or 'none failed'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
