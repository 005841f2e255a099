"""JSON_VALUE, JSON_QUERY and JSON_EXISTS, whose clauses are words: PostgreSQL documentation, 9.16.3."""

from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

JSON_QUERIES: Final = ("JSON_VALUE", "JSON_QUERY", "JSON_EXISTS")
_WRAPPERS: Final = {
    ("WITHOUT",): "",
    ("WITH", "CONDITIONAL"): "conditional",
    ("WITH", "UNCONDITIONAL"): "unconditional",
    ("WITH",): "unconditional",
}
_BEHAVIOURS: Final = ("NULL", "ERROR", "TRUE", "FALSE", "UNKNOWN", "EMPTY", "DEFAULT")


class JsonQuery(exp.Expression):
    """A call: `this` is the document, `function` its name. `on_empty`, `on_error` are a Var or what DEFAULT gives."""

    arg_types: ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "path", "function"), True),
        **dict.fromkeys(("passing", "returning", "format", "wrapper", "quotes", "on_empty", "on_error"), False),
    }


def parse_json_query(name: str) -> Any:
    """The parser of what stands in the brackets of such a call."""

    def parse(parser: PostgresParser) -> exp.Expr:
        document = parser._parse_disjunction()
        parser._match_text_seq("FORMAT", "JSON")
        if not parser._match(TokenType.COMMA):
            parser.raise_error("expected a path")
        call = JsonQuery(this=document, path=parser._parse_disjunction(), function=exp.Var(this=name.lower()))
        _clauses(parser, call)
        return call

    return parse


def _clauses(parser: PostgresParser, call: JsonQuery) -> None:
    if parser._match_text_seq("PASSING"):
        call.set("passing", parser._parse_csv(lambda: _variable(parser)))
    if parser._match_text_seq("RETURNING"):
        call.set("returning", parser._parse_types())
        call.set("format", exp.Var(this="json") if parser._match_text_seq("FORMAT", "JSON") else None)
    for words, wrapper in _WRAPPERS.items():
        if parser._match_text_seq(*words):
            parser._match_text_seq("ARRAY")
            if not parser._match_text_seq("WRAPPER"):
                parser.raise_error("expected WRAPPER")
            call.set("wrapper", exp.Var(this=wrapper) if wrapper else None)
            break
    if parser._match_texts(("KEEP", "OMIT")):
        call.set("quotes", exp.Var(this=str(parser._prev.text).lower()))
        if not parser._match_text_seq("QUOTES"):
            parser.raise_error("expected QUOTES")
        parser._match_text_seq("ON", "SCALAR", "STRING")
    for _ in range(2):
        _behaviour(parser, call)


def _variable(parser: PostgresParser) -> exp.Expr:
    value = parser._parse_disjunction()
    if not parser._match(TokenType.ALIAS):
        parser.raise_error("expected AS")
    return exp.Alias(this=value, alias=parser._parse_id_var())


def _behaviour(parser: PostgresParser, call: JsonQuery) -> None:
    """`NULL ON EMPTY`, `DEFAULT 0 ON ERROR` and the like."""
    if not parser._match_texts(_BEHAVIOURS):
        return
    word = str(parser._prev.text).upper()
    value = parser._parse_disjunction() if word == "DEFAULT" else exp.Var(this=word.lower())
    if word == "EMPTY":
        parser._match_text_seq("ARRAY")
        value = exp.Var(this="empty object" if parser._match_text_seq("OBJECT") else "empty array")
    if not parser._match(TokenType.ON) or not parser._match_texts(("EMPTY", "ERROR")):
        parser.raise_error("expected ON EMPTY or ON ERROR")
    when = f"on_{str(parser._prev.text).lower()}"
    if call.args.get(when) is not None or (when == "on_empty" and call.args.get("on_error") is not None):
        parser.raise_error("a behaviour is there twice, or behind that of errors")
    call.set(when, value)
