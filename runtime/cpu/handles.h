// oneDNN's C objects as values that free themselves, and its statuses as diagnostics.
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

/// Whether kernels may use this instruction set, or more: the processor has it, and
/// DNNL_MAX_CPU_ISA does not keep oneDNN below it. Kernels of our own are bound by that, too, so
/// that the variable shows what a lesser processor would do.
bool may_use(dnnl_cpu_isa_t isa);
/// The same of kernels of ours for "avx512", "avx2" or "base".
bool may_use_own(llvm::StringRef isa);
/// The first of some tables of such kernels that may be used; those for the base always may.
template <class Tables> const auto& best_of(const Tables& found) {
  int i = 0;
  while (!may_use_own(found.tables[i]->isa)) ++i;
  return *found.tables[i];
}

/// Errors: `device`, with oneDNN's status and what was being done.
Diagnostic device_error(dnnl_status_t status, llvm::StringRef what);

/// Has oneDNN run what the calling thread makes and runs on that thread alone, while this lives.
/// Its OpenMP has a team for each calling thread, whose idle threads spin for milliseconds; several
/// threads run slices of a step instead (lowering/slices.h).
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

/// Scratch memory given by us, and post-ops in the order sum, activation.
struct Attr {
  bool sum = false; // the result's old contents are added
  Act act = Act::None;
};
Result<AttrHandle> make_attr(const Attr& attr);

/// Names of implementations that are wrong somewhere (lowering/convolution.cpp).
inline constexpr llvm::StringRef kBrgemm = "brg", kDepthwiseSse41 = "jit_dw:sse41";

/// The first implementation that oneDNN offers for this operation, of those whose name starts with
/// none of `avoid` and is `only`, if that is given. `operation` is one of its descriptor structs.
/// Errors: `device` where there is none.
Result<PrimitiveDescHandle> make_primitive_desc(const void* operation, const AttrHandle& attr,
                                                dnnl_engine_t engine, llvm::StringRef what,
                                                llvm::ArrayRef<llvm::StringRef> avoid = {},
                                                llvm::StringRef only = {});

/// The same product or convolution, on the layouts that `pd` works in, without its activation and
/// with scratch memory of the library's own.
Result<PrimitiveDescHandle> without_activation(const PrimitiveDescHandle& pd, bool sum,
                                               dnnl_engine_t engine);

/// "brgconv:avx512_core".
std::string implementation(const PrimitiveDescHandle& pd);
/// Plain loops: a hundred to a thousand times as slow as oneDNN's other kernels, and slower than
/// any copy that leads to one of those.
bool is_reference(const PrimitiveDescHandle& pd);
/// The layout that the implementation wants of an argument: dnnl_query_src_md and so on.
dnnl_memory_desc_t wanted(const PrimitiveDescHandle& pd, dnnl_query_t what, int index = 0);

/// An argument of a primitive: DNNL_ARG_SRC and so on, its layout, and where it lies.
struct PrimitiveArg {
  int name;
  dnnl_memory_desc_t layout;
  Place place; // of the layout's dtype; its shape and strides are ignored
};

/// A kernel that runs a primitive on these arguments. `scratch_bytes` is set to what it needs.
/// Errors: `device`; `internal` where a place has another dtype than its layout.
Result<std::unique_ptr<Kernel>> make_primitive_kernel(const PrimitiveDescHandle& pd,
                                                      dnnl_engine_t engine,
                                                      llvm::ArrayRef<PrimitiveArg> args,
                                                      int64_t& scratch_bytes);

} // namespace tg::cpu
