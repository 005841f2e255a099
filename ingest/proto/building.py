"""Message classes from protocol text, so that the text in our modules is what runs and nothing is generated.

Only the part of the language that our messages need: proto3, one field per line, enums as int32.
"""

import re
from operator import itemgetter
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

_MESSAGE: Final = re.compile(r"message (\w+) \{(.*?)\n\}", re.DOTALL)
_FIELD: Final = re.compile(r"^  (?:oneof (\w+): )?(repeated )?(\w+) (\w+) = (\d+);", re.MULTILINE)
_SCALARS: Final = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in ("double", "int32", "sint32", "uint32", "int64", "sint64", "uint64", "string", "bytes")
}

COPIED: Final = itemgetter(slice(None))
"""A repeated field as a list. `list()` takes twice as long: it asks for one element after the other."""


def message_classes(package: str, text: str) -> dict[str, Any]:
    """The message classes that the text declares, by name. `oneof x: type name = 1;` puts a field in oneof `x`."""
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, body in _MESSAGE.findall(text):
        message = file.message_type.add(name=name)
        for field in _FIELD.findall(body):
            _add_field(message, package, *field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        message.name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{message.name}"))
        for message in file.message_type
    }


def _add_field(
    message: DescriptorProto, package: str, oneof: str, repeated: str, type: str, name: str, number: str
) -> None:
    field = message.field.add(name=name, number=int(number))
    field.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    if type in _SCALARS:
        field.type = _SCALARS[type]
    else:
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{package}.{type}"
    if oneof:
        names = [declared.name for declared in message.oneof_decl]
        if oneof not in names:
            message.oneof_decl.add(name=oneof)
            names.append(oneof)
        field.oneof_index = names.index(oneof)
