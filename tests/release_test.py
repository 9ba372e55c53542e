#!/usr/bin/env python3
"""Tests the packages of `./dev release` for this build. The version is the same everywhere. Each library, archive,
header and generator that is linked or compiled in has a licence and a row in the bill of materials. The bundle runs
where it is unpacked. Packages have their declared contents, are reproducible, and leave no files behind.

    release_test.py BUILD_DIR [PART ...]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cmake" / "release"))
import contents  # noqa: E402
import release  # noqa: E402

WANTED = ("stdlib", "rules/algebra.tg", "examples/hello.tg", "docs/language.md", "bench/gpu/run.py",
          "bench/gpu/peers.py", "bench/gpu/jax_from_torch.py", "bench/gpu/oracle/compare_torch.py", "share/man/man1/tg.1",
          "bin/tg-paper", "share/man/man1/tg-paper.1", "share/bash-completion/completions/tg-paper",
          "share/bash-completion/completions/tg", "LICENSE", "NOTICE", "README.md", "share/doc/tangram/sbom.spdx.json")


def run(*command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, check=False,
                          env={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "HOME": "/nonexistent", **environment})
    return done.returncode, done.stdout + done.stderr


def versions(build, _):
    """All places report the version of CMakeLists.txt."""
    number = contents.version()
    said = {
        "tg --version": run(build / "tg", "--version")[1].strip().removeprefix("tg "),
        "the man page": re.search(r'"Tangram (\S+)"', (build / "share/man/man1/tg.1").read_text()).group(1),
        "pkg-config": re.search(r"^Version: (\S+)", (build / "package/tangram.pc").read_text(), re.M).group(1),
        "the CMake package": re.search(r'PACKAGE_VERSION "(\S+)"',
                                       (build / "package/tangramConfigVersion.cmake").read_text()).group(1),
        "CHANGELOG.md": re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1),
    }
    for place, version in said.items():
        if version != number:
            yield f"{place} says {version}, CMakeLists.txt {number}"
    for name in ("pyproject.toml", "dev", *(str(p.relative_to(ROOT)) for p in (ROOT / "cmake").rglob("*") if p.is_file())):
        if not name.endswith((".pyc",)) and f'"{number}"' in (ROOT / name).read_text():
            yield f"{name} has the version, which belongs into CMakeLists.txt alone"


def licences(build, scratch):
    """licences.tsv lists exactly the linked components, and a component without a row or a text is an error."""
    rows = contents.table()
    found = contents.contents(build)
    module_only, source_only = {"nanobind", "robin-map"}, set(contents.IN_TREE)
    if unused := set(rows) - set(found) - module_only - source_only:
        yield f"rows of licences.tsv that nothing is linked for: {sorted(unused)}"
    for source in ("z3", "llvm-toolchain-14", "rapidjson", "bison"):  # shared, static, headers, generated
        try:
            contents.contents(build, rows={name: row for name, row in rows.items() if name != source})
            yield f"{source} has no row, which is not reported"
        except contents.Fault as fault:
            if source not in str(fault):
                yield f"{source} has no row, and it says: {fault}"
    found["z3"].text = "no-such-package"
    try:
        contents.write_licences(found, Path(scratch, "licences"))
        yield "z3 has no licence text, which is not reported"
    except contents.Fault:
        pass


SPDX = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships"}
PACKAGE = {"SPDXID", "name", "versionInfo", "downloadLocation", "filesAnalyzed", "licenseConcluded", "licenseDeclared",
           "copyrightText"}


def bill_of_materials(doc, libraries):
    """Checks the used parts of SPDX 2.3, and that each packed library has a row and a licence text."""
    bill = json.loads((doc / "sbom.spdx.json").read_text())
    if set(bill) != SPDX or bill["spdxVersion"] != "SPDX-2.3" or bill["SPDXID"] != "SPDXRef-DOCUMENT":
        yield f"the bill of materials is not SPDX 2.3: {sorted(bill)}"
    known = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    if len(known) != len(bill["packages"]) + 1:
        yield "two packages of the bill of materials have one name"
    for package in bill["packages"]:
        if not PACKAGE <= set(package) or not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]):
            yield f"a package of the bill of materials lacks {sorted(PACKAGE - set(package))}: {package}"
    for relation in bill["relationships"]:
        if not {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known:
            yield f"a relation of the bill of materials names an unknown element: {relation}"
    for library in libraries:
        rows = [package for package in bill["packages"] if f"{library} (shared)" in package.get("comment", "")]
        if len(rows) != 1:
            yield f"{library} has {len(rows)} rows in the bill of materials"
        elif not (doc / "licenses" / f"{rows[0]['name']}.txt").stat().st_size:
            yield f"{library} has no licence text"


def gpu_bench(top, scratch):
    """The benchmarks find the program of the archive and report its commit."""
    results = Path(scratch, "gpu.json")
    code, text = run(sys.executable, top / "bench" / "gpu" / "run.py", "correct", "--backend", "ref",
                     "--models", "hello", "--json", results)
    if code != 0 or "Correct against ref: 3 of 3." not in text:
        yield f"bench/gpu/run.py in the archive: exit {code}: {text}"
        return
    commit = (top / "COMMIT").read_text().strip() if (top / "COMMIT").exists() else ""
    if json.loads(results.read_text())["environment"]["commit"] != commit:
        yield f"the results are not of commit {commit}: {results.read_text()}"


def bundle(build, scratch):
    archive, elsewhere = Path(scratch, "tangram.tar.gz"), Path(scratch, "else where")  # a path with a space
    code, text = run(sys.executable, ROOT / "cmake/release/release.py", build, "--only", "bundle", archive)
    if code != 0 or "MiB" not in text:
        yield f"release.py --only bundle: exit {code}: {text}"
        return
    elsewhere.mkdir()
    run("tar", "-C", elsewhere, "-xzf", archive)
    top, = elsewhere.iterdir()
    for name in WANTED:
        if not (top / name).exists():
            yield f"the archive has no {name}"
    link = Path(scratch, "tg")
    link.symlink_to(top / "bin/tg")
    for program in (top / "bin/tg", link):
        code, text = run(program, "run", top / "examples/hello.tg", "--backend", "ref")
        if code != 0:
            yield f"{program}: exit {code}: {text}"
    yield from gpu_bench(top, scratch)
    code, text = run(top / "bin/tg", "devices")
    if code != 0 or "cuda" not in text:
        yield f"tg devices: exit {code}: {text}"
    for name, path in contents.shared_libraries([top / "bin/tg"]).items():
        if top.resolve() not in path.resolve().parents:
            yield f"{name} is taken from {path}, not from the archive"
    libraries = sorted(path.name for path in (top / "lib/tangram").iterdir())
    yield from bill_of_materials(top / "share/doc/tangram", libraries)


def listing(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if "var/lib/dpkg" not in str(path))


# The public C++ API (docs/compatibility.md).
PUBLIC = {"tangram.h", "environment.h", "fields.h", "choices.h", "tables/backends.def", "tables/extractors.def", "tables/options.def",
          "tables/report.def", "tables/strategies.def"}


def packages(build, scratch):
    """Installs, upgrades and removes the packages with dpkg in an empty root, without their dependencies."""
    if not shutil.which("dpkg-deb"):
        print("[SKIP] packages: dpkg-deb is not installed")
        return
    first, second, root = Path(scratch, "first"), Path(scratch, "second"), Path(scratch, "root")
    for folder in (first, second, root / "var/lib/dpkg/updates", root / "var/lib/dpkg/info"):
        folder.mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    made = release.debs(build, first, compression="none")
    again = release.debs(build, second, compression="none")
    for one, other in zip(made, again):
        if one.read_bytes() != other.read_bytes():
            yield f"{one.name} has other bytes each time"
    later = release.debs(build, second, revision="2", compression="none")
    before = listing(root)
    options = ("--root=" + str(root), "--force-not-root", "--force-depends", "--log=/dev/null")
    for command in (("-i", *made), ("-i", *later), ("-r", "tangram-dev", "tangram"), ("-P", "tangram-dev", "tangram")):
        code, text = run("dpkg", *options, *command)
        if code != 0:
            yield f"dpkg {command[0]}: exit {code}: {text}"
            return
        if command == ("-i", *later):
            code, text = run(root / "usr/bin/tg", "--version")
            if text.strip() != f"tg {contents.version()}":
                yield f"after an upgrade: {text}"
            headers = {name.removeprefix("tangram/") for name in listing(root / "usr/include")} - {"tangram", "tables"}
            if headers != PUBLIC:
                yield f"these headers are installed, or are not: {sorted(headers ^ PUBLIC)}"
    if left := set(listing(root)) - set(before):
        yield f"left behind: {sorted(left)[:9]}"
    depends = run("dpkg-deb", "-f", made[0], "Depends")[1].strip()
    if not re.fullmatch(r"libc6 \(>= 2\.\d+\)", depends):
        yield f"the program's package depends on {depends}, not on the C library alone"


def refusals(build, scratch):
    for arguments, wanted in ((["/nonexistent"], "has no program"), ([build, "--only", "wheel", "x"], "takes `bundle`"),
                              ([build, "--only", "bundle", "/nonexistent/x.tar.gz"], "/nonexistent is not there")):
        code, text = run(sys.executable, ROOT / "cmake/release/release.py", *arguments)
        if code == 0 or wanted not in text or "Traceback" in text:
            yield f"release.py {arguments}: exit {code}: {text}"
    large = Path(scratch, "large.deb")
    with large.open("wb") as file:
        file.truncate(release.LARGEST + 1)
    try:
        release.check_sizes([large])
        yield "an archive above 64 MiB passes"
    except contents.Fault:
        pass


def long_tests(_, __):
    """Each file that does more in the full test is listed in tests/TESTS.md."""
    listed = (ROOT / "tests/TESTS.md").read_text().partition("## What takes longer")[2].partition("\n## ")[0]
    for path in sorted(p for p in (ROOT / "tests").rglob("*") if p.suffix in (".py", ".cpp", ".h") and p != Path(__file__).resolve()):
        text = path.read_text(encoding="utf-8")
        if re.search("TANGRAM_FULL_TESTS|is_full_test", text) and path.relative_to(ROOT / "tests").as_posix() not in listed:
            yield f"{path} has more to do in the full test, and tests/TESTS.md does not list it"


PARTS = (long_tests, versions, licences, bundle, packages, refusals)


def main():
    build, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:]
    found = []
    for part in PARTS:
        if not chosen or part.__name__ in chosen:
            with tempfile.TemporaryDirectory() as scratch:
                found += part(build, scratch)
    print("\n".join(found) or "release: one version, all licences; unpacked, installed, run, removed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
