// From a plan to programs: for each step, in order, the lowering rule of its operator chooses
// layouts and kernels and appends ops. Layout propagation is part of it: a step asks for its
// operands in the layout that its kernel works in (`operand_as`), and only where the value lies
// otherwise is a reorder put in, once for all who ask. Images (conv2d, pooling) lie channels last,
// which is what oneDNN's convolutions want on AVX2 and AVX-512 alike; elementwise operators follow
// their operands; all else is row-major. Reshape, transpose, slice and identity are places on their
// operand's buffer. The pieces of a concat are written in place where their rows allow.
//
// Everything that stems from weights alone goes to the load program, also what run steps ask for
// (packed weights): `phase` of a value decides.
//
// Invariant: a buffer is written over (in place) only by a step after which no value on it is read.
#pragma once

#include "runtime/backend.h"
#include "runtime/cpu/backend.h"
#include "runtime/cpu/handles.h"
#include "runtime/cpu/program.h"
#include "runtime/cpu/tile/register_tile.h"
#include "runtime/kernel_table.h"

namespace tg::cpu {

class Lowering;
class TileSchedules;
/// The rule of an operator. Operands that are absent are kNoValue.
using LowerFn = Result<void> (*)(Lowering&, const PlanStep&);

class Lowering {
public:
  Lowering(const Plan& plan, const CompileOptions& options, dnnl_engine_t engine, ThreadPool& pool,
           Products products = Products::Chosen, TileSchedules* schedules = nullptr);

  /// All steps. Errors: `no_kernel`, `device`.
  Result<void> run();

  // --- results -------------------------------------------------------------------------------
  std::vector<Buffer> buffers;
  Program load, run_program;
  /// Where each value lies; buffer == kNoBuffer for values that nothing needs.
  std::vector<Place> places;
  /// Of each step: whether an op that was added for an earlier one does its work.
  std::vector<bool> done;

  // --- for the rules of the operators --------------------------------------------------------
  const Plan& plan;
  const CompileOptions& options;
  dnnl_engine_t engine;
  Products products;
  TileSchedules* schedules; // null: by rule

  const Place& place(PlanValueId value) const { return places[value]; }
  const TensorType& type(PlanValueId value) const { return plan.values[value].type; }
  /// The dtype in which a value is stored: that of its type, or f32 where an f16 value passes
  /// between kernels that compute in f32.
  DType stored_dtype(PlanValueId value) const {
    return stored_wide_[value] ? DType::F32 : type(value).dtype;
  }
  PlanStepId id(const PlanStep& step) const {
    return static_cast<PlanStepId>(&step - plan.steps.data());
  }
  /// The value with these strides: where it lies, or a copy that a reorder makes (once).
  Result<Place> operand_as(PlanValueId value, llvm::ArrayRef<int64_t> strides);
  Result<Place> operand_plain(PlanValueId value);
  Result<Place> operand_nhwc(PlanValueId value);

  /// A place for the result: its slot in a concat's buffer where it has one and the strides allow,
  /// else a new buffer. Becomes the value's place. `any_strides`: the kernel can write into a slot
  /// whose rows have gaps.
  /// An axis that is named has a stride of 1 even so.
  Place new_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides, bool any_strides = false,
                   std::optional<size_t> dense_axis = std::nullopt);
  /// A place for an image, channels last; there may be gaps between pixels.
  Place new_image(const PlanStep& step);
  /// The place of PlanStep::in_place for the result, if no other value on that buffer is read from
  /// this step on and its strides are these. No other operand may lie on it, but, if `pointwise`,
  /// in exactly the same place.
  std::optional<Place> take_over(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                                 bool pointwise);
  /// Where a product goes: for one with a residual, the residual's own place, which is added to
  /// (the sum post-op), or a copy of it; else a new result.
  Result<Place> product_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                               bool any_strides = false);
  /// The result is a view of an operand.
  void set_view(const PlanStep& step, Place place);
  /// A buffer for something that is no value: packed weights, copies. Lives where `phase` says.
  Place new_temporary(int64_t bytes, Phase phase, DType dtype = DType::F32);
  Place new_temporary(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, Phase phase,
                      DType dtype = DType::F32);

  /// Known when the load phase has run: weights, constants and results of load steps.
  bool at_load(PlanValueId value) const;
  bool at_load(const Place& place) const;
  /// Whether those that read a value want its channels side by side.
  bool wants_image(PlanValueId value) const;
  /// The steps that read a value, once for each operand.
  llvm::ArrayRef<PlanStepId> readers(PlanValueId value) const { return readers_[value]; }
  /// The strides that let the only reader, a transpose, be a view that is row-major, or channels
  /// last where it meets images; row-major where there is no such reader.
  Shape preferred_strides(PlanValueId value) const;
  /// The same where the only reader is a reshape that such a transpose reads (heads in groups).
  Shape preferred_strides_behind_reshape(PlanValueId value) const;

  void add_op(Phase phase, Op op) { program(phase).ops.push_back(std::move(op)); }
  Program& program(Phase phase) { return phase == Phase::Load ? load : run_program; }

  /// Runs a step whose floats are not all f32 by a rule for f32: operands that are not stored as
  /// f32 are converted before, and the result behind. What is known at load is converted there. The
  /// rule goes by the dtypes of places, which are not those of the plan's values here.
  Result<void> widened(const PlanStep& step, LowerFn rule);

  /// An op that copies src to dst (of the same shape, other strides).
  Result<void> add_copy(const Place& src, const Place& dst, Phase phase, PlanStepId step,
                        llvm::StringRef name);
  /// The place in another layout of oneDNN's, in a new buffer: packed weights, blocked images.
  /// `view` is how the primitive sees the value in the place where it lies. What is packed at load
  /// is packed once for all who ask: steps that share a weight find it in the caches.
  Result<Place> packed(const Place& place, const dnnl_memory_desc_t& view,
                       const dnnl_memory_desc_t& layout, Phase phase, llvm::StringRef name);

  /// A matrix [depth, columns], known at load or on an input, in panels for tiles of its dtype
  /// (runtime/cpu/tile), packed once for all who ask: at load, or at the first of them in a run.
  Place packed_panels(const Place& w, tile::Isa isa, Phase phase);

  /// The way back: from a layout of oneDNN's to a place.
  Result<void> unpack(const Place& packed, const dnnl_memory_desc_t& layout, const Place& place,
                      const dnnl_memory_desc_t& view, Phase phase, llvm::StringRef name);

  /// An op that runs a primitive, which was made with these post-ops, on one thread.
  Result<void> add_primitive(const PlanStep& step, const PrimitiveDescHandle& pd,
                             llvm::ArrayRef<PrimitiveArg> args, const Attr& attr = {});

  /// Text and work of a step, for its op.
  Op describe(const PlanStep& step) const;

  /// Threads for work that takes about so many microseconds on one: handing some of it to another
  /// thread costs a few microseconds, so short work stays on the caller's, as does all that is in a
  /// slice, and each step of a short run. Loading uses all threads.
  Threads threads_for(double microseconds, Phase phase = Phase::Run) const;
  /// Steps are being lowered for one of several threads (slices.h).
  bool slicing = false;

private:
  BufferId new_buffer(Buffer::Kind kind, int64_t bytes, PlanValueId source = kNoValue);
  void place_value(PlanValueId value, Place place);
  /// The value, or a copy of it, is on that buffer.
  void note_readers(PlanValueId value, BufferId buffer);
  void place_leaves();
  void find_consumers();
  void find_concat_slots();
  void find_wide_values();
  Result<void> finish_outputs();
  Result<void> add_reorder(const Place& from, const dnnl_memory_desc_t& from_md, const Place& to,
                           const dnnl_memory_desc_t& to_md, Phase phase, llvm::StringRef name);
  /// The place inside the concat's buffer, which is made if it is not there yet.
  std::optional<Place> slot(PlanValueId value, llvm::ArrayRef<int64_t> strides, bool any_strides,
                            std::optional<size_t> dense_axis);

  struct Slot {
    PlanStepId concat; // kNever: none
    int64_t start;     // along the concat's axis
  };
  struct Copy {
    Shape strides;
    Place place;
  };
  std::vector<llvm::SmallVector<PlanStepId, 2>> readers_; // steps, of each value
  std::vector<Slot> slots_;                               // of each value
  std::vector<bool> stored_wide_;                         // f16 that is stored as f32
  std::vector<llvm::SmallVector<Copy, 0>> copies_;        // by value
  struct Packed {
    Place from, to;
    dnnl_memory_desc_t view, layout;
  };
  std::vector<Packed> packed_; // at load, of places that still hold what was packed
  struct Panels {
    Place from, to;
    int64_t width;
  };
  std::vector<Panels> panels_; // the same of panels
  bool widening_ = false;      // results are f32, which `widened` converts if need be
  ThreadPool& pool_;
  int most_threads_ = 1; // of a step of a run
};

/// Who may say by which schedule a step runs; null: it goes by rule, as all does that is computed
/// once, at load.
inline TileSchedules* schedules_of(const Lowering& l, const PlanStep& step) {
  return step.phase == Phase::Run ? l.schedules : nullptr;
}

/// How many products have the value as their right operand.
size_t products_of(const Lowering& l, PlanValueId value);
/// The step that alone reads a value, and once; null where there are more or none, or the value is
/// an output.
const PlanStep* only_reader(const Lowering& l, PlanValueId value);
/// The value of an attribute, by the name that ops.def gives it.
const Value& attr(const PlanStep& step, llvm::StringRef name);
/// An operand, by the name that ops.def gives it; kNoValue where it is absent.
PlanValueId operand(const PlanStep& step, llvm::StringRef name);
/// The same of an operand that some operators have.
PlanValueId optional_operand(const PlanStep& step, llvm::StringRef name);

Result<void> lower_matmul(Lowering& l, const PlanStep& step);
Result<void> lower_conv2d(Lowering& l, const PlanStep& step);
Result<void> lower_conv3d(Lowering& l, const PlanStep& step);
Result<void> lower_conv_transpose2d(Lowering& l, const PlanStep& step);
Result<void> lower_attention(Lowering& l, const PlanStep& step);
Result<void> lower_winograd_conv2d(Lowering& l, const PlanStep& step);
Result<void> lower_pool2d(Lowering& l, const PlanStep& step);
Result<void> lower_resize(Lowering& l, const PlanStep& step);
/// True if each element of a `resize` is one of its operand: no other dtypes than floats are
/// weighed.
bool moves_elements(const PlanStep& resize);
Result<void> lower_pointwise(Lowering& l, const PlanStep& step); // one operator, or a fused_map
Result<void> lower_batch_norm(Lowering& l, const PlanStep& step);
Result<void> lower_softmax(Lowering& l, const PlanStep& step);
Result<void> lower_layer_norm(Lowering& l, const PlanStep& step);
Result<void> lower_reduce(Lowering& l, const PlanStep& step);
/// Of a square: whether it, its sum and the sum's root became one kernel (norm.cpp).
Result<bool> lower_norm(Lowering& l, const PlanStep& square);
Result<void> lower_concat(Lowering& l, const PlanStep& step);
Result<void> lower_view(Lowering& l, const PlanStep& step); // slice, reshape, transpose, identity
/// Those of lower_view that strides express in any layout: all but reshape. Nor is broadcast one:
/// many who read it copy it first.
bool is_always_view(OpKind op);
Result<void> lower_pad(Lowering& l, const PlanStep& step);
Result<void> lower_enlarge(Lowering& l, const PlanStep& step);
Result<void> lower_merge_gconv(Lowering& l, const PlanStep& step);
Result<void> lower_cast(Lowering& l, const PlanStep& step);
Result<void> lower_gather(Lowering& l, const PlanStep& step);
Result<void> lower_scatter(Lowering& l, const PlanStep& step);
/// By the loops that define the operator: for what is rare, or runs at load alone.
Result<void> lower_reference(Lowering& l, const PlanStep& step);

/// Axes by stride, outermost first; axes of size 1 come first, in their order.
llvm::SmallVector<int64_t> axis_order(const Place& p);
/// Dense strides in the order in which the axes of `p` lie.
Shape dense_like(const Place& p);

/// An op that converts between dtypes that floats hold; both places have one shape (pointwise.cpp).
void add_conversion(Lowering& l, const Place& from, const Place& to, Phase phase);
/// The place if it is f32, else a plain copy that is, made at load where what it holds is known
/// there, else in `phase`.
Place as_floats(Lowering& l, Phase phase, const Place& place);

/// Whether our kernels can read and write values of this dtype as floats: exactly, that is.
inline bool floats_hold(DType dtype) { return holds_all(DType::F32, dtype); }

/// Microseconds on one thread to copy or fill so many bytes, at 30 GB/s: for threads_for().
inline double copy_us(double bytes) { return bytes / 30e3; }
/// Those of a product: at 150 GFLOP/s, or 40 GB/s where a few rows meet a large matrix
/// (matmul.cpp).
double matmul_us(const Op& op);

/// Sets kernel, implementation, buffers and scratch of an op that oneDNN's reorder does, on one
/// thread (copy.cpp).
Result<void> set_reorder(Op& op, const Place& from, const dnnl_memory_desc_t& from_md,
                         const Place& to, const dnnl_memory_desc_t& to_md, dnnl_engine_t engine);
/// Sets kernel, implementation, buffers, threads and scratch of an op that copies or fills
/// (copy.cpp).
Result<void> set_copy_kernel(Op& op, const Place& src, const Place& dst, const Threads& threads,
                             dnnl_engine_t engine);
void set_fill_kernel(Op& op, const Place& dst, const Value& value, const Threads& threads);

} // namespace tg::cpu
