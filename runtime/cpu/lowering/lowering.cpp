#include "runtime/cpu/lowering/lowering.h"

#include "runtime/cpu/lowering/nan_guard.h"
#include "runtime/execute.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/IntEqClasses.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>

namespace tg::cpu {

namespace {

// Rules for operators that are not pointwise, and for special cases of pointwise ones.
constexpr KernelTable<LowerFn> kOwnRules{{
    {OpKind::Matmul, lower_matmul},
    {OpKind::Attention, lower_attention},
    {OpKind::Conv2d, lower_conv2d},
    {OpKind::WinogradWeight, lower_reference},
    {OpKind::WinogradConv2d, lower_winograd_conv2d},
    {OpKind::ConvTranspose2d, lower_conv_transpose2d},
    {OpKind::Conv3d, lower_conv3d},
    {OpKind::MaxPool2d, lower_pool2d},
    {OpKind::AvgPool2d, lower_pool2d},
    {OpKind::Resize, lower_resize},
    {OpKind::Softmax, lower_softmax},
    {OpKind::BatchNorm, lower_batch_norm},
    {OpKind::LayerNorm, lower_layer_norm},
    {OpKind::ReduceSum, lower_reduce},
    {OpKind::ReduceMean, lower_reduce},
    {OpKind::ReduceMax, lower_reduce},
    {OpKind::ReduceMin, lower_reduce},
    {OpKind::ReduceProd, lower_reduce},
    {OpKind::Concat, lower_concat},
    {OpKind::Pad, lower_pad},
    {OpKind::Enlarge, lower_enlarge},
    {OpKind::MergeGconv, lower_merge_gconv},
    {OpKind::FusedMap, lower_pointwise},
    {OpKind::Cast, lower_cast},
    {OpKind::Gather, lower_gather},
    {OpKind::Scatter, lower_scatter},
    {OpKind::Broadcast, lower_view},
    {OpKind::Cumsum, lower_reference},
    {OpKind::Argmax, lower_reference},
    {OpKind::TopK, lower_reference},
    {OpKind::NonMaxSuppression, lower_reference},
    {OpKind::Iota, lower_reference},
    {OpKind::Extern, lower_reference},
}};
constexpr KernelTable<LowerFn> kRules =
    kOwnRules.with_traits(Trait::View | Trait::Strided, lower_view).with_pointwise(lower_pointwise);
#define TG_OP(kind, ...)                                                                           \
  static_assert(!kRules.lacks(OpKind::kind), #kind " has no row in kOwnRules: lower_reference?");
#include "lang/core/ops.def"

bool moves(OpKind op) { return op == OpKind::Identity || op_info(op).has(Trait::Layout); }

/// Returns true if products of bf16 can run: by vdpbf16ps, or by conversion of blocks
/// if the processor lacks it. Before AVX-512, oneDNN has only plain loops.
bool has_bf16_products() { return may_use(dnnl_cpu_isa_avx512_core); }

/// The dtypes of a step: whether all are the same, and which dtypes can represent them.
struct StepDTypes {
  bool f32 = true, bf16 = true, floats = true, held = true;
  bool conditions; // bools occur, but no other dtypes
  StepDTypes(const Plan& plan, const PlanStep& step) : conditions(step.op == OpKind::Attention) {
    for (PlanValueId id : step.operands)
      if (id != kNoValue) look(plan.values[id].type.dtype);
    look(plan.values[step.result].type.dtype);
  }
  void look(DType dtype) {
    if (conditions && dtype == DType::Bool) return;
    f32 &= dtype == DType::F32;
    bf16 &= dtype == DType::BF16;
    floats &= is_float(dtype) && dtype != DType::F64;
    held &= floats_hold(dtype);
  }
};

/// Returns true if a rule supports the step's dtypes. Kernels for f32 support only f32.
/// Elementwise ones convert every dtype that floats can represent as they read and write;
/// norms and softmax convert bf16. Moves of elements support all dtypes.
/// Products of bf16 run on our kernels or oneDNN's.
bool takes(LowerFn rule, const PlanStep& step, const StepDTypes& dtypes) {
  bool typed = rule == lower_cast || rule == lower_gather || rule == lower_scatter ||
               moves(step.op) || (rule == lower_resize && moves_elements(step));
  if (dtypes.f32 || typed) return true;
  if (rule == lower_pointwise) return dtypes.held;
  bool product =
      step.op == OpKind::Matmul || step.op == OpKind::Conv2d || step.op == OpKind::Conv3d;
  bool narrow = rule == lower_softmax || rule == lower_layer_norm || rule == lower_batch_norm;
  return dtypes.bf16 && (narrow || (product && has_bf16_products()));
}

/// True if a rule that does not take the step's dtypes runs on f32 between conversions.
bool can_widen(LowerFn rule, const StepDTypes& dtypes) {
  return dtypes.floats && rule != lower_reference;
}

/// Halves that a rule does not take become f32 first; integers and f64, of which oneDNN has
/// nothing, run by the definition.
Result<void> lower_by_rule(Lowering& l, const PlanStep& step) {
  bool by_definition = l.products == Products::Reference;
  if (step.op == OpKind::Mul && !by_definition) {
    TG_TRY(bool done, lower_norm(l, step));
    if (done) return {};
  }
  StepDTypes dtypes(l.plan, step);
  LowerFn rule = kRules[step.op], runs = by_definition ? lower_reference : rule;
  if (takes(rule, step, dtypes)) return runs(l, step);
  if (can_widen(rule, dtypes)) return l.widened(step, runs);
  return lower_reference(l, step);
}

Result<void> lower_step(Lowering& l, const PlanStep& step) {
  TG_CHECK(lower_by_rule(l, step));
  DType made = l.place(step.result).dtype, wanted = l.stored_dtype(step.result);
  if (made == wanted) return {};
  return error(Code::internal, "the kernel of {0} gives {1}, not {2}", op_info(step.op).name,
               dtype_name(made), dtype_name(wanted));
}

/// How a step deals with values of f16 that are stored as f32.
enum class WideValues : uint8_t {
  Refused,            // operands and result have the dtype of their type
  Taken,              // an elementwise kernel, which rounds to f16 in registers
  Wanted,             // kernels of f32 between conversions, which such values spare
  StoredLikeOperands, // the result is stored as the operands are
};

WideValues wide_values(const Plan& plan, const PlanStep& step) {
  if (step.phase != Phase::Run) return WideValues::Refused;
  LowerFn rule = kRules[step.op];
  if (rule == lower_view || rule == lower_concat) return WideValues::StoredLikeOperands;
  StepDTypes dtypes(plan, step);
  bool to_bool = rule == lower_cast && plan.values[step.result].type.dtype == DType::Bool;
  if ((rule == lower_pointwise || rule == lower_cast) && dtypes.held && !to_bool)
    return WideValues::Taken;
  return !takes(rule, step, dtypes) && can_widen(rule, dtypes) ? WideValues::Wanted
                                                               : WideValues::Refused;
}

// Values that views and concats connect are stored alike. Such a class is stored as f32 if a kernel
// of f32 makes or reads one of it, and nothing needs one in f16: no output, no leaf, and no step
// that reads or makes f16.
std::vector<bool> find_wide_values(const Plan& plan) {
  llvm::IntEqClasses classes(static_cast<unsigned>(plan.values.size()));
  auto each_value = [](const PlanStep& step, auto visit) {
    for (PlanValueId id : step.operands)
      if (id != kNoValue) visit(id);
    visit(step.result);
  };
  for (const PlanStep& step : plan.steps)
    if (wide_values(plan, step) == WideValues::StoredLikeOperands)
      each_value(step, [&](PlanValueId id) { classes.join(id, step.result); });
  classes.compress();
  std::vector<bool> narrow(classes.getNumClasses()), wanted(classes.getNumClasses());
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    const PlanValue& value = plan.values[id];
    if (value.type.dtype != DType::F16 || value.kind != PlanValue::Kind::Temporary ||
        value.is_output || value.pinned)
      narrow[classes[id]] = true;
  }
  for (const PlanStep& step : plan.steps) {
    WideValues how = wide_values(plan, step);
    each_value(step, [&](PlanValueId id) {
      if (how == WideValues::Refused) narrow[classes[id]] = true;
      if (how == WideValues::Wanted) wanted[classes[id]] = true;
    });
  }
  std::vector<bool> wide(plan.values.size());
  for (PlanValueId id = 0; id < plan.values.size(); ++id)
    wide[id] = wanted[classes[id]] && !narrow[classes[id]];
  return wide;
}

} // namespace

Kernel::~Kernel() = default;

int64_t Program::scratch_bytes() const {
  int64_t most = 0;
  for (const Op& op : ops) most = std::max(most, op.scratch_bytes);
  return most;
}

llvm::SmallVector<int64_t> axis_order(const Place& p) {
  llvm::SmallVector<int64_t> order(p.shape.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int64_t axis) {
    auto i = static_cast<size_t>(axis);
    return p.shape[i] == 1 ? INT64_MAX : p.strides[i];
  };
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return key(a) > key(b); });
  return order;
}

Shape dense_like(const Place& p) { return dense_strides(p.shape, axis_order(p)); }

const Value& attr(const PlanStep& step, llvm::StringRef name) {
  int slot = op_info(step.op).attr_slot(name);
  assert(slot >= 0 && "ops.def has an attribute of this name");
  return step.attrs[static_cast<size_t>(slot)];
}

PlanValueId operand(const PlanStep& step, llvm::StringRef name) {
  int index = op_info(step.op).operand_index(name);
  assert(index >= 0 && "ops.def has an operand of this name");
  return step.operands[static_cast<size_t>(index)];
}

PlanValueId optional_operand(const PlanStep& step, llvm::StringRef name) {
  int index = op_info(step.op).operand_index(name);
  return index < 0 ? kNoValue : step.operands[static_cast<size_t>(index)];
}

namespace {

/// Returns the estimated microseconds of a run on one thread, at 100 GFLOP/s or 20 GB/s.
double run_us(const Plan& plan) {
  double sum = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.phase != Phase::Run) continue;
    OpWork work = step_work(plan, step);
    if (plan.values[step.result].type.dtype == DType::F64) work.flops *= 100; // plain loops
    sum += std::max(work.flops / 100e3, work.bytes / 20e3);
  }
  return sum;
}

/// A shorter run gains less from a second thread than it loses on a busy machine.
constexpr double kShortRunUs = 150;

} // namespace

Lowering::Lowering(const Plan& plan, const CompileOptions& options, dnnl_engine_t engine,
                   ThreadPool& pool, Products products, TileSchedules* schedules)
    : places(plan.values.size()), done(plan.steps.size()), plan(plan), options(options),
      engine(engine), products(products), schedules(schedules), readers_(plan.values.size()),
      slots_(plan.values.size(), Slot{kNever, 0}), stored_wide_(plan.values.size()),
      copies_(plan.values.size()), pool_(pool),
      most_threads_(!options.share_short_work && run_us(plan) < kShortRunUs
                        ? 1
                        : std::max(1, options.threads)) {}

Result<void> Lowering::run() {
  for (PlanStepId i = 0; i < plan.steps.size(); ++i)
    for (PlanValueId operand : plan.steps[i].operands)
      if (operand != kNoValue) readers_[operand].push_back(i);
  find_concat_slots();
  if (products != Products::Reference) stored_wide_ = find_wide_values(plan);
  place_leaves();
  for (const PlanStep& step : plan.steps)
    if (!done[id(step)]) TG_CHECK(lower_step(*this, step));
  return finish_outputs();
}

// A piece may be written directly into the concat's buffer if it is computed in the same phase,
// occurs once, and is not already a piece of another concat. The layout
// is checked only when the piece is lowered.
void Lowering::find_concat_slots() {
  for (PlanStepId i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.op != OpKind::Concat) continue;
    int64_t start = 0;
    auto axis = static_cast<size_t>(step.attrs[0].number);
    for (PlanValueId piece : step.operands) {
      const PlanValue& value = plan.values[piece];
      bool made_here = value.kind == PlanValue::Kind::Temporary &&
                       plan.steps[value.defined_by].phase == step.phase;
      bool once = llvm::count(step.operands, piece) == 1;
      if (made_here && once && slots_[piece].concat == kNever) slots_[piece] = Slot{i, start};
      start += value.type.shape[axis];
    }
  }
}

// Elementwise steps use the layout of their operands, so their readers are checked, too.
bool Lowering::needs_image(PlanValueId value) const {
  constexpr int64_t kImage = 4, kVolume = 5;
  int64_t rank = type(value).rank();
  bool found = rank == kImage; // readers of volumes need not be convolutions
  if (rank != kImage && rank != kVolume) return false;
  llvm::SmallVector<PlanValueId, 4> open = {value};
  llvm::SmallDenseSet<PlanValueId> seen = {value};
  while (!open.empty())
    for (PlanStepId reader : readers_[open.pop_back_val()]) {
      const PlanStep& step = plan.steps[reader];
      OpKind op = step.op;
      if (op == OpKind::Matmul || op == OpKind::Softmax || op == OpKind::LayerNorm ||
          op == OpKind::Transpose || op == OpKind::Reshape)
        return false;
      found |= op == OpKind::Conv3d;
      bool follows = kRules[op] == lower_pointwise && type(step.result).rank() == rank;
      if (follows && seen.insert(step.result).second) open.push_back(step.result);
    }
  return found;
}

void Lowering::place_leaves() {
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    const PlanValue& value = plan.values[id];
    if (value.kind == PlanValue::Kind::Temporary) continue;
    bool input = value.kind == PlanValue::Kind::Input;
    Shape strides = contiguous_strides(value.type.shape);
    if (input && options.io_layout == IoLayout::Native && needs_image(id))
      strides = nhwc_strides(value.type.shape);
    int64_t bytes = value.type.bytes();
    if (value.kind == PlanValue::Kind::Constant && value.constant.size() == 1) {
      strides.assign(strides.size(), 0); // one element serves all
      bytes = dtype_size(value.type.dtype);
    }
    BufferId buffer = new_buffer(input ? Buffer::Kind::Input : Buffer::Kind::Weight, bytes, id);
    place_value(id, {buffer, 0, value.type.shape, strides, value.type.dtype});
  }
}

BufferId Lowering::new_buffer(Buffer::Kind kind, int64_t bytes, PlanValueId source) {
  buffers.push_back({kind, bytes, source, {}});
  return static_cast<BufferId>(buffers.size() - 1);
}

void Lowering::place_value(PlanValueId value, Place place) {
  note_readers(value, place.buffer);
  places[value] = std::move(place);
}

void Lowering::note_readers(PlanValueId id, BufferId buffer) {
  const PlanValue& value = plan.values[id];
  PlanStepId& until = buffers[buffer].read_until;
  if (value.pinned || value.is_output) until = kNever;
  for (PlanStepId step : {value.last_use, slots_[id].concat})
    if (step != kNever) until = std::max(until, step);
}

Place Lowering::new_temporary(int64_t bytes, Phase phase, DType dtype) {
  Buffer::Kind kind = phase == Phase::Load ? Buffer::Kind::Load : Buffer::Kind::Arena;
  return {new_buffer(kind, bytes), 0, {}, {}, dtype};
}

Place Lowering::new_temporary(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                              Phase phase, DType dtype) {
  Place place{kNoBuffer, 0, Shape(shape.begin(), shape.end()),
              Shape(strides.begin(), strides.end()), dtype};
  place.buffer = new_temporary(place.span() * dtype_size(dtype), phase).buffer;
  return place;
}

bool Lowering::at_load(PlanValueId value) const { return at_load(places[value]); }

size_t products_of(const Lowering& l, PlanValueId value) {
  return static_cast<size_t>(llvm::count_if(l.readers(value), [&](PlanStepId reader) {
    const PlanStep& step = l.plan.steps[reader];
    return step.op == OpKind::Matmul && operand(step, "y") == value;
  }));
}

const PlanStep* only_reader(const Lowering& l, PlanValueId value) {
  bool one = l.readers(value).size() == 1 && !l.plan.values[value].is_output;
  return one ? &l.plan.steps[l.readers(value)[0]] : nullptr;
}

bool Lowering::at_load(const Place& place) const {
  Buffer::Kind kind = buffers[place.buffer].kind;
  return kind == Buffer::Kind::Weight || kind == Buffer::Kind::Load;
}

Result<Place> Lowering::operand_as(PlanValueId value, llvm::ArrayRef<int64_t> strides) {
  const Place& now = places[value];
  if (same_strides(now.shape, now.strides, strides)) return now;
  for (const Copy& copy : copies_[value])
    if (copy.place.dtype == now.dtype && same_strides(now.shape, copy.strides, strides))
      return copy.place;
  Phase phase = at_load(value) ? Phase::Load : Phase::Run;
  Place place = new_temporary(now.shape, strides, phase, now.dtype);
  TG_CHECK(add_copy(places[value], place, phase, kNever, "reorder"));
  copies_[value].push_back({Shape(strides.begin(), strides.end()), place});
  note_readers(value, place.buffer); // later readers get this copy
  return place;
}

Result<Place> Lowering::operand_plain(PlanValueId value) {
  return operand_as(value, contiguous_strides(type(value).shape));
}
Result<Place> Lowering::operand_nhwc(PlanValueId value) {
  return operand_as(value, nhwc_strides(type(value).shape));
}

Place Lowering::new_image(const PlanStep& step) {
  return new_result(step, nhwc_strides(type(step.result).shape), true, 1);
}

Place Lowering::new_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides, bool any_strides,
                           std::optional<size_t> dense_axis) {
  // With Native, an operator is timed among elementwise neighbours that represent any other
  // operator. Most products cannot write rows with gaps, so a concat of channels is priced
  // with its copies.
  any_strides &= options.io_layout == IoLayout::Plain;
  DType dtype = stored_dtype(step.result);
  if (widening_ && dtype != DType::F32) {
    Place wide = new_temporary(type(step.result).shape, strides, step.phase);
    place_value(step.result, wide);
    return wide;
  }
  std::optional<Place> place = slot(step.result, strides, any_strides, dense_axis);
  if (!place) place = new_temporary(type(step.result).shape, strides, step.phase, dtype);
  place_value(step.result, *place);
  return *place;
}

// A concat that is itself a piece of another one is not merged into it: it is copied.
std::optional<Place> Lowering::slot(PlanValueId value, llvm::ArrayRef<int64_t> strides,
                                    bool any_strides, std::optional<size_t> dense_axis) {
  const Slot& own = slots_[value];
  if (own.concat == kNever) return std::nullopt;
  const PlanStep& concat = plan.steps[own.concat];
  const Shape& whole_shape = type(concat.result).shape;
  if (places[concat.result].buffer == kNoBuffer) {
    // The concat takes the axis order of its first piece.
    llvm::SmallVector<int64_t> order =
        axis_order({kNoBuffer, 0, type(value).shape, Shape(strides.begin(), strides.end())});
    if (!any_strides) { // is there a layout without gaps?
      int64_t axis = concat.attrs[0].number;
      for (int64_t outer : order) {
        if (outer == axis) break;
        if (whole_shape[static_cast<size_t>(outer)] != 1) return std::nullopt;
      }
    }
    place_value(concat.result, new_temporary(whole_shape, dense_strides(whole_shape, order),
                                             concat.phase, stored_dtype(concat.result)));
  }
  int64_t axis = concat.attrs[0].number;
  int64_t size = type(value).shape[static_cast<size_t>(axis)];
  Place cut = slice(places[concat.result], axis, own.start, own.start + size);
  bool fits = same_strides(cut.shape, cut.strides, strides);
  // Rows with gaps are only for kernels that can write them, and only if the piece
  // has no other readers.
  if (!fits && !(any_strides && readers_[value].size() == 1)) return std::nullopt;
  // The order of axes may be that of another piece.
  if (dense_axis && cut.shape[*dense_axis] != 1 && cut.strides[*dense_axis] != 1)
    return std::nullopt;
  return cut;
}

std::optional<Place> Lowering::take_over(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                                         bool pointwise) {
  if (step.in_place == kNoValue || slots_[step.result].concat != kNever) return std::nullopt;
  const Place place = places[step.in_place];
  PlanStepId index = id(step);
  const Buffer& buffer = buffers[place.buffer];
  if (buffer.kind != Buffer::Kind::Arena && buffer.kind != Buffer::Kind::Load) return std::nullopt;
  if (!(place.shape == type(step.result).shape) || !is_dense(place)) return std::nullopt;
  if (place.dtype != stored_dtype(step.result)) return std::nullopt;
  if (!same_strides(place.shape, place.strides, strides)) return std::nullopt;
  if (buffer.read_until > index) return std::nullopt;
  for (PlanValueId operand : step.operands)
    if (operand != kNoValue && operand != step.in_place && places[operand].buffer == place.buffer &&
        !(pointwise && places[operand] == place))
      return std::nullopt;
  place_value(step.result, place);
  llvm::erase_if(packed_, [&](const Packed& one) { return one.from.buffer == place.buffer; });
  llvm::erase_if(panels_, [&](const Panels& one) { return one.from.buffer == place.buffer; });
  return place;
}

Result<Place> Lowering::product_result(const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                                       bool any_strides) {
  PlanValueId residual = operand(step, "residual");
  if (residual == kNoValue) return new_result(step, strides, any_strides);
  if (step.in_place == residual)
    if (std::optional<Place> place = take_over(step, strides, false)) return *place;
  Place place = new_result(step, strides, any_strides);
  TG_CHECK(add_copy(places[residual], place, step.phase, kNever, "copy residual"));
  return place;
}

Result<void> Lowering::widened(const PlanStep& step, LowerFn rule) {
  llvm::SmallVector<std::pair<PlanValueId, Place>, 4> before;
  for (PlanValueId id : step.operands) {
    if (id == kNoValue || !is_float(places[id].dtype) || places[id].dtype == DType::F32) continue;
    const Place narrow = places[id];
    Phase phase = at_load(narrow) ? Phase::Load : step.phase;
    Shape strides = is_dense(narrow) ? narrow.strides : contiguous_strides(narrow.shape);
    Place wide = new_temporary(narrow.shape, strides, phase);
    add_conversion(*this, narrow, wide, phase);
    before.push_back({id, narrow});
    places[id] = wide;
  }
  widening_ = true;
  Result<void> done = rule(*this, step);
  widening_ = false;
  for (auto& [id, place] : llvm::reverse(before)) places[id] = place; // an operand may occur twice
  for (PlanValueId id : step.operands) // copies that existed only here
    if (id != kNoValue)
      llvm::erase_if(copies_[id],
                     [&](const Copy& copy) { return copy.place.dtype != places[id].dtype; });
  if (!done) return done;
  const Place wide = places[step.result];
  if (wide.dtype == stored_dtype(step.result)) return {};
  Place result = new_result(step, wide.strides);
  add_conversion(*this, wide, result, step.phase);
  return {};
}

void Lowering::set_view(const PlanStep& step, Place place) {
  place_value(step.result, std::move(place));
  Op op = describe(step);
  op.implementation = "view";
  op.flops = op.bytes = 0;
  add_op(step.phase, std::move(op));
}

Shape Lowering::preferred_strides_after_reshape(PlanValueId value) const {
  const PlanStep* reader = only_reader(*this, value);
  if (!reader || reader->op != OpKind::Reshape) return preferred_strides(value);
  Place behind;
  behind.shape = type(reader->result).shape;
  behind.strides = preferred_strides(reader->result);
  std::optional<Place> own = reshape(behind, type(value).shape);
  return own ? own->strides : preferred_strides(value);
}

namespace {

/// Returns true if a reader needs adjacent channels, or reads the value together
/// with an image whose channels are adjacent.
bool is_read_with_image(const Lowering& l, PlanValueId value) {
  constexpr int64_t kImage = 4;
  if (l.type(value).rank() != kImage) return false;
  auto lies_so = [&](PlanValueId other) {
    const Place& p = l.place(other);
    return other != value && p.buffer != kNoBuffer && is_nhwc(p) && !is_plain(p);
  };
  return llvm::any_of(l.readers(value), [&](PlanStepId reader) {
    const PlanStep& step = l.plan.steps[reader];
    LowerFn rule = kRules[step.op];
    bool image = rule == lower_conv2d || rule == lower_pool2d;
    return (image && step.operands[0] == value) ||
           (rule == lower_pointwise && llvm::any_of(step.operands, lies_so));
  });
}

} // namespace

Shape Lowering::preferred_strides(PlanValueId value) const {
  const Shape& shape = type(value).shape;
  Shape plain = contiguous_strides(shape);
  if (readers_[value].size() != 1 || plan.values[value].is_output) return plain;
  const PlanStep& reader = plan.steps[readers_[value][0]];
  if (reader.op != OpKind::Transpose) return plain;
  Shape after = contiguous_strides(type(reader.result).shape), strides(shape.size());
  if (is_read_with_image(*this, reader.result)) after = nhwc_strides(type(reader.result).shape);
  for (size_t i = 0; i < shape.size(); ++i)
    strides[static_cast<size_t>(reader.attrs[0].ints[i])] = after[i];
  return strides;
}

Op Lowering::describe(const PlanStep& step) const {
  Op op;
  op.step = id(step);
  op.name = op_info(step.op).name;
  op.result = type(step.result).text();
  OpWork work = step_work(plan, step);
  op.flops = work.flops;
  op.bytes = work.bytes;
  return op;
}

Threads Lowering::threads_for(double microseconds, Phase phase) const {
  constexpr double kWorthAThread = 4, kChunk = 100;
  constexpr int kMostChunks = 16; // of each thread
  if (phase == Phase::Load) {
    int all = std::max(1, options.threads);
    return pool_.threads(all, kMostChunks * all);
  }
  int most = slicing ? 1 : most_threads_;
  int count = static_cast<int>(std::clamp<double>(microseconds / kWorthAThread, 1, most));
  if (options.share_short_work) count = most;
  return pool_.threads(
      count, static_cast<int>(std::min<double>(microseconds / kChunk, kMostChunks * count)));
}

Result<void> Lowering::add_primitive(const PlanStep& step, const PrimitiveDescHandle& pd,
                                     llvm::ArrayRef<PrimitiveArg> args, const Attr& attr) {
  Op op = describe(step);
  op.implementation = implementation(pd);
  for (const PrimitiveArg& arg : args) op.buffers.push_back(arg.place.buffer);
  TG_TRY(op.kernel, make_primitive_kernel(pd, engine, args, op.scratch_bytes));
  if (attr.act != Act::None) {
    TG_TRY(op.kernel, make_guarded_kernel(std::move(op.kernel), pd, attr, args, engine));
  }
  add_op(step.phase, std::move(op));
  return {};
}

Result<void> Lowering::add_reorder(const Place& from, const dnnl_memory_desc_t& from_md,
                                   const Place& to, const dnnl_memory_desc_t& to_md, Phase phase,
                                   llvm::StringRef name) {
  Op op;
  op.name = name.str();
  op.bytes =
      static_cast<double>(dnnl_memory_desc_get_size(&from_md) + dnnl_memory_desc_get_size(&to_md));
  TG_CHECK(set_reorder(op, from, from_md, to, to_md, engine));
  add_op(phase, std::move(op));
  return {};
}

Result<Place> Lowering::packed(const Place& place, const dnnl_memory_desc_t& view,
                               const dnnl_memory_desc_t& layout, Phase phase,
                               llvm::StringRef name) {
  if (dnnl_memory_desc_equal(&view, &layout)) return place;
  for (const Packed& one : packed_)
    if (phase == Phase::Load && one.from == place && dnnl_memory_desc_equal(&one.view, &view) &&
        dnnl_memory_desc_equal(&one.layout, &layout))
      return one.to;
  Place out =
      new_temporary(static_cast<int64_t>(dnnl_memory_desc_get_size(&layout)), phase, place.dtype);
  TG_CHECK(add_reorder(place, view, out, layout, phase, name));
  if (phase == Phase::Load) packed_.push_back({place, out, view, layout});
  return out;
}

Result<void> Lowering::unpack(const Place& packed, const dnnl_memory_desc_t& layout,
                              const Place& place, const dnnl_memory_desc_t& view, Phase phase,
                              llvm::StringRef name) {
  return add_reorder(packed, layout, place, view, phase, name);
}

Result<void> Lowering::add_copy(const Place& src, const Place& dst, Phase phase, PlanStepId step,
                                llvm::StringRef name) {
  Op op;
  op.step = step;
  op.name = name.str();
  op.result = TensorType{dst.dtype, dst.shape}.text();
  op.bytes = 2.0 * static_cast<double>(dst.elements() * dtype_size(dst.dtype));
  Threads threads = threads_for(copy_us(op.bytes), phase);
  TG_CHECK(set_copy_kernel(op, src, dst, threads, engine));
  add_op(phase, std::move(op));
  return {};
}

// Outputs are returned row-major; with Native in their layout, but without gaps.
// A product that reads a piece of an image or matrix copies it first, so a slice on its own
// is priced with that copy.
Result<void> Lowering::finish_outputs() {
  for (const PlanOutput& output : plan.outputs) {
    const Place& now = places[output.value];
    bool native = options.io_layout == IoLayout::Native;
    if (at_load(output.value) || (native ? is_dense(now) : is_plain(now))) continue;
    TG_TRY(Place place,
           operand_as(output.value, native ? dense_like(now) : contiguous_strides(now.shape)));
    places[output.value] = place;
  }
  return {};
}

} // namespace tg::cpu
