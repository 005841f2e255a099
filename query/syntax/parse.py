"""SQL text -> a checked syntax tree and the datasets it names. Knows no data.

Order of the checks: size and nesting of the bare text, then parsing, then the allow-list. Nothing that fails one
of them reaches the next.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from errors import WeirError
from query.advice import PIPELINE
from query.fault import SYNTAX_ERROR, invalid, unsupported
from query.limits import MAX_CHAIN, MAX_NESTING, MAX_TOKENS, check_text, too_complex
from query.parameters import Open, Parameter
from query.pg.placeholder import Placeholder
from query.syntax.allowlist import check_tree
from query.syntax.comments import without_comments
from query.syntax.dialect import WeirPostgres
from query.syntax.dialect_checks import check_continuations, check_strictness
from query.syntax.identifiers import fold, is_of_public, qualified_name, unqualify_columns
from query.syntax.parameters import placeholders, substitute
from query.syntax.placeholder_tokens import tokenize
from query.syntax.positions import position_of
from query.syntax.token_rewrites import rewrite_tokens

_EXPLAIN: Final = re.compile(r"\s*explain\b", re.IGNORECASE)
_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_SEPARATORS: Final = (TokenType.COMMA, TokenType.SELECT, TokenType.FROM)
_CLAUSES: Final = (TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY)
_CONTINUED: Final = (
    *(
        TokenType.SELECT,
        *_CLAUSES,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.AND,
        TokenType.OR,
        TokenType.NOT,
        TokenType.IN,
        TokenType.LIKE,
    ),
    *(TokenType.UNION, TokenType.JOIN, TokenType.ON, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.GT),
    *(TokenType.LTE, TokenType.GTE, TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.DPIPE, TokenType.COMMA),
    *(TokenType.DCOLON, TokenType.ARROW, TokenType.DARROW, TokenType.L_PAREN, TokenType.BETWEEN, TokenType.THEN),
)
_OPENED: Final = re.compile(r"from \d+:(\d+)")
CATALOG: Final = ("information_schema.tables", "information_schema.columns")
_QUERIES: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)


@dataclass(frozen=True, slots=True)
class Statement:
    """One parsed query. `datasets` names every dataset it reads, each once, in order of appearance, folded as
    PostgreSQL folds identifiers. `catalog` are the relations of information_schema that it reads, qualified. `explain`
    asks for the plan instead of the rows. `placeholders` are those of open parameters, by number."""

    sql: str
    tree: exp.Expr
    datasets: tuple[str, ...]
    explain: bool = False
    parameters: tuple[Parameter, ...] = ()
    catalog: tuple[str, ...] = ()
    placeholders: Mapping[int, Sequence[Placeholder]] = field(default_factory=dict, compare=False)


def parse(sql: str, parameters: Sequence[Parameter] = ()) -> Statement:
    """The statement behind `sql`. Raises InvalidSQL for what PostgreSQL would not take, UnsupportedSQL for the rest.

    `parameters` are the values of `$1`, `$2`, ...

    >>> parse("SELECT count(*) FROM app").datasets
    ('app',)
    """
    check_text(sql)
    text = without_comments(sql)
    explain = _EXPLAIN.match(text)
    text = " " * explain.end() + text[explain.end() :] if explain else text
    try:
        tree = substitute(_tree(text, sql), parameters)
        unqualify_columns(tree)
        check_tree(tree)
        datasets = tuple(dict.fromkeys(_datasets(tree, frozenset())))
        catalog = tuple(dict.fromkeys(filter(None, map(qualified_name, tree.find_all(exp.Table)))))
    except RecursionError as error:
        raise too_complex() from error
    is_open = any(isinstance(each, Open) for each in parameters)
    found = placeholders(tree) if is_open else {}
    return Statement(sql, tree, datasets, explain is not None, tuple(parameters), catalog, found)


def _tree(sql: str, written: str) -> exp.Expr:
    """The tree of a statement, which was `written` with comments."""
    dialect = WeirPostgres()
    try:
        tokens = rewrite_tokens(tokenize(dialect, sql), sql)
        _check_tokens(tokens)
        check_strictness(tokens)
        check_continuations(tokens, written)
        statements = [
            each for each in dialect.parser().parse(tokens, sql) if not isinstance(each, exp.Semicolon | None)
        ]
    except TokenError as error:
        raise invalid(SYNTAX_ERROR, "unterminated quotation or comment", _opened(error, sql)) from error
    except SqlglotError as error:
        raise (_ended(tokens, sql) or _syntax_error(error, sql)) from error
    if len(statements) != 1 or not isinstance(statements[0], _QUERIES):
        raise invalid(SYNTAX_ERROR, "exactly one SELECT, WITH, VALUES or set operation can run", 1)
    return statements[0]


def _check_tokens(tokens: list[Token]) -> None:
    """Counts brackets and operators before the recursive parser sees them."""
    if len(tokens) > MAX_TOKENS:
        raise too_complex(tokens[MAX_TOKENS].start + 1)
    depth = chain = 0
    for token in tokens:
        if token.token_type in _OPEN:
            depth += 1
        elif token.token_type in _CLOSE:
            depth -= 1
        chain = 0 if token.token_type in _SEPARATORS else chain + 1
        if depth > MAX_NESTING or chain > MAX_CHAIN * 4:
            raise too_complex(token.start + 1)


def _opened(error: TokenError, sql: str) -> int | None:
    """Where the quotation begins that does not end; sqlglot tells it in the error behind the error."""
    match = _OPENED.search(str(error.__cause__))
    return int(match[1]) + 1 if match and int(match[1]) < len(sql) else None


def _ended(tokens: Sequence[Token], sql: str) -> WeirError | None:
    """The error of a statement that is not finished: its last token wants something behind it, or a bracket is open."""
    opened = sum((token.token_type in _OPEN) - (token.token_type in _CLOSE) for token in tokens)
    token_types = [token.token_type for token in tokens[-2:]]
    if opened <= 0 and (token_types[-1:] != [TokenType.L_PAREN] and not _wants_more(token_types)):
        return None
    return invalid(SYNTAX_ERROR, "syntax error at end of input", len(sql.rstrip()) + 1)


def _wants_more(kinds: Sequence[TokenType]) -> bool:
    """True for a last token that something has to follow, unless it is itself what should not be there."""
    return kinds[-1:] != [] and kinds[-1] in _CONTINUED and kinds[0] not in (TokenType.ALIAS, *_CLAUSES)


def _syntax_error(error: SqlglotError, sql: str) -> WeirError:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    near = details[0].get("highlight") or ""
    position = None
    if line and column is not None:
        lines = sql.splitlines(keepends=True)
        position = max(1, sum(map(len, lines[: line - 1])) + column - len(near) + 1)
    message = f'syntax error at or near "{near}"' if near else "syntax error"
    return invalid(SYNTAX_ERROR, message, position, PIPELINE if near == "|" else None)


def _datasets(node: exp.Expr, shadowed: frozenset[str]) -> Iterator[str]:
    """Names of datasets under `node`; `shadowed` are the common table expressions in sight."""
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        if clause.args.get("recursive"):
            shadowed |= {fold(cte.args["alias"].this) for cte in clause.expressions}
        for cte in clause.expressions:
            yield from _datasets(cte.this, shadowed)
            shadowed |= {fold(cte.args["alias"].this)}
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        yield from _dataset(node, shadowed)
    for name, value in node.args.items():
        if name == "with_":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield from _datasets(child, shadowed)


def _dataset(table: exp.Table, shadowed: frozenset[str]) -> Iterator[str]:
    name = fold(table.this)
    if is_of_public(table):
        yield name
    elif table.args.get("db"):
        _check_qualified(table)
    elif name not in shadowed:
        yield name


def _check_qualified(table: exp.Table) -> None:
    """Raises UnsupportedSQL for a name with a schema, unless it is one of the catalog's that we have."""
    name = str(qualified_name(table))
    if table.args.get("catalog") is None and name in CATALOG:
        return
    if fold(table.args["db"]) in ("information_schema", "pg_catalog"):
        raise unsupported(f"the relation {name}", position_of(table), f"there are {' and '.join(CATALOG)}")
    hint = f"datasets are in the schema public of the database weir: write {fold(table.this)}"
    raise unsupported("a name of another schema or database", position_of(table), hint)
