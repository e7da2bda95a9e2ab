# SPDX-License-Identifier: Apache-2.0
"""Checks values against the JSON schemas in packaging/schema."""

import pathlib

from .installed import installed


def closed(schema):
    """The schema, in which objects have no members that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if "properties" in found and found.get("type") == "object":
        found["additionalProperties"] = False
    return found


def validator(schema, name):
    """Checks values against a definition of a schema, strictly."""
    jsonschema = installed("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": closed(schema["$defs"])})


def valid(schema, name, value):
    """Asserts that a value is valid by a definition of a schema, strictly."""
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
              for error in validator(schema, name).iter_errors(value)]
    assert not errors, f"{name}: {errors[:3]} in {value}"
