# SPDX-License-Identifier: Apache-2.0
"""Python's packages that packaging/test installs in .build/venv."""

import importlib
import os
import pathlib
import sys

from .expect import Skip

PROJECT = pathlib.Path(__file__).resolve().parents[3]


def installed(package):
    """A package from there; without it, the test is skipped."""
    folder = pathlib.Path(os.environ.get("STATUSD_VENV", PROJECT / ".build/venv"))
    for packages in folder.glob("lib/python*/site-packages"):
        if str(packages) not in sys.path:
            sys.path.append(str(packages))
    try:
        return importlib.import_module(package)
    except ImportError:
        raise Skip(f"there is no {package} in .build/venv; packaging/test installs it") from None
