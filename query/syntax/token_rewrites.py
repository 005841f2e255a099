"""Spellings that PostgreSQL has and sqlglot's parser has not, put into others with the same meaning, token by token.

Positions stay those of the user's text. Source: PostgreSQL documentation, "Lexical Structure", and appendix C for the
keywords that may be labels.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from query.advice import instead_of_duration
from query.fault import SYNTAX_ERROR, invalid, unsupported
from query.pg.bad_values import BadLiteral
from query.pg.escape_strings import unescape

_NUMBER: Final = re.compile(
    r"0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+"
    r"|\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?(?:[eE][-+]?\d(?:_?\d)*)?"
)
_WORD: Final = re.compile(r"\w+")
_RESERVED: Final = ("SELECT", "FETCH", "JOIN", "NOT", "ON", "USING")
"""Keywords that sqlglot does not take for names even where nothing else can stand."""

_AFTER_AS: Final = (
    *("DAY", "HOUR", "MINUTE", "MONTH", "SECOND", "YEAR", "OVER", "FILTER", "WITHIN", "OVERLAPS", "TO"),
    *("CHAR", "CHARACTER"),
)
"""Keywords that are labels behind AS only."""

_VALUE_ENDS: Final = (
    *(TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN),
    *(TokenType.R_BRACKET, TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.END),
)
_LIST_ENDS: Final = (TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN)
_SORTS: Final = {TokenType.LT: TokenType.ASC, TokenType.GT: TokenType.DESC}


def rewrite_tokens(tokens: Sequence[Token], sql: str) -> list[Token]:
    """The tokens as the parser reads them."""
    return _name_arguments(_substrings(_sorts(_scales(_labels(_numbers(_escapes(tokens, sql), sql))))))


def _escapes(tokens: Sequence[Token], sql: str) -> list[Token]:
    """E'...' with its escapes resolved as PostgreSQL does, which sqlglot does not. Raises what is wrong with them."""
    rewritten: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.BYTE_STRING and "\\" in sql[token.start : token.end]:
            rewritten.append(_new_token(token.token_type, _unescaped(token, sql), token, token.end))
            continue
        before = rewritten[-1] if rewritten else None
        if before is not None and _continues(before, token, sql):
            if "\\" in token.text:
                raise unsupported("an escape where E'...' goes on in another line", token.start + 1)
            rewritten[-1] = _new_token(before.token_type, before.text + token.text, before, token.end)
        else:
            rewritten.append(token)
    return rewritten


def _continues(before: Token, token: Token, sql: str) -> bool:
    """True for a text on the next line that belongs to the E'...' before it."""
    is_next = before.token_type == TokenType.BYTE_STRING and token.token_type == TokenType.STRING
    return is_next and sql[token.start] == "'" and "\n" in sql[before.end + 1 : token.start]


def _unescaped(token: Token, sql: str) -> str:
    try:
        return unescape(sql[token.start + 2 : token.end])
    except BadLiteral as error:
        raise invalid(error.sqlstate, error.message, token.start + 1) from error


def _name_arguments(tokens: list[Token]) -> list[Token]:
    """`name := value`, the older way to write `name => value`."""
    return [
        _new_token(TokenType.FARROW, "=>", token, token.end) if token.token_type == TokenType.COLON_EQ else token
        for token in tokens
    ]


def _substrings(tokens: list[Token]) -> list[Token]:
    """`substring(a SIMILAR pattern ESCAPE '#')` as `substring(a FROM pattern FOR '#')`, its older form."""
    rewritten: list[Token] = []
    words: list[str] = []
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            before = rewritten[-1] if rewritten else None
            words.append(before.text.upper() if before is not None else "")
        elif token.token_type == TokenType.R_PAREN and words:
            words.pop()
        elif words and words[-1] == "SUBSTRING" and _is_word_of_substring(token):
            upper = token.text.upper()
            token = _new_token(*_SUBSTRING[upper], token, token.end)
            words[-1] = "SUBSTRING" if upper == "SIMILAR" else ""
        rewritten.append(token)
    return rewritten


def _is_word_of_substring(token: Token) -> bool:
    return token.token_type != TokenType.STRING and token.text.upper() in _SUBSTRING


_SUBSTRING: Final = {"SIMILAR": (TokenType.FROM, "FROM"), "ESCAPE": (TokenType.FOR, "FOR")}


def _new_token(token_type: TokenType, text: str, first: Token, end: int) -> Token:
    return Token(token_type, text, first.line, first.col, first.start, end, first.comments)


def _numbers(tokens: Sequence[Token], sql: str) -> list[Token]:
    """0x1F, 0o17, 0b11 and 1_000 as plain numbers. Raises 42601 for a number that runs into a name."""
    rewritten: list[Token] = []
    end = -1
    for token in _joined(tokens):
        if token.start <= end:
            continue
        match = _NUMBER.match(sql, token.start) if token.text and sql[token.start].isdigit() else None
        if match is not None and (junk := _WORD.match(sql, match.end())):
            message = f'trailing junk after numeric literal at or near "{match[0]}{junk[0]}"'
            raise invalid(SYNTAX_ERROR, message, token.start + 1, instead_of_duration(match[0], junk[0]))
        if match is None or (match.end() - 1 <= token.end and token.token_type == TokenType.NUMBER):
            rewritten.append(token)
            continue
        end = match.end() - 1
        rewritten.append(_new_token(TokenType.NUMBER, _decimal(match[0].replace("_", "")), token, end))
    return rewritten


def _joined(tokens: Sequence[Token]) -> Iterator[Token]:
    """`<<=` and `>>=`, which sqlglot reads as two operators, as one: as `&<` and `&>`, which have no meaning here."""
    skipped = -1
    for index, token in enumerate(tokens):
        if token.start <= skipped:
            continue
        if token.text[:1] not in ("<", ">"):
            yield token
            continue
        text = "".join(each.text for each in tokens[index : index + 3] if each.start <= token.start + 2)
        kind = _CONTAINING.get(text[:3])
        if kind is not None and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            skipped = token.start + 2
            yield _new_token(kind, text[:3], token, skipped)
        else:
            yield token


_CONTAINING: Final = {"<<=": TokenType.AMP_LT, ">>=": TokenType.AMP_GT}


def _decimal(text: str) -> str:
    base = {"x": 16, "o": 8, "b": 2}.get(text[1:2].lower())
    return str(int(text[2:], base)) if base else text


def _labels(tokens: list[Token]) -> list[Token]:
    """`AS select` in a select list and `t.select`: there a keyword is a name."""
    rewritten: list[Token] = []
    in_list = [False]
    for index, token in enumerate(tokens):
        token_type, before = token.token_type, rewritten[-1] if rewritten else None
        if before is not None and token.text.upper() in _RESERVED and token_type != TokenType.IDENTIFIER:
            after = tokens[index + 1] if index + 1 < len(tokens) else None
            if _is_name(before, token_type, after, in_list[-1]):
                rewritten.append(_new_token(TokenType.VAR, token.text, token, token.end))
                continue
        if in_list[-1] and token.text.upper() in _AFTER_AS and token_type != TokenType.IDENTIFIER:
            _check_label(tokens, index)
        if token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            in_list.append(False)
        elif token_type in (TokenType.R_PAREN, TokenType.R_BRACKET) and len(in_list) > 1:
            in_list.pop()
        elif token_type in (TokenType.SELECT, TokenType.FROM):
            in_list[-1] = token_type == TokenType.SELECT or (in_list[-1] and _is_distinct(before))
        rewritten.append(token)
    return rewritten


def _check_label(tokens: Sequence[Token], index: int) -> None:
    """Raises 42601 for a label that wants AS before it. The unit of an interval is none."""
    before, after = tokens[index - 1], tokens[index + 1] if index + 1 < len(tokens) else None
    unit = before.token_type == TokenType.STRING and index > 1 and tokens[index - 2].token_type == TokenType.INTERVAL
    unit = unit or before.text.upper() == "TO"
    ended = after is None or after.token_type in _LIST_ENDS
    if before.token_type in _VALUE_ENDS and ended and not unit:
        text = tokens[index].text
        message = f'syntax error at or near "{text}"'
        raise invalid(SYNTAX_ERROR, message, tokens[index].start + 1, f"write AS {text}")


def _is_name(before: Token, token_type: TokenType, after: Token | None, in_list: bool) -> bool:
    if before.token_type == TokenType.DOT:
        return True
    if not in_list:
        return False
    bare = before.token_type in _VALUE_ENDS and token_type == TokenType.SELECT
    return before.token_type == TokenType.ALIAS or (bare and (after is None or after.token_type in _LIST_ENDS))


def _is_distinct(before: Token | None) -> bool:
    return before is not None and before.token_type == TokenType.DISTINCT


def _scales(tokens: list[Token]) -> list[Token]:
    """`numeric(6, -2)`: the sign belongs to the number."""
    rewritten: list[Token] = []
    for token in tokens:
        signed = (
            len(rewritten) >= 5 and rewritten[-1].token_type == TokenType.DASH and token.token_type == TokenType.NUMBER
        )
        if signed and rewritten[-5].token_type == TokenType.DECIMAL and rewritten[-2].token_type == TokenType.COMMA:
            rewritten[-1] = _new_token(TokenType.NUMBER, f"-{token.text}", rewritten[-1], token.end)
        else:
            rewritten.append(token)
    return rewritten


def _sorts(tokens: list[Token]) -> list[Token]:
    """`ORDER BY x USING >` as DESC. Raises 42809 for an operator that no order goes by."""
    rewritten: list[Token] = []
    for token in tokens:
        if rewritten and rewritten[-1].token_type == TokenType.USING and token.token_type in _SORTS:
            rewritten[-1] = _new_token(
                _SORTS[token.token_type], "ASC" if token.text == "<" else "DESC", rewritten[-1], token.end
            )
            continue
        if rewritten and rewritten[-1].token_type == TokenType.USING and token.text in ("=", "<>", "<=", ">="):
            message = f"operator {token.text} is not a valid ordering operator"
            raise invalid("42809", message, token.start + 1, "use < or >, or ASC or DESC")
        rewritten.append(token)
    return rewritten
