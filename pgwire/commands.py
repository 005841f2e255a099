"""What statements mean in a session: queries, cursors, prepared statements, parameters, transactions, COPY."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from pgwire import copy_options, setting_statements, statement, syntax_tree
from pgwire.catalogue.backend import Values
from pgwire.errors import PgError, read_only, unsupported
from pgwire.execution import Asker, Execution
from pgwire.messages import COPY_DONE, Column, copy_out
from pgwire.portal import Answer, Portal
from pgwire.rows import CursorRows, QueryRows
from pgwire.settings import SessionSettings
from pgwire.statement import Description, Parsed, PreparedStatement
from pgwire.syntax_tree import Node
from pgwire.transaction import Transaction
from query.parameters import RandomState

# Of DECLARE's options (parsenodes.h).
BINARY: Final = 0x0001
SCROLL: Final = 0x0002
HOLD: Final = 0x0020
ALL_ROWS: Final = -1
FETCH_ALL: Final = 2**31 - 1
ROWLESS: Final = frozenset(
    "VariableSetStmt DiscardStmt DeallocateStmt PrepareStmt DeclareCursorStmt ClosePortalStmt CopyStmt TransactionStmt"
    " ConstraintsSetStmt UnlistenStmt".split()
)


class Commands:
    """The statements, portals and parameters of one session. `asker` gives who asks as of now."""

    def __init__(
        self,
        execution: Execution,
        settings: SessionSettings,
        asker: Callable[[], Asker],
        is_gone: Callable[[], bool],
        directory: Path,
    ) -> None:
        self._execution, self._settings = execution, settings
        self._asker, self._is_gone, self._directory = asker, is_gone, directory
        self._told: Mapping[str, str] = {}
        self._random: RandomState | None = None
        self._latest_rows: QueryRows | None = None
        self.transaction = Transaction()
        self.prepared: dict[str, PreparedStatement] = {}
        self.portals: dict[str, Portal] = {}

    # --- what the protocol asks ----------------------------------------------------------------------------------

    def changed_settings(self) -> dict[str, str]:
        """Parameters that clients are told of, and have not been told yet."""
        now = self._settings.reported()
        changed = {name: value for name, value in now.items() if self._told.get(name) != value}
        self._told = now
        return changed

    def find_prepared(self, name: str) -> PreparedStatement:
        """Raises PgError."""
        if name not in self.prepared:
            shown = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise PgError("26000", f"{shown} does not exist")
        return self.prepared[name]

    def find_portal(self, name: str) -> Portal:
        """Raises PgError."""
        if name not in self.portals:
            raise PgError("34000", f'portal "{name}" does not exist')
        return self.portals[name]

    def close_portal(self, name: str) -> None:
        portal = self.portals.pop(name, None)
        if portal is not None:
            portal.close()

    def forget_unnamed(self) -> None:
        """A simple query replaces the unnamed statement and portal."""
        self.prepared.pop("", None)
        self.close_portal("")

    def end_of_implicit_transaction(self) -> None:
        """Outside of a block, each message, or each Sync, ends a transaction."""
        self.transaction.is_batch = False
        if not self.transaction.is_open:
            self._close_portals(kept=True)
            self.transaction.savepoints.clear()
            self._settings.commit()

    def fail(self) -> None:
        """An error ends the transaction of its message; a block waits for its own end."""
        self.transaction.fail()
        if not self.transaction.is_open:
            self._settings.roll_back()

    def close(self) -> None:
        """End whatever runs."""
        self._close_portals(kept=False)

    def is_rowless(self, prepared: PreparedStatement) -> bool:
        """Whether the statement has no columns, whatever it does."""
        return prepared.statement.kind in ROWLESS or prepared.statement.kind == "Empty"

    def describe(self, prepared: PreparedStatement) -> Description:
        """Raises PgError."""
        if prepared.description is None:
            self.transaction.require_usable()
            prepared.description = self._describe(prepared)
        return prepared.description

    def _describe(self, prepared: PreparedStatement) -> Description:
        kind, node = prepared.statement.kind, prepared.statement.node
        if kind == "VariableShowStmt":
            return Description((), setting_statements.show_columns(self._settings, node))
        if kind == "FetchStmt":
            return Description((), None if node.get("ismove") else self._columns_of(node["portalname"]))
        if kind == "ExecuteStmt":
            inner = self.describe(self.find_prepared(node["name"]))
            return replace(inner, parameters=())
        if self.is_rowless(prepared):
            return Description(prepared.parameter_types())
        if not prepared.statement.is_query and kind != "ExplainStmt":
            raise read_only()
        if prepared.statement.is_catalogue:
            return self._execution.describe_catalogue(prepared, self._who())
        self._free_query_process()
        return self._execution.describe_query(prepared, self._who(), self._is_gone)

    def _columns_of(self, cursor: str) -> tuple[Column, ...] | None:
        portal = self._cursor(cursor)
        if portal.answer is not None:
            return portal.answer.columns
        return self.describe(portal.prepared).columns

    def _who(self) -> Asker:
        """Who asks, since when now() stands still, and where random numbers go on after the latest query."""
        if self._latest_rows is not None:
            self._random = self._latest_rows.random or self._random
        return replace(self._asker(), now_ns=self.transaction.began_ns, random=self._random)

    # --- what statements ask -------------------------------------------------------------------------------------

    def run(self, prepared: PreparedStatement, values: Values) -> Answer:
        """Raises PgError."""
        kind, node = prepared.statement.kind, prepared.statement.node
        if kind == "TransactionStmt":
            return self._transact(node)
        self.transaction.require_usable()
        if prepared.statement.is_query:
            return self._query(prepared, values)
        run = _RUN.get(kind)
        if run is None:
            raise read_only()
        return run(self, prepared, values)

    def _query(self, prepared: PreparedStatement, values: Values) -> Answer:
        if prepared.statement.is_catalogue:
            self._take_set_config(prepared.statement)
            return self._execution.run_catalogue(prepared, values, self._who())
        self._free_query_process()
        self._require_types(prepared, values)
        answer = self._execution.run_query(prepared, values, self._who(), self._is_gone)
        self._latest_rows = answer.rows if isinstance(answer.rows, QueryRows) else None
        return answer

    def _require_types(self, prepared: PreparedStatement, values: Values) -> None:
        """A value in binary format says nothing without its type."""
        if any(values.binary) and 0 in prepared.parameter_types():
            self.describe(prepared)

    def _free_query_process(self) -> None:
        """One session runs one query: rows of others that are still to come move to a file."""
        for portal in self.portals.values():
            if portal.answer is not None and portal.answer.rows is not None:
                portal.answer.rows.spool(self._directory)

    def _take_set_config(self, asked: Parsed) -> None:
        """`set_config` sets what SET sets; the catalogue only echoes it."""
        for call in syntax_tree.located(asked.node, "FuncCall"):
            if syntax_tree.qualified(call["funcname"])[1] == "set_config":
                try:
                    name, value, is_local = (syntax_tree.constant(each) for each in call["args"])
                except ValueError as error:
                    raise unsupported("set_config with anything but constants") from error
                with self._same_zone_for_cursors():
                    self._settings.set(name or "", value or "", is_local=is_local in ("true", "t", "on", "1"))

    def _explain(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        if node.get("options"):
            raise unsupported("EXPLAIN with options", "write EXPLAIN and the query")
        kind, query = next(iter(node["query"].items()))
        if Parsed("", kind, query).is_catalogue or kind != "SelectStmt":
            raise unsupported("EXPLAIN of anything but a query over datasets")
        self._free_query_process()
        return self._execution.run_query(prepared, values, self._who(), self._is_gone)

    # --- transactions --------------------------------------------------------------------------------------------

    def _transact(self, node: Node) -> Answer:
        kind = node["kind"].removeprefix("TRANS_STMT_")
        if kind in ("BEGIN", "START"):
            notice = self.transaction.begin()
            self._settings.begin()
            return _done("BEGIN" if kind == "BEGIN" else "START TRANSACTION", notice)
        if kind in ("COMMIT", "ROLLBACK"):
            return self._end_transaction(kind, is_chained=bool(node.get("chain")))
        name = str(node.get("savepoint_name", ""))
        if kind == "ROLLBACK_TO":
            self.transaction.roll_back_to(name)
            self._settings.roll_back_to(len(self.transaction.savepoints))
            return _done("ROLLBACK")
        self.transaction.require_usable()
        if kind == "SAVEPOINT":
            self.transaction.save(name)
            self._settings.save()
            return _done("SAVEPOINT")
        if kind == "RELEASE":
            self.transaction.release(name)
            self._settings.release(len(self.transaction.savepoints))
            return _done("RELEASE")
        raise unsupported("a prepared transaction")

    def _end_transaction(self, kind: str, *, is_chained: bool) -> Answer:
        is_commit = kind == "COMMIT" and self.transaction.status != b"E"
        notice = self.transaction.end()
        if is_commit:
            self._settings.commit()
        else:
            self._settings.roll_back()
        self._close_portals(kept=is_commit)
        if is_chained:
            self.transaction.begin()
        return _done("COMMIT" if is_commit else "ROLLBACK", notice)

    def _close_portals(self, *, kept: bool) -> None:
        """Cursors that are held go on, once all of their rows are here."""
        for name, portal in list(self.portals.items()):
            if kept and portal.is_held:
                self._begin_cursor(portal, ())
                if portal.answer is not None and portal.answer.rows is not None:
                    portal.answer.rows.spool(self._directory)
            else:
                self.close_portal(name)

    # --- cursors -------------------------------------------------------------------------------------------------

    def _declare(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        name, options = str(node["portalname"]), int(node.get("options", 0))
        is_held = bool(options & HOLD)
        if not is_held:
            self.transaction.require_block("DECLARE CURSOR")
        if name in self.portals:
            raise PgError("42P03", f'cursor "{name}" already exists')
        if options & SCROLL:
            raise unsupported("a cursor that scrolls back", "declare it with NO SCROLL")
        query = PreparedStatement(statement.declared(prepared.statement), prepared.types)
        bound = Values(values.binary, values.values, (True,) if options & BINARY else ())
        portal = Portal(query, bound, is_cursor=True, is_held=is_held)
        # An error of the query is one of DECLARE.
        self.describe(query)
        self.portals[name] = portal
        return _done("DECLARE CURSOR")

    def _cursor(self, name: str) -> Portal:
        portal = self.portals.get(name)
        if portal is None:
            raise PgError("34000", f'cursor "{name}" does not exist')
        return portal

    def _begin_cursor(self, portal: Portal, results: tuple[bool, ...]) -> None:
        if portal.answer is None:
            wanted = portal.values.results or results
            portal.values = Values(portal.values.binary, portal.values.values, wanted)
            portal.answer = self._query(portal.prepared, portal.values)

    def _fetch(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        portal = self._cursor(str(node["portalname"]))
        self._begin_cursor(portal, values.results)
        if values.results and any(values.results) != any(portal.values.results):
            raise unsupported("fetching from a cursor in another format than before")
        answer, is_move = portal.answer, bool(node.get("ismove"))
        if answer is None or answer.rows is None:
            raise PgError("55000", "the cursor has no rows")
        rows = CursorRows(answer.rows, _count(node), keep=not is_move)
        if is_move:
            for _ in rows.take(0):
                pass
            return Answer(f"MOVE {rows.given}")
        return Answer("FETCH", answer.columns, rows, answer.raw_description, is_counted=True)

    def _close_cursor(self, prepared: PreparedStatement, values: Values) -> Answer:
        name = prepared.statement.node.get("portalname")
        if name is None:
            for each in [name for name, portal in self.portals.items() if portal.is_cursor]:
                self.close_portal(each)
            return _done("CLOSE CURSOR ALL")
        self._cursor(str(name))
        self.close_portal(str(name))
        return _done("CLOSE CURSOR")

    # --- COPY ----------------------------------------------------------------------------------------------------

    def _copy(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        if node.get("is_from"):
            raise read_only()
        if node.get("is_program") or node.get("filename"):
            raise PgError("42501", "permission denied to COPY to a file or program", "write COPY ... TO STDOUT")
        query, options = statement.copied(prepared.statement), copy_options.read(node.get("options", []))
        if query.is_catalogue:
            raise unsupported("COPY of a query about the catalogue")
        self._free_query_process()
        answer = self._execution.copy_query(query, options, self._who(), self._is_gone)
        columns = answer.columns or ()
        answer.head, answer.tail = copy_out(len(columns), is_binary=options.format == "binary"), COPY_DONE
        return answer

    # --- prepared statements -------------------------------------------------------------------------------------

    def _prepare(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        name = str(node["name"])
        if name in self.prepared:
            raise PgError("42P05", f'prepared statement "{name}" already exists')
        query = statement.prepared(prepared.statement)
        made = PreparedStatement(query, statement.argument_types(node))
        self.describe(made)
        self.prepared[name] = made
        return _done("PREPARE")

    def _execute(self, prepared: PreparedStatement, values: Values) -> Answer:
        node = prepared.statement.node
        try:
            given = [syntax_tree.constant(each) for each in node.get("params", [])]
        except ValueError as error:
            raise unsupported("a parameter of EXECUTE that is not a constant") from error
        found = self.find_prepared(str(node["name"]))
        if len(given) != len(found.parameter_types()):
            message = f'wrong number of parameters for prepared statement "{node["name"]}"'
            raise PgError("42601", message, detail=f"Expected {len(found.parameter_types())} but got {len(given)}.")
        texts = tuple(None if each is None else each.encode() for each in given)
        return self.run(found, Values((), texts, values.results))

    def _deallocate(self, prepared: PreparedStatement, values: Values) -> Answer:
        name = prepared.statement.node.get("name")
        if name is None:
            self.prepared.clear()
            return _done("DEALLOCATE ALL")
        self.find_prepared(str(name))
        del self.prepared[str(name)]
        return _done("DEALLOCATE")

    # --- parameters ----------------------------------------------------------------------------------------------

    def _set(self, prepared: PreparedStatement, values: Values) -> Answer:
        with self._same_zone_for_cursors():
            return _done(setting_statements.set_parameter(self._settings, self.transaction, prepared.statement.node))

    @contextmanager
    def _same_zone_for_cursors(self) -> Iterator[None]:
        """Instants of one cursor are all on one clock: its rows are written as of its first FETCH. Raises PgError."""
        before = self._settings.show("TimeZone")
        yield
        answers = [portal.answer for portal in self.portals.values() if portal.answer is not None]
        is_read = any(each.rows is not None and not each.rows.is_over for each in answers)
        if is_read and self._settings.show("TimeZone") != before:
            raise unsupported("another time zone while a cursor is read", "close the cursor first")

    def _show(self, prepared: PreparedStatement, values: Values) -> Answer:
        return setting_statements.show(self._settings, prepared.statement.node)

    def _discard(self, prepared: PreparedStatement, values: Values) -> Answer:
        target = prepared.statement.node.get("target", "DISCARD_ALL")
        if target != "DISCARD_ALL":
            return _done(target.replace("_", " "))
        if self.transaction.is_open:
            raise PgError("25001", "DISCARD ALL cannot run inside a transaction block")
        self._close_portals(kept=False)
        self.prepared.clear()
        self._settings.reset()
        return _done("DISCARD ALL")

    def _nothing(self, prepared: PreparedStatement, values: Values) -> Answer:
        return _done(_NOTHING[prepared.statement.kind])

    def _listen(self, prepared: PreparedStatement, values: Values) -> Answer:
        raise unsupported("LISTEN")


Run = Callable[[Commands, PreparedStatement, Values], Answer]
_NOTHING: Final = {"ConstraintsSetStmt": "SET CONSTRAINTS", "UnlistenStmt": "UNLISTEN"}
_RUN: Final[Mapping[str, Run]] = {
    "ExplainStmt": Commands._explain,
    "DeclareCursorStmt": Commands._declare,
    "FetchStmt": Commands._fetch,
    "ClosePortalStmt": Commands._close_cursor,
    "CopyStmt": Commands._copy,
    "PrepareStmt": Commands._prepare,
    "ExecuteStmt": Commands._execute,
    "DeallocateStmt": Commands._deallocate,
    "VariableSetStmt": Commands._set,
    "VariableShowStmt": Commands._show,
    "DiscardStmt": Commands._discard,
    "ListenStmt": Commands._listen,
    **dict.fromkeys(_NOTHING, Commands._nothing),
}


def _done(tag: str, notice: PgError | None = None) -> Answer:
    return Answer(tag, notices=() if notice is None else (notice,))


def _count(node: Node) -> int:
    """How many rows FETCH and MOVE go forward; -1: all. Raises PgError for any other direction."""
    direction, count = node.get("direction", "FETCH_FORWARD"), int(node.get("howMany", 0))
    if direction != "FETCH_FORWARD" or count < 0:
        raise PgError("55000", "cursor can only scan forward")
    return ALL_ROWS if count >= FETCH_ALL else count
