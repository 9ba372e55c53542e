#!/usr/bin/env python3
"""Packs a release from a finished build and a commit.

    release.py BUILD [--out FOLDER]           all packages: source archive, bundle, wheel, two .debs, SHA256SUMS
    release.py BUILD --only bundle FILE       only the bundle

  source       tangram-VERSION.tar.gz: the files of the commit
  bundle       tangram-VERSION-linux-x86_64.tar.gz: runs where it is unpacked; program, stdlib, rules, examples,
               GPU benchmarks
  wheel        made by python/wheel.py
  tangram      .deb: /usr/bin/tg; requires only the C library
  tangram-dev  .deb: the C++ library, for programs that embed it

All packages have the same layout: bin/tg finds lib/tangram/*.so by its RPATH. Each package has the licence texts and
the bill of materials that contents.py makes for it. The same commit and build give the same bytes. A package larger
than 64 MiB is an error.
"""
import argparse
import gzip
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import contents  # noqa: E402
from contents import ROOT, Fault, run  # noqa: E402

LARGEST = 64 << 20
# The publisher, from the environment variables that Debian's tools use.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'The authors of Tangram')} <{os.environ.get('DEBEMAIL', 'tangram@localhost')}>"
SUMMARY = {
    "tangram": "optimises neural networks by equality saturation, and runs them",
    "tangram-dev": "optimises neural networks by equality saturation - C++ library",
}
DESCRIPTION = """ Tangram reads networks in its own language or in ONNX, finds faster forms of
 them by equality saturation over verified rewrite rules, chooses by costs
 measured on this machine, proves the result equal and runs it.
"""
# Packages that are needed to link a program that embeds the library (cmake/tangramConfig.cmake.in).
EMBEDDING = ("g++", "coinor-libcbc-dev", "libdnnl-dev", "libncurses-dev", "libprotobuf-dev", "libsqlite3-dev",
             "libz3-dev", "llvm-14-dev", "zlib1g-dev")
OVERRIDES = """# Libraries are carried, so that the program needs the C library alone and runs as it was tested.
tangram: embedded-library
# Where the program looks for them.
tangram: custom-library-search-path
"""


# --- trees ----------------------------------------------------------------------------------------------


def install_program(build, prefix):
    """Installs the programs, their shared libraries, the licence texts and the bill of materials."""
    run("cmake", "--install", build, "--prefix", prefix, "--component", "program", "--strip")
    libraries = prefix / "lib" / "tangram"
    libraries.mkdir(parents=True)
    for name, path in contents.shared_libraries([build / "tg", build / "tg-paper"]).items():
        shutil.copyfile(path.resolve(), libraries / name)
    run("strip", "--strip-unneeded", *libraries.iterdir())
    contents.write(contents.contents(build), prefix / "share" / "doc" / "tangram", "program")


def settle(tree):
    """Sets modes and times that do not depend on the user and the time of packing."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (contents.epoch(), contents.epoch()), follow_symlinks=False)


def pack(tree, out):
    settle(tree)
    names = sorted(path.relative_to(tree.parent).as_posix() for path in [tree, *tree.rglob("*")])
    packed = subprocess.run(["tar", "-C", tree.parent, "--no-recursion", "--owner=0", "--group=0", "--numeric-owner",
                             "--format=gnu", "-c", "-T", "-"], input="\n".join(names).encode(), stdout=subprocess.PIPE,
                            check=True).stdout
    zipped(packed, out)


def zipped(data, out):
    """Writes `data` compressed by gzip. The file appears only when it is complete."""
    part = out.with_name(out.name + ".part")
    with part.open("wb") as file, gzip.GzipFile("", "wb", 6, file, contents.epoch()) as packer:
        packer.write(data)
    part.replace(out)


# --- packages -------------------------------------------------------------------------------------------


def source(out):
    with tempfile.TemporaryDirectory() as scratch:
        contents.write(contents.contents_of_source(), Path(scratch), "source")
        packed = subprocess.run(["git", "-C", ROOT, "archive", f"--prefix=tangram-{contents.version()}/",
                                 f"--add-file={scratch}/sbom.spdx.json", "HEAD"], capture_output=True, check=False)
    if packed.returncode != 0:
        raise Fault(f"the source archive is of a commit, and git says: {packed.stderr.decode().strip()}")
    made = out / f"tangram-{contents.version()}.tar.gz"
    zipped(packed.stdout, made)
    return [made]


def bundle(build, file):
    if not file.parent.is_dir():
        raise Fault(f"the folder {file.parent} is not there")
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch, f"tangram-{contents.version()}")
        install_program(build, top)
        for name in ("stdlib", "rules", "examples", "docs", "bench/gpu", "bench/peers"):
            shutil.copytree(ROOT / name, top / name, ignore=shutil.ignore_patterns("__pycache__"))
        (top / "bench/gpu/oracle").mkdir()  # matches weights with PyTorch's, for peers.py
        for name, where in (("tests/oracle/compare_torch.py", "bench/gpu/oracle"), ("bench/README.md", "bench"),
                            ("bench/BENCHMARKS.md", "bench"), ("LICENSE", "."), ("NOTICE", "."),
                            ("README.md", ".")):
            shutil.copy(ROOT / name, top / where)
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
        if commit.returncode == 0:  # for reports of benchmarks
            (top / "COMMIT").write_text(commit.stdout, encoding="utf-8")
        pack(top, file)
    return [file]


def wheel(build, out):
    return [Path(run(sys.executable, ROOT / "python" / "wheel.py", build, "--out", out).strip().splitlines()[-1])]


def needed_glibc(binaries):
    """Returns the newest version of the C library that a symbol of the binaries requires."""
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", *binaries))
    return "{}.{}".format(*max((int(a), int(b)) for a, b in found))


def compress(path):
    with path.open("rb") as text, path.with_name(path.name + ".gz").open("wb") as out, \
            gzip.GzipFile("", "wb", 9, out, 0) as packer:
        packer.write(text.read())
    path.unlink()


def debian_documents(doc, name, number):
    """Writes the files that Debian's policy requires in /usr/share/doc/NAME."""
    doc.mkdir(parents=True, exist_ok=True)
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    (doc / "copyright").write_text(
        f"Tangram is under the Apache License, Version 2.0 (/usr/share/common-licenses/Apache-2.0).\n"
        f"Licences of bundled components are in /usr/share/doc/tangram/licenses.\n\n{notice}", encoding="utf-8")
    (doc / "changelog.Debian").write_text(
        f"{name} ({number}) unstable; urgency=medium\n\n  * Release {contents.version()}; changelog.gz lists the changes.\n\n"
        f" -- {MAINTAINER}  {formatdate(contents.epoch())}\n", encoding="utf-8")
    compress(doc / "changelog.Debian")
    shutil.copy(ROOT / "CHANGELOG.md", doc / "changelog")
    compress(doc / "changelog")


def control(tree, name, number, fields):
    files = [path for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size + 1023 >> 10 for path in files)
    lines = {"Package": name, "Source": "tangram", "Version": number, "Architecture": "amd64", "Maintainer": MAINTAINER,
             "Installed-Size": size, **fields, "Priority": "optional", "Description": SUMMARY[name]}
    folder = tree / "DEBIAN"
    folder.mkdir()
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files)
    (folder / "md5sums").write_text(sums, encoding="utf-8")
    (folder / "control").write_text("".join(f"{key}: {value}\n" for key, value in lines.items()) + DESCRIPTION, encoding="utf-8")


def close(tree, out, name, number, compression):
    """Runs dpkg-deb on a tree with control files and returns the package."""
    settle(tree)
    made = out / f"{name}_{number}_amd64.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(contents.epoch())}
    done = subprocess.run(["dpkg-deb", "--root-owner-group", f"-Z{compression}", "--build", tree, made],
                          capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise Fault(f"dpkg-deb: {done.stderr.strip()}")
    return made


def deb_of_program(build, out, number, compression):
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        usr, doc = tree / "usr", tree / "usr/share/doc/tangram"
        install_program(build, usr)
        for name in ("LICENSE", "NOTICE"):  # the file `copyright` includes them
            (doc / name).unlink()
        debian_documents(doc, "tangram", number)
        shutil.copytree(ROOT / "examples", doc / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("tg.1", "tg-paper.1"):
            compress(usr / "share/man/man1" / name)
        (usr / "share/zsh/site-functions").rename(usr / "share/zsh/vendor-completions")
        overrides = usr / "share/lintian/overrides"
        overrides.mkdir(parents=True)
        (overrides / "tangram").write_text(OVERRIDES, encoding="utf-8")
        glibc = needed_glibc([usr / "bin/tg", usr / "bin/tg-paper", *(usr / "lib/tangram").iterdir()])
        # topgit also installs a program `tg`.
        control(tree, "tangram", number, {"Depends": f"libc6 (>= {glibc})", "Conflicts": "topgit", "Section": "science"})
        return close(tree, out, "tangram", number, compression)


def deb_of_library(build, out, number, compression):
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        run("cmake", "--install", build, "--prefix", tree / "usr", "--component", "library")
        run("strip", "--strip-debug", "--enable-deterministic-archives", *(tree / "usr/lib/tangram").glob("*.a"))
        # The multiarch folder, which pkg-config for cross compilation also searches.
        here, there = tree / "usr/lib/pkgconfig", tree / "usr/lib/x86_64-linux-gnu/pkgconfig"
        there.parent.mkdir()
        here.rename(there)
        text = (there / "tangram.pc").read_text(encoding="utf-8")
        (there / "tangram.pc").write_text(text.replace("prefix=${pcfiledir}/../..", "prefix=/usr"), encoding="utf-8")
        doc = tree / "usr/share/doc/tangram-dev"
        debian_documents(doc, "tangram-dev", number)
        control(tree, "tangram-dev", number,
                {"Depends": f"tangram (= {number}), {', '.join(EMBEDDING)}", "Section": "libdevel"})
        return close(tree, out, "tangram-dev", number, compression)


def debs(build, out, revision="1", compression="xz"):
    number = f"{contents.version()}-{revision}"
    return [deb_of_program(build, out, number, compression), deb_of_library(build, out, number, compression)]


# --- release --------------------------------------------------------------------------------------------


def clean_commit():
    done = subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Fault("a release is made from a clone of the repository, and git knows none here")
    if done.stdout:
        raise Fault(f"a release is of a commit, and these files are not committed:\n{done.stdout.rstrip()}")


def release(build, out):
    clean_commit()
    os.environ["SOURCE_DATE_EPOCH"] = str(contents.epoch())
    out.mkdir(parents=True, exist_ok=True)
    steps = (("source archive", lambda: source(out)),
             ("bundle", lambda: bundle(build, out / f"tangram-{contents.version()}-linux-{platform.machine()}.tar.gz")),
             ("wheel", lambda: wheel(build, out)), ("packages", lambda: debs(build, out)))
    made = []
    for name, step in steps:
        begun = time.monotonic()
        for file in step():
            made.append(file)
            print(f"{name:15} {file.name:48} {file.stat().st_size / 2**20:6.1f} MiB  {time.monotonic() - begun:5.1f} s", flush=True)
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(made))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    check_sizes(made)
    return made


def check_sizes(files):
    for file in files:
        if file.stat().st_size > LARGEST:
            raise Fault(f"{file.name} has {file.stat().st_size / 2**20:.1f} MiB, more than {LARGEST >> 20}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", nargs=2, metavar=("bundle", "FILE"))
    args = parser.parse_args()
    try:
        if not (args.build / "tg").exists():
            raise Fault(f"{args.build} has no program: `./dev release` builds it first")
        if not args.only:
            release(args.build, args.out)
        elif args.only[0] == "bundle":
            file, = bundle(args.build, Path(args.only[1]).resolve())
            check_sizes([file])
            print(f"{args.only[1]}: {file.stat().st_size / 2**20:.1f} MiB")
        else:
            parser.error(f"--only takes `bundle`, not `{args.only[0]}`")
    except (Fault, OSError) as fault:
        print(f"release: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
