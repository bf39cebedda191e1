"""
Makes spoor_client/types.py, the types of the responses to reads, from a server's OpenAPI document:

    curl -s https://spoor.example.com/api/v1/openapi.json | python tools/make_types.py > spoor_client/types.py

A test checks that this program makes the file from the server's document.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from typing import Any

#: The responses to reads. Types that these contain follow.
ANSWERS = ("KeyDescription", "Project", "TraceList", "TraceDetail", "ScoreList", "TraceScoreList")
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_HEAD = '''"""
The types of the responses to reads. Made by tools/make_types.py from the server's OpenAPI document, not by hand.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union
'''


class _Maker:
    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}

    def add(self, name: str, schema: dict[str, Any]) -> str:
        if name not in self.classes:
            self.classes[name] = ""
            text = self.class_of(name, schema)
            # A class comes after the classes that it contains.
            del self.classes[name]
            self.classes[name] = text
        return name

    def class_of(self, name: str, schema: dict[str, Any]) -> str:
        required = set(schema.get("required", []))
        fields = schema["properties"]
        if set(fields) != required or any(keyword.iskeyword(field) for field in fields):
            raise ValueError(f"{name} has fields that may be absent, which this does not write")
        lines = [f"class {name}(TypedDict):"]
        for field, each in fields.items():
            lines.append(f"    {field}: {self.type_of(f'{name}{field[0].upper()}{field[1:]}', each)}")
            if "description" in each:
                lines += textwrap.wrap(each["description"], 116, initial_indent='    """', subsequent_indent="    ")
                lines[-1] += '"""'
        return "\n".join(lines)

    def type_of(self, name: str, schema: dict[str, Any]) -> str:
        if "$ref" in schema:
            target = schema["$ref"].rsplit("/", 1)[1]
            return self.add(target, self.schemas[target])
        if "enum" in schema:
            values = ", ".join(json.dumps(value) for value in schema["enum"])
            return f"Literal[{values}]"
        if "anyOf" in schema or "oneOf" in schema:
            options = [self.type_of(name, each) for each in schema.get("anyOf") or schema["oneOf"]]
            return f"Union[{', '.join(dict.fromkeys(options))}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            options = [self.type_of(name, {**schema, "type": each}) for each in kind]
            return f"Union[{', '.join(options)}]"
        if kind == "array":
            return f"list[{self.type_of(name, schema['items'])}]"
        if kind == "object":
            if schema.get("properties"):
                return self.add(name, schema)
            more = schema.get("additionalProperties", schema.get("patternProperties"))
            if isinstance(more, dict) and "patternProperties" in schema:
                more = next(iter(more.values()))
            return f"dict[str, {self.type_of(name, more)}]" if isinstance(more, dict) and more else "dict[str, Any]"
        return _SCALARS[kind] if kind in _SCALARS else "Any"


def make_types(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    maker = _Maker(schemas)
    for name in ANSWERS:
        maker.add(name, schemas[name])
    return "\n\n\n".join([_HEAD.rstrip(), *maker.classes.values()]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(make_types(json.load(sys.stdin)))
