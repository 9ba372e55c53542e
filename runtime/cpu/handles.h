// oneDNN's C objects as values that free themselves, and its status codes as diagnostics.
#pragma once

#include "runtime/cpu/lowering/place.h"
#include "runtime/cpu/program.h"

#include <dnnl.h>

#include <memory>
#include <type_traits>

namespace tg::cpu {

template <auto destroy> struct Destroy {
  template <class T> void operator()(T* p) const { destroy(p); }
};
using EngineHandle = std::unique_ptr<dnnl_engine, Destroy<dnnl_engine_destroy>>;
using StreamHandle = std::unique_ptr<dnnl_stream, Destroy<dnnl_stream_destroy>>;
using MemoryHandle = std::unique_ptr<dnnl_memory, Destroy<dnnl_memory_destroy>>;
using PrimitiveHandle = std::unique_ptr<dnnl_primitive, Destroy<dnnl_primitive_destroy>>;
using PrimitiveDescHandle =
    std::unique_ptr<dnnl_primitive_desc, Destroy<dnnl_primitive_desc_destroy>>;
using AttrHandle = std::unique_ptr<dnnl_primitive_attr, Destroy<dnnl_primitive_attr_destroy>>;
using PostOpsHandle = std::unique_ptr<dnnl_post_ops, Destroy<dnnl_post_ops_destroy>>;

/// Returns true if kernels may use this instruction set or a larger one:
/// the processor has it, and DNNL_MAX_CPU_ISA does not restrict oneDNN below it.
/// Our own kernels obey the variable too, so that it shows the behaviour of a lesser processor.
bool may_use(dnnl_cpu_isa_t isa);
/// The same for our own kernels of "avx512", "avx2" or "base".
bool may_use_own(llvm::StringRef isa);
/// Returns the first usable table of such kernels; the base table is always usable.
template <class Tables> const auto& best_of(const Tables& found) {
  int i = 0;
  while (!may_use_own(found.tables[i]->isa)) ++i;
  return *found.tables[i];
}

/// Errors: `device`, with oneDNN's status and the failed action.
Diagnostic device_error(dnnl_status_t status, llvm::StringRef what);

/// While it lives, oneDNN runs everything that the calling thread creates and runs
/// on that thread alone. Its OpenMP has a team for each calling thread,
/// whose idle threads spin for milliseconds; instead, several threads run slices
/// of a step (lowering/slices.h).
class OneLibraryThread {
public:
  OneLibraryThread();
  ~OneLibraryThread();
  OneLibraryThread(const OneLibraryThread&) = delete;
  OneLibraryThread& operator=(const OneLibraryThread&) = delete;

private:
  int before_;
};

Result<EngineHandle> make_engine();
Result<StreamHandle> make_stream(dnnl_engine_t engine);

/// Attributes with user-provided scratch memory, and post-ops in the order sum, activation.
struct Attr {
  bool sum = false; // adds the result's old contents
  Act act = Act::None;
};
Result<AttrHandle> make_attr(const Attr& attr);

/// Prefixes of implementations that give wrong results in some cases (lowering/convolution.cpp).
inline constexpr llvm::StringRef kBrgemm = "brg", kDepthwiseSse41 = "jit_dw:sse41";

/// Returns the first implementation that oneDNN offers for this operation whose name
/// has no prefix in `avoid` and is `only`, if given. `operation` is one of its descriptor structs.
/// Errors: `device` if there is none.
Result<PrimitiveDescHandle> make_primitive_desc(const void* operation, const AttrHandle& attr,
                                                dnnl_engine_t engine, llvm::StringRef what,
                                                llvm::ArrayRef<llvm::StringRef> avoid = {},
                                                llvm::StringRef only = {});

/// Returns the same product or convolution with the layouts of `pd`,
/// without its activation and with scratch memory owned by the library.
Result<PrimitiveDescHandle> without_activation(const PrimitiveDescHandle& pd, bool sum,
                                               dnnl_engine_t engine);

/// Returns "brgconv:avx512_core".
std::string implementation(const PrimitiveDescHandle& pd);
/// Returns true for plain loops: a hundred to a thousand times as slow as oneDNN's other kernels,
/// and slower than any copy that enables one of those.
bool is_reference(const PrimitiveDescHandle& pd);
/// Returns the implementation's preferred layout of an argument: dnnl_query_src_md and so on.
dnnl_memory_desc_t wanted(const PrimitiveDescHandle& pd, dnnl_query_t what, int index = 0);

/// An argument of a primitive: DNNL_ARG_SRC and so on, its layout, and its place.
struct PrimitiveArg {
  int name;
  dnnl_memory_desc_t layout;
  Place place; // of the layout's dtype; its shape and strides are ignored
};

/// Returns a kernel that runs a primitive on these arguments. Sets `scratch_bytes`
/// to the memory that it needs. Errors: `device`; `internal` if a place has another dtype
/// than its layout.
Result<std::unique_ptr<Kernel>> make_primitive_kernel(const PrimitiveDescHandle& pd,
                                                      dnnl_engine_t engine,
                                                      llvm::ArrayRef<PrimitiveArg> args,
                                                      int64_t& scratch_bytes);

} // namespace tg::cpu
