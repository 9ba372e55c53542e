// Kernels from text to machine code: NVRTC behind a small interface, a cache on disk before it, and
// what a compiled kernel uses, read from the file's own sections, so that it is known without a
// GPU.
//
// A GPU newer than NVRTC gets intermediate code (PTX) for the newest architecture before it that
// NVRTC knows; the driver, which knows the GPU, makes machine code of that when it loads it.
//
// The cache is a folder of files, one a kernel, named by a hash of the whole key (target, compiler
// version, options, source). A file holds its key and a checksum: whatever does not match
// is compiled again and replaced. Files appear whole or not at all, so processes may share it.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>

#include <memory>
#include <string>
#include <vector>

namespace tg::cuda {

using Cubin = std::string; // bytes of an ELF file, or PTX, a text that ends with a zero

class KernelCompiler {
public:
  virtual ~KernelCompiler() = default;
  /// Part of the cache's key: "NVRTC 13.0".
  virtual std::string version() const = 0;
  /// Part of it, too: its options beside the target.
  virtual std::string options() const { return ""; }
  /// Compute capabilities that it makes code for, ascending: 75, 80, ..., 90.
  virtual llvm::ArrayRef<int> capabilities() const = 0;
  /// Machine code for "sm_90", PTX for "compute_90". Errors: `device` with the compiler's log.
  virtual Result<Cubin> compile(const std::string& source, const std::string& target) = 0;
  /// The assembly that the machine code is made of, for tests and people.
  virtual Result<std::string> assembly(const std::string& source,
                                       const std::string& architecture) = 0;
};

/// Loads NVRTC. Errors: `no_backend`.
Result<std::unique_ptr<KernelCompiler>> open_nvrtc();

/// What kernels are compiled to for a GPU ("sm_120"): machine code where the compiler knows it,
/// else PTX ("compute_90"). Errors: `no_backend` where the compiler knows only newer ones.
Result<std::string> compile_target(const KernelCompiler& compiler, const std::string& architecture);
inline bool is_ptx(llvm::StringRef target) { return target.startswith("compute_"); }

/// $XDG_CACHE_HOME/tangram/kernels or ~/.cache/tangram/kernels; "" if there is no home.
std::string default_kernel_cache();

class CubinCache {
public:
  /// "" keeps nothing. A folder that cannot be made is noted, and nothing is kept.
  CubinCache(std::string folder, KernelCompiler& compiler);

  /// For a GPU ("sm_90"), from the cache or the compiler.
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

/// What one kernel of a cubin uses, for each thread and block.
struct KernelUse {
  int registers = 0;    // of a thread
  int shared_bytes = 0; // of a block
  int stack_bytes = 0;  // of a thread, in memory: spilled registers and local arrays
};
/// Errors: `device` if the bytes are no machine code
/// (PTX has no registers yet) or hold no such kernel.
Result<KernelUse> kernel_use(const Cubin& cubin, llvm::StringRef kernel);

} // namespace tg::cuda
