#!/usr/bin/env python3
"""Lists the third-party components of a build: shared libraries of its program (ldd), archives on its link line,
headers of its objects, and generators that wrote code for it. Each belongs to a Debian source package, which must
have a row in licences.tsv and a licence text.

    contents.py BUILD                          print the list; exit code 1 if a row or a text is missing
    contents.py BUILD --into FOLDER [--nanobind FOLDER --module LIBRARY ...]
        write the licence texts (FOLDER/licenses) and the bill of materials (FOLDER/sbom.spdx.json, SPDX 2.3) of the
        program, or of the Python module with the given libraries
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).with_name("licences.tsv")
COMMON = Path("/usr/share/common-licenses")
# Packages do not include the C library, nor CUDA's libraries, which are loaded when they are used.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|resolv|util)\.so|ld-linux|linux-vdso|lib(cuda|nv|cu))")
# Third-party files in the repository. NOTICE has their licences. Files of rules/ are in every package.
IN_TREE = {"onnx": "tests/fuzz/corpus/onnx_import.tar.gz", "taso": "rules/taso.tg", "tensat": "rules/taso.tg"}


class Fault(Exception):
    """A package has a forbidden component, or a required one is missing."""


@dataclass
class Component:
    source: str
    version: str
    licence: str
    use: str
    files: dict = field(default_factory=dict)  # name -> kind: shared, static, headers, generated, derived
    text: str = ""                             # the package with the licence text, or the text itself

    @property
    def system(self):
        return self.use == "system"


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Fault(f"`{' '.join(map(str, command[:4]))} …` failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def table(path=TABLE):
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            source, licence, use = line.split("\t")
            rows[source] = (licence, use)
    return rows


def version():
    """Returns the version that CMakeLists.txt defines."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(tangram VERSION (\d+\.\d+\.\d+)", text, re.M).group(1)


def epoch():
    """Returns the time for all packed files: that of the commit, so that packing again gives the same bytes."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else int((ROOT / "CMakeLists.txt").stat().st_mtime)


# --- components -----------------------------------------------------------------------------------------


def shared_libraries(binaries):
    """Returns the shared libraries of the binaries, except system libraries: the loader's name -> path."""
    found = {}
    for line in run("ldd", *binaries).splitlines():
        if "not found" in line:
            raise Fault(f"a library is not there: {line.strip()}")
        match = re.match(r"\s*(\S+) => (/.+) \(0x", line)
        if match and not SYSTEM.match(match.group(1)):
            found[match.group(1)] = Path(match.group(2))
    return found


def ninja(build, *arguments):
    return run("ninja", "-C", build, "-t", *arguments)


def linked(build):
    """Returns the third-party archives and objects on the program's link line."""
    line = ninja(build, "commands", "tg").strip().splitlines()[-1]
    return [Path(word) for word in line.split() if word.startswith("/") and word.endswith((".a", ".o"))
            and not word.startswith(str(ROOT))]


def headers(build):
    """Returns the headers of the program's objects that are outside the source tree."""
    objects = [name for name in ninja(build, "inputs", "tg").split() if name.endswith((".o", ".gch"))]
    if not objects:
        raise Fault(f"{build} has no objects of the program: build it first")
    text = ninja(build, "deps", *objects)
    return [Path(name) for name in sorted(set(re.findall(r"^ +(/\S+)", text, re.M)))
            if not name.startswith((str(ROOT), str(build.resolve())))]


def generators(build):
    return [Path(name) for name in sorted(set(re.findall(r"(/\S*/(?:bison|flex)) ", ninja(build, "commands", "tg"))))]


@lru_cache(maxsize=None)
def owners():
    """Returns each file that dpkg installed -> its package."""
    found = {}
    for listing in Path("/var/lib/dpkg/info").glob("*.list"):
        package = listing.stem.partition(":")[0]
        for line in listing.read_text(encoding="utf-8").splitlines():
            found.setdefault(line, package)
    if not found:
        raise Fault("dpkg is not here, which says whose a library is and has its licence")
    return found


def owner(path):
    real = os.path.realpath(path)  # /lib is a link to /usr/lib, and dpkg lists some files under either
    for name in (str(path), real, real.removeprefix("/usr"), "/usr" + real):
        if name in owners():
            return owners()[name]
    raise Fault(f"{path} is of no Debian package: its licence is not known")


@lru_cache(maxsize=None)
def source_of(package):
    text = run("dpkg-query", "-W", "-f", "${source:Package}\t${source:Version}\n", package)
    return tuple(text.splitlines()[0].split("\t"))


def component(found, rows, source, version_of):
    if source not in rows:
        raise Fault(f"{source} has no row in {TABLE.relative_to(ROOT)}")
    return found.setdefault(source, Component(source, version_of, *rows[source]))


def nanobind(found, rows, folder):
    """Adds the components of the Python module alone: nanobind and robin-map, as installed by pip."""
    licences, = folder.parent.glob("nanobind-*.dist-info/licenses/LICENSE")
    number = licences.parent.parent.name.removeprefix("nanobind-").removesuffix(".dist-info")
    text = (folder / "ext/robin_map/include/tsl/robin_map.h").read_text(encoding="utf-8")
    for source, words in (("nanobind", licences.read_text(encoding="utf-8")), ("robin-map", text.partition("*/")[0] + "*/\n")):
        made = component(found, rows, source, number)
        made.files[source], made.text = "static", words


def contents(build, module=None, nanobind_folder=None, rows=None):
    """Returns source package -> component, for the program or for a Python module with the libraries `module`."""
    rows, found = rows or table(), {}
    shared = shared_libraries([build / "tg"]).values() if module is None else module
    beside = {path.name.partition(".so")[0] for path in shared}
    listed = [(path.name, path, "shared") for path in shared]
    listed += [(path.name, path, "static") for path in linked(build) if path.stem not in beside]
    listed += [(str(path), path, "headers") for path in headers(build)]
    listed += [(path.name, path, "generated") for path in generators(build)]
    for name, path, how in listed:
        package = owner(path)
        made = component(found, rows, *source_of(package))
        if how != "headers":
            made.files[name] = how
        elif not made.files:
            made.files[package] = how
        made.text = made.text or package
    for source, file in IN_TREE.items():
        if file.startswith("rules/"):
            component(found, rows, source, "").files[file] = "derived"
    if nanobind_folder:
        nanobind(found, rows, nanobind_folder)
    return dict(sorted(found.items()))


def contents_of_source():
    """Returns the components of the source archive: third-party files in the repository."""
    rows, found = table(), {}
    for source, file in IN_TREE.items():
        component(found, rows, source, "").files[file] = "derived"
    return found


# --- licences and the bill of materials -----------------------------------------------------------------


def licence_text(made):
    if made.source in IN_TREE:
        return (ROOT / "NOTICE").read_text(encoding="utf-8")
    if "\n" in made.text:
        return made.text
    path = Path("/usr/share/doc", made.text, "copyright")
    if not path.exists() or not path.stat().st_size:
        raise Fault(f"{made.source} has no licence text: {path} is not there")
    return path.read_text(encoding="utf-8", errors="replace")


def write_licences(found, folder):
    """Writes a licence text for each source, Debian's common licences that they name, and README.txt, which says
    where each source is available."""
    folder.mkdir(parents=True, exist_ok=True)
    common, lines = set(), [f"Components of Tangram {version()}, with the location of their sources (required by EPL-1.0 and the GPL):", ""]
    for made in found.values():
        if made.system or made.source in IN_TREE:
            continue
        text = licence_text(made)
        (folder / f"{made.source}.txt").write_text(text, encoding="utf-8")
        common.update(re.findall(r"common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text))
        lines += [f"{made.source} {made.version}: {made.licence}", f"    {place(made)}"]
    for name in sorted(common):
        if (COMMON / name).exists():
            shutil.copyfile(COMMON / name, folder / f"{name}.txt")
    (folder / "README.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def place(made):
    if made.source in ("nanobind", "robin-map"):
        return "https://pypi.org/project/nanobind/"
    if made.source in IN_TREE:
        return "NOTICE says where they come from"
    return f"https://snapshot.debian.org/package/{made.source}/{made.version}/"


LINKS = {"shared": "DYNAMIC_LINK", "static": "STATIC_LINK", "headers": "STATIC_LINK", "generated": "GENERATED_FROM",
         "derived": "CONTAINS"}


def spdx(found, name):
    """Returns the bill of materials in SPDX 2.3 as JSON, https://spdx.github.io/spdx-spec/v2.3/."""
    def package(identity, label, number, licence, where, comment):
        return {"SPDXID": identity, "name": label, "versionInfo": number or "NOASSERTION", "downloadLocation": where,
                "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
                "copyrightText": "NOASSERTION", "comment": comment}

    packages = [package("SPDXRef-tangram", "tangram", version(), "Apache-2.0", "NOASSERTION", name)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-tangram"}]
    for made in found.values():
        identity = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", made.source)
        where = place(made) if place(made).startswith("https:") else "NOASSERTION"
        files = ", ".join(f"{file} ({how})" for file, how in sorted(made.files.items()))
        row = package(identity, made.source, made.version, made.licence, where, f"{made.use}: {files}")
        if "snapshot.debian.org" in where:
            row["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator":
                                    f"pkg:deb/debian/{made.source}@{made.version.replace(':', '%3A').replace('+', '%2B')}?arch=source"}]
        packages.append(row)
        kinds = {"DEPENDS_ON"} if made.system else {LINKS[how] for how in made.files.values()}
        relations += [{"spdxElementId": "SPDXRef-tangram", "relationshipType": kind, "relatedSpdxElement": identity}
                      for kind in sorted(kinds)]
    print_of = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()[:16]
    created = datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"tangram-{version()}-{name}",
            "documentNamespace": f"https://spdx.org/spdxdocs/tangram-{version()}-{name}-{print_of}",
            "creationInfo": {"created": created, "creators": [f"Tool: tangram-contents-{version()}"]},
            "packages": packages, "relationships": relations}


def write(found, folder, name):
    write_licences(found, folder / "licenses")
    (folder / "sbom.spdx.json").write_text(json.dumps(spdx(found, name), indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--module", nargs="+", type=Path)
    parser.add_argument("--nanobind", type=Path)
    args = parser.parse_args()
    try:
        found = contents(args.build.resolve(), args.module, args.nanobind)
        if args.into:
            write(found, args.into, "wheel" if args.module else "program")
            return 0
        for made in found.values():
            licence_text(made)
            kinds = ", ".join(sorted(set(made.files.values())))
            print(f"{made.source:18} {made.version:22} {made.licence:62} {'system' if made.system else kinds}")
    except Fault as fault:
        print(f"contents: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
