"""Joins the parts of identity and access into what a worker needs. Built once by create_app:

access = build(AccessOptions.of(settings), Passwords(runtime.offload))
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from auth.accounts import Accounts
from auth.backoff import Backoff
from auth.cache import IdentityCache
from auth.keys import ApiKeys
from auth.last_use import LastUse
from auth.oidc import BearerTokens
from auth.openid import ProviderOptions
from auth.passwords import Passwords
from auth.scram import ScramVerifiers
from auth.scram_login import ScramLogins
from auth.secrets import Secrets, master_key
from auth.sessions import Sessions
from auth.tenants import Tenants
from auth.verify import Verifier
from config import InvalidSetting, Settings
from models import api_key
from models.shared_generation import DatabaseGeneration, Generation, SharedGeneration

if TYPE_CHECKING:
    from auth.provider import Provider

# By its name, since its libraries take a quarter of a worker's start, and most servers have no provider.
PROVIDER_MODULE: Final = "auth.provider"


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """`one_host`: no other host shares the database, so that what changes is told through shared memory."""

    data_dir: Path
    secret_key: str | None
    multi_tenant: bool
    one_host: bool
    provider: ProviderOptions | None = None
    public_url: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> "AccessOptions":
        """Raises InvalidSetting."""
        return cls(
            data_dir=settings.data_dir,
            secret_key=settings.secret_key,
            multi_tenant=settings.multi_tenant,
            one_host=settings.advertise_url is None,
            provider=_provider(settings),
            public_url=settings.public_url,
        )


def _provider(settings: Settings) -> ProviderOptions | None:
    if settings.oidc_issuer is None:
        return None
    if settings.oidc_client_id is None:
        raise InvalidSetting("WEIR_OIDC_ISSUER is set, and WEIR_OIDC_CLIENT_ID is not")
    return ProviderOptions(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        groups_claim=settings.oidc_groups_claim,
        tenant_claim=settings.oidc_tenant_claim if settings.multi_tenant else None,
    )


@dataclass(frozen=True, slots=True)
class Access:
    """Identity and access of one worker."""

    multi_tenant: bool
    public_url: str | None
    secrets: Secrets
    passwords: Passwords
    verifier: Verifier
    generation: Generation
    api_keys: ApiKeys
    accounts: Accounts
    tenants: Tenants
    sessions: Sessions
    provider: "Provider | None"
    bearer_tokens: BearerTokens | None
    last_use: LastUse
    scram: ScramLogins


def _client_of(options: ProviderOptions) -> "Provider":
    return cast("Provider", importlib.import_module(PROVIDER_MODULE).Provider(options))


def now() -> datetime:
    return datetime.now(UTC)


def build(options: AccessOptions, passwords: Passwords, clock: Callable[[], datetime] = now) -> Access:
    """Touches no database; may make the key file. Raises InternalError for unusable key material."""
    secrets = Secrets(master_key(options.secret_key, options.data_dir))
    generation: Generation = SharedGeneration(options.data_dir) if options.one_host else DatabaseGeneration()
    cache = IdentityCache(generation)
    last_use = LastUse(api_key.touch)
    scram, backoff = ScramVerifiers(secrets), Backoff()
    provider = None if options.provider is None else _client_of(options.provider)
    bearer_tokens = None if provider is None else BearerTokens(provider, cache)
    return Access(
        multi_tenant=options.multi_tenant,
        public_url=options.public_url,
        secrets=secrets,
        passwords=passwords,
        verifier=Verifier(secrets, passwords, backoff, cache, last_use, clock, scram),
        generation=generation,
        api_keys=ApiKeys(secrets, generation, clock),
        accounts=Accounts(passwords, generation, clock, scram),
        tenants=Tenants(passwords, generation, clock, scram),
        sessions=Sessions(secrets, cache, generation, clock, provider),
        provider=provider,
        bearer_tokens=bearer_tokens,
        last_use=last_use,
        scram=ScramLogins(scram, backoff, generation, last_use, clock),
    )
