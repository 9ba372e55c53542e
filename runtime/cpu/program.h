// The parts of a compiled plan: buffers, and ops that run kernels on them, in order.
// One program runs once at load (folding and packing of weights), the other in every run.
//
// Invariants: an op touches exactly the buffers that it lists.
// Kernels hold addresses only after bind(), and allocate nothing in run() (in run_exact()
// they may).
#pragma once

#include "runtime/cpu/lowering/place.h"
#include "runtime/plan.h"
#include "runtime/tensor.h"
#include "runtime/thread_pool.h"

#include <memory>
#include <string>
#include <vector>

namespace tg::cpu {

/// The addresses of all buffers, by BufferId, and of the scratch memory that ops share.
struct Addresses {
  llvm::ArrayRef<std::byte*> buffers;
  std::byte* scratch = nullptr;
  /// Set if a kernel of f32 was bound to a place of another dtype, in which case it must not run.
  mutable bool mistyped = false;
  std::byte* bytes(const Place& p) const {
    return buffers[p.buffer] + p.offset * dtype_size(p.dtype);
  }
  /// The address of an f32 place.
  float* of(const Place& p) const {
    mistyped |= p.dtype != DType::F32;
    return reinterpret_cast<float*>(bytes(p));
  }
};

class Kernel {
public:
  virtual ~Kernel();
  /// Called before run(), and again whenever addresses have changed. Errors: `device`.
  virtual Result<void> bind(const Addresses& addresses) = 0;
  virtual dnnl_status_t run(dnnl_stream_t stream) = 0;
  /// Returns true if run() may mistake a NaN for a number. In that case it raises the exception
  /// for invalid operands (nan_guard.h).
  virtual bool may_lose_nan() const { return false; }
  /// Like run(), but NaN stays NaN; slower if run() may lose it. Errors: `device`.
  virtual Result<void> run_exact(dnnl_stream_t stream);
};

struct Buffer {
  enum class Kind : uint8_t {
    Weight, // contents of a weight or constant of the plan: `source`
    Load,   // written by the load program
    Input,  // an input of the plan: `source`; written by bind_inputs alone
    Arena,  // a temporary of a run
  };
  Kind kind{};
  int64_t bytes = 0;
  PlanValueId source = kNoValue;
  /// The last step that reads a value placed in this buffer; kNever: it is read after the run.
  /// (Not the values themselves: a chain of in-place steps puts all of them in one buffer.)
  PlanStepId read_until = 0;
};

struct Op {
  PlanStepId step = kNever; // kNever: inserted by the backend
  std::string name;
  std::string implementation;
  std::string result; // type
  double flops = 0, bytes = 0;
  int64_t scratch_bytes = 0;
  Threads threads = {};
  llvm::SmallVector<BufferId, 4> buffers;
  std::unique_ptr<Kernel> kernel; // null: a view
  /// For a copy from buffers[0] to buffers[1]: a complete description of the effect
  /// on the contents. Empty: unknown.
  std::string recipe = {};
};

struct Program {
  std::vector<Op> ops;
  int64_t scratch_bytes() const;
};

} // namespace tg::cpu
