"""Builds stubs of NVIDIA's libraries that compute nothing, for tests on machines without a GPU. The stubs define the
functions that runtime/cuda loads, and are found before installed libraries. Environment variables set their behaviour:

    STUB_FAULT=cuMemAlloc_v2:2   this function of the driver returns this code; with :20 after it,
                                 from its 20th call on
    STUB_LOG=FILE                receives two numbers at exit: the driver objects that were not freed,
                                 and how often the GPU's context was created
    STUB_HIDE=libnvrtc,libcudnn  with hidden_libraries(): files whose names begin so are not found
    STUB_COMPUTE=120             the GPU's compute capability (default 90)
    STUB_MODULES=FILE            receives the loaded kernels: the text of PTX, "ELF" for machine code
"""
import re
import subprocess
from pathlib import Path

CUDA = Path(__file__).resolve().parent.parent / "runtime" / "cuda"

#: Functions of driver_api.h that create an object -> the function that frees it. Both are counted.
MAKES = {"cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease_v2", "cuMemAlloc_v2": "cuMemFree_v2",
         "cuMemHostAlloc": "cuMemFreeHost", "cuStreamCreate": "cuStreamDestroy_v2",
         "cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadData": "cuModuleUnload",
         "cuGraphInstantiateWithFlags": "cuGraphExecDestroy", "cuStreamEndCapture": "cuGraphDestroy"}
PARAMETERS = {
    "cuDriverGetVersion": "int* v", "cuGetErrorName": "int r, const char** s",
    "cuGetErrorString": "int r, const char** s", "cuDeviceGetCount": "int* n",
    "cuDeviceGet": "int* d, int", "cuDeviceGetName": "char* s, int n, int",
    "cuDeviceGetAttribute": "int* v, int which, int", "cuDeviceTotalMem_v2": "size_t* n, int",
    "cuDevicePrimaryCtxRetain": "void** p, int", "cuMemAlloc_v2": "void** p, size_t n",
    "cuMemHostAlloc": "void** p, size_t n, unsigned", "cuStreamCreate": "void** p, unsigned",
    "cuEventCreate": "void** p, unsigned", "cuModuleLoadData": "void** p, const void* code",
    "cuGraphInstantiateWithFlags": "void** p, void*, unsigned long long",
    "cuStreamEndCapture": "void*, void** p", "cuModuleGetFunction": "void** p, void*, const char*",
    "cuEventElapsedTime": "float* ms, void*, void*", "cuFuncGetAttribute": "int* v, int which, void*",
}
BODIES = {
    "cuDriverGetVersion": "*v = 13000;",
    "cuGetErrorName": '*s = r == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";',
    "cuGetErrorString": '*s = r == 2 ? "out of memory" : "told to fail";',
    "cuDeviceGetCount": "*n = 1;", "cuDeviceGet": "*d = 0;",
    "cuDeviceGetName": 'snprintf(s, n, "Stub GPU");',
    "cuDeviceGetAttribute":
        'const char* told = getenv("STUB_COMPUTE"); int compute = told && *told ? atoi(told) : 90;'
        "*v = which == 75 ? compute / 10 : which == 76 ? compute % 10 : which == 16 ? 4 : 1 << 20;",
    "cuDeviceTotalMem_v2": "*n = 1 << 30;", "cuModuleGetFunction": "static int f; *p = &f;",
    "cuEventElapsedTime": "*ms = 1;", "cuMemAlloc_v2": "*p = calloc(1, n + 256);",
    "cuMemHostAlloc": "*p = calloc(1, n + 256);", "cuFuncGetAttribute": "*v = which == 4 ? 40 : 0;",
    "cuDevicePrimaryCtxRetain": "static int made; *p = &made; contexts += holders++ == 0;",
    "cuDevicePrimaryCtxRelease_v2": "--holders;",
    "cuModuleLoadData":
        'static int made; *p = &made; const char* log = getenv("STUB_MODULES");'
        'if (FILE* f = log && *log ? fopen(log, "a") : 0) { fputs(memcmp(code, "\\177ELF", 4) ?'
        ' (const char*)code : "ELF", f); fclose(f); }',
}


def names(prefix):
    """Returns the functions with this prefix that runtime/cuda loads."""
    texts = [file.read_text() for file in sorted([*CUDA.rglob("*.cpp"), *CUDA.rglob("*.h")])]
    found = dict.fromkeys(re.findall(rf'"({prefix}[A-Z]\w*)"', "\n".join(texts)))
    assert len(found) > 10, f"runtime/cuda names the functions of {prefix} in another form"
    return list(found)


def driver(without=""):
    """Returns the source of a driver. `without`: a function that it lacks, like an older driver."""
    ends = {end: make for make, end in MAKES.items()}
    lines = ["#include <cstdio>", "#include <cstdlib>", "#include <cstring>", "#include <atomic>",
             "static std::atomic<long> live, holders, contexts;  // of all threads",
             'struct AtEnd { ~AtEnd() { if (FILE* f = fopen(getenv("STUB_LOG"), "w")) '
             '{ fprintf(f, "%ld %ld", live.load(), contexts.load()); fclose(f); } } } at_end;',
             "static int fault(const char* name) { const char* told = getenv(\"STUB_FAULT\");"
             " size_t n = strlen(name);"
             " if (!told || strncmp(told, name, n) || told[n] != ':') return 0;"
             " static std::atomic<int> calls; const char* from = strchr(told + n + 1, ':');"
             " return ++calls < (from ? atoi(from + 1) : 1) ? 0 : atoi(told + n + 1); }"]
    for symbol in names("cu"):
        if symbol == without:
            continue
        body = BODIES.get(symbol, "static int made; *p = &made;" if symbol in MAKES else "")
        count = "++live;" if symbol in MAKES else "--live;" if symbol in ends else ""
        lines.append(f'extern "C" int {symbol}({PARAMETERS.get(symbol, "...")}) {{ '
                     f'if (int e = fault("{symbol}")) return e; {body} {count} return 0; }}')
    # NVRTC calls this function without checking that it exists.
    lines.append('extern "C" int cuGetExportTable(void** p, void*) { *p = 0; return 500; }')
    return "\n".join(lines)


def cublaslt():
    """Returns the source of a cuBLASLt that offers two algorithms for every product; both do nothing."""
    lines = ["#include <cstddef>", "struct Found { unsigned long long data[8]; size_t workspace;"
             " int state; float waves; int rest[4]; };", "static int made;"]
    special = {
        "cublasLtGetVersion": "size_t cublasLtGetVersion() { return 130100; }",
        "cublasLtMatmulAlgoGetHeuristic":
            "int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int,"
            " Found* found, int* count) { found[0] = Found{}; found[1] = Found{{1}}; *count = 2;"
            " return 0; }",
    }
    for name in names("cublasLt"):
        made = "(void** p, ...) { *p = &made; return 0; }"
        plain = f"int {name}" + (made if name.endswith("Create") else "(...) { return 0; }")
        lines.append(f'extern "C" {special.get(name, plain)}')
    return "\n".join(lines)


def cudnn(without=""):
    """Returns the source of a cuDNN that cannot plan any operation: its heuristics have no engine."""
    kinds = (CUDA / "cudnn" / "names.def").read_text()
    heuristics = re.search(r"^TG_DNN_KIND\(Heuristics, (\d+)\)", kinds, re.M).group(1)
    special = {
        "cudnnGetVersion": "size_t cudnnGetVersion() { return 91300; }",
        "cudnnGetErrorString": 'const char* cudnnGetErrorString(int) { return "STUB_NOT_SUPPORTED"; }',
        "cudnnGetLastErrorString": "void cudnnGetLastErrorString(char* s, size_t) { *s = 0; }",
        "cudnnCreate": "int cudnnCreate(void** p) { static int made; *p = &made; return 0; }",
        "cudnnBackendCreateDescriptor": "int cudnnBackendCreateDescriptor(int kind, void** p)"
                                        " { *p = new int(kind); return 0; }",
        "cudnnBackendDestroyDescriptor": "int cudnnBackendDestroyDescriptor(void* p)"
                                         " { delete (int*)p; return 0; }",
        "cudnnBackendFinalize": "int cudnnBackendFinalize(void* p)"
                                f" {{ return *(int*)p == {heuristics} ? 3000 : 0; }}",
    }
    lines = ["#include <cstddef>"]
    for name in names("cudnn"):
        if name != without:
            lines.append(f'extern "C" {special.get(name, f"int {name}(...) {{ return 0; }}")}')
    return "\n".join(lines)


def hidden_libraries():
    """Returns the source of a library for LD_PRELOAD whose dlopen does not find the files of STUB_HIDE."""
    return r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <string>
extern "C" void* dlopen(const char* file, int flags) {
  static auto* real = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  const char* hidden = getenv("STUB_HIDE");
  if (file && hidden) {
    const char* name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    std::string all = hidden, one;
    for (size_t at = 0, end; at <= all.size(); at = end + 1) {
      end = all.find(',', at) == std::string::npos ? all.size() : all.find(',', at);
      one = all.substr(at, end - at);
      if (!one.empty() && strncmp(name, one.c_str(), one.size()) == 0)
        return real("/no/such/folder/library.so", flags);
    }
  }
  return real(file, flags);
}
"""


def build(folder, **files):
    """Compiles shared libraries into a new folder, from keyword arguments key of FILES = source."""
    folder.mkdir()
    for name, source in files.items():
        (folder / f"{name}.cpp").write_text(source)
        subprocess.run(["c++", "-w", "-shared", "-fPIC", "-o", folder / FILES[name],
                        folder / f"{name}.cpp"], check=True)
    return folder


FILES = {"driver": "libcuda.so.1", "cublaslt": "libcublasLt.so.13", "cudnn": "libcudnn.so.9",
         "hidden": "libhidden.so"}
