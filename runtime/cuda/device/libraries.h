// NVIDIA's libraries, loaded when first used: the driver, NVRTC, cuBLASLt and cuDNN. Nothing of
// them is needed to build or to start the program, so one binary runs where they are and where they
// are not. What is missing is a sentence for the user, never a failure of the program.
//
// Looked for first where LD_LIBRARY_PATH and CUDA_HOME (or CUDA_PATH) say, in whatever version;
// else the newest that is not newer than the driver (then any) of what is where the system looks,
// in /usr/local/cuda, in CONDA_PREFIX, and in the folders of Python's wheels (nvidia/*/lib): on
// PYTHONPATH, below VIRTUAL_ENV, CONDA_PREFIX, the Python that PATH finds, ~/.local and the
// system's.
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

/// A library's functions are listed once, as F(member, "symbol", (parameters)); all return int. The
/// list makes the members of a struct, and their loading from `file` into `api`, after which
/// `missing` (a const char*) names the first function that is not there.
#define TG_LIBRARY_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
#define TG_LIBRARY_LOAD(name, symbol, parameters)                                                  \
  if (!missing && !file.find(api.name, symbol)) missing = symbol;

/// An open library. It stays in memory when the object goes, until the program ends.
class SharedLibrary {
public:
  /// Errors: `no_backend` with the names that were tried, or the loader's reason.
  static Result<std::unique_ptr<SharedLibrary>> open(Library library);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Fills a pointer to function. False if there is no such symbol (an older version).
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

/// File names of a library, the newest version first.
llvm::ArrayRef<llvm::StringRef> library_files(Library library);
/// Folders to look in beside the system's own, from these values of the environment.
struct LibraryPlaces {
  std::string cuda_home, virtual_env, home, conda_prefix, python_path, path, library_path;
};
std::vector<std::string> library_folders(const LibraryPlaces& places);
/// What to try, best first: files that are there, and names that the system looks up. `cuda` is the
/// major version that the driver is for; 0: not known.
std::vector<std::string> library_candidates(Library library, const LibraryPlaces& places,
                                            int cuda = 0);

/// How far a version was tried by those who write this program: on a GPU or, without one, to
/// compile kernels or to plan operations with.
enum class Tried : uint8_t { Not, Planned, Compiled, OnGpu };
struct TriedVersion {
  Library library;
  llvm::StringRef version;
  Tried how;
};
llvm::ArrayRef<TriedVersion> tried_versions();

struct FoundLibrary {
  Library library{};
  std::string version; // "13.0"; empty where it was not found
  std::string problem; // why not; empty where it was found
  Tried tried = Tried::Not;
};

struct Gpu {
  std::string name;
  int major = 0, minor = 0; // compute capability
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  /// What kernels are compiled to for it (compile.h); empty where there is no NVRTC.
  std::string target;

  /// "sm_90".
  std::string architecture() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
};

struct Installation {
  std::vector<FoundLibrary> libraries; // in the order of Library
  std::vector<Gpu> gpus;
  /// Why no GPU can be used; empty where one can.
  std::string problem;
};

/// Loads each library, asks for its version and lets go of it again.
Installation find_installation();

/// "13.0.1" of the numbers that the libraries give: 13010 (driver, NVRTC), 130001 (cuBLASLt),
/// 91300 (cuDNN 9), 8907 (cuDNN 8).
std::string version_text(Library library, int64_t number);

} // namespace tg::cuda
