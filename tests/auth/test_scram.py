"""SCRAM-SHA-256 on the server's side (RFC 5802, RFC 7677)."""

import base64

import pytest

from auth.scram import BOUND, PLAIN, ScramError, ScramExchange, ScramVerifier, ScramVerifiers, prepared, verifier_of
from auth.secrets import Secrets
from errors import InternalError

# RFC 7677 section 3: user `user`, password `pencil`.
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = f"n,,n=user,r={CLIENT_NONCE}".encode()
FINAL = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()


def begun(mechanism: str = PLAIN, certificate_hash: bytes | None = None) -> ScramExchange:
    exchange = ScramExchange(mechanism, certificate_hash)
    exchange.first(FIRST, verifier_of("pencil", SALT), SERVER_NONCE)
    return exchange


def test_the_exchange_of_the_rfc_is_answered_word_for_word():
    exchange = ScramExchange(PLAIN, None)

    first = exchange.first(FIRST, verifier_of("pencil", SALT), SERVER_NONCE)

    assert first == f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    assert exchange.is_proof(FINAL)
    assert exchange.signature() == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_another_password_proves_nothing():
    exchange = ScramExchange(PLAIN, None)
    exchange.first(FIRST, verifier_of("pen", SALT), SERVER_NONCE)

    assert not exchange.is_proof(FINAL)


@pytest.mark.parametrize(
    "final",
    [
        FINAL.replace(b"r=", b"r=x"),
        FINAL.replace(b"dHzb", b"dHzc"),
        FINAL[:-8],
    ],
    ids=["nonce", "proof", "short proof"],
)
def test_a_changed_final_message_is_no_proof(final: bytes):
    try:
        is_proof = begun().is_proof(final)
    except ScramError:
        is_proof = False

    assert not is_proof


@pytest.mark.parametrize(
    "first",
    [
        *(b"", b"n", b"n,,", b"n,,n=user", b"n,,r=x,n=user", b"x,,n=user,r=a", b"p=tls-unique,,n=,r=a", b"\xff"),
        *(b"n,,n=,r=", b"n,,n=,r=" + b"a" * 1000, b"n,junk,n=,r=a"),
    ],
)
def test_what_is_no_first_message_is_refused(first: bytes):
    with pytest.raises(ScramError):
        ScramExchange(PLAIN, None).first(first, verifier_of("pencil", SALT))


@pytest.mark.parametrize("final", [b"", b"c=biws", b"c=biws,r=x", b"c=biws,r=x,p=!", b"\xff", b"c=eSws,r=x,p=YQ=="])
def test_what_is_no_final_message_is_refused(final: bytes):
    with pytest.raises(ScramError):
        begun().is_proof(final)


def test_a_client_that_was_told_of_no_channel_binding_is_refused_where_there_is_one():
    """RFC 5802 section 6: `y` says that somebody took the mechanism out of our list."""
    with pytest.raises(ScramError):
        ScramExchange(PLAIN, b"hash").first(b"y,,n=,r=a", verifier_of("pencil", SALT))


def test_a_proof_for_another_certificate_is_refused():
    exchange = ScramExchange(BOUND, b"ours")
    exchange.first(b"p=tls-server-end-point,,n=,r=a", verifier_of("pencil", SALT), "b")
    theirs = base64.b64encode(b"p=tls-server-end-point,,theirs").decode()

    with pytest.raises(ScramError, match="channel binding"):
        exchange.is_proof(f"c={theirs},r=ab,p=YQ==".encode())


@pytest.mark.parametrize(
    ("password", "normal"),
    [("I\u00adX", "IX"), ("\u2168", "IX"), ("a\u00a0b", "a b"), ("a\u0007ü", "a\u0007ü"), ("plain", "plain")],
)
def test_passwords_are_prepared_as_clients_prepare_them(password: str, normal: str):
    """RFC 4013 section 3; what it forbids stays as it is, as in PostgreSQL."""
    assert prepared(password) == normal.encode()


def test_a_verifier_is_sealed_for_its_user():
    verifiers = ScramVerifiers(Secrets(bytes(32)))
    sealed = verifiers.seal("default", "ann", "pencil")

    assert b"SCRAM" not in sealed
    opened = verifiers.open("default", "ann", sealed)
    assert opened == verifier_of("pencil", opened.salt) == ScramVerifier.parse(opened.text())
    with pytest.raises(InternalError):
        verifiers.open("default", "bob", sealed)


def test_nobody_looks_the_same_at_each_attempt():
    """Else the salt would tell who exists."""
    verifiers = ScramVerifiers(Secrets(bytes(32)))
    one, other = verifiers.of_nobody("default", "ghost"), verifiers.of_nobody("default", "ghost")

    assert (one.salt, one.iterations) == (other.salt, other.iterations)
    assert one.stored_key != other.stored_key
