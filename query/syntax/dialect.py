"""sqlglot's PostgreSQL dialect without its rewriting.

sqlglot parses in order to translate, and on the way rewrites functions, formats, intervals and JSON paths, some of it
lossily. Here every function call stays a call by name with its arguments in the user's order, and an interval
keeps its text. Facts on what is lost otherwise: docs/decisions/sql-engine.md.
"""

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from query.fault import invalid
from query.limits import MAX_REREAD, REREAD_ANYWAY, too_complex
from query.syntax.json_queries import JSON_QUERIES, JsonQuery, parse_json_query
from query.syntax.positions import BRACKETED, DEFINITION, OPERATOR, START, Placing, mark_position

_SPECIAL_SYNTAX = ("CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM", "OVERLAY", "TRY_CAST")
"""Calls with keywords between the arguments; all others are ordinary."""

INTERVAL_FIELDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")

_LESSER_FIELDS = {
    "YEAR": ("MONTH",),
    "DAY": ("HOUR", "MINUTE", "SECOND"),
    "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}
"""The fields that an interval can go to from another, as PostgreSQL's grammar has them."""

_BY_OPERATOR = (
    "TERM",
    "FACTOR",
    "BITWISE",
    "COMPARISON",
    "EQUALITY",
    "RANGE_PARSERS",
    "JSON_OPERATORS",
    "UNARY_PARSERS",
)
"""Tables of sqlglot's parser by the token of an operator."""

_GROUPINGS: dict[TokenType, type[exp.Cube | exp.Rollup]] = {
    TokenType.CUBE: exp.Cube,
    TokenType.ROLLUP: exp.Rollup,
}

NORMAL_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def _arrow(operator: str) -> Any:
    def build(parser: PostgresParser, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.Operator(this=left, operator=operator, expression=right)

    return build


def _range(operator: str) -> Any:
    def build(parser: PostgresParser, left: exp.Expr) -> exp.Expr:
        return exp.Operator(this=left, operator=operator, expression=parser._parse_bitwise())

    return build


def _start_of(node: exp.Expr | None) -> int | None:
    """The place of a node, or of what it begins with."""
    inner = None if node is None else node.this
    return next((each.meta[START] for each in (node, inner) if isinstance(each, exp.Expr) and START in each.meta), None)


def _with_position(parse: Any) -> Any:
    """A call with keywords between its arguments, marked with the place of its name."""

    def parse_with_position(parser: "WeirParser") -> Any:
        start = parser._tokens[parser._index - 2].start
        return mark_position(mark_position(parse(parser), start, START), start, OPERATOR)

    return parse_with_position


class Plus(exp.Unary):
    """The sign of what is no number as written: PostgreSQL's operator, which exists for numbers alone."""


def _plus(parser: PostgresParser) -> exp.Expr | None:
    operand = parser._parse_unary()
    is_number = isinstance(operand, exp.Literal) and not operand.is_string
    return operand if operand is None or is_number else parser.expression(Plus(this=operand))


class WeirParser(PostgresParser):
    """Bounded in time: sqlglot goes back wherever one reading fails, and does so at every level of what it reads.

    What was read as a type at a place is not read so again, which would triple the work with each level of
    `array[array[...`; and all going back together is limited by the length of the statement.
    """

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: _with_position(parser)
        for name, parser in PostgresParser.FUNCTION_PARSERS.items()
        if name in _SPECIAL_SYNTAX
    } | {name: _with_position(parse_json_query(name)) for name in JSON_QUERIES}
    JSON_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        TokenType.ARROW: _arrow("->"),
        TokenType.DARROW: _arrow("->>"),
        TokenType.HASH_ARROW: _arrow("#>"),
        TokenType.DHASH_ARROW: _arrow("#>>"),
        TokenType.PLACEHOLDER: _arrow("?"),
    }
    LAMBDAS: ClassVar[dict[TokenType, Any]] = {
        token: parser for token, parser in PostgresParser.LAMBDAS.items() if token != TokenType.ARROW
    }
    BITWISE: ClassVar[dict[TokenType, Any]] = {**PostgresParser.BITWISE, TokenType.DPIPE: exp.DPipe}
    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **PostgresParser.UNARY_PARSERS,
        TokenType.PLUS: _plus,
        # A prefix operator binds looser than + and -, unlike the signs.
        TokenType.RLIKE: lambda self: self.expression(exp.BitwiseNot(this=self._parse_term())),
        TokenType.PIPE_SLASH: lambda self: self.expression(exp.Sqrt(this=self._parse_term())),
        TokenType.DPIPE_SLASH: lambda self: self.expression(exp.Cbrt(this=self._parse_term())),
    }
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **PostgresParser.RANGE_PARSERS,
        TokenType.AT_GT: _range("@>"),
        TokenType.LT_AT: _range("<@"),
        TokenType.DAMP: _range("&&"),
        TokenType.QMARK_AMP: _range("?&"),
        TokenType.QMARK_PIPE: _range("?|"),
        TokenType.HASH_DASH: _range("#-"),
        TokenType.CARET_AT: _range("^@"),
        TokenType.AMP_LT: _range("<<="),
        TokenType.AMP_GT: _range(">>="),
        TokenType.AT_QMARK: _range("@?"),
        TokenType.DAT: _range("@@"),
    }

    # Of those of other dialects IF goes back over all that follows it.
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: PostgresParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("ANY", "CASE", "VARIADIC")
    }
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        # Of another dialect, and to read it sqlglot changes a table that all statements share.
        token: parser
        for token, parser in PostgresParser.QUERY_MODIFIER_PARSERS.items()
        if token not in (TokenType.CONNECT_BY, TokenType.START_WITH)
    }

    def _parse_unary(self) -> Any:
        """`@ value` is the absolute value; to sqlglot the sign opens a parameter, as `$` does."""
        if self._curr and self._curr.token_type == TokenType.PARAMETER and self._curr.text == "@":
            self._advance()
            return self.expression(exp.Abs(this=self._parse_term()))
        return super()._parse_unary()

    def __init__(self, *args: Any, **options: Any) -> None:
        self._types: dict[tuple[object, ...], tuple[exp.Expr | None, int]] = {}
        self._reread = 0
        self._after_with = False
        super().__init__(*args, **options)
        for table in _BY_OPERATOR:
            setattr(self, table, Placing(getattr(type(self), table), self._operator))
        for table in ("PRIMARY_PARSERS", "PLACEHOLDER_PARSERS"):
            entries = getattr(type(self), table)
            setattr(self, table, Placing(entries, lambda: self._prev, START, lambda: self._curr))
        setattr(self, "COLUMN_OPERATORS", Placing(type(self).COLUMN_OPERATORS, lambda: self._curr))  # noqa: B010

    def _retreat(self, index: int) -> None:
        self._reread += abs(int(self._index) - index)
        if self._reread > MAX_REREAD * len(self._tokens) + REREAD_ANYWAY:
            raise too_complex(self._curr.start + 1 if self._curr else None)
        super()._retreat(index)

    def _parse_types(self, *args: Any, **options: Any) -> Any:
        key = (self._chunk_index, self._index, args, *options.items())
        if key in self._types:
            parsed, index = self._types[key]
            self._retreat(index)
            return parsed and parsed.copy()
        parsed = self._parse_interval_type() or self._parse_named_type() or super()._parse_types(*args, **options)
        self._types[key] = (parsed and parsed.copy(), self._index)
        return parsed

    def _parse_with(self, *args: Any, **options: Any) -> Any:
        clause = super()._parse_with(*args, **options)
        self._after_with = clause is not None and self._match(TokenType.VALUES, advance=False) is not None
        return clause

    def _parse_statement(self) -> Any:
        """What WITH belongs to; of VALUES, to which sqlglot gives none, to a query of all its rows."""
        values_follow, self._after_with = self._after_with, False
        statement = super()._parse_statement()
        if not values_follow or not isinstance(statement, exp.Values):
            return statement
        rows = self.expression(exp.Values(**{name: value for name, value in statement.args.items() if name != "alias"}))
        rows.set("alias", exp.TableAlias(this=exp.to_identifier("values")))
        return exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))

    def _parse_interval_type(self) -> Any:
        """`interval day to second(3)` as a type."""
        index = self._index
        if self._match(TokenType.INTERVAL) and (fields := self._interval_fields()) is not None:
            return exp.DataType(this=exp.DType.INTERVAL, expressions=[fields])
        self._retreat(index)
        return None

    def _parse_named_type(self) -> Any:
        """`cidr`, `jsonpath` and other types that sqlglot does not know."""
        is_text = self._next is not None and self._next.token_type == TokenType.STRING
        is_cast = self._prev is not None and self._prev.token_type in (TokenType.DCOLON, TokenType.ALIAS)
        if (is_text or is_cast) and self._match_texts(("CIDR", "JSONPATH", "TSQUERY", "TSVECTOR")):
            return exp.DataType(this=exp.DType.USERDEFINED, kind=str(self._prev.text).lower())
        return None

    def _operator(self) -> Token:
        """The operator that was read last: of NOT LIKE and NOT IN the NOT."""
        before = self._tokens[self._index - 2] if self._index > 1 else None
        return before if before is not None and before.token_type == TokenType.NOT else self._prev

    def _parse_paren(self) -> Any:
        start = self._curr.start if self._curr else 0
        parsed = super()._parse_paren()
        return mark_position(parsed, start, START) if isinstance(parsed, exp.Subquery) else parsed

    def _negate_range(self, this: exp.Expr | None = None) -> Any:
        """`!~` is one operator: against ANY it is each match that it negates, where NOT negates the whole."""
        if isinstance(this, exp.RegexpLike | exp.RegexpILike):
            this.set("negate", True)
            return this
        return super()._negate_range(this)

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> Any:
        """A window, marked with the place of its definition: `OVER w` is not `OVER (w)`."""
        index = self._index
        window = super()._parse_window(this, alias)
        if isinstance(window, exp.Window) and DEFINITION not in window.meta:
            token_types = [token.token_type for token in self._tokens[index : self._index]]
            token = self._tokens[index + 1 + (0 if alias else token_types.index(TokenType.OVER))]
            window.meta[DEFINITION] = token.start
            window.meta[BRACKETED] = token.token_type == TokenType.L_PAREN
        return window

    def _parse_join(self, *args: Any, **options: Any) -> Any:
        """`JOIN ... USING (columns) AS alias`."""
        join = super()._parse_join(*args, **options)
        if isinstance(join, exp.Join) and join.args.get("using") and self._match(TokenType.ALIAS):
            join.set("alias", self._parse_id_var())
        return join

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> Any:
        """`ROLLUP (a < b, c)`, `CUBE (a)`: sqlglot stops at comparisons, and takes empty lists."""
        if with_prefix or not self._match_set(_GROUPINGS):
            return None
        kind = _GROUPINGS[self._prev.token_type]
        items = self._parse_wrapped_csv(self._parse_disjunction)
        if not items or any(isinstance(item, exp.Tuple) and not item.expressions for item in items):
            self.raise_error("expected an expression", self._prev)
        return self.expression(kind(expressions=items))

    def _parse_grouping_set(self) -> Any:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_table_sample(self, as_modifier: bool = False) -> Any:
        """`TABLESAMPLE method (share) [REPEATABLE (seed)]`, both any expression."""
        if not self._match(TokenType.TABLE_SAMPLE):
            return None
        method = self._parse_var(upper=True)
        shares = self._parse_wrapped_csv(self._parse_disjunction)
        repeated = bool(self._match_texts(("REPEATABLE",)))
        seed = self._parse_wrapped(self._parse_disjunction) if repeated else None
        if not shares or (repeated and seed is None):
            self.raise_error("expected an expression", self._prev)
        if len(shares) != 1:
            raise invalid("2202H", "TABLESAMPLE requires 1 argument", self._prev.start + 1)
        return self.expression(exp.TableSample(method=method, percent=shares[0], seed=seed))

    def _parse_case(self) -> Any:
        start = self._prev.start
        return mark_position(super()._parse_case(), start, START)

    def _parse_bracket(self, this: exp.Expr | None = None) -> Any:
        start = _start_of(this)
        bracket = super()._parse_bracket(this)
        return mark_position(bracket, start, START) if isinstance(bracket, exp.Array) and start is not None else bracket

    def _parse_is(self, this: exp.Expr | None) -> Any:
        """`value IS [NOT] [form] NORMALIZED`, as a call; every other test is sqlglot's."""
        index = self._index
        negate = self._match(TokenType.NOT)
        form = str(self._prev.text).upper() if self._match_texts(NORMAL_FORMS) else "NFC"
        if not self._match_texts(("NORMALIZED",)):
            self._retreat(index)
            return super()._parse_is(this)
        call = self.expression(exp.Anonymous(this="is_normalized", expressions=[this, exp.Literal.string(form)]))
        return self.expression(exp.Not(this=call)) if negate else call

    def _parse_escape(self, this: exp.Expr | None) -> Any:
        """`ESCAPE '$'::bytea`: an expression, of which sqlglot reads a literal alone."""
        if not self._match(TokenType.ESCAPE):
            return this
        return self.expression(exp.Escape(this=this, expression=self._parse_bitwise()))

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
        """INTERVAL 'text' [field [TO field]], the text untouched; anything else is not an interval literal."""
        index = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        if not self._match(TokenType.STRING, advance=False):
            self._retreat(index)
            return None
        text = self._parse_primary()
        return self.expression(exp.Interval(this=text, unit=self._interval_fields()))

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> Any:
        """A typed constant, an interval or any other operand: `DATE '2024-01-01'::text` casts the date.

        sqlglot reads what follows a type whatever it is, in brackets to their end, to throw it away if it is no text.
        """
        if fallback_to_identifier:
            return super()._parse_type(parse_interval, fallback_to_identifier)
        if interval := parse_interval and self._parse_interval():
            return self._parse_column_ops(interval)
        index = self._index
        data_type = self._parse_types(check_func=True, allow_identifiers=False)
        if isinstance(data_type, exp.DataType) and self._match(TokenType.STRING, advance=False):
            return self._parse_column_ops(self.expression(exp.Cast(this=self._parse_primary(), to=data_type)))
        self._retreat(index)
        atom = self._parse_atom()
        return self._parse_column() if atom is None else atom

    def _interval_fields(self) -> exp.Var | None:
        if not self._match_texts(INTERVAL_FIELDS):
            return None
        fields = str(self._prev.text).upper()
        if self._match_text_seq("TO"):
            if not self._match_texts(_LESSER_FIELDS.get(fields, ())):
                self.raise_error("expected an interval field after TO")
            fields += f" TO {str(self._prev.text).upper()}"
        return exp.Var(this=fields + (self._digits() if fields.endswith("SECOND") else ""))

    def _digits(self) -> str:
        """The digits of a second, `(3)`."""
        if not self._match(TokenType.L_PAREN):
            return ""
        if not self._match(TokenType.NUMBER):
            self.raise_error("expected the digits of a second")
        digits = str(self._prev.text)
        self._match_r_paren()
        return f"({digits})"


class WeirGenerator(PostgresGenerator):
    TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
        **PostgresGenerator.TRANSFORMS,
        Plus: lambda self, plus: f"+ {self.sql(plus, 'this')}",
        JsonQuery: lambda self, query: f"{query.args['function'].name}({self.sql(query, 'this')})",
    }


class WeirPostgres(Postgres):
    Parser = WeirParser
    Generator = WeirGenerator
    INDEX_OFFSET = 0
