"""Users, roles, API keys and tenants as stored: names are unique and references whole by constraint."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from errors import KeyNameTaken, KeyNotFound, RoleInUse, RoleNotFound, UnknownRole, UserExists, UserNotFound
from models import api_key, generation, role, tenant, user
from models.api_key import NewApiKey
from models.tenant import DEFAULT
from models.user import NewUser

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
READ = [{"resource": {"stream": "app"}, "privilege": "reader"}]

pytestmark = pytest.mark.usefixtures("database")


def new_key(name: str = "forwarder", key_id: str = "K1", scope: str = DEFAULT) -> NewApiKey:
    return NewApiKey(key_id, scope, name, key_id.encode(), b"sealed", "admin", NOW, None)


def test_role_entries_come_back_as_they_were_sent():
    role.put(DEFAULT, "app", READ)

    assert list(role.get(DEFAULT, "app").entries[0].items()) == [
        ("resource", {"stream": "app"}),
        ("privilege", "reader"),
    ]


def test_putting_a_role_again_replaces_its_entries():
    role.put(DEFAULT, "app", READ)
    role.put(DEFAULT, "app", [])

    assert role.get(DEFAULT, "app").entries == []


def test_role_held_by_a_user_is_not_deleted():
    role.put(DEFAULT, "app", READ)
    user.create(DEFAULT, NewUser("ann", "hash", NOW), ["app"])

    with pytest.raises(RoleInUse):
        role.delete(DEFAULT, "app")


def test_role_held_by_a_key_is_not_deleted():
    role.put(DEFAULT, "app", READ)
    api_key.create(new_key(), ["app"])

    with pytest.raises(RoleInUse):
        role.delete(DEFAULT, "app")


def test_deleted_default_role_leaves_no_default():
    role.put(DEFAULT, "app", READ)
    tenant.set_default_role(DEFAULT, "app")

    role.delete(DEFAULT, "app")

    assert tenant.default_role(DEFAULT) is None


def test_default_role_must_exist():
    with pytest.raises(UnknownRole):
        tenant.set_default_role(DEFAULT, "nobody")


def test_unknown_role_is_not_found():
    with pytest.raises(RoleNotFound):
        role.get(DEFAULT, "app")


def test_user_comes_back_with_its_roles():
    role.put(DEFAULT, "b", READ)
    role.put(DEFAULT, "a", [])
    user.create(DEFAULT, NewUser("ann", "hash", NOW), ["b", "a", "b"])

    found = user.get(DEFAULT, "ann")

    assert [(each.name, each.entries) for each in found.roles] == [("a", []), ("b", READ)]
    assert found.password_hash == "hash"


def test_user_name_is_taken_once():
    user.create(DEFAULT, NewUser("ann", "hash", NOW), [])

    with pytest.raises(UserExists):
        user.create(DEFAULT, NewUser("ann", "other", NOW), [])


def test_user_with_an_unknown_role_is_not_created():
    with pytest.raises(UnknownRole, match="ghost"):
        user.create(DEFAULT, NewUser("ann", "hash", NOW), ["ghost"])

    assert user.find(DEFAULT, "ann") is None


def test_oidc_user_has_no_password_to_set():
    user.create(DEFAULT, NewUser("ann", None, NOW), [])

    with pytest.raises(UserNotFound):
        user.set_password_hash(DEFAULT, "ann", "hash")


def test_key_comes_back_by_digest_with_its_roles_in_order():
    role.put(DEFAULT, "a", [])
    role.put(DEFAULT, "b", READ)
    api_key.create(new_key(), ["b", "a"])

    found = api_key.find(DEFAULT, b"K1")

    assert found is not None
    assert [each.name for each in found.roles] == ["b", "a"]
    assert (found.created_at, found.modified_at, found.expires_at) == (NOW, NOW, None)


def test_key_of_one_tenant_is_unknown_in_another():
    tenant.create("other", NOW)
    api_key.create(new_key(), [])

    assert api_key.find("other", b"K1") is None
    with pytest.raises(KeyNotFound):
        api_key.get("other", "K1")
    with pytest.raises(KeyNotFound):
        api_key.delete("other", "K1")


def test_key_name_is_unique_within_the_tenant_only():
    """Spec 2.1: keyName must be unique within the tenant."""
    tenant.create("other", NOW)
    api_key.create(new_key(), [])

    with pytest.raises(KeyNameTaken):
        api_key.create(new_key(key_id="K2"), [])
    api_key.create(new_key(key_id="K3", scope="other"), [])


def test_key_with_an_unknown_role_is_not_created():
    with pytest.raises(UnknownRole):
        api_key.create(new_key(), ["ghost"])

    assert api_key.list_all(DEFAULT) == []


def test_last_use_never_moves_back():
    api_key.create(new_key(), [])
    api_key.touch({"K1": NOW})
    api_key.touch({"K1": datetime(2020, 1, 1, tzinfo=UTC)})

    assert api_key.get(DEFAULT, "K1").last_used_at == NOW


def test_tenant_is_deleted_with_everything_in_it():
    tenant.create("other", NOW)
    role.put("other", "app", READ)
    tenant.set_default_role("other", "app")
    user.create("other", NewUser("ann", "hash", NOW), ["app"])
    api_key.create(new_key(scope="other"), ["app"])

    tenant.delete("other")

    assert [each.id for each in tenant.list_all()] == [DEFAULT]
    assert user.find("other", "ann") is None


CHANGES = {
    "role put": lambda: role.put(DEFAULT, "r", []),
    "role delete": lambda: role.delete(DEFAULT, "free"),
    "user create": lambda: user.create(DEFAULT, NewUser("bob", "hash", NOW), []),
    "user delete": lambda: user.delete(DEFAULT, "ann"),
    "user password": lambda: user.set_password_hash(DEFAULT, "ann", "new"),
    "user roles": lambda: user.set_roles(DEFAULT, "ann", ["free"]),
    "key create": lambda: api_key.create(new_key("second", "K2"), []),
    "key delete": lambda: api_key.delete(DEFAULT, "K1"),
    "default role": lambda: tenant.set_default_role(DEFAULT, "free"),
    "tenant create": lambda: tenant.create("t", NOW),
    "tenant delete": lambda: tenant.delete("old"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_advances_the_generation(change):
    tenant.create("old", NOW)
    role.put(DEFAULT, "free", [])
    user.create(DEFAULT, NewUser("ann", "hash", NOW), [])
    api_key.create(new_key(), [])
    before = generation.current()

    change()

    assert generation.current() > before


def test_concurrent_creates_of_one_name_give_one_key():
    """The name is unique by constraint, not by a look before the insert."""

    def attempt(number: int) -> str:
        try:
            api_key.create(new_key(key_id=f"K{number}"), [])
        except KeyNameTaken:
            return "taken"
        return "created"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(20)))

    assert sorted(outcomes) == ["created", *["taken"] * 19]
