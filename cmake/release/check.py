#!/usr/bin/env python3
"""Checks the packages of a release: installs each on a minimal system, and optimises and runs SqueezeNet there.

    check.py FOLDER       the folder with the packages: dist/

Each system is a minimal installation of the host's Debian release (mmdebstrap --variant=minbase) in a scratch
folder. Commands run in it by chroot, without a network.

  tangram     installed, used, upgraded, removed and purged; every file must then be as before
  bundle      unpacked and used
  wheel       used from Python, on a system with python3-numpy
  tangram-dev installed with its dependencies; examples/embed is built against it with CMake and with pkg-config

Exit code 77: the user is not root, or mmdebstrap or a mirror is missing; a message says which.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import contents  # noqa: E402
from contents import ROOT, Fault, run  # noqa: E402

SCRATCH = "tmp"  # the folder of a minimal system for copied files, and the working directory of commands
# Records of dpkg and ld.so about installed packages, and temporary files: ignored in comparisons.
KEPT = re.compile(r"^(var/lib/dpkg/|var/log/|var/cache/|etc/ld\.so\.cache|proc/|sys/|dev/|" + SCRATCH + "/)")
USE = """set -e
tg --version
tg-paper --version
tg opt {examples}/squeezenet.tg --time-limit 60 --verify -o fast.tg
tg run fast.tg --check
"""
USE_PYTHON = """
import numpy, tangram
print(tangram.__file__)
model = tangram.load("squeezenet.tg")
fast, report = model.optimize(time_limit=10)
image = numpy.random.default_rng(1).random((1, 3, 224, 224), numpy.float32)
first, second = (numpy.asarray(m.run(image)) for m in (model, fast))
assert abs(first - second).max() <= 1e-4 * abs(first).max(), abs(first - second).max()
assert fast.verify(model)
print(tangram.__version__, model.op_count, "operators, then", fast.op_count)
"""
EMBED = """set -e
cmake -S embed -B embed-build > /dev/null
cmake --build embed-build
embed-build/embed
g++ -std=c++20 embed/main.cpp -o embed-pc $(pkg-config --cflags --libs tangram)
./embed-pc
"""


class Unavailable(Exception):
    """A requirement of the check is missing on this machine."""


class System:
    """A minimal Debian in a scratch folder."""

    def __init__(self, folder, *packages):
        self.root = folder
        suite = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
        command = ["mmdebstrap", "--quiet", "--variant=minbase", suite.group(1) if suite else "stable", str(folder)]
        if packages:
            command.insert(3, f"--include={','.join(packages)}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"mmdebstrap: {done.stderr.strip()[-300:]}")

    def enter(self, *command, **environment):
        """Runs a command in the scratch folder, without a network, and returns its output."""
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                     "DEBIAN_FRONTEND": "noninteractive", **environment}
        return run("unshare", "--net", "--pid", "--fork", f"--mount-proc={self.root}/proc", "env", "-i",
                   *(f"{key}={value}" for key, value in variables.items()), "chroot", self.root,
                   "env", f"--chdir=/{SCRATCH}", *command)

    def put(self, path, where=SCRATCH):
        target = self.root / where / path.name
        shutil.copytree(path, target) if path.is_dir() else shutil.copyfile(path, target)
        return "/" + str(target.relative_to(self.root))

    def files(self):
        """Returns each file with its mode and the hash of its contents, except files that match KEPT."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if KEPT.match(name + ("/" if path.is_dir() and not path.is_symlink() else "")):
                continue
            if path.is_symlink():
                found[name] = os.readlink(path)
            else:
                found[name] = (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        return found


def later(deb, folder):
    """Makes a copy of the package with a later version and one more file."""
    tree = folder / "later"
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: .*", "Version: 99.0-1", control.read_text(), flags=re.M))
    (tree / "usr/share/doc/tangram/new").write_text("of a later version\n")
    made = folder / "tangram_99.0-1_amd64.deb"
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, made)
    return made


def check_deb(system, deb, scratch):
    before = system.files()
    system.enter("dpkg", "-i", system.put(deb))
    said = system.enter("sh", "-c", USE.format(examples="/usr/share/doc/tangram/examples"))
    system.enter("dpkg", "-i", system.put(later(deb, scratch)))
    system.enter("tg", "--version")
    if not (system.root / "usr/share/doc/tangram/new").exists():
        raise Fault("the later version was not installed")
    if wrong := system.enter("dpkg", "-V", "tangram"):
        raise Fault(f"installed files differ from the packed ones: {wrong}")
    system.enter("dpkg", "-r", "tangram")
    system.enter("dpkg", "-P", "tangram")
    shutil.rmtree(system.root / "root" / ".cache", ignore_errors=True)  # measured prices belong to the user
    after = system.files()
    if left := sorted(set(before.items()) ^ set(after.items())):
        raise Fault(f"left behind by the package: {left[:9]}")
    return said


def check_bundle(system, bundle):
    run("tar", "-C", system.root / "opt", "-xzf", bundle)
    top, = (system.root / "opt").iterdir()
    inside = f"/opt/{top.name}"
    said = system.enter("sh", "-c", USE.format(examples=f"{inside}/examples"), PATH=f"{inside}/bin:/usr/sbin:/usr/bin:/bin")
    shutil.rmtree(top)
    return said


def check_wheel(system, wheel):
    packages, = (system.root / "usr/local/lib").glob("python3*/dist-packages")
    run(sys.executable, "-m", "zipfile", "-e", wheel, packages)
    system.put(ROOT / "examples" / "squeezenet.tg")
    return system.enter("python3", "-c", USE_PYTHON)


def check_library(system, program, library):
    system.put(ROOT / "examples" / "embed")
    system.enter("dpkg", "-i", system.put(program), system.put(library))
    return system.enter("sh", "-c", EMBED)


def one(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Fault(f"{folder} has {len(found)} files {pattern}: `./dev release` makes one")
    return found[0]


def embedding(deb):
    """Returns the dependencies of the library package, without the program's package."""
    names = run("dpkg-deb", "-f", deb, "Depends").strip().split(", ")
    return [name for name in names if not name.startswith("tangram")]


def steps(folder, scratch):
    number = contents.version()
    program, library = one(folder, f"tangram_{number}-*.deb"), one(folder, f"tangram-dev_{number}-*.deb")
    bundle, wheel = one(folder, f"tangram-{number}-linux-*.tar.gz"), one(folder, f"tangram_tg-{number}-*.whl")
    minimal = System(scratch / "minimal")
    yield "tangram (.deb)", lambda: check_deb(minimal, program, scratch)
    yield "bundle", lambda: check_bundle(minimal, bundle)
    python = System(scratch / "python", "python3", "python3-numpy")
    yield "wheel", lambda: check_wheel(python, wheel)
    compiler = System(scratch / "compiler", "cmake", "make", "pkgconf", *embedding(library))
    yield "tangram-dev (.deb)", lambda: check_library(compiler, program, library)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        print("[SKIP] release check: " + ("mmdebstrap is not installed" if os.geteuid() == 0 else "chroot takes root"))
        return 77
    with tempfile.TemporaryDirectory(prefix="tangram-release-") as scratch:
        begun = time.monotonic()
        try:
            for name, step in steps(Path(sys.argv[1]).resolve(), Path(scratch)):
                said = step().strip().splitlines()
                print(f"{name:20} {time.monotonic() - begun:6.1f} s  {said[-1].strip()}", flush=True)
                begun = time.monotonic()
        except Unavailable as why:
            print(f"[SKIP] release check: {why}")
            return 77
        except Fault as fault:
            print(f"release check: {fault}", file=sys.stderr)
            return 1
    print("release check: installed, used, upgraded and removed; nothing is left behind")
    return 0


if __name__ == "__main__":
    sys.exit(main())
