// Converts a plan to programs. For each step, in order, the lowering rule of its operator chooses
// layouts and kernels and appends ops.
//
// Rules also propagate layouts. A step requests its operands in the layout
// of its kernel (`operand_as`), and a reorder is inserted only if the value has another layout,
// once for all readers. Images (conv2d, pooling) have channels last, which oneDNN's convolutions
// prefer on AVX2 and AVX-512. Elementwise operators follow their operands.
// All other values are row-major.
// Reshape, transpose, slice and identity are places in their operand's buffer.
// The pieces of a concat are written in place if their rows allow it.
//
// Everything that depends on weights alone goes to the load program, including forms
// that run steps request (packed weights): the `phase` of a value decides.
//
// Invariant: a buffer is overwritten (in place) only by a step after which no value in it is read.
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
/// The rule of an operator. Absent operands are kNoValue.
using LowerFn = Result<void> (*)(Lowering&, const PlanStep&);

class Lowering {
public:
  Lowering(const Plan& plan, const CompileOptions& options, dnnl_engine_t engine, ThreadPool& pool,
           Products products = Products::Chosen, TileSchedules* schedules = nullptr);

  /// Lowers all steps. Errors: `no_kernel`, `device`.
  Result<void> run();

  // --- results -------------------------------------------------------------------------------
  std::vector<Buffer> buffers;
  Program load, run_program;
  /// The place of each value; buffer == kNoBuffer for unneeded values.
  std::vector<Place> places;
  /// For each step: true if an op that was added for an earlier step does its work.
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
  /// Returns the value with these strides: in place, or a copy made by a reorder (once).
  Result<Place> operand_as(PlanValueId value, llvm::ArrayRef<int64_t> strides);
  Result<Place> operand_plain(PlanValueId value);
  Result<Place> operand_nhwc(PlanValueId value);

  /// Returns a place for the result: its slot in a concat's buffer if it has one
  /// and the strides allow it, else a new buffer. It becomes the value's place.
  /// `any_strides`: the kernel can write into a slot whose rows have gaps;
  /// `dense_axis`, if given, must have stride 1 even then.
  Place new_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides, bool any_strides = false,
                   std::optional<size_t> dense_axis = std::nullopt);
  /// Returns a place for an image, channels last; there may be gaps between pixels.
  Place new_image(const PlanStep& step);
  /// Returns the place of PlanStep::in_place for the result, if no other value in that buffer
  /// is read from this step on and its strides are these. No other operand may overlap it;
  /// if `pointwise`, one may be in exactly the same place.
  std::optional<Place> take_over(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                                 bool pointwise);
  /// Returns the destination of a product: if it has a residual, the residual's own place,
  /// to which the product is added (the sum post-op), or a copy of it; else a new result.
  Result<Place> product_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                               bool any_strides = false);
  /// Makes the result a view of an operand.
  void set_view(const PlanStep& step, Place place);
  /// Makes a buffer for data other than values: packed weights, copies.
  /// `phase` determines its lifetime.
  Place new_temporary(int64_t bytes, Phase phase, DType dtype = DType::F32);
  Place new_temporary(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, Phase phase,
                      DType dtype = DType::F32);

  /// Returns true for values known after the load phase: weights, constants and results
  /// of load steps.
  bool at_load(PlanValueId value) const;
  bool at_load(const Place& place) const;
  /// Returns true if readers of the value need adjacent channels.
  bool needs_image(PlanValueId value) const;
  /// Returns the steps that read a value, once per operand.
  llvm::ArrayRef<PlanStepId> readers(PlanValueId value) const { return readers_[value]; }
  /// Returns the strides that make the only reader, a transpose, a view that is row-major,
  /// or channels last if it is combined with images; row-major if there is no such reader.
  Shape preferred_strides(PlanValueId value) const;
  /// The same if the only reader is a reshape that such a transpose reads (heads in groups).
  Shape preferred_strides_after_reshape(PlanValueId value) const;

  void add_op(Phase phase, Op op) { program(phase).ops.push_back(std::move(op)); }
  Program& program(Phase phase) { return phase == Phase::Load ? load : run_program; }

  /// Runs a step whose floats are not all f32 by a rule for f32: converts operands that are not
  /// stored as f32 before the step, and the result after it. Operands that are known at load are
  /// converted there. The rule uses the dtypes of places, which differ here from those of the
  /// plan's values.
  Result<void> widened(const PlanStep& step, LowerFn rule);

  /// Adds an op that copies src to dst (same shape, other strides).
  Result<void> add_copy(const Place& src, const Place& dst, Phase phase, PlanStepId step,
                        llvm::StringRef name);
  /// Returns the place converted to another layout of oneDNN, in a new buffer: packed weights,
  /// blocked images. `view` describes the value in its current place to the primitive.
  /// A value packed at load is packed once for all readers: steps that share a weight find it
  /// in the caches.
  Result<Place> packed(const Place& place, const dnnl_memory_desc_t& view,
                       const dnnl_memory_desc_t& layout, Phase phase, llvm::StringRef name);

  /// Returns a matrix [depth, columns], known at load or an input, packed into panels for tiles
  /// of its dtype (runtime/cpu/tile), once for all readers: at load, or at the first reader
  /// of a run.
  Place packed_panels(const Place& w, tile::Isa isa, Phase phase);

  /// The inverse of packed(): converts a layout of oneDNN to a place.
  Result<void> unpack(const Place& packed, const dnnl_memory_desc_t& layout, const Place& place,
                      const dnnl_memory_desc_t& view, Phase phase, llvm::StringRef name);

  /// Adds an op that runs a primitive, made with these post-ops, on one thread.
  Result<void> add_primitive(const PlanStep& step, const PrimitiveDescHandle& pd,
                             llvm::ArrayRef<PrimitiveArg> args, const Attr& attr = {});

  /// Returns an op with the text and work of a step.
  Op describe(const PlanStep& step) const;

  /// Returns the threads for work that takes about `microseconds` on one thread.
  /// Giving some of it to another thread costs a few microseconds, so short work stays
  /// on the caller's thread, as does all work inside a slice, and each step of a short run.
  /// Loading uses all threads.
  Threads threads_for(double microseconds, Phase phase = Phase::Run) const;
  /// True while steps are lowered for one of several threads (slices.h).
  bool slicing = false;

private:
  BufferId new_buffer(Buffer::Kind kind, int64_t bytes, PlanValueId source = kNoValue);
  void place_value(PlanValueId value, Place place);
  /// Records that the value, or a copy of it, is in that buffer.
  void note_readers(PlanValueId value, BufferId buffer);
  void place_leaves();
  void find_concat_slots();
  Result<void> finish_outputs();
  Result<void> add_reorder(const Place& from, const dnnl_memory_desc_t& from_md, const Place& to,
                           const dnnl_memory_desc_t& to_md, Phase phase, llvm::StringRef name);
  /// Returns the place inside the concat's buffer, which is created on first use.
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
  std::vector<Packed> packed_; // at load, of places that still hold the packed value
  struct Panels {
    Place from, to;
    int64_t width;
  };
  std::vector<Panels> panels_; // the same of panels
  bool widening_ = false;      // results are f32, which `widened` converts if need be
  ThreadPool& pool_;
  int most_threads_ = 1; // of a step of a run
};

/// Returns the provider of schedules for a step; null for the default, which always applies
/// to steps that are computed once, at load.
inline TileSchedules* schedules_of(const Lowering& l, const PlanStep& step) {
  return step.phase == Phase::Run ? l.schedules : nullptr;
}

/// Returns the number of products whose right operand is the value.
size_t products_of(const Lowering& l, PlanValueId value);
/// Returns the step that is the only reader of a value; null if there are several reads or none,
/// or the value is an output.
const PlanStep* only_reader(const Lowering& l, PlanValueId value);
/// Returns the value of an attribute, by its name in ops.def.
const Value& attr(const PlanStep& step, llvm::StringRef name);
/// Returns an operand, by its name in ops.def; kNoValue if it is absent.
PlanValueId operand(const PlanStep& step, llvm::StringRef name);
/// The same for an operand that only some operators have.
PlanValueId optional_operand(const PlanStep& step, llvm::StringRef name);

Result<void> lower_matmul(Lowering& l, const PlanStep& step);
Result<void> lower_conv2d(Lowering& l, const PlanStep& step);
Result<void> lower_conv3d(Lowering& l, const PlanStep& step);
Result<void> lower_conv_transpose2d(Lowering& l, const PlanStep& step);
Result<void> lower_attention(Lowering& l, const PlanStep& step);
Result<void> lower_winograd_conv2d(Lowering& l, const PlanStep& step);
Result<void> lower_pool2d(Lowering& l, const PlanStep& step);
Result<void> lower_resize(Lowering& l, const PlanStep& step);
/// Returns true if each element of a `resize` is an element of its operand.
/// Only floats can be weighted, so other dtypes require this.
bool moves_elements(const PlanStep& resize);
Result<void> lower_pointwise(Lowering& l, const PlanStep& step); // one operator, or a fused_map
Result<void> lower_batch_norm(Lowering& l, const PlanStep& step);
Result<void> lower_softmax(Lowering& l, const PlanStep& step);
Result<void> lower_layer_norm(Lowering& l, const PlanStep& step);
Result<void> lower_reduce(Lowering& l, const PlanStep& step);
/// For a square: returns true if it, its sum and the sum's root became one kernel (norm.cpp).
Result<bool> lower_norm(Lowering& l, const PlanStep& square);
Result<void> lower_concat(Lowering& l, const PlanStep& step);
Result<void> lower_view(Lowering& l, const PlanStep& step); // slice, reshape, transpose, identity
/// Returns true for the operators of lower_view that strides express in any layout:
/// all but reshape. broadcast is not among them: many of its readers copy it first.
bool is_always_view(OpKind op);
Result<void> lower_pad(Lowering& l, const PlanStep& step);
Result<void> lower_enlarge(Lowering& l, const PlanStep& step);
Result<void> lower_merge_gconv(Lowering& l, const PlanStep& step);
Result<void> lower_cast(Lowering& l, const PlanStep& step);
Result<void> lower_gather(Lowering& l, const PlanStep& step);
Result<void> lower_scatter(Lowering& l, const PlanStep& step);
/// Uses the loops that define the operator: for rare operators, or those that run only at load.
Result<void> lower_reference(Lowering& l, const PlanStep& step);

/// Returns axes by stride, outermost first; axes of size 1 come first, in their order.
llvm::SmallVector<int64_t> axis_order(const Place& p);
/// Returns dense strides in the axis order of `p`.
Shape dense_like(const Place& p);

/// Adds an op that converts between dtypes that floats represent;
/// both places have one shape (pointwise.cpp).
void add_conversion(Lowering& l, const Place& from, const Place& to, Phase phase);
/// Returns the place if it is f32, else a plain f32 copy, made at load if its contents
/// are known then, else in `phase`.
Place as_floats(Lowering& l, Phase phase, const Place& place);

/// Returns true if our kernels can read and write values of this dtype as floats without rounding.
inline bool floats_hold(DType dtype) { return holds_all(DType::F32, dtype); }

/// Returns the microseconds on one thread to copy or fill so many bytes, at 30 GB/s:
/// for threads_for().
inline double copy_us(double bytes) { return bytes / 30e3; }
/// Returns the microseconds of a product: at 150 GFLOP/s, or 40 GB/s for a few rows
/// and a large matrix (matmul.cpp).
double matmul_us(const Op& op);

/// Sets kernel, implementation, buffers and scratch of an op that oneDNN's reorder runs,
/// on one thread (copy.cpp).
Result<void> set_reorder(Op& op, const Place& from, const dnnl_memory_desc_t& from_md,
                         const Place& to, const dnnl_memory_desc_t& to_md, dnnl_engine_t engine);
/// Sets kernel, implementation, buffers, threads and scratch of an op that copies
/// or fills (copy.cpp).
Result<void> set_copy_kernel(Op& op, const Place& src, const Place& dst, const Threads& threads,
                             dnnl_engine_t engine);
void set_fill_kernel(Op& op, const Place& dst, const Value& value, const Threads& threads);

} // namespace tg::cpu
