"""SET, RESET and SHOW: what these statements do to the parameters of a session."""

from typing import Final

from pgwire import syntax_tree
from pgwire.errors import unsupported
from pgwire.messages import Column
from pgwire.portal import Answer
from pgwire.rows import HeldRows
from pgwire.settings import SessionSettings
from pgwire.sql_text import quoted
from pgwire.syntax_tree import Node
from pgwire.transaction import Transaction
from query.pg.oids import oid

TEXT: Final = oid("text")


def set_parameter(settings: SessionSettings, transaction: Transaction, node: Node) -> str:
    """Run a SET or RESET, and give the tag of its answer. Raises PgError."""
    kind, name = node["kind"], str(node.get("name", ""))
    if kind == "VAR_RESET_ALL":
        settings.reset()
        return "RESET"
    if kind in ("VAR_RESET", "VAR_SET_DEFAULT"):
        settings.reset(name)
        return "RESET" if kind == "VAR_RESET" else "SET"
    if kind == "VAR_SET_VALUE":
        is_local = bool(node.get("is_local")) and (transaction.is_open or transaction.is_batch)
        settings.set(name, _value(node), is_local=is_local)
        return "SET"
    if kind == "VAR_SET_MULTI" and name != "TRANSACTION SNAPSHOT":
        # Isolation levels and access modes: there is nothing that they would change.
        return "SET"
    raise unsupported("this form of SET")


def _value(node: Node) -> str:
    """The value as text. Raises PgError for an interval of other fields than hours and minutes."""
    interval = next((each["TypeCast"] for each in node.get("args", ()) if "TypeCast" in each), None)
    if interval is not None:
        return f"INTERVAL '{_offset(interval)}'"
    texts = [syntax_tree.constant(each) or "" for each in node.get("args", [])]
    return ", ".join(map(_listed, texts)) if len(texts) > 1 else "".join(texts)


def _offset(cast: Node) -> str:
    """`SET TIME ZONE INTERVAL '-08:00' HOUR TO MINUTE`: PostgreSQL's grammar takes no other type here."""
    text = syntax_tree.constant(cast["arg"]) or ""
    if "'" in text or (cast["typeName"].get("typmods") and ":" not in text):
        raise unsupported("an interval with fields as a time zone", "write the hours and minutes, such as '-08:00'")
    return text


def _listed(text: str) -> str:
    return text if text.replace("_", "").isalnum() and text.islower() else quoted(text)


def show(settings: SessionSettings, node: Node) -> Answer:
    """The value of a parameter, or those of all. Raises PgError for an unknown one."""
    return Answer("SHOW", show_columns(settings, node), HeldRows.of_texts(_shown(settings, node)))


def _shown(settings: SessionSettings, node: Node) -> list[tuple[str, ...]]:
    if node["name"] == "all":
        return [(each.name, each.value, "") for each in settings.show_all()]
    return [(settings.show(str(node["name"])).value,)]


def show_columns(settings: SessionSettings, node: Node) -> tuple[Column, ...]:
    """The columns of the answer to SHOW. Raises PgError."""
    is_all = node["name"] == "all"
    names = ("name", "setting", "description") if is_all else (settings.show(str(node["name"])).name,)
    return tuple(Column(name, TEXT, -1) for name in names)
