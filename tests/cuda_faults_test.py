#!/usr/bin/env python3
"""Tests error messages and clean-up of the cuda backend on machines without a GPU. Stubs of the driver and of the
libraries (cuda_stubs.py), which are found before installed ones, fail on request or are hidden. The device code, the
executable and the caches are the program's own, and NVRTC is used if it is installed.

    cuda_faults_test.py TG
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cuda_stubs

PRODUCT = """model m(x: f32[8, 8]) -> (y: f32[8, 8]) {
  param w: f32[8, 8]
  softmax(exp(x) @ w, axis = 1)
}
"""
CONVOLUTION = """model m(x: f32[1, 4, 8, 8]) -> (y: f32[1, 4, 8, 8]) {
  param w: f32[4, 4, 3, 3]
  relu(conv2d(x, w, stride = [1, 1], pad = same))
}
"""


class Machine:
    def __init__(self, tg, folder):
        self.tg, self.folder = str(Path(tg).resolve()), Path(folder)
        for name, text in (("product", PRODUCT), ("convolution", CONVOLUTION)):
            (self.folder / f"{name}.tg").write_text(text)
        self.cache = self.folder / "cache"
        self.whole = cuda_stubs.build(self.folder / "whole", driver=cuda_stubs.driver(),
                                      cublaslt=cuda_stubs.cublaslt(), cudnn=cuda_stubs.cudnn(),
                                      hidden=cuda_stubs.hidden_libraries())
        self.has_nvrtc = True

    def run(self, *more, fault="", hide="", lib=None, model="product", command="run", cache=None,
            compute="", modules=""):
        """Returns the exit code, the output with errors, and the number of driver objects that were not freed."""
        log = self.folder / "live"
        log.unlink(missing_ok=True)
        # The stub counts live objects. LeakSanitizer would report objects that cannot be freed after the GPU
        # is lost, and those that cuBLASLt keeps. AddressSanitizer expects to be loaded before `hidden`.
        sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0",
                                           "verify_asan_link_order=0"]))
        environment = {**os.environ, "LD_LIBRARY_PATH": str(lib or self.whole), "STUB_FAULT": fault,
                       "STUB_LOG": str(log), "XDG_CACHE_HOME": str(cache or self.cache),
                       "ASAN_OPTIONS": sanitizer, "STUB_HIDE": hide, "STUB_COMPUTE": compute,
                       "STUB_MODULES": str(modules)}
        if hide:
            environment["LD_PRELOAD"] = str(self.whole / cuda_stubs.FILES["hidden"])
        file = self.folder / f"{model}.tg"
        arguments = {"run": [file, "--backend", "cuda", "--runs", "8"], "opt": [file], "devices": []}
        done = subprocess.run([self.tg, command, *map(str, arguments[command]), *more],
                              capture_output=True, text=True, env=environment, timeout=300)
        live, self.contexts = map(int, log.read_text().split()) if log.exists() else (None, 0)
        return done.returncode, done.stdout + done.stderr, live

    def devices(self, **how):
        code, text, _ = self.run("--json", command="devices", **how)
        assert code == 0, text
        return json.loads(text)

    def missing(self, **how):
        """Returns the reason why `tg devices` cannot use the GPU, or "" if it can."""
        return {m["backend"]: m["reason"] for m in self.devices(**how)["missing"]}.get("cuda", "")


LOST = "told to fail (CUDA_ERROR); the GPU's context is lost: restart the program"

#: The value of STUB_FAULT, the exit code, the diagnostic, and words of the message.
FAULTS = [
    ("cuInit:34", 1, "E0702", "the CUDA toolkit's stub of the driver is loaded"),
    ("cuInit:100", 1, "E0702", "one is assigned to this machine"),
    ("cuInit:101", 1, "E0702", "one is assigned to this machine"),
    ("cuInit:304", 1, "E0702", "permission for /dev/nvidia"),
    ("cuInit:800", 1, "E0702", "permission for /dev/nvidia"),
    ("cuInit:802", 1, "E0702", "fabric manager must be running"),
    ("cuInit:803", 1, "E0702", "kernel module have different versions"),
    ("cuDeviceGet:101", 1, "E0703", "opening the device failed on the GPU: told to fail"),
    ("cuDevicePrimaryCtxRetain:2", 3, "E0701", "creating a context failed on the GPU: out of memory"),
    ("cuDevicePrimaryCtxRetain:46", 1, "E0703", "another program may use the GPU exclusively"),
    ("cuDevicePrimaryCtxRetain:999", 1, "E0703", "the driver may have lost the GPU"),
    ("cuMemAlloc_v2:2", 3, "E0701", "allocating device memory failed on the GPU: out of memory"),
    ("cuMemHostAlloc:2", 3, "E0701", "allocating pinned memory failed on the GPU: out of memory"),
    ("cuModuleLoadData:209", 1, "E0703", "loading a compiled kernel failed on the GPU: told to fail "
     "(CUDA_ERROR)\n  = help: the driver may be older than NVRTC"),
    ("cuGraphLaunch:719", 1, "E0703", f"starting a run failed on the GPU: {LOST}"),
    ("cuStreamSynchronize:700", 1, "E0703", f"a run failed on the GPU: {LOST}"),
    ("cuStreamSynchronize:702", 1, "E0703", f"a run failed on the GPU: {LOST}"),
    ("cuStreamSynchronize:714", 1, "E0703", f"a run failed on the GPU: {LOST}"),
    # The GPU is lost between two runs of the same network.
    ("cuGraphLaunch:719:4", 1, "E0703", f"starting a run failed on the GPU: {LOST}"),
    # An error after which the context is still valid.
    ("cuGraphLaunch:801", 1, "E0703", "starting a run failed on the GPU: told to fail (CUDA_ERROR)\n"),
]


def works(what, outcome, words=""):
    code, text, live = outcome
    if code != 0 or live != 0:
        yield f"{what}: exit {code}, {live} objects left: {text}"
    if words not in text:
        yield f"{what}: `{words}` is not in: {text}"


def told_faults(machine):
    faults = FAULTS if machine.has_nvrtc else [f for f in FAULTS if f[0].startswith("cuInit")]
    for told, expected, diagnostic, words in faults:
        code, text, live = machine.run(fault=told)
        if code != expected:
            yield f"{told}: exit {code}, not {expected}: {text}"
        if diagnostic not in text or words not in text:
            yield f"{told}: `{diagnostic}` and `{words}` are not in: {text}"
        if live not in (0, None):
            yield f"{told}: {live} objects are left behind"
        if told.startswith("cuInit"):
            reason = machine.missing(fault=told)
            if "does not start" not in reason or words not in reason:
                yield f"tg devices with {told}: `{words}` is not in: {reason}"


def told_faults_of_a_search(machine):
    """If no price can be measured, the error of the search has the reason."""
    cache = machine.folder / "prices"
    for told, words in (("cuMemAlloc_v2:2", "out of memory"), ("cuGraphLaunch:719", LOST),
                        ("cuStreamSynchronize:700", LOST),
                        ("cuGraphLaunch:719:30", LOST)):  # while the source's operators are timed
        code, text, live = machine.run("--cost", "measured:cuda", fault=told, command="opt",
                                       cache=cache)
        if code != 3 or "E0601" not in text or "cannot be timed" not in text or words not in text:
            yield f"a search with {told}: exit {code}: {text}"
        if live != 0:
            yield f"a search with {told}: {live} objects are left behind"
    # If all operators of the source have prices, the search succeeds without an improvement.
    yield from works("a search whose GPU is lost after that",
                     machine.run("--cost", "measured:cuda", fault="cuGraphLaunch:719:60",
                                 command="opt", cache=machine.folder / "lost"), "measured:cuda")
    yield from works("a search", machine.run("--cost", "measured:cuda", command="opt", cache=cache),
                     "measured:cuda")


def one_context(machine):
    """A search and a run use one context. Loaded libraries keep memory and kernels in it, so that it must exist
    until the run, although no device is open in between."""
    yield from works("a search and a run", machine.run("--opt", "--cost", "measured:cuda"))
    if machine.contexts != 1:
        yield f"a search and a run make {machine.contexts} contexts"


def missing_libraries(machine):
    """A run requires the driver and NVRTC, and continues without the other libraries."""
    for hide, words in (("libcuda.so", "NVIDIA driver is not found (libcuda.so.1)"),
                        ("libnvrtc", "NVRTC is not found (libnvrtc.so.13)")):
        code, text, live = machine.run(hide=hide)
        if code != 1 or "E0702" not in text or words not in text or live not in (0, None):
            yield f"without {hide}: exit {code}, {live} objects left: {text}"
        if words not in machine.missing(hide=hide):
            yield f"tg devices without {hide}: {machine.missing(hide=hide)}"
    if machine.has_nvrtc:
        yield from works("without cuBLASLt", machine.run("--verbose", hide="libcublasLt"),
                         "products run on generated kernels: cuBLASLt is not found")
        yield from works("without cuDNN", machine.run("--verbose", hide="libcudnn",
                                                      model="convolution"),
                         "convolutions run on generated kernels: cuDNN is not found")
        yield from works("without cuDNN, in JSON", machine.run("--json", hide="libcudnn",
                                                               model="convolution"),
                         '"convolutions run on generated kernels: cuDNN is not found')
        yield from works("without both", machine.run(hide="libcudnn,libcublasLt",
                                                     model="convolution"))


def listed_libraries(machine):
    """`tg devices` lists each missing library once, whether the GPU is usable or not."""
    for also, gpu in (("", True), (",libcuda.so", False)):
        hide = "libcudnn,libcublasLt" + also
        _, text, _ = machine.run(command="devices", hide=hide)
        report = machine.devices(hide=hide)
        usable = [d for d in report["devices"] if d["backend"] == "cuda"]
        cuda = (usable + [d for d in report["missing"] if d["backend"] == "cuda"])[0]
        wanted = {"cuBLASLt": "cuBLASLt is not found (libcublasLt.so.13)",
                  "cuDNN": "cuDNN is not found (libcudnn.so.9)"}
        if not gpu:
            wanted["NVIDIA driver"] = "NVIDIA driver is not found (libcuda.so.1)"
        if not machine.has_nvrtc:
            wanted["NVRTC"] = "NVRTC is not found (libnvrtc.so.13)"
        if bool(usable) != (gpu and machine.has_nvrtc):
            yield f"without {hide}, cuda is usable or is not: {report}"
        if cuda.get("library_problems") != wanted:
            yield f"tg devices --json without {hide}: {cuda}"
        if not all(text.count(problem) == 1 for problem in wanted.values()):
            yield f"tg devices without {hide} names each problem once: {text}"
        if machine.has_nvrtc and "NVRTC " not in text:
            yield f"tg devices without {hide} names the libraries that were found: {text}"
    if machine.has_nvrtc and any(d["library_problems"] for d in machine.devices()["devices"]):
        yield f"tg devices finds problems where there are none: {machine.devices()}"


def old_libraries(machine):
    old = cuda_stubs.build(machine.folder / "old",
                           driver=cuda_stubs.driver("cuGraphInstantiateWithFlags"))
    code, text, _ = machine.run(lib=old)
    if code != 1 or "too old" not in text:
        yield f"a driver without a function: exit {code}: {text}"
    if machine.has_nvrtc:
        older = cuda_stubs.build(machine.folder / "older", driver=cuda_stubs.driver(),
                                 cudnn=cuda_stubs.cudnn("cudnnBackendExecute"))
        yield from works("a cuDNN without a function",
                         machine.run("--verbose", lib=older, model="convolution"),
                         "cuDNN lacks the function cudnnBackendExecute: the version may be too old")


def newer_gpu(machine):
    """For a GPU that NVRTC does not support yet, PTX is loaded, also from the cache, and a note says so."""
    cache, modules = machine.folder / "ptx", machine.folder / "modules"
    for kept in ("", ", kept"):
        modules.unlink(missing_ok=True)
        outcome = machine.run("--verbose", compute="999", cache=cache, modules=modules)
        for words in ("the driver compiles kernels from PTX for compute_", "does not support sm_999",
                      "40 registers"):
            yield from works(f"a newer GPU{kept}", outcome, words)
        loaded = modules.read_text() if modules.exists() else ""
        if ".target sm_" not in loaded or "ELF" in loaded:
            yield f"a newer GPU{kept} gets no PTX: {loaded[:500]}"
    modules.unlink(missing_ok=True)
    yield from works("a known GPU", machine.run("--verbose", cache=cache, modules=modules))
    if ".target" in modules.read_text():
        yield "a known GPU gets PTX"
    code, text, live = machine.run(compute="999", fault="cuModuleLoadData:221")
    if code == 0 or "libnvidia-ptxjitcompiler" not in text or live != 0:
        yield f"a driver that cannot compile PTX: exit {code}, {live} objects left: {text}"
    code, text, _ = machine.run(command="devices", compute="999")
    if "sm_999" not in text or "(newer than NVRTC)" not in text or "compute_" not in text:
        yield f"tg devices with a newer GPU: exit {code}: {text}"


def older_gpu(machine):
    """NVRTC no longer supports the GPU."""
    words = "does not support sm_35, only sm_"
    code, text, live = machine.run(compute="35")
    if code != 1 or "E0702" not in text or words not in text or live != 0:
        yield f"an older GPU: exit {code}, {live} objects left: {text}"
    if words not in machine.missing(compute="35"):
        yield f"tg devices with an older GPU: {machine.missing(compute='35')}"


def side_by_side(machine):
    """--streams runs each instance from its own thread. Eight runs of four instances are at least 32 launches,
    so that all instances have started when the 32nd fails."""
    yield from works("four streams", machine.run("--streams", "4"), "4 concurrent copies: ")
    yield from works("four streams, in JSON", machine.run("--streams", "4", "--json"),
                     '"streams": 4,')
    for told, expected, words in (
            ("cuStreamCreate:2:3", 3, "creating a stream failed on the GPU: out of memory"),  # of the third instance
            ("cuGraphLaunch:719:12", 1, f"starting a run failed on the GPU: {LOST}"),
            ("cuGraphLaunch:719:32", 1, f"starting a run failed on the GPU: {LOST}"),
            ("cuStreamSynchronize:700:32", 1, f"a run failed on the GPU: {LOST}")):
        code, text, live = machine.run("--streams", "4", fault=told)
        if code != expected or words not in text or live != 0:
            yield f"four streams with {told}: exit {code}, {live} objects left: {text}"
        yield from works(f"one stream with {told}", machine.run(fault=told))


def narrow_search(machine):
    """With --dtype f16, the measured and stored prices are those of f16, for operators and whole graphs."""
    cache = machine.folder / "narrow"
    for how in ((), ("--groups", "on")):
        yield from works("a search for f16",
                         machine.run("--cost", "measured:cuda", "--dtype", "f16", *how, command="opt",
                                     cache=cache), "measured:cuda, f16")
    kept = every_byte(cache / "tangram" / "costs.db")
    if b"matmul(f16[8, 8]" not in kept or b"matmul(f32[8, 8]" in kept:
        yield "a search for f16 does not keep prices of f16, or keeps others"


def refused_operation(machine):
    yield from works("cuDNN has no engine", machine.run("--verbose", model="convolution"),
                     "(cuDNN has no engine: cuDNN's Heuristics cannot be finalised: STUB_NOT_SUPP")
    yield from works("layouts", machine.run("--verbose", model="convolution"),
                     "0 layout conversions")
    yield from works("layouts, in JSON", machine.run("--json", model="convolution"),
                     '"0 layout conversions"')


def damaged_kernels(machine):
    cache = machine.folder / "kernels"
    runs = [lambda m=model: machine.run("--verbose", model=m, cache=cache)
            for model in ("product", "convolution")]
    folder = cache / "tangram" / "kernels"
    for again in (False, True):  # the second pass does not make kernels that are only timed
        for kernel in folder.glob("*") if again else ():
            kernel.unlink()
        for run in runs:
            yield from works("a new kernel cache", run())
    kernels = sorted(folder.glob("*"))
    if not kernels:
        yield "no kernels are kept"
    for kernel in kernels:
        kernel.write_bytes(b"damaged" * 20)
    for run in runs:
        yield from works("a damaged kernel cache", run(), "was damaged and is replaced")
    if any(kernel.read_bytes().startswith(b"damaged") for kernel in kernels if kernel.exists()):
        yield "a damaged kernel was not made anew"


def damaged_plans(machine):
    """The chosen algorithm is stored. A damaged database is renamed, and a new one is started."""
    plans = machine.cache / "tangram" / "costs.db"
    if not plans.exists() or b"cuBLASLt" not in every_byte(plans):
        yield "the choice among the library's algorithms is not kept"
        return
    for file in plans.parent.glob("costs.db*"):
        file.unlink()
    plans.write_bytes(b"damaged" * 2000)
    yield from works("a damaged plan database", machine.run())
    if not list(plans.parent.glob("costs.db.damaged-*")):
        yield "a damaged plan database is not set aside"
    if b"cuBLASLt" not in every_byte(plans):
        yield "a damaged plan database is not begun anew"


def every_byte(database):
    """Returns the bytes of the database and of its log."""
    return b"".join(file.read_bytes() for file in database.parent.glob(database.name + "*"))


def nowhere_to_keep(machine):
    """Runs succeed if the cache cannot be written, even by root: a file has the name of the folder, or a folder
    the name of the database."""
    taken = machine.folder / "taken"
    taken.write_text("")
    yield from works("no cache folder", machine.run(cache=taken))
    if taken.read_text() != "":
        yield "a file at the path of the cache was overwritten"
    folder = machine.folder / "folder"
    (folder / "tangram" / "costs.db").mkdir(parents=True)
    yield from works("no plan database", machine.run(cache=folder))


def problems(machine):
    code, text, live = machine.run()
    if "NVRTC" in text and code != 0:
        print("cuda_faults: NVRTC is not installed: faults before it alone")
        machine.has_nvrtc = False
    elif code != 0 or live != 0:
        yield f"a driver that works: exit {code}, {live} objects left: {text}"
    yield from told_faults(machine)
    yield from missing_libraries(machine)
    yield from listed_libraries(machine)
    yield from old_libraries(machine)
    if machine.has_nvrtc:
        yield from told_faults_of_a_search(machine)
        yield from narrow_search(machine)
        yield from side_by_side(machine)
        yield from one_context(machine)
        yield from newer_gpu(machine)
        yield from older_gpu(machine)
        yield from refused_operation(machine)
        yield from damaged_kernels(machine)
        yield from damaged_plans(machine)
        yield from nowhere_to_keep(machine)


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = list(problems(Machine(sys.argv[1], folder)))
    print("\n".join(found) or "cuda_faults: a clear error or a fallback each, nothing left behind")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
