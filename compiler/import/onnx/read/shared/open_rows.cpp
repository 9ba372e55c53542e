#include "compiler/import/onnx/read/shared/open_rows.h"

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;
using Axes = OpenRows::Axes;

int64_t refuse(Call& call, size_t input) {
  call.fail(
      "its input " + llvm::Twine(input + 1) +
      " has a number of rows that depends on data, but this operator does not work row by row");
  return -1;
}

int64_t rank_of(Call& call, size_t input) { return call.value(input).type.rank(); }

int64_t result_rank(Call& call) { return call.results()[0].type.rank(); }

/// Returns the axis in the only input with such rows. Fails, and returns a negative number, if
/// another input has them.
int64_t only_input(Call& call, Axes axes, size_t wanted) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] >= 0 && i != wanted) return refuse(call, i);
  return axes[wanted];
}

int64_t elements_in(Ints sizes) {
  int64_t all = 1;
  for (int64_t n : sizes) all *= n;
  return all;
}

/// Axes are counted from the end; other operands have one element there.
int64_t axis_after_pointwise(Call& call, Axes axes) {
  int64_t from_end = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) continue;
    int64_t own = rank_of(call, i) - axes[i];
    if (from_end != 0 && own != from_end) return refuse(call, i);
    from_end = own;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0 || !call.value(i).is(Kind::Tensor)) continue;
    int64_t place = rank_of(call, i) - from_end;
    if (place >= 0 && call.value(i).type[static_cast<size_t>(place)] != 1) return refuse(call, i);
  }
  return result_rank(call) - from_end;
}

int64_t axis_after_transpose(Call& call, Axes axes) {
  int64_t rank = rank_of(call, 0);
  std::optional<Shape> order = call.wholes("perm");
  if (!order) return rank - 1 - axes[0];
  return std::distance(order->begin(), llvm::find(*order, axes[0]));
}

/// Returns the axes named by Squeeze and Unsqueeze.
std::optional<Shape> named_axes(Call& call, int64_t rank) {
  std::optional<Shape> given = call.version() < 13 ? call.wholes("axes") : std::nullopt;
  if (call.version() >= 13 && call.has(1)) given = call.known_wholes(1);
  if (!given) return std::nullopt;
  return call.axes(*given, rank);
}

int64_t axis_after_unsqueeze(Call& call, Axes axes) {
  int64_t left = axes[0];
  std::optional<Shape> made = named_axes(call, result_rank(call));
  for (int64_t axis = 0; made && axis < result_rank(call); ++axis)
    if (!llvm::is_contained(*made, axis) && left-- == 0) return axis;
  return refuse(call, 0);
}

int64_t axis_after_squeeze(Call& call, Axes axes) {
  std::optional<Shape> gone = named_axes(call, rank_of(call, 0));
  if (!gone || llvm::is_contained(*gone, axes[0])) return refuse(call, 0);
  return axes[0] - llvm::count_if(*gone, [&](int64_t axis) { return axis < axes[0]; });
}

/// A gather at padded indices, or of rows along another axis.
int64_t axis_after_gather(Call& call, Axes axes) {
  int64_t axis = call.axis(call.whole("axis", 0), rank_of(call, 0));
  if (axes[0] < 0) return axis + axes[1];
  if (axes[1] >= 0 || axis == axes[0]) return refuse(call, 0);
  return axes[0] < axis ? axes[0] : axes[0] + rank_of(call, 1) - 1;
}

int64_t axis_after_gather_nd(Call& call, Axes axes) {
  int64_t axis = only_input(call, axes, 1);
  bool rows = call.whole("batch_dims", 0) == 0 && axis < rank_of(call, 1) - 1;
  return rows ? axis : refuse(call, 1);
}

/// Concatenation along another axis.
int64_t axis_after_concat(Call& call, Axes axes) {
  int64_t axis = call.axis(call.whole("axis", 0), result_rank(call));
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != axes[0] || axes[i] == axis) return refuse(call, i);
  return axes[0];
}

/// A reshape that leaves the number of rows open and does not change the elements before them.
int64_t axis_after_reshape(Call& call, Axes axes) {
  if (axes[0] < 0 || !call.has(1)) return refuse(call, 0);
  Shape given = call.known_wholes(1);
  Ints from = call.value(0).type.shape, to = call.results()[0].type.shape;
  auto at = static_cast<size_t>(axes[0]);
  for (size_t axis = 0; axis < to.size() && axis < given.size(); ++axis) {
    bool is_open = given[axis] == -1 || (given[axis] == 0 && axis == at);
    if (is_open && to[axis] == from[at] &&
        elements_in(to.take_front(axis)) == elements_in(from.take_front(at)))
      return static_cast<int64_t>(axis);
  }
  return refuse(call, 0);
}

/// The rows of a matrix.
int64_t axis_after_product(Call& call, Axes axes) {
  bool rows = only_input(call, axes, 0) == rank_of(call, 0) - 2 && call.whole("transA", 0) == 0;
  return rows ? result_rank(call) - 2 : refuse(call, 0);
}

struct RowUse {
  llvm::StringLiteral op;
  OpenRows::RowAxisRule behind; // null for ScatterND, whose result has no such rows
};
constexpr RowUse kRowUses[] = {
    {"Abs", axis_after_pointwise},       {"Add", axis_after_pointwise},
    {"And", axis_after_pointwise},       {"Cast", axis_after_pointwise},
    {"Ceil", axis_after_pointwise},      {"Clip", axis_after_pointwise},
    {"Concat", axis_after_concat},       {"Cos", axis_after_pointwise},
    {"Div", axis_after_pointwise},       {"Equal", axis_after_pointwise},
    {"Erf", axis_after_pointwise},       {"Exp", axis_after_pointwise},
    {"Floor", axis_after_pointwise},     {"Gather", axis_after_gather},
    {"GatherND", axis_after_gather_nd},  {"Gemm", axis_after_product},
    {"Greater", axis_after_pointwise},   {"GreaterOrEqual", axis_after_pointwise},
    {"Identity", axis_after_pointwise},  {"LeakyRelu", axis_after_pointwise},
    {"Less", axis_after_pointwise},      {"LessOrEqual", axis_after_pointwise},
    {"Log", axis_after_pointwise},       {"MatMul", axis_after_product},
    {"Max", axis_after_pointwise},       {"Min", axis_after_pointwise},
    {"Mod", axis_after_pointwise},       {"Mul", axis_after_pointwise},
    {"Neg", axis_after_pointwise},       {"Not", axis_after_pointwise},
    {"Or", axis_after_pointwise},        {"Pow", axis_after_pointwise},
    {"Relu", axis_after_pointwise},      {"Reshape", axis_after_reshape},
    {"Round", axis_after_pointwise},     {"ScatterND", nullptr},
    {"Sigmoid", axis_after_pointwise},   {"Sin", axis_after_pointwise},
    {"Sqrt", axis_after_pointwise},      {"Squeeze", axis_after_squeeze},
    {"Sub", axis_after_pointwise},       {"Tanh", axis_after_pointwise},
    {"Transpose", axis_after_transpose}, {"Unsqueeze", axis_after_unsqueeze},
    {"Where", axis_after_pointwise},
};

/// Replaces the padding of indices by `otherwise`: other runtimes reject indices out of range.
NodeId replace_padding(Emitter& e, const FileValue& indices, NodeId otherwise) {
  Shape line(static_cast<size_t>(e.rank(indices.node)), 1);
  line[static_cast<size_t>(indices.axis)] = e.size(indices.node, indices.axis);
  NodeId there = e.less(e.iota({DType::I64, line}, indices.axis), indices.count);
  return e.select(there, indices.node, otherwise);
}

/// Adds a row to the data of ScatterND, and points the padding of its indices there; `mark` removes
/// it.
void add_row(Emitter& e, const FileValue& indices, FileValue& data, FileValue& carried) {
  DType dtype = e.dtype(indices.node);
  int64_t depth = indices.type.shape.back();
  Literal sizes{{dtype, {depth}}, {}, {}}, last = sizes;
  for (int64_t k = 0; k < depth; ++k) {
    sizes.ints.push_back(data.type[static_cast<size_t>(k)]);
    last.ints.push_back(k == 0 ? data.type[0] : 0);
  }
  FileValue from_front = indices;
  NodeId below = e.less(indices.node, e.like(indices.node, 0));
  from_front.node = e.select(below, e.add(indices.node, e.literal(sizes)), indices.node);
  carried.node = replace_padding(e, from_front, e.literal(last));
  data.node = e.concat({data.node, e.slice(data.node, 0, 0, 1)}, 0);
  data.type = e.type(data.node);
}

/// Returns true for ScatterND whose indices and updates have rows that data selects.
bool fits_scatter(llvm::ArrayRef<FileValue> inputs, Axes axes) {
  return inputs.size() == 3 && inputs[0].is(Kind::Tensor) && axes[1] >= 0 && axes[1] == axes[2] &&
         axes[1] < inputs[1].type.rank() - 1 &&
         inputs[1].type.shape.back() <= inputs[0].type.rank();
}

} // namespace

std::optional<OpenRows> OpenRows::of(Emitter& e, llvm::StringRef op,
                                     llvm::ArrayRef<FileValue> inputs,
                                     std::vector<FileValue>& carried) {
  const RowUse* use = llvm::find_if(kRowUses, [&](const RowUse& row) { return row.op == op; });
  if (use == std::end(kRowUses)) return std::nullopt;
  OpenRows rows;
  rows.behind_ = use->behind;
  for (const FileValue& input : inputs) {
    rows.axes_.push_back(input.is(Kind::Padded) ? input.axis : -1);
    if (!input.is(Kind::Padded)) continue;
    if (!input.count.valid() || input.element != 0 ||
        (rows.count_.valid() && rows.count_ != input.count))
      return std::nullopt;
    rows.count_ = input.count;
  }
  if (!rows.count_.valid()) return std::nullopt;
  if (op == "ScatterND") {
    if (!fits_scatter(inputs, rows.axes_)) return std::nullopt;
    add_row(e, inputs[1], carried[0], carried[1]);
  } else if (op.startswith("Gather") && rows.axes_.size() > 1 && rows.axes_[1] >= 0) {
    carried[1].node = replace_padding(e, inputs[1], e.like(inputs[1].node, 0));
  }
  for (FileValue& value : carried)
    if (value.is(Kind::Padded)) value.kind = Kind::Tensor;
  return rows;
}

void OpenRows::mark(Call& call) const {
  if (call.failed() || !call.results()[0].node.valid()) return;
  if (!behind_) {
    NodeId all = call.results()[0].node;
    return call.result(call.emit().slice(all, 0, 0, call.emit().size(all, 0) - 1));
  }
  int64_t axis = behind_(call, axes_);
  if (axis < 0 || call.failed()) return;
  FileValue& made = call.results()[0];
  made.kind = Kind::Padded;
  made.count = count_, made.axis = axis;
}

NodeId sizes_of(Emitter& e, const FileValue& rows) {
  Literal most{{DType::I64, {rows.type.rank()}}, {}, {}}, is_count = most;
  for (int64_t i = 0; i < rows.type.rank(); ++i) {
    most.ints.push_back(rows.type[static_cast<size_t>(i)]);
    is_count.ints.push_back(i == rows.axis);
  }
  return e.select(e.cast(e.literal(is_count), DType::Bool), rows.count, e.literal(most));
}

} // namespace tg::onnx
