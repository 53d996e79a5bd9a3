"""Values held to their schemas, more strictly than a schema says: a field that no schema names
is a failure here, while readers are told to ignore what they do not know."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
import pyarrow.parquet as pq
from referencing import Registry, Resource

from heedful.schemas import schema, schema_names


def check(name: str, value: Any) -> None:
    """Raises where the value is not what the schema says, and nothing more."""
    _validator(name).validate(value)


def check_verb(document: dict[str, Any]) -> None:
    """What a verb printed with --json."""
    name = f"cli-{document['verb'].replace(' ', '-')}"
    assert name in schema_names(), f"{name}: write src/heedful/json_schemas/{name}.json"
    check(name, document)


def check_table(name: str, path: Any) -> None:
    """The columns, their types, and the first rows, of a Parquet file."""
    table = pq.read_table(path)
    columns = schema(name)["properties"]
    for field in table.schema:
        known = columns.get(field.name, {"arrow": "double"})  # a term of the loss
        kinds = known["arrow"].replace("list of ", "").split(" or ")
        found = field.type.value_type if str(field.type).startswith("list") else field.type
        assert str(found) in kinds, f"{name}: {field.name} is {field.type}"
        assert known["arrow"].startswith("list") == str(field.type).startswith("list")
    said = (table.schema.metadata or {})[b"heedful_schema_version"]
    assert int(said) == schema(name)["heedful_schema_version"]
    for row in table.slice(0, 20).to_pylist():
        check(name, row)


@cache
def _validator(name: str) -> Any:
    known = [(f"heedful:{each}", _resource(each)) for each in schema_names()]
    return jsonschema.Draft202012Validator(
        _closed(schema(name)), registry=Registry().with_resources(known)
    )


@cache
def _resource(name: str) -> Any:
    return Resource.from_contents(_closed(schema(name)))


def _closed(part: Any) -> Any:
    """Every object with named fields has no others, unless the schema says which."""
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {name: _closed(each) for name, each in part.items()}
    if found.get("type") == "object" and "properties" in found and "oneOf" not in found:
        found.setdefault("additionalProperties", False)
    return found
