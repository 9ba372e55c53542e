// Compiles kernels from text to machine code: NVRTC behind a small interface, a cache on disk,
// and the resource use of a compiled kernel, read from the file's own sections,
// so that no GPU is needed.
//
// For a GPU newer than NVRTC supports, the result is intermediate code (PTX)
// for the newest architecture that NVRTC supports; the driver compiles it to machine code
// when it loads it.
//
// The cache is a folder with one file per kernel, named by a hash of the whole key (target,
// compiler version, options, source). A file holds its key and a checksum;
// a file that does not match is compiled again and replaced. Files are written atomically,
// so processes may share the cache.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>

#include <memory>
#include <string>
#include <vector>

namespace tg::cuda {

using Cubin = std::string; // bytes of an ELF file, or zero-terminated PTX text

class KernelCompiler {
public:
  virtual ~KernelCompiler() = default;
  /// Part of the cache key: "NVRTC 13.0".
  virtual std::string version() const = 0;
  /// Part of the cache key: the options other than the target.
  virtual std::string options() const { return ""; }
  /// Returns the supported compute capabilities, ascending: 75, 80, ..., 90.
  virtual llvm::ArrayRef<int> capabilities() const = 0;
  /// Returns machine code for "sm_90", PTX for "compute_90". Errors:
  /// `device` with the compiler's log.
  virtual Result<Cubin> compile(const std::string& source, const std::string& target) = 0;
  /// Returns the assembly of the machine code, for tests and debugging.
  virtual Result<std::string> assembly(const std::string& source,
                                       const std::string& architecture) = 0;
};

/// Loads NVRTC. Errors: `no_backend`.
Result<std::unique_ptr<KernelCompiler>> open_nvrtc();

/// Returns the compilation target for a GPU ("sm_120"): machine code if the compiler supports it,
/// else PTX ("compute_90"). Errors: `no_backend` if the compiler supports only newer GPUs.
Result<std::string> compile_target(const KernelCompiler& compiler, const std::string& architecture);
inline bool is_ptx(llvm::StringRef target) { return target.startswith("compute_"); }

/// $XDG_CACHE_HOME/tangram/kernels or ~/.cache/tangram/kernels; "" if there is no home.
std::string default_kernel_cache();

class CubinCache {
public:
  /// "" stores nothing. If the folder cannot be created, a note is added and nothing is stored.
  CubinCache(std::string folder, KernelCompiler& compiler);

  /// Returns the code for a GPU ("sm_90"), from the cache or the compiler.
  /// Errors: those of compile_target() and of the compiler.
  Result<Cubin> get(const std::string& source, const std::string& architecture);

  size_t hits() const { return hits_; }
  size_t compiled() const { return compiled_; }
  /// "the kernel cache entry ... was damaged and made anew".
  const std::vector<std::string>& notes() const { return notes_; }

private:
  std::string path_of(const std::string& key) const;
  bool read(const std::string& path, const std::string& key, Cubin& cubin);
  void write(const std::string& path, const std::string& key, const Cubin& cubin);

  std::string folder_;
  KernelCompiler& compiler_;
  size_t hits_ = 0, compiled_ = 0;
  std::vector<std::string> notes_;
};

/// The resources of one kernel of a cubin.
struct KernelUse {
  int registers = 0;    // per thread
  int shared_bytes = 0; // per block
  int stack_bytes = 0;  // per thread, in memory: spilled registers and local arrays
};
/// Errors: `device` if the bytes are not machine code (the registers of PTX are not known yet)
/// or have no such kernel.
Result<KernelUse> kernel_use(const Cubin& cubin, llvm::StringRef kernel);

} // namespace tg::cuda
