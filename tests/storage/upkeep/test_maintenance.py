"""The maintenance process: one leader, ended with its parent, patient with a database that is away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from errors import InternalError, StorageUnavailable
from models import file
from storage.upkeep import maintenance, pressure
from storage.upkeep.maintenance import IDLE_SECONDS, PeriodicTask, Tasks
from tests.storage.workbench import Bench

ROOT = Path(__file__).parents[3]


def wait_until(condition: Callable[[], bool]) -> None:
    """Returns when the condition holds; the limit only turns a hang into a failure."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def environment(bench: Bench, database_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "WEIR_DATABASE_URL": database_url,
        "WEIR_DATA_DIR": str(bench.layout.root),
    }


COMMAND = [sys.executable, "-m", "storage.upkeep.maintenance"]


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_process_converts_until_it_is_told_to_stop(
    bench: Bench, environment: dict[str, str], processes: list[subprocess.Popen[bytes]]
) -> None:
    bench.append(x=[1])
    bench.seal()

    processes.append(subprocess.Popen(COMMAND, env=environment, cwd=ROOT))
    wait_until(lambda: len(file.find(bench.app.id, None, None)) == 1)
    processes[0].send_signal(signal.SIGTERM)

    assert processes[0].wait(30) == 0
    assert bench.rows()["x"].to_list() == [1]


def test_second_process_takes_over_when_the_first_is_killed(
    bench: Bench, environment: dict[str, str], processes: list[subprocess.Popen[bytes]]
) -> None:
    processes += [subprocess.Popen(COMMAND, env=environment, cwd=ROOT) for _ in range(2)]
    bench.append(x=[1])
    bench.seal()
    wait_until(lambda: len(file.find(bench.app.id, None, None)) == 1)

    processes[0].kill()
    bench.append(x=[2])
    bench.seal()
    wait_until(lambda: len(file.find(bench.app.id, None, None)) == 2)

    assert sorted(bench.rows()["x"]) == [1, 2]


def test_process_ends_when_its_parent_is_killed(environment: dict[str, str]) -> None:
    program = (
        "import os, subprocess\n"
        f"child = subprocess.Popen([*{COMMAND!r}, '--parent', str(os.getpid())])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    wait_until(lambda: "storage.upkeep.maintenance" in Path(f"/proc/{child}/cmdline").read_text())

    parent.kill()
    parent.wait()

    wait_until(
        lambda: not Path(f"/proc/{child}").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text()
    )


@pytest.mark.parametrize(
    "error", [StorageUnavailable("away"), OSError("disk"), ValueError("ours")], ids=["database", "disk", "fault"]
)
def test_failing_round_is_tried_again_later_and_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    tasks = Tasks(bench.layout, grace_seconds=0, revive=lambda: None)
    monkeypatch.setattr(maintenance, "convert_all", fail)
    first = maintenance._round(tasks, IDLE_SECONDS)
    second = maintenance._round(tasks, first)
    longest = maintenance._round(tasks, 10**6)
    monkeypatch.undo()

    assert IDLE_SECONDS < first < second <= longest == maintenance.BACK_OFF_SECONDS
    assert maintenance._round(tasks, longest) == IDLE_SECONDS


def test_duty_that_fails_does_not_keep_the_others_from_being_done(bench: Bench) -> None:
    done: list[str] = []

    def fail() -> int:
        raise ValueError("ours")

    tasks = Tasks(
        bench.layout, 0, lambda: None, (PeriodicTask(fail, 0), PeriodicTask(lambda: done.append("second") or 0, 0))
    )

    with pytest.raises(InternalError):
        tasks.round()

    assert done == ["second"]


@pytest.mark.parametrize(
    ("is_busy", "rounds", "expected"),
    [
        pytest.param(False, (0.0, 2.0, 5.0, 6.0, 64.0, 65.0), [0.0, 5.0, 65.0], id="free cores"),
        pytest.param(True, (0.0, 5.0, 19.0, 20.0, 79.0, 80.0), [0.0, 20.0, 80.0], id="cores that requests wait for"),
    ],
)
def test_rare_duty_is_due_again_after_a_rest_while_it_has_more_to_do(
    monkeypatch: pytest.MonkeyPatch, is_busy: bool, rounds: tuple[float, ...], expected: list[float]
) -> None:
    now, left, performed = [0.0], [2], []

    def work() -> int:
        performed.append(now[0])
        now[0] += 1
        left[0] -= 1
        return max(0, left[0])

    monkeypatch.setattr(maintenance, "monotonic", lambda: now[0])
    monkeypatch.setattr(pressure, "is_busy", lambda: is_busy)
    rare = PeriodicTask(work, every_seconds=60)

    for now[0] in rounds:
        rare.perform()

    assert performed == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "some avg10=91.26 avg60=88.01 avg300=60.85 total=1\nfull avg10=0.00 avg60=0.00\n", True, id="busy"
        ),
        pytest.param("some avg10=3.10 avg60=88.01 avg300=60.85 total=1\n", False, id="busy before"),
        pytest.param("", False, id="nothing"),
        pytest.param("some of another kernel\n", False, id="another form"),
        pytest.param(None, False, id="no such file"),
    ],
)
def test_whether_processors_are_wanted_is_what_the_kernel_says(
    tmp_path: Path, text: str | None, expected: bool
) -> None:
    source = tmp_path / "cpu"
    if text is not None:
        source.write_text(text)

    assert pressure.is_busy(source) is expected
