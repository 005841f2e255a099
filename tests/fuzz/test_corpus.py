"""Every input that was ever found to fail, and the seeds that new ones are made of, against what they are fed to."""

import itertools
from pathlib import Path

import pytest

from tests.fuzz.__main__ import SECONDS_EACH, TARGETS
from tests.fuzz.guard import TooSlow, within
from tests.fuzz.mutation import CORPUS, inputs, kept

KEPT = [(name, path) for name in TARGETS for path in kept(name)]


@pytest.mark.parametrize(("name", "path"), KEPT, ids=lambda value: value.name if isinstance(value, Path) else value)
def test_kept_input_does_no_harm(name: str, path: Path):
    with within(SECONDS_EACH):
        TARGETS[name].feed(path.read_bytes())


def test_every_target_has_seeds_and_every_seed_a_target():
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert all(len(kept(name)) >= 2 for name in TARGETS)


def test_an_input_that_takes_too_long_is_stopped():
    with pytest.raises(TooSlow), within(0.05):
        for _ in itertools.count():
            pass


def test_new_inputs_are_made_of_the_kept_ones():
    made = {inputs("sql", TARGETS["sql"].WORDS).example() for _ in range(3)}

    assert all(isinstance(data, bytes) for data in made)
