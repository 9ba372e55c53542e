#!/usr/bin/env python3
"""What the cuda backend says and leaves behind when something is wrong, on machines without a GPU: a
driver that computes nothing, built here and found before any other, fails as it is told. Behind it are
the program's own device, executable and caches, and NVRTC where it is installed.

    cuda_faults_test.py TG
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = """model m(x: f32[8, 8]) -> (y: f32[8, 8]) {
  param w: f32[8, 8]
  softmax(exp(x) @ w, axis = 1)
}
"""
#: Symbols as driver_api.h lists them; those that make or end something are counted.
MAKES = {"cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease_v2", "cuMemAlloc_v2": "cuMemFree_v2",
         "cuMemHostAlloc": "cuMemFreeHost", "cuStreamCreate": "cuStreamDestroy_v2",
         "cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadData": "cuModuleUnload",
         "cuGraphInstantiateWithFlags": "cuGraphExecDestroy", "cuStreamEndCapture": "cuGraphDestroy"}
SPECIAL = {
    "cuDriverGetVersion": "int* v", "cuGetErrorName": "int r, const char** s",
    "cuGetErrorString": "int r, const char** s", "cuDeviceGetCount": "int* n",
    "cuDeviceGet": "int* d, int", "cuDeviceGetName": "char* s, int n, int",
    "cuDeviceGetAttribute": "int* v, int which, int", "cuDeviceTotalMem_v2": "size_t* n, int",
    "cuDevicePrimaryCtxRetain": "void** p, int", "cuMemAlloc_v2": "void** p, size_t n",
    "cuMemHostAlloc": "void** p, size_t n, unsigned", "cuStreamCreate": "void** p, unsigned",
    "cuEventCreate": "void** p, unsigned", "cuModuleLoadData": "void** p, const void*",
    "cuGraphInstantiateWithFlags": "void** p, void*, unsigned long long",
    "cuStreamEndCapture": "void*, void** p", "cuModuleGetFunction": "void** p, void*, const char*",
    "cuEventElapsedTime": "float* ms, void*, void*",
}
BODIES = {
    "cuDriverGetVersion": "*v = 13000;",
    "cuGetErrorName": '*s = r == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";',
    "cuGetErrorString": '*s = r == 2 ? "out of memory" : "told to fail";',
    "cuDeviceGetCount": "*n = 1;", "cuDeviceGet": "*d = 0;",
    "cuDeviceGetName": 'snprintf(s, n, "Stub GPU");',
    "cuDeviceGetAttribute": "*v = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 4 : 1 << 20;",
    "cuDeviceTotalMem_v2": "*n = 1 << 30;", "cuModuleGetFunction": "static int f; *p = &f;",
    "cuEventElapsedTime": "*ms = 1;", "cuMemAlloc_v2": "*p = aligned_alloc(256, (n + 255) / 256 * 256);",
    "cuMemHostAlloc": "*p = aligned_alloc(256, (n + 255) / 256 * 256);",
}


def driver_source(without=""):
    header = (ROOT / "runtime/cuda/driver_api.h").read_text()
    symbols = re.findall(r'F\(\w+,\s*"(cu\w+)"', header)
    assert len(symbols) > 30, "driver_api.h lists symbols in another form"
    ends = {end: make for make, end in MAKES.items()}
    lines = ["#include <cstdio>", "#include <cstdlib>", "#include <cstring>", "static long live;",
             'struct AtEnd { ~AtEnd() { if (FILE* f = fopen(getenv("STUB_LOG"), "w")) '
             '{ fprintf(f, "%ld", live); fclose(f); } } } at_end;',
             "static int fault(const char* name) { const char* told = getenv(\"STUB_FAULT\");"
             " size_t n = strlen(name);"
             " return told && !strncmp(told, name, n) && told[n] == ':' ? atoi(told + n + 1) : 0; }"]
    for symbol in symbols:
        if symbol == without:
            continue
        body = BODIES.get(symbol, "static int made; *p = &made;" if symbol in MAKES else "")
        count = "++live;" if symbol in MAKES else "--live;" if symbol in ends else ""
        lines.append(f'extern "C" int {symbol}({SPECIAL.get(symbol, "...")}) {{ '
                     f'if (int e = fault("{symbol}")) return e; {body} {count} return 0; }}')
    # NVRTC asks for this one and does not look whether it is there.
    lines.append('extern "C" int cuGetExportTable(void** p, void*) { *p = 0; return 500; }')
    return "\n".join(lines)


class Machine:
    def __init__(self, tg, folder):
        self.tg, self.folder = str(Path(tg).resolve()), Path(folder)
        self.model = self.folder / "m.tg"
        self.model.write_text(MODEL)
        self.cache = self.folder / "cache"

    def build(self, without=""):
        lib = self.folder / f"lib{without}"
        lib.mkdir()
        (lib / "stub.cpp").write_text(driver_source(without))
        subprocess.run(["c++", "-w", "-shared", "-fPIC", "-o", lib / "libcuda.so.1", lib / "stub.cpp"],
                       check=True)
        return lib

    def run(self, lib, fault="", *more, command="run"):
        log = self.folder / "live"
        log.unlink(missing_ok=True)
        # The stub counts what is alive. A sanitizer would report what a lost GPU cannot be told to
        # free, and what cuBLASLt keeps.
        sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        environment = {**os.environ, "LD_LIBRARY_PATH": str(lib), "STUB_FAULT": fault,
                       "STUB_LOG": str(log), "XDG_CACHE_HOME": str(self.cache),
                       "ASAN_OPTIONS": sanitizer}
        arguments = [self.model, "--backend", "cuda", "--runs", "1"] if command == "run" else []
        done = subprocess.run([self.tg, command, *map(str, arguments), *more], capture_output=True,
                              text=True, env=environment, timeout=300)
        live = int(log.read_text()) if log.exists() else None
        return done.returncode, done.stdout + done.stderr, live


#: What is told to fail, with which code; the exit code, the diagnostic, and words of the message.
FAULTS = [
    ("cuInit:100", 1, "E0702", "is one given to this machine?"),
    ("cuInit:304", 1, "E0702", "permission for /dev/nvidia"),
    ("cuInit:803", 1, "E0702", "kernel module differ"),
    ("cuDevicePrimaryCtxRetain:2", 3, "E0701", "out of memory"),
    ("cuMemAlloc_v2:2", 3, "E0701", "the GPU gave no device memory: out of memory"),
    ("cuMemHostAlloc:2", 3, "E0701", "pinned memory"),
    ("cuModuleLoadData:209", None, "E07", "a compiled kernel"),
    ("cuGraphLaunch:719", None, "E07", "told to fail"),
    ("cuStreamSynchronize:700", None, "E07", "told to fail"),
]


def problems(machine):
    lib = machine.build()
    code, text, live = machine.run(lib)
    if "NVRTC" in text and code != 0:
        print("cuda_faults: NVRTC is not installed: faults of the driver alone")
        faults = [fault for fault in FAULTS if fault[0].startswith("cuInit")]
    else:
        faults = FAULTS
        if code != 0 or live != 0:
            yield f"a driver that works: exit {code}, {live} objects left: {text}"
    for told, expected, diagnostic, words in faults:
        code, text, live = machine.run(lib, told)
        if code == 0 or (expected is not None and code != expected):
            yield f"{told}: exit {code}, not {expected}: {text}"
        if diagnostic not in text or words not in text:
            yield f"{told}: `{diagnostic}` and `{words}` are not in: {text}"
        if live not in (0, None):
            yield f"{told}: {live} objects are left behind"
    old = machine.build("cuGraphInstantiateWithFlags")
    code, text, _ = machine.run(old)
    if code != 1 or "too old" not in text:
        yield f"a driver without a function: exit {code}: {text}"
    yield from damaged_cache(machine, lib)
    code, text, _ = machine.run(lib, "cuInit:304", "--json", command="devices")
    missing = {m["backend"]: m["reason"] for m in json.loads(text)["missing"]}
    if "permission" not in missing.get("cuda", "") and "does not start" not in missing.get("cuda", ""):
        yield f"tg devices gives no reason: {text}"


def damaged_cache(machine, lib):
    kernels = sorted((machine.cache / "tangram" / "kernels").glob("*"))
    for kernel in kernels:
        kernel.write_bytes(b"damaged" * 20)
    code, text, live = machine.run(lib)
    if kernels and (code != 0 or live != 0):
        yield f"a damaged kernel cache: exit {code}, {live} objects left: {text}"
    if any(kernel.read_bytes().startswith(b"damaged") for kernel in kernels if kernel.exists()):
        yield "a damaged kernel was not made anew"


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = list(problems(Machine(sys.argv[1], folder)))
    print("\n".join(found) or "cuda_faults: a clear error each, nothing left behind")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
