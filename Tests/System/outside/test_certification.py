# SPDX-License-Identifier: Apache-2.0
"""Varlink's certification, `org.varlink.certification`: the code generated from its description, and Python's own implementation."""

from harness.daemon import BINARIES, run
from harness.expect import contains, equal
from harness.runner import test
from harness.servers import serving

from .test_foreign_clients import python

OURS = str(BINARIES / "varlink-certification")
PYTHONS = ("-m", "varlink.tests.test_certification")


@test("certification: a generated client passes that of the Python package")
def generated_client():
    with serving(python(), *PYTHONS, "--varlink=unix:{}") as path:
        result = run(OURS, "--client", path)
        equal(result.status, 0, result.out + result.err)
        contains(result.out, "Certification passed")


@test("certification: the Python package's client passes that of a generated service")
def generated_service():
    with serving(OURS, "--server", "{}") as path:
        result = run(python(), *PYTHONS, "--client", f"--varlink=unix:{path}")
        contains(result.out, "Certification passed")
        contains(result.out, "'all_ok': True")


@test("certification: a generated client passes that of a generated service")
def both():
    with serving(OURS, "--server", "{}") as path:
        contains(run(OURS, "--client", path).out, "Certification passed")
