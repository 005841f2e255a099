"""The life of API keys (spec 3): made, shown, deleted; each change effective before it is answered."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from ulid import ULID

from auth.identity import Identity
from auth.secrets import Secrets
from models import api_key
from models.api_key import ApiKeyRecord, NewApiKey
from models.shared_generation import Generation


@dataclass(frozen=True, slots=True)
class RevealedKey:
    """A key with its secret in full. Whoever holds it masks it, unless the client asked for this one key."""

    record: ApiKeyRecord
    secret: str


@dataclass(frozen=True, slots=True)
class WantedKey:
    """What a client asks for. `expires_at` None: valid until deleted."""

    name: str
    roles: tuple[str, ...]
    expires_at: datetime | None = None


class ApiKeys:
    def __init__(self, secrets: Secrets, generation: Generation, clock: Callable[[], datetime]) -> None:
        self._secrets = secrets
        self._generation = generation
        self._clock = clock

    def create(self, creator: Identity, properties: WantedKey) -> RevealedKey:
        """Raises UnknownRole, KeyNameTaken."""
        secret = str(uuid.uuid4())
        key_id = str(ULID())
        key = NewApiKey(
            key_id=key_id,
            tenant=creator.tenant,
            name=properties.name,
            digest=self._secrets.digest(secret),
            sealed=self._secrets.seal(secret, key_id),
            created_by=creator.name,
            created_at=self._clock(),
            expires_at=properties.expires_at,
        )
        with self._generation.changing():
            api_key.create(key, properties.roles)
        return self.get(creator.tenant, key_id)

    def get(self, tenant: str, key_id: str) -> RevealedKey:
        """Raises KeyNotFound."""
        return self._reveal([api_key.get(tenant, key_id)])[0]

    def list_all(self, tenant: str) -> list[RevealedKey]:
        """The tenant's keys, oldest first."""
        return self._reveal(api_key.list_all(tenant))

    def delete(self, tenant: str, key_id: str) -> ApiKeyRecord:
        """The deleted key. Raises KeyNotFound. Spec 3: every later request with its secret gets 401."""
        with self._generation.changing():
            deleted = api_key.get(tenant, key_id)
            api_key.delete(tenant, key_id)
        return deleted

    def _reveal(self, records: Iterable[ApiKeyRecord]) -> list[RevealedKey]:
        return [RevealedKey(each, self._secrets.unseal(each.sealed, each.key_id)) for each in records]
