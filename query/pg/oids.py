"""PostgreSQL's numbers of the types that results have, and the sizes of their binary forms: pg_type.dat."""

from typing import Final

OIDS: Final = {
    "bool": 16,
    "bytea": 17,
    "int8": 20,
    "int2": 21,
    "int4": 23,
    "text": 25,
    "json": 114,
    "cidr": 650,
    "float4": 700,
    "float8": 701,
    "unknown": 705,
    "inet": 869,
    "bpchar": 1042,
    "varchar": 1043,
    "date": 1082,
    "time": 1083,
    "timestamp": 1114,
    "timestamptz": 1184,
    "interval": 1186,
    "numeric": 1700,
    "record": 2249,
    "void": 2278,
    "uuid": 2950,
    "tsvector": 3614,
    "tsquery": 3615,
    "jsonb": 3802,
}
ARRAYS: Final = {
    "bool": 1000,
    "bytea": 1001,
    "int2": 1005,
    "int4": 1007,
    "text": 1009,
    "bpchar": 1014,
    "varchar": 1015,
    "int8": 1016,
    "float4": 1021,
    "float8": 1022,
    "timestamp": 1115,
    "date": 1182,
    "time": 1183,
    "timestamptz": 1185,
    "interval": 1187,
    "numeric": 1231,
    "record": 2287,
    "json": 199,
    "cidr": 651,
    "inet": 1041,
    "uuid": 2951,
    "tsvector": 3643,
    "tsquery": 3645,
    "jsonb": 3807,
}
SIZES: Final = {
    "bool": 1,
    "int8": 8,
    "int2": 2,
    "int4": 4,
    "float4": 4,
    "float8": 8,
    "unknown": -2,
    "date": 4,
    "time": 8,
    "timestamp": 8,
    "timestamptz": 8,
    "interval": 16,
    "void": 4,
    "uuid": 16,
}
NAMES: Final = {number: name for name, number in OIDS.items()} | {
    number: f"{name}[]" for name, number in ARRAYS.items()
}


def oid(type_name: str) -> int:
    """The number of a type by its short name. Arrays of arrays have the type of their innermost elements' array.

    >>> oid("int8"), oid("text[]"), oid("text[][]")
    (20, 1009, 1009)
    """
    element = type_name.rstrip("[]")
    return ARRAYS.get(element, ARRAYS["text"]) if type_name != element else OIDS.get(type_name, OIDS["text"])


def size(type_name: str) -> int:
    """The bytes of a value in binary form; -1: they vary."""
    return SIZES.get(type_name, -1)
