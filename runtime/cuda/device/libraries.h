// NVIDIA's libraries, loaded on first use: the driver, NVRTC, cuBLASLt and cuDNN.
// Building and starting the program needs none of them, so one binary runs with and without them.
// A missing library is a message for the user, never a failure of the program.
//
// The search begins in LD_LIBRARY_PATH and CUDA_HOME (or CUDA_PATH), for any version.
// After that, the newest version that is not newer than the driver (then any) is used among:
// the system's search path, /usr/local/cuda, CONDA_PREFIX, and the folders
// of Python's wheels (nvidia/*/lib) on PYTHONPATH, below VIRTUAL_ENV, CONDA_PREFIX,
// the first Python on PATH, ~/.local and the system's.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <memory>
#include <string>
#include <vector>

namespace tg::cuda {

enum class Library : uint8_t { Driver, Nvrtc, CublasLt, Cudnn };
llvm::StringRef library_name(Library library); // "NVIDIA driver", "NVRTC", "cuBLASLt", "cuDNN"

/// A library's functions are listed once, as F(member, "symbol", (parameters)); all return int.
/// The list defines the members of a struct and loads them from `file` into `api`;
/// `missing` (a const char*) is then the first function that does not exist.
#define TG_LIBRARY_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
#define TG_LIBRARY_LOAD(name, symbol, parameters)                                                  \
  if (!missing && !file.find(api.name, symbol)) missing = symbol;

/// An open library. It stays in memory after the object is destroyed, until the program ends.
class SharedLibrary {
public:
  /// Errors: `no_backend` with the names that were tried, or the loader's reason.
  static Result<std::unique_ptr<SharedLibrary>> open(Library library);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Loads a function pointer. Returns false if there is no such symbol (an older version).
  template <class F> bool find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
    return function != nullptr;
  }
  const std::string& path() const { return path_; }

private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* symbol(const char* name) const;

  void* handle_;
  std::string path_;
};

/// Returns the file names of a library, the newest version first.
llvm::ArrayRef<llvm::StringRef> library_files(Library library);
/// Folders to search in addition to the system's, from these environment variables.
struct LibraryPlaces {
  std::string cuda_home, virtual_env, home, conda_prefix, python_path, path, library_path;
};
std::vector<std::string> library_folders(const LibraryPlaces& places);
/// Returns the candidates, best first: existing files, and names for the system's search.
/// `cuda` is the major version of the driver; 0: unknown.
std::vector<std::string> library_candidates(Library library, const LibraryPlaces& places,
                                            int cuda = 0);

/// How far the developers tested a version: on a GPU or, without one,
/// to compile kernels or to plan operations.
enum class Tried : uint8_t { Not, Planned, Compiled, OnGpu };
struct TriedVersion {
  Library library;
  llvm::StringRef version;
  Tried how;
};
llvm::ArrayRef<TriedVersion> tried_versions();

struct FoundLibrary {
  Library library{};
  std::string version; // "13.0"; empty if not found
  std::string problem; // reason if not found; else empty
  Tried tried = Tried::Not;
};

struct Gpu {
  std::string name;
  int major = 0, minor = 0; // compute capability
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  /// The target of kernels for it (compile.h); empty without NVRTC.
  std::string target;

  /// "sm_90".
  std::string architecture() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
};

struct Installation {
  std::vector<FoundLibrary> libraries; // in the order of Library
  std::vector<Gpu> gpus;
  /// The reason why no GPU can be used; empty if one can.
  std::string problem;
};

/// Loads each library, gets its version and releases it again.
Installation find_installation();

/// Formats "13.0.1" from the libraries' numbers: 13010 (driver, NVRTC), 130001 (cuBLASLt),
/// 91300 (cuDNN 9), 8907 (cuDNN 8).
std::string version_text(Library library, int64_t number);

} // namespace tg::cuda
