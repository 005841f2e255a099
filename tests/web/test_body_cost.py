"""What a body may cost in memory before anything is stored: docs/security.md, "Costs"."""

import pytest

from bench.body_cost import BYTES, CASES, measured

MOST_MEMORY_A_BYTE = 40


@pytest.mark.parametrize("name", CASES)
def test_body_of_many_small_things_takes_bounded_memory(name: str):
    """The factor is of the decoded bytes, the body itself included; the largest measured is 31."""
    cost = measured(name, BYTES)

    assert cost["bytes"] <= MOST_MEMORY_A_BYTE * BYTES
