"""What Heedful writes for machines: a JSON Schema for each, and which versions are read."""

from heedful.schemas.files import schema, schema_names

__all__ = ["schema", "schema_names"]
