"""The rules of access: spec 2.2, 5.8 and the table of api.md section 2."""

import doctest
from itertools import product

import pytest

from auth import privileges
from auth.identity import Entry, Identity, Kind, Privilege, Tag
from auth.privileges import Action, is_administrator, may, parse_entries, require, row_predicates
from errors import Forbidden

EVERY = set(Action)
READS = {Action.QUERY, Action.LIST, Action.READ_METADATA, Action.READ_AUTHORED}
TABLE = {
    Privilege.INGESTOR: {Action.INGEST},
    Privilege.READER: READS,
    Privilege.WRITER: READS | {Action.AUTHOR},
    Privilege.ADMIN: EVERY,
}


def holder(*entries: Entry) -> Identity:
    return Identity("default", Kind.API_KEY, "K", "key", ("role",), entries)


@pytest.mark.parametrize(("privilege", "action"), list(product(Privilege, Action)))
def test_global_privilege_grants_what_the_table_says(privilege, action):
    identity = holder(Entry(privilege))

    assert may(identity, action, "app") is (action in TABLE[privilege])
    assert may(identity, action) is (action in TABLE[privilege])


@pytest.mark.parametrize(("privilege", "action"), list(product(Privilege, Action)))
def test_privilege_on_one_dataset_grants_nothing_on_another(privilege, action):
    identity = holder(Entry(privilege, "app"))

    assert may(identity, action, "app") is (action in TABLE[privilege])
    assert not may(identity, action, "App")
    assert not may(identity, action, "apple")
    assert not may(identity, action, "")


@pytest.mark.parametrize(
    ("privilege", "action"), list(product(Privilege, [Action.INGEST, Action.AUTHOR, Action.ADMINISTER]))
)
def test_privilege_on_one_dataset_is_never_tenant_wide(privilege, action):
    assert not may(holder(Entry(privilege, "app")), action)


@pytest.mark.parametrize("action", sorted(READS))
def test_reader_of_one_dataset_may_ask_for_lists_that_are_then_filtered(action):
    assert may(holder(Entry(Privilege.READER, "app")), action)


def test_identity_without_entries_may_nothing():
    assert not any(may(holder(), action, dataset) for action, dataset in product(Action, [None, "app"]))


def test_entries_add_up():
    """Spec 2.2: multiple entries may be combined in one role."""
    identity = holder(Entry(Privilege.INGESTOR, "a"), Entry(Privilege.INGESTOR, "b"), Entry(Privilege.READER, "c"))

    granted = {(action, name) for action, name in product(Action, "abc") if may(identity, action, name)}

    assert granted == {(Action.INGEST, "a"), (Action.INGEST, "b"), *((action, "c") for action in READS)}


def test_refusal_names_privilege_and_dataset():
    with pytest.raises(Forbidden, match="privilege ingestor on dataset app") as refusal:
        require(holder(Entry(Privilege.READER)), Action.INGEST, "app")

    assert refusal.value.details == {"privilege": "ingestor", "dataset": "app"}


def test_reader_sees_every_row_without_a_tag():
    assert row_predicates(holder(Entry(Privilege.READER, "app")), "app") is None


def test_tags_of_several_entries_are_alternatives():
    prod, test = Tag("env", "prod"), Tag("env", "test")
    identity = holder(
        Entry(Privilege.READER, "app", prod), Entry(Privilege.READER, None, test), Entry(Privilege.READER, "x")
    )

    assert row_predicates(identity, "app") == {prod, test}
    assert row_predicates(identity, "other") == {test}
    assert row_predicates(identity, "x") is None


@pytest.mark.parametrize("privilege", [Privilege.WRITER, Privilege.ADMIN, Privilege.READER])
def test_entry_without_a_tag_outweighs_one_with(privilege):
    identity = holder(Entry(Privilege.READER, "app", Tag("env", "prod")), Entry(privilege, "app"))

    assert row_predicates(identity, "app") is None


@pytest.mark.parametrize("entry", [Entry(Privilege.INGESTOR), Entry(Privilege.READER, "other")])
def test_who_may_not_query_sees_no_row(entry):
    assert row_predicates(holder(entry), "app") == frozenset()


def test_administrator_of_one_dataset_does_not_run_the_tenant():
    assert is_administrator([Entry(Privilege.ADMIN)])
    assert not is_administrator([Entry(Privilege.ADMIN, "app"), Entry(Privilege.WRITER)])


@pytest.mark.parametrize(("privilege", "action"), list(product(Privilege, Action)))
def test_audit_is_read_by_administrators_and_written_by_nobody(privilege, action):
    assert may(holder(Entry(privilege)), action, "p_audit") is (privilege is Privilege.ADMIN and action in READS)


def test_reader_can_be_let_to_the_audit_by_name():
    auditor = holder(Entry(Privilege.READER, "p_audit"))

    assert {action for action in Action if may(auditor, action, "p_audit")} == READS
    assert row_predicates(holder(Entry(Privilege.READER)), "p_audit") == frozenset()


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        ({"privilege": "ingestor"}, Entry(Privilege.INGESTOR)),
        ({"privilege": "reader", "resource": None}, Entry(Privilege.READER)),
        ({"privilege": "reader", "resource": {"dataset": "app"}}, Entry(Privilege.READER, "app")),
        ({"privilege": "reader", "resource": {"stream": "app"}}, Entry(Privilege.READER, "app")),
        ({"privilege": "reader", "resource": {"stream": "*"}}, Entry(Privilege.READER)),
        ({"privilege": "reader", "resource": {"tag": "a=b=c"}}, Entry(Privilege.READER, None, Tag("a", "b=c"))),
        ({"privilege": "reader", "resource": {"tag": "a="}}, Entry(Privilege.READER, None, Tag("a", ""))),
    ],
)
def test_entry_is_read_as_clients_write_it(raw, parsed):
    assert parse_entries([raw]) == (parsed,)


def test_examples_run():
    assert doctest.testmod(privileges) == (0, 4)
