# SPDX-License-Identifier: Apache-2.0
"""The Debian package as packaging/build-deb makes it, and its bill of materials. (Installed: see inside/test_package.py.)"""

import email
import email.utils
import functools
import json
import os
import pathlib
import shutil
import tempfile
import time

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
MODES = {"etc/statusd/": "drwxr-x---", "usr/bin/statusd": "-rwx--x--x", "usr/bin/statusctl": "-rwxr-xr-x",
         **{path: "-rwxr-xr-x" for path in FILES if path.startswith("usr/lib/statusd/alerts/") and not path.endswith(".py")}}
"""The modes of all but data that every user may read."""


def build(folder, date):
    """Makes the package of a date in a folder, from the programs as they are; returns its path."""
    for tool in ("dpkg-buildpackage", "dh", "lintian", "pandoc"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}; packaging/setup --test installs it")
    result = run(PROJECT / "packaging" / "build-deb", "--no-build", "--into", folder, timeout=150,
                 env=environment(SOURCE_DATE_EPOCH=date))
    equal((result.status, result.err), (0, ""))
    return pathlib.Path(result.out.strip())


@functools.cache
def built():
    """The package that packaging/build-deb has made from these programs."""
    programs = [PROJECT / ".build/release" / program for program in PROGRAMS]
    for package in (PROJECT / ".build/deb").glob("statusd_*.deb"):
        if all(program.exists() and program.stat().st_mtime < package.stat().st_mtime for program in programs):
            return package
    raise Skip("there is no package of the release build; run packaging/build-deb")


def date(package):
    """The date of a package, in seconds since 1970."""
    changes = email.message_from_string(package.with_suffix(".changes").read_text(encoding="utf-8"))
    return int(email.utils.parsedate_to_datetime(changes["Date"]).timestamp())


@test("two builds of the package from the same programs have the same bytes, whatever the folder and the umask", limit=180)
def reproducible():
    package = built()
    before = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory() as folder:
            assert build(f"{folder}/deeper/folder", date(package)).read_bytes() == package.read_bytes(), "the bytes differ"
    finally:
        os.umask(before)


@test("the programs do not contain the path of the folder in which they were built", limit=180)
def paths():
    built()
    for program in PROGRAMS:
        assert str(PROJECT).encode() not in (PROJECT / ".build/release" / program).read_bytes(), program


@test("the package has the files of packaging/install and a few more, owned by root, with the modes that they need")
def contents():
    package = built()
    listing = run("dpkg-deb", "-c", package).out
    found = {}
    for mode, owner, _, _, _, path in (line.split() for line in listing.splitlines()):
        path = path.removeprefix("./")
        found[path] = mode
        usual = "drwxr-xr-x" if path.endswith("/") or not path else "-rw-r--r--"
        equal((owner, mode), ("root/root", MODES.get(path, usual)), path)
    wanted = {f"{file}.gz" if file.startswith("usr/share/man/") else file for file in (*FILES, *IN_ADDITION)}
    for name in ("statusd-web", "statusd-mqtt"):
        own = {file for file in wanted if name in file}
        there = run("dpkg-deb", "-c", next(package.parent.glob(f"{name}_*.deb"))).out.split()
        equal({path.removeprefix("./") for path in there if path.startswith("./") and not path.endswith("/") and "/doc/" not in path and "/lintian/" not in path}, own)
        wanted -= own
    equal({path for path in found if path and not path.endswith("/")}, wanted)
    equal(run("dpkg-deb", "-I", package, "conffiles").out, "/etc/statusd/statusd.yaml\n")


@test("the package depends on the libraries that the programs load, and recommends what HTTP checks need")
def dependencies():
    package = built()
    contains(run("dpkg-deb", "-f", package, "Depends").out, "libsystemd0 (>=", "libsqlite3-0 (>=", "libc6 (>=", "systemd-sysusers")
    contains(run("dpkg-deb", "-f", package, "Recommends").out, "libcurl4", "ca-certificates")


@test("lintian has nothing to say about the package", limit=180)
def lintian():
    package = built()
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", package.with_suffix(".changes"),
                 timeout=120)
    equal((result.status, result.out), (0, ""), result.err)


@test("the bill of materials lists the packages of Package.resolved, the toolchain's libraries, libyaml and libstdc++, as linked statically")
def materials():
    package = built()
    document = json.loads(run("sh", "-c", f"dpkg-deb --fsys-tarfile {package} | tar -x -O ./usr/share/doc/statusd/statusd.spdx.json").out)
    versions = {part["name"]: part["versionInfo"] for part in document["packages"]}
    pins = {pin["identity"]: pin["state"] for pin in json.loads(RESOLVED.read_text(encoding="utf-8"))["pins"]
            if pin["identity"] not in ("swift-async-algorithms", "swift-service-lifecycle")}
    equal({name: versions.get(name) for name in pins}, {name: state["version"] for name, state in pins.items()})
    equal(set(versions) - set(pins), {"statusd", "swift", "swift-corelibs-libdispatch", "swift-experimental-string-processing", "libyaml", "libstdc++"})
    for part in document["packages"]:
        if part["name"] in pins:
            contains(part["downloadLocation"], pins[part["name"]]["revision"])
    linked = {line["relatedSpdxElement"] for line in document["relationships"] if line["relationshipType"] == "STATIC_LINK"}
    equal(linked, {f"SPDXRef-{name.replace('+', 'x')}" for name in versions if name != "statusd"})
    equal((document["spdxVersion"], document["creationInfo"]["created"]), ("SPDX-2.3", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date(package)))))
    copyright_file = (PROJECT / "packaging/debian/copyright").read_text(encoding="utf-8")
    for name in set(versions) - {"statusd"}:
        contains(copyright_file, f"{name}/*")
