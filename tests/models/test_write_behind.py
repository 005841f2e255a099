"""What is written behind: by a thread that begins with the first note, and at the end."""

from threading import Event

from models.write_behind import WriteBehind


def test_a_thread_flushes_once_something_was_noted() -> None:
    flushed = Event()
    behind = WriteBehind(flushed.set, 0.01, "test")

    assert not flushed.wait(0.05), "there is no thread before the first note"
    behind.begin()

    assert flushed.wait(10)
    behind.close()


def test_the_end_flushes_though_the_time_has_not_come() -> None:
    flushed: list[int] = []
    behind = WriteBehind(lambda: flushed.append(1), 3600, "test")
    behind.begin()

    behind.close()

    assert flushed == [1]
