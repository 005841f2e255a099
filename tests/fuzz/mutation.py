"""The inputs that are kept for each target, and new ones made of them."""

import hashlib
from pathlib import Path
from typing import Final

from hypothesis import strategies as st

CORPUS: Final = Path(__file__).parent / "corpus"
MOST_BYTES: Final = 16 * 1024
MOST_EDITS: Final = 6
# Of what is repeated: limits are found by many of something.
REPEATED: Final = (2, 8, 64, 512)


def kept(target: str) -> list[Path]:
    """The files of the target's inputs."""
    return sorted((CORPUS / target).iterdir())


def keep(target: str, data: bytes) -> Path:
    """The file that the input is kept in from now on."""
    path = CORPUS / target / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path


@st.composite
def inputs(draw: st.DrawFn, target: str, words: tuple[bytes, ...]) -> bytes:
    """A kept input with pieces of it cut, repeated, and put in the place of others, beside words of its language."""
    seeds = [path.read_bytes() for path in kept(target)]
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, MOST_EDITS))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 64)))
        piece = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(words),
                st.sampled_from(seeds),
                st.builds(lambda count, piece=data[start:end]: piece * count, st.sampled_from(REPEATED)),
                st.builds(lambda word, count: word * count, st.sampled_from(words), st.sampled_from(REPEATED)),
            )
        )
        data = (data[:start] + piece + data[end:])[:MOST_BYTES]
    return data
