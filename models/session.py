"""Browser sessions by the digest of their cookie, and the OIDC users whose earlier tokens are refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from peewee import BlobField, CompositeKey, TextField
from playhouse.postgres_ext import DateTimeTZField, JSONField

from models.base import Table, connection
from models.generation import changing


class Session(Table):
    digest = BlobField(primary_key=True)
    tenant_id = TextField()
    user_name = TextField()
    groups = JSONField()
    valid_until = DateTimeTZField()
    expires_at = DateTimeTZField()
    sealed_refresh_token = BlobField(null=True)
    sealed_id_token = BlobField(null=True)


class OidcRevocation(Table):
    tenant_id = TextField()
    user_name = TextField()
    revoked_at = DateTimeTZField()

    class Meta:
        primary_key = CompositeKey("tenant_id", "user_name")


@dataclass(frozen=True, slots=True)
class Grant:
    """What the last login or renewal gave. A native user's session has neither groups nor tokens."""

    groups: Sequence[str]
    valid_until: datetime
    sealed_refresh_token: bytes | None = None
    sealed_id_token: bytes | None = None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    user_name: str
    expires_at: datetime
    grant: Grant


@connection()
def create(tenant: str, digest: bytes, record: SessionRecord) -> None:
    Session.insert(
        digest=digest,
        tenant_id=tenant,
        user_name=record.user_name,
        expires_at=record.expires_at,
        **_columns(record.grant),
    ).execute()


@connection()
def find(tenant: str, digest: bytes) -> SessionRecord | None:
    row = Session.get_or_none(Session.digest == digest, Session.tenant_id == tenant)
    if row is None:
        return None
    tokens = (_bytes(row.sealed_refresh_token), _bytes(row.sealed_id_token))
    return SessionRecord(row.user_name, row.expires_at, Grant(tuple(row.groups), row.valid_until, *tokens))


@connection()
def claim(digest: bytes, now: datetime, until: datetime) -> bool:
    """Claim the renewal of an expired session until then; return whether the caller, and no other, has it."""
    due = (Session.digest == digest) & (Session.valid_until <= now)
    return bool(Session.update(valid_until=until).where(due).execute())


def renew(digest: bytes, grant: Grant) -> None:
    with changing():
        Session.update(**_columns(grant)).where(Session.digest == digest).execute()


def delete(digest: bytes) -> None:
    with changing():
        Session.delete().where(Session.digest == digest).execute()


def delete_of_user(tenant: str, name: str) -> None:
    with changing():
        Session.delete().where(Session.tenant_id == tenant, Session.user_name == name).execute()


@connection()
def forget_ended(now: datetime) -> None:
    Session.delete().where(Session.expires_at <= now).execute()


def revoke_tokens(tenant: str, name: str, at: datetime) -> None:
    """Refuse the OIDC user's tokens that were issued up to now."""
    with changing():
        (
            OidcRevocation.insert(tenant_id=tenant, user_name=name, revoked_at=at)
            .on_conflict(
                conflict_target=[OidcRevocation.tenant_id, OidcRevocation.user_name],
                preserve=[OidcRevocation.revoked_at],
            )
            .execute()
        )


@connection()
def tokens_revoked_at(tenant: str, name: str) -> datetime | None:
    found = OidcRevocation.get_or_none(OidcRevocation.tenant_id == tenant, OidcRevocation.user_name == name)
    return None if found is None else found.revoked_at


def _columns(grant: Grant) -> dict[str, object]:
    return {
        "groups": list(grant.groups),
        "valid_until": grant.valid_until,
        "sealed_refresh_token": grant.sealed_refresh_token,
        "sealed_id_token": grant.sealed_id_token,
    }


def _bytes(value: memoryview | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
