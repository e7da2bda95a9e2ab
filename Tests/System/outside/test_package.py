# SPDX-License-Identifier: Apache-2.0
"""The Debian package as packaging/build-deb makes it, and its bill of materials. (Installed: see inside/test_package.py.)"""

import functools
import json
import os
import pathlib
import shutil
import tempfile

from harness.daemon import environment, run
from harness.expect import Skip, contains, equal
from harness.runner import test

from .test_install import FILES, MANUALS

PROJECT = pathlib.Path(__file__).resolve().parents[3]
RESOLVED = PROJECT / "Package.resolved"
PROGRAMS = ("statusctl", "statusd")
IN_ADDITION = [
    "etc/statusd/statusd.yaml",
    "usr/share/lintian/overrides/statusd",
    *(f"usr/share/doc/statusd/{name}" for name in ("changelog.Debian.gz", "changelog.gz", "copyright", "statusd.spdx.json")),
    *MANUALS,
]
"""What packaging/install does not install."""
MODES = {"etc/statusd/": "drwxr-x---", "usr/bin/statusd": "-rwx--x--x", "usr/bin/statusctl": "-rwxr-xr-x"}
"""The modes of all but data that every user may read."""
DATE = 1700000000


def build(folder):
    """Makes the package in a folder, from the programs as they are; returns its path."""
    for tool in ("dpkg-buildpackage", "dh", "lintian", "pandoc"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}; packaging/setup --test installs it")
    if not (PROJECT / ".build/release/statusctl").exists() or not RESOLVED.exists():
        raise Skip("there is no release build")
    result = run(PROJECT / "packaging" / "build-deb", "--no-build", "--into", folder, timeout=150,
                 env=environment(SOURCE_DATE_EPOCH=DATE))
    equal((result.status, result.err), (0, ""))
    return pathlib.Path(result.out.strip())


@functools.cache
def shared():
    """A package for all tests, and its folder, which is removed at the end of the run."""
    folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
    return build(folder.name), folder


@test("two builds of the package from the same programs have the same bytes, whatever the folder and the umask", limit=180)
def reproducible():
    package, _ = shared()
    before = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory() as folder:
            assert build(f"{folder}/deeper/folder").read_bytes() == package.read_bytes(), "the bytes differ"
    finally:
        os.umask(before)


@test("the programs do not contain the path of the folder in which they were built", limit=180)
def paths():
    shared()
    for program in PROGRAMS:
        assert str(PROJECT).encode() not in (PROJECT / ".build/release" / program).read_bytes(), program


@test("the package has the files of packaging/install and a few more, owned by root, with the modes that they need")
def contents():
    package, _ = shared()
    listing = run("dpkg-deb", "-c", package).out
    found = {}
    for mode, owner, _, _, _, path in (line.split() for line in listing.splitlines()):
        path = path.removeprefix("./")
        found[path] = mode
        usual = "drwxr-xr-x" if path.endswith("/") or not path else "-rw-r--r--"
        equal((owner, mode), ("root/root", MODES.get(path, usual)), path)
    wanted = {f"{file}.gz" if file.startswith("usr/share/man/") else file for file in (*FILES, *IN_ADDITION)}
    equal({path for path in found if path and not path.endswith("/")}, wanted)
    equal(run("dpkg-deb", "-I", package, "conffiles").out, "/etc/statusd/statusd.yaml\n")


@test("the package depends on the libraries that the programs load, and recommends what HTTP checks need")
def dependencies():
    package, _ = shared()
    contains(run("dpkg-deb", "-f", package, "Depends").out, "libsystemd0 (>=", "libsqlite3-0 (>=", "libc6 (>=", "systemd-sysusers")
    contains(run("dpkg-deb", "-f", package, "Recommends").out, "libcurl4", "ca-certificates")


@test("lintian has nothing to say about the package", limit=180)
def lintian():
    package, _ = shared()
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", package.with_suffix(".changes"),
                 timeout=120)
    equal((result.status, result.out), (0, ""), result.err)


@test("the bill of materials lists every package of Package.resolved, the toolchain's libraries and libyaml, as linked statically")
def materials():
    package, _ = shared()
    document = json.loads(run("sh", "-c", f"dpkg-deb --fsys-tarfile {package} | tar -x -O ./usr/share/doc/statusd/statusd.spdx.json").out)
    versions = {part["name"]: part["versionInfo"] for part in document["packages"]}
    pins = {pin["identity"]: pin["state"] for pin in json.loads(RESOLVED.read_text(encoding="utf-8"))["pins"]}
    equal({name: versions.get(name) for name in pins}, {name: state["version"] for name, state in pins.items()})
    equal(set(versions) - set(pins), {"statusd", "swift", "swift-corelibs-libdispatch", "swift-experimental-string-processing", "libyaml"})
    for part in document["packages"]:
        if part["name"] in pins:
            contains(part["downloadLocation"], pins[part["name"]]["revision"])
    linked = {line["relatedSpdxElement"] for line in document["relationships"] if line["relationshipType"] == "STATIC_LINK"}
    equal(linked, {f"SPDXRef-{name}" for name in versions if name != "statusd"})
    equal((document["spdxVersion"], document["creationInfo"]["created"]), ("SPDX-2.3", "2023-11-14T22:13:20Z"))
    copyright_file = (PROJECT / "packaging/debian/copyright").read_text(encoding="utf-8")
    for name in set(versions) - {"statusd"}:
        contains(copyright_file, f"{name}/*")
