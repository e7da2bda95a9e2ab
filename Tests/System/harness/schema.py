# SPDX-License-Identifier: Apache-2.0
"""Checks values against the JSON schemas in packaging/schema."""

import os
import pathlib
import sys

from .expect import Skip

PROJECT = pathlib.Path(__file__).resolve().parents[3]


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
    folder = pathlib.Path(os.environ.get("STATUSD_VENV", PROJECT / ".build/venv"))
    for packages in folder.glob("lib/python*/site-packages"):
        if str(packages) not in sys.path:
            sys.path.append(str(packages))
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip("there is no jsonschema in .build/venv; packaging/test installs it") from None
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": closed(schema["$defs"])})


def valid(schema, name, value):
    """Asserts that a value is valid by a definition of a schema, strictly."""
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
              for error in validator(schema, name).iter_errors(value)]
    assert not errors, f"{name}: {errors[:3]} in {value}"
