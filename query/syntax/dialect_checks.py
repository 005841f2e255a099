"""Syntax that sqlglot's parser takes and PostgreSQL's does not, found in the tokens before parsing.

sqlglot reads many dialects at once. What it would take from another one is an error here, never an answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from errors import InvalidSQL, WeirError
from query.advice import COMMANDS, instead_of_command, instead_of_function
from query.fault import AMBIGUOUS_FUNCTION, SYNTAX_ERROR, UNDEFINED_FUNCTION, UNDEFINED_OBJECT, invalid, unsupported

_STARTS: Final = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN)
_OPERATORS: Final = ("==", "<=>", "!")
_AFTER_GROUP_BY: Final = (TokenType.GROUP_BY, TokenType.ALL, TokenType.DISTINCT)
# Of every kind, E'!' among them.
_TEXTS: Final = tuple(kind for kind in TokenType if kind.name.endswith("STRING"))
_QUOTED: Final = (TokenType.IDENTIFIER, *_TEXTS)
_LINE_COMMENT: Final = re.compile(r"--[^\r\n]*")
_WORDS: Final = ("RLIKE", "REGEXP", "GLOB", "DIV", "QUALIFY", "PREWHERE", "SEMI", "ANTI", "ASOF", "PIVOT", "UNPIVOT")
_AFTER_COMMA: Final = (
    *(TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.FROM, TokenType.WHERE),
    *(TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY),
)
_BEFORE_SUBSCRIPT: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER, TokenType.VAR)
_NO_BRACKETS: Final = (TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_TIME)
_DOUBLED: Final = (TokenType.STAR, TokenType.SLASH)
_IN_NAME: Final = re.compile(r"[-\w]+")
_JSON_CONSTRUCTORS: Final = ("JSON_OBJECT", "JSON_OBJECTAGG")
_JSON_CLAUSED: Final = (
    *(*_JSON_CONSTRUCTORS, "JSON_ARRAY", "JSON_ARRAYAGG", "JSON", "JSON_SCALAR", "JSON_SERIALIZE", "JSON_TABLE"),
)
_JSON_CLAUSES: Final = ("RETURNING", "FORMAT", "ABSENT", "COLUMNS", "PASSING", "WITH", "WITHOUT", "ON")
_NO_COMMA: Final = ("EXTRACT", "POSITION")
_WITH_FROM: Final = ("EXTRACT", "OVERLAY", "SUBSTRING", "TRIM")
TYPE_WORDS: Final = frozenset(
    """
    bool boolean smallint int integer bigint int2 int4 int8 numeric decimal dec real float float4 float8 double text
    varchar char character bpchar name bytea date time timetz timestamp timestamptz interval json jsonb uuid inet
    cidr macaddr money bit varbit xml oid regclass regtype point box tsvector tsquery int4range int8range numrange
    tsrange tstzrange daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange
    national record serial void jsonpath regproc cstring anyelement anyarray line lseg path polygon circle macaddr8
    int2vector oidvector xid xid8 cid tid pg_lsn pg_snapshot txid_snapshot refcursor aclitem pg_node_tree gtsvector
    regprocedure regoper regoperator regcollation regconfig regdictionary regnamespace regrole
    """.split()
)

TRY_CAST_TYPES: Final = ("double", "string", "datetime")
OTHER_NAMES: Final = {
    **dict.fromkeys(("double", "float64"), "double precision"),
    **dict.fromkeys(("string", "nvarchar", "clob", "tinytext", "longtext"), "text"),
    **dict.fromkeys(("datetime", "timestamp_ntz", "datetime2"), "timestamp"),
    **dict.fromkeys(("timestamp_tz", "timestamp_ltz", "datetimeoffset"), "timestamptz"),
    **dict.fromkeys(("int64", "long", "uint32", "unsigned", "signed"), "bigint"),
    **dict.fromkeys(("int32", "mediumint", "uint16"), "integer"),
    **dict.fromkeys(("tinyint", "int16", "int8_t", "uint8"), "smallint"),
    **dict.fromkeys(("number", "uint64", "bignumeric"), "numeric"),
    **dict.fromkeys(("blob", "binary", "varbinary"), "bytea"),
}
"""Types by the names that other databases have for them, for hints."""


@dataclass(slots=True)
class _Bracket:
    """An open bracket: its kind, and the word before it."""

    token: Token
    word: str
    array: bool = False
    commas: int = 0


def check_strictness(tokens: Sequence[Token]) -> None:
    """Raises 42601 (42883, 42704) where PostgreSQL would and sqlglot would not."""
    if tokens and tokens[0].token_type not in _STARTS:
        raise _no_query(tokens[0])
    open_brackets: list[_Bracket] = []
    closed: _Bracket | None = None
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        after = tokens[index + 1] if index + 1 < len(tokens) else None
        _check_words(token, before, after)
        _check_name(tokens, index, open_brackets)
        _check_place(tokens, index, open_brackets)
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            _check_call(token, before, closed)
            inside = bool(open_brackets) and open_brackets[-1].array
            if token.token_type == TokenType.L_BRACKET and not inside:
                _check_subscript(token, before, closed)
            word = before.text.upper() if before is not None else ""
            nested = inside and token.token_type == TokenType.L_BRACKET
            open_brackets.append(_Bracket(token, word, word == "ARRAY" or nested))
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET):
            closed = open_brackets.pop() if open_brackets else None
        elif token.token_type == TokenType.ALIAS and open_brackets and open_brackets[-1].word.endswith("CAST"):
            _check_type(after, lenient=open_brackets[-1].word == "TRY_CAST")
    _check_joins(tokens)


def check_continuations(tokens: Sequence[Token], sql: str) -> None:
    """Raises 42601 for a text behind another without a line feed between, or with a comment in /* */ there."""
    for before, token in pairwise(tokens):
        if token.token_type != TokenType.STRING or before.token_type not in _TEXTS:
            continue
        between = _LINE_COMMENT.sub("", sql[before.end + 1 : token.start])
        if "/*" in between or not ("\n" in between or "\r" in between) or before.token_type == TokenType.HEREDOC_STRING:
            raise _near(token)
        if before.token_type != TokenType.STRING:
            raise unsupported("a text with a prefix that goes on in the next line", token.start + 1)


def _no_query(token: Token) -> WeirError:
    """The refusal of a statement that begins with this word."""
    word = token.text.upper()
    if word in COMMANDS:
        return unsupported(word, token.start + 1, COMMANDS[word])
    return _near(token, instead_of_command(word))


def _check_name(tokens: Sequence[Token], index: int, open_brackets: Sequence[_Bracket]) -> None:
    """No backticks, and no dash in a dataset's name without quotes."""
    token = tokens[index]
    if token.token_type == TokenType.UNKNOWN and token.text == "`":
        raise _near(token, 'names are quoted with double quotes: "name"')
    named = index > 1 and tokens[index - 2].token_type in (TokenType.FROM, TokenType.JOIN)
    is_close = token.token_type == TokenType.DASH and _adjoins(tokens, index)
    if is_close and named and not _is_value(tokens, index, open_brackets):
        name = "".join(each.text for each in _adjoining(tokens, index - 1))
        raise _near(token, f'a name with a dash is quoted: write "{name}"')


def _is_value(tokens: Sequence[Token], index: int, open_brackets: Sequence[_Bracket]) -> bool:
    """Whether a value stands between FROM and the token: `extract(epoch FROM a-b)`, `x IS DISTINCT FROM y-1`."""
    word = open_brackets[-1].word if open_brackets else ""
    is_compared = index > 2 and tokens[index - 3].token_type == TokenType.DISTINCT
    return word in _WITH_FROM or is_compared or tokens[index - 1].token_type == TokenType.L_PAREN


def _adjoins(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token stands close behind the one before it."""
    return index < len(tokens) and tokens[index].start == tokens[index - 1].end + 1


def _adjoining(tokens: Sequence[Token], first: int) -> Iterator[Token]:
    """The token and what of a name with dashes stands close behind it."""
    yield tokens[first]
    while _adjoins(tokens, first := first + 1) and _IN_NAME.fullmatch(tokens[first].text):
        yield tokens[first]


def _check_place(tokens: Sequence[Token], index: int, open_brackets: Sequence[_Bracket]) -> None:
    """No comma in calls with keywords, and no text where a table's name belongs."""
    token, before = tokens[index], tokens[index - 1] if index else None
    word = open_brackets[-1].word if open_brackets else ""
    if word in _JSON_CONSTRUCTORS and (token.token_type == TokenType.COLON or token.text.upper() == "VALUE"):
        raise unsupported(f"{word} (key : value)", token.start + 1, "use json_build_object")
    if word in _JSON_CLAUSED and token.text.upper() in _JSON_CLAUSES and token.token_type not in _QUOTED:
        raise unsupported(f"{token.text.upper()} in {word}", token.start + 1)
    if token.token_type == TokenType.COMMA and word in _NO_COMMA:
        raise _near(token)
    if token.token_type == TokenType.COMMA and word == "TRIM":
        open_brackets[-1].commas += 1
        if open_brackets[-1].commas > 1:
            message = "function pg_catalog.btrim(unknown, unknown, unknown) does not exist"
            raise invalid(UNDEFINED_FUNCTION, message, open_brackets[-1].token.start - 3)
    after_from = before is not None and before.token_type == TokenType.FROM and not _is_distinct_on(tokens, index - 1)
    if token.token_type == TokenType.STRING and after_from and not word[:1].isalpha():
        raise _near(token)


def _check_words(token: Token, before: Token | None, after: Token | None) -> None:
    token_type, upper = token.token_type, token.text.upper()
    negation = token.text == "!" and after is not None and after.text.startswith("~")
    if token.text in _OPERATORS and not negation and token_type not in _QUOTED:
        raise invalid(UNDEFINED_FUNCTION, f"operator does not exist: {token.text}", token.start + 1)
    if token_type == TokenType.RLIKE and upper in _WORDS:
        raise _near(token)
    if token_type == TokenType.COMMA and (after is None or after.token_type in _AFTER_COMMA):
        raise _near(after or token)
    if token_type == TokenType.ALIAS and after is not None and after.token_type == TokenType.STRING:
        raise _near(after)
    if token_type == TokenType.DCOLON:
        _check_type(after)
    if before is not None:
        _check_pair(before, token, after)


def _check_pair(before: Token, token: Token, after: Token | None) -> None:
    if before.token_type == TokenType.RLIKE and token.token_type == TokenType.EQ and token.start == before.end + 1:
        untyped = after is not None and after.token_type == TokenType.STRING
        state, problem = (AMBIGUOUS_FUNCTION, "is not unique") if untyped else (UNDEFINED_FUNCTION, "does not exist")
        raise invalid(state, f"operator {problem}: {before.text}=", before.start + 1)
    is_name = after is not None and after.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    if before.token_type == TokenType.R_PAREN and token.text.upper() == "CYCLE" and is_name:
        raise unsupported("CYCLE", token.start + 1, "keep the path in an array and test it with <> ALL")
    if (before.token_type, token.token_type) == (TokenType.AND, TokenType.R_PAREN):
        raise _near(token)
    if (
        before.token_type == TokenType.R_PAREN
        and token.text.upper() == "SEARCH"
        and _is_word(after, "DEPTH", "BREADTH")
    ):
        raise unsupported("SEARCH", token.start + 1, "keep the path in an array and sort by it")
    sets_follow = before.token_type in (TokenType.COMMA, TokenType.L_PAREN, *_AFTER_GROUP_BY)
    if token.token_type == TokenType.GROUPING_SETS and not sets_follow:
        raise _near(token)
    directions = (TokenType.ASC, TokenType.DESC)
    if before.token_type in directions and token.token_type in directions:
        raise _near(token)
    if before.text.upper() == "TOP" and token.token_type == TokenType.NUMBER:
        raise _near(token, f"write LIMIT {token.text} at the end")
    if before.token_type in (TokenType.FROM, TokenType.JOIN) and token.token_type == TokenType.VALUES:
        raise _near(after or token)
    if before.token_type == TokenType.FETCH and token.text.upper() not in ("FIRST", "NEXT"):
        raise _near(token)
    empty = token.token_type == TokenType.L_PAREN and after is not None and after.token_type == TokenType.R_PAREN
    if (before.token_type == TokenType.IN or before.token_type in _NO_BRACKETS) and empty and after is not None:
        raise _near(after)
    if (before.token_type, token.token_type) in (
        (TokenType.INTERVAL, TokenType.NUMBER),
        (TokenType.ORDER_BY, TokenType.ALL),
    ):
        raise _near(token)
    if token.token_type in _DOUBLED and before.token_type == token.token_type and token.start == before.end + 1:
        symbol = before.text + token.text
        raise invalid(UNDEFINED_FUNCTION, f"operator does not exist: {symbol}", before.start + 1)
    if before.token_type == TokenType.LIMIT and after is not None and after.token_type == TokenType.COMMA:
        raise invalid(SYNTAX_ERROR, "LIMIT #,# syntax is not supported", before.start + 1, "use LIMIT and OFFSET")


def _is_word(token: Token | None, *words: str) -> bool:
    return token is not None and token.token_type != TokenType.IDENTIFIER and token.text.upper() in words


def _check_call(token: Token, before: Token | None, closed: _Bracket | None) -> None:
    """No second brackets after a call of another database: `quantile(0.9)(x)`."""
    if (
        closed is None
        or before is None
        or (before.token_type, token.token_type) != (TokenType.R_PAREN, TokenType.L_PAREN)
    ):
        return
    if hint := instead_of_function(closed.word.lower()):
        raise _near(token, hint)


def _check_subscript(token: Token, before: Token | None, closed: _Bracket | None) -> None:
    """`[` opens a subscript after a value or an array after ARRAY; nowhere else."""
    if before is None:
        raise _near(token)
    token_type, word = before.token_type, before.text
    if token_type == TokenType.R_BRACKET and closed is not None and closed.array:
        raise _near(token)
    if (
        token_type in _BEFORE_SUBSCRIPT
        or word.upper() == "ARRAY"
        or word.lower() in TYPE_WORDS
        or word.lower() == "precision"
    ):
        return
    if (
        token_type in (TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET)
        or not word[:1].isalpha()
    ):
        raise _near(token)


def _check_type(token: Token | None, lenient: bool = False) -> None:
    """The word after `::` or in CAST has to be a type that PostgreSQL has. TRY_CAST, which it has not, takes the names
    that the dialects have which do."""
    if token is None or token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return
    word = token.text.lower().split()[0] if token.text else ""
    bare_double = token.text.lower() == "double"
    if word and word[0].isalpha() and (word not in TYPE_WORDS or bare_double):
        if lenient and word in TRY_CAST_TYPES:
            return
        standard_name = OTHER_NAMES.get(word)
        hint = f'Perhaps you meant the type "{standard_name}".' if standard_name else None
        raise invalid(UNDEFINED_OBJECT, f'type "{word}" does not exist', token.start + 1, hint)


def _check_joins(tokens: Sequence[Token]) -> None:
    """Every JOIN that is not CROSS or NATURAL has one ON or USING, and no other does."""
    waiting: list[Token] = []
    depth_of: list[int] = []
    depth = 0
    for index, token in enumerate(tokens):
        token_type = token.token_type
        depth += (token_type == TokenType.L_PAREN) - (token_type == TokenType.R_PAREN)
        if token_type == TokenType.JOIN and not _unconditional(tokens, index):
            waiting.append(token)
            depth_of.append(depth)
        elif token_type in (TokenType.ON, TokenType.USING) and not _is_of_another_clause(tokens, index):
            if not waiting or depth_of[-1] != depth:
                raise _near(token)
            _check_condition(token, tokens[index + 1] if index + 1 < len(tokens) else None)
            waiting.pop()
            depth_of.pop()
    if waiting:
        raise invalid(SYNTAX_ERROR, "a join needs ON or USING", waiting[-1].start + 1)


def _check_condition(word: Token, after: Token | None) -> None:
    """Something has to follow ON and USING."""
    if after is None:
        raise invalid(SYNTAX_ERROR, "syntax error at end of input", word.end + 2)
    if after.token_type in (TokenType.R_PAREN, TokenType.WHERE, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.JOIN):
        raise _near(after)


def _unconditional(tokens: Sequence[Token], index: int) -> bool:
    words = [token.text.upper() for token in tokens[max(0, index - 3) : index]]
    return words[-1:] == ["CROSS"] or "NATURAL" in words


def _is_of_another_clause(tokens: Sequence[Token], index: int) -> bool:
    """`DISTINCT ON (..)`, and `NULL ON EMPTY` of a JSON query."""
    after = tokens[index + 1].text.upper() if index + 1 < len(tokens) else ""
    return _is_distinct_on(tokens, index) or after in ("EMPTY", "ERROR", "SCALAR")


def _is_distinct_on(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].token_type == TokenType.DISTINCT


def _near(token: Token, hint: str | None = None) -> InvalidSQL:
    return invalid(SYNTAX_ERROR, f'syntax error at or near "{token.text[:60]}"', token.start + 1, hint)
