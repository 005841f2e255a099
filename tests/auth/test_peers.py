"""The signatures by which hosts know each other."""

import pytest

from auth.peers import LONGEST_SECONDS, PeerKey
from auth.secrets import Secrets
from errors import Unauthenticated

NOW = 1_800_000_000.0
OURS = PeerKey(Secrets(b"the deployment's secret key"), lambda: NOW)
MOMENT = f"{NOW:.3f}"


def signature(*parts: bytes, moment: str = MOMENT, key: PeerKey = OURS) -> str:
    return key.sign(moment.encode(), *parts)


def test_host_with_the_same_secret_key_is_admitted() -> None:
    other_host = PeerKey(Secrets(b"the deployment's secret key"))

    OURS.admit(signature(b"/path", b"body", key=other_host), MOMENT, b"/path", b"body")


@pytest.mark.parametrize(
    ("signed", "moment", "parts"),
    [
        (signature(b"/path", b"body", key=PeerKey(Secrets(b"another secret key"))), MOMENT, (b"/path", b"body")),
        (signature(b"/path", b"body"), MOMENT, (b"/other", b"body")),
        (signature(b"/path", b"body"), MOMENT, (b"/path", b"more")),
        (signature(b"/path", b"body"), MOMENT, (b"/pathb", b"ody")),
        (signature(b"/path", b"body"), f"{NOW + 1:.3f}", (b"/path", b"body")),
        ("", "", (b"/path", b"body")),
        ("é", "nan", (b"/path", b"body")),
    ],
    ids=["another key", "another path", "another body", "moved border", "another moment", "nothing", "no hexadecimal"],
)
def test_whatever_was_not_signed_as_it_came_is_refused(signed: str, moment: str, parts: tuple[bytes, ...]) -> None:
    with pytest.raises(Unauthenticated, match="only hosts"):
        OURS.admit(signed, moment, *parts)


@pytest.mark.parametrize("apart", [LONGEST_SECONDS + 1, -LONGEST_SECONDS - 1])
def test_request_that_is_repeated_later_is_refused(apart: float) -> None:
    moment = f"{NOW - apart:.3f}"

    with pytest.raises(Unauthenticated, match="clocks"):
        OURS.admit(signature(b"/path", moment=moment), moment, b"/path")


@pytest.mark.parametrize("moment", ["nan", "inf", "-inf", "1e999", "", "now"])
def test_a_signed_time_that_never_gets_old_is_refused(moment: str) -> None:
    with pytest.raises(Unauthenticated, match="only hosts"):
        OURS.admit(signature(b"/path", moment=moment), moment, b"/path")


def test_answer_cannot_be_taken_for_a_request() -> None:
    """The parts are counted, so what was signed as two is never read as three."""
    assert not OURS.signed(OURS.sign(b"a", b"b"), b"a", b"b", b"")
    assert OURS.signed(OURS.sign(b"a", b"b"), b"a", b"b")
