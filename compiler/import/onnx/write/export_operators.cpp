#include "compiler/import/onnx/write/export_operators.h"

#include "compiler/import/onnx/write/export_pointwise.h"
#include "compiler/import/onnx/write/export_resize.h"
#include "lang/core/fused_body.h"
#include "lang/core/resample.h"
#include "lang/core/semantics/winograd_transforms.h"

#include <numeric>

namespace tg::onnx {

namespace {

class OperatorWriter {
public:
  OperatorWriter(NodeWriter& nodes, const Graph& graph, NodeId id, llvm::ArrayRef<Operand> operands,
                 DType result, bool is_open = false)
      : nodes_(nodes), graph_(graph), id_(id), x_(operands), result_(result), is_open_(is_open) {}

  Result<Operand> write();

private:
  const TensorType& type(size_t operand) const {
    return graph_.type(graph_.operands(id_)[operand]);
  }
  const Value& attr(size_t slot) const { return graph_.attr(id_, slot); }
  const Shape& result_shape() const { return graph_.type(id_).shape; }
  Operand node(const char* type, llvm::ArrayRef<Operand> inputs, llvm::ArrayRef<Attr> attrs = {}) {
    return nodes_.node(type, inputs, result_, attrs);
  }
  /// Computes halves in f32, for operators that are written in several steps, or sums.
  template <class F> Operand in_f32(F write);

  Result<Operand> pointwise();
  Result<Operand> fused_map();
  Result<Operand> epilogue(Operand product, const Operand& residual, size_t act_slot);
  Result<Operand> matmul();
  Result<Operand> conv2d();
  Result<Operand> conv3d();
  Result<Operand> conv_transpose2d();
  Result<void> floats_alone(const char* onnx_name) const;
  Result<Operand> pool();
  bool is_mean_of_image() const;
  bool is_pool_of_image() const;
  Operand mean_of_image();
  Operand batch_norm();
  Operand layer_norm();
  Operand normalise(const Operand& x);
  Operand reduce(const char* type, int axes_are_input_since);
  Operand cumsum();
  Operand argmax();
  Operand top_k();
  Operand non_max_suppression();
  Result<Operand> scatter();
  Operand slice();
  Operand reshape(const Operand& x, llvm::ArrayRef<int64_t> shape);
  Operand transpose(const Operand& x, llvm::ArrayRef<int64_t> perm);
  Operand pad(llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after, const Value& value);
  Operand enlarge();
  Operand merge_gconv();
  Operand winograd_weight();
  Operand iota();
  Operand windows();
  llvm::SmallVector<int64_t, 4> window_pads(llvm::ArrayRef<int64_t> kernel,
                                            llvm::ArrayRef<int64_t> stride, const Value& pad,
                                            llvm::ArrayRef<int64_t> dilation) const;
  Attr pads(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride, const Value& pad,
            llvm::ArrayRef<int64_t> dilation) const;

  NodeWriter& nodes_;
  const Graph& graph_;
  NodeId id_;
  llvm::ArrayRef<Operand> x_;
  DType result_;
  bool is_open_; // written without the padding of its rows
};

template <class F> Operand OperatorWriter::in_f32(F write) {
  if (result_ != DType::F16) return write(x_);
  llvm::SmallVector<Operand, 5> wide;
  for (const Operand& x : x_) wide.push_back(nodes_.cast(x, DType::F32));
  result_ = DType::F32;
  Operand result = write(llvm::ArrayRef<Operand>(wide));
  return nodes_.node("Cast", {result}, DType::F16, {Attr::whole("to", data_type(DType::F16))});
}

// --- products -----------------------------------------------------------------------------------

Result<Operand> OperatorWriter::epilogue(Operand product, const Operand& residual,
                                         size_t act_slot) {
  if (!residual.name.empty()) product = node("Add", {product, residual});
  std::optional<OpKind> act = act_op(*parse_act(attr(act_slot).text));
  return act ? write_pointwise(nodes_, *act, {product}) : Result<Operand>(product);
}

/// Writes the product of two matrices plus further terms as Gemm, for which runtimes have a kernel.
/// They have none for integers.
Result<Operand> OperatorWriter::matmul() {
  const Operand &bias = x_[2], &residual = x_[3];
  bool biased = !bias.name.empty(), matrices = type(0).rank() == 2 && type(1).rank() == 2;
  if (matrices && is_float(result_) && (biased || !residual.name.empty())) {
    Operand product = node("Gemm", {x_[0], x_[1], biased ? bias : residual});
    return epilogue(product, biased ? residual : Operand{}, 0);
  }
  Operand product = node("MatMul", {x_[0], x_[1]});
  if (biased) product = node("Add", {product, bias});
  return epilogue(product, residual, 0);
}

/// Returns the pads in ONNX's order: those before each axis, then those after.
llvm::SmallVector<int64_t, 4> OperatorWriter::window_pads(llvm::ArrayRef<int64_t> kernel,
                                                          llvm::ArrayRef<int64_t> stride,
                                                          const Value& pad,
                                                          llvm::ArrayRef<int64_t> dilation) const {
  llvm::SmallVector<int64_t, 4> pads(4);
  for (int i = 0; i < 2; ++i) {
    std::optional<Window> w = window(type(0)[2 + i], kernel[i], stride[i], dilation[i], pad, i);
    assert(w && "type inference checks that windows fit");
    pads[i] = w->before;
    pads[2 + i] = w->after;
  }
  return pads;
}

/// Returns the pads. Those of "same" depend on the size if the stride is not 1.
Attr OperatorWriter::pads(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
                          const Value& pad, llvm::ArrayRef<int64_t> dilation) const {
  bool strided = llvm::any_of(stride, [](int64_t n) { return n != 1; });
  if (strided && pad.is(Value::Kind::Enum) && nodes_.varies(graph_.operands(id_)[0]))
    if (pad.text == "same") return Attr::word("auto_pad", "SAME_UPPER");
  return Attr::list("pads", window_pads(kernel, stride, pad, dilation));
}

Result<void> OperatorWriter::floats_alone(const char* onnx_name) const {
  if (is_float(result_)) return {};
  return error(Code::unsupported, "`{0}` of {1} cannot be written: ONNX's {2} requires floats",
               op_info(graph_.node(id_).op).name, dtype_name(result_), onnx_name);
}

Result<Operand> OperatorWriter::conv2d() {
  TG_CHECK(floats_alone("Conv"));
  const TensorType& w = type(1);
  llvm::ArrayRef<int64_t> stride = attr(0).ints, dilation = attr(2).ints;
  int64_t kernel[] = {w[2], w[3]};
  Operand product =
      node("Conv", {x_[0], x_[1], x_[2]},
           {Attr::list("kernel_shape", kernel), Attr::list("strides", stride),
            pads(kernel, stride, attr(1), dilation), Attr::list("dilations", dilation),
            Attr::whole("group", type(0)[1] / w[1])});
  return epilogue(product, x_[3], 3);
}

Result<Operand> OperatorWriter::conv3d() {
  TG_CHECK(floats_alone("Conv"));
  const TensorType& w = type(1);
  return node("Conv", x_,
              {Attr::list("kernel_shape", llvm::ArrayRef<int64_t>(w.shape).drop_front(2)),
               Attr::list("strides", attr(0).ints), Attr::list("pads", attr(1).ints),
               Attr::list("dilations", attr(2).ints), Attr::whole("group", type(0)[1] / w[1])});
}

Result<Operand> OperatorWriter::conv_transpose2d() {
  TG_CHECK(floats_alone("ConvTranspose"));
  const TensorType &x = type(0), &w = type(1);
  std::array<int64_t, 4> pads{};
  for (int i = 0; i < 2; ++i) {
    std::optional<Window> along = transposed_window(x[2 + i], w[2 + i], attr(0).ints[i],
                                                    attr(3).ints[i], attr(1), attr(2).ints[i], i);
    assert(along && "type inference checks that windows fit");
    pads[i] = along->before;
    pads[2 + i] = along->after;
  }
  return node("ConvTranspose", x_,
              {Attr::list("kernel_shape", llvm::ArrayRef<int64_t>(w.shape).drop_front(2)),
               Attr::list("strides", attr(0).ints), Attr::list("pads", pads),
               Attr::list("output_padding", attr(2).ints), Attr::list("dilations", attr(3).ints),
               Attr::whole("group", attr(4).number)});
}

// --- windows, rows and axes ---------------------------------------------------------------------

/// Returns true for a mean over all axes after the channels.
bool OperatorWriter::is_mean_of_image() const {
  size_t rank = type(0).shape.size();
  if (rank < 4 || !is_float(result_) || attr(0).ints.size() != rank - 2) return false;
  return llvm::all_of(attr(0).ints, [](int64_t axis) { return axis >= 2; });
}

/// Returns true for a pool with a single window that covers the image.
bool OperatorWriter::is_pool_of_image() const {
  llvm::ArrayRef<int64_t> kernel = attr(0).ints;
  return is_float(result_) && kernel[0] == type(0)[2] && kernel[1] == type(0)[3] &&
         llvm::all_of(window_pads(kernel, attr(1).ints, attr(2), {1, 1}),
                      [](int64_t pad) { return pad == 0; });
}

/// Uses an operator for which runtimes have a kernel in the layouts of their convolutions.
Operand OperatorWriter::mean_of_image() {
  Operand mean = node("GlobalAveragePool", x_);
  bool keeps = result_shape().size() == type(0).shape.size();
  return keeps ? mean : reshape(mean, result_shape());
}

/// MaxPool takes floats: i32 is exact in f64, i64 is not.
Result<Operand> OperatorWriter::pool() {
  bool average = graph_.node(id_).op == OpKind::AvgPool2d;
  if (result_ == DType::I64)
    return error(Code::unsupported,
                 "`max_pool2d` of i64 cannot be written: ONNX's MaxPool requires floats");
  if (average && is_pool_of_image()) return mean_of_image();
  if (nodes_.varies(graph_.operands(id_)[0]) && is_pool_of_image())
    return node("GlobalMaxPool", x_); // the size of the kernel is open
  llvm::ArrayRef<int64_t> kernel = attr(0).ints, stride = attr(1).ints;
  llvm::SmallVector<Attr, 4> attrs = {Attr::list("kernel_shape", kernel),
                                      Attr::list("strides", stride),
                                      pads(kernel, stride, attr(2), {1, 1})};
  if (average) attrs.push_back(Attr::whole("count_include_pad", attr(3).number));
  const char* name = average ? "AveragePool" : "MaxPool";
  if (result_ != DType::I32) return node(name, x_, attrs);
  Operand wide = node("Cast", x_, {Attr::whole("to", schema::Tensor::DOUBLE)});
  Operand largest = node(name, {wide}, attrs);
  return node("Cast", {largest}, {Attr::whole("to", schema::Tensor::INT32)});
}

/// For f64, the digits of eps that the attribute loses are added to the variance.
Operand OperatorWriter::batch_norm() {
  llvm::SmallVector<Operand, 5> x(x_.begin(), x_.end());
  double eps = attr(0).real, lacks = eps - as_float(eps);
  if (result_ == DType::F64 && lacks != 0)
    x[4] = node("Add", {x[4], nodes_.scalar(lacks, result_)});
  return node("BatchNormalization", x, {Attr::real("epsilon", eps)});
}

/// Writes (x - mean) / sqrt(var + eps), as exporters did before ONNX had an operator for it.
Operand OperatorWriter::normalise(const Operand& x) {
  int64_t axis = type(0).rank() - 1;
  auto mean = [&](const Operand& of) {
    if (nodes_.opset() >= 18) return node("ReduceMean", {of, nodes_.list(axis)});
    return node("ReduceMean", {of}, {Attr::list("axes", axis)});
  };
  Operand distance = node("Sub", {x, mean(x)});
  Operand variance = mean(node("Pow", {distance, nodes_.scalar(2, result_)}));
  Operand root = node("Sqrt", {node("Add", {variance, nodes_.scalar(attr(0).real, result_)})});
  return node("Div", {distance, root});
}

/// ONNX's operator computes its statistics in float.
Operand OperatorWriter::layer_norm() {
  if (nodes_.opset() >= 17 && result_ != DType::F64)
    return node("LayerNormalization", x_,
                {Attr::whole("axis", -1), Attr::real("epsilon", attr(0).real)});
  return in_f32([&](llvm::ArrayRef<Operand> x) {
    return node("Add", {node("Mul", {normalise(x[0]), x[1]}), x[2]});
  });
}

Operand OperatorWriter::reduce(const char* type, int axes_are_input_since) {
  Attr keep = Attr::whole("keepdims", attr(1).number);
  if (nodes_.opset() >= axes_are_input_since)
    return node(type, {x_[0], nodes_.list(attr(0).ints)}, {keep});
  return node(type, x_, {Attr::list("axes", attr(0).ints), keep});
}

Operand OperatorWriter::cumsum() {
  return in_f32([&](llvm::ArrayRef<Operand> x) {
    return node("CumSum", {x[0], nodes_.whole_scalar(attr(0).number, DType::I64)});
  });
}

/// Runtimes have no ArgMax for i64, but have TopK, which also returns the first of equal elements.
Operand OperatorWriter::argmax() {
  Attr axis = Attr::whole("axis", attr(0).number);
  if (x_[0].dtype != DType::I64)
    return node("ArgMax", x_, {axis, Attr::whole("keepdims", attr(1).number)});
  Operand largest = nodes_.node("TopK", {x_[0], nodes_.list(1)}, result_, {axis}, /*outputs=*/2);
  return attr(1).number != 0 ? largest : reshape(largest, result_shape());
}

Operand OperatorWriter::top_k() {
  return nodes_.node("TopK", {x_[0], nodes_.list(attr(1).number)}, result_,
                     {Attr::whole("axis", attr(0).number), Attr::whole("largest", attr(2).number)},
                     /*outputs=*/2);
}

/// ONNX lists the selected boxes. Rows of -1 are appended and surplus rows cut off, unless the list
/// is an output in its original form.
Operand OperatorWriter::non_max_suppression() {
  Operand boxes = nodes_.cast(x_[0], DType::F32), scores = nodes_.cast(x_[1], DType::F32);
  Operand chosen =
      node("NonMaxSuppression",
           {boxes, scores, nodes_.list(attr(0).number), nodes_.scalar(attr(1).real, DType::F32),
            nodes_.scalar(attr(2).real, DType::F32)},
           {Attr::whole("center_point_box", attr(3).number)});
  if (is_open_) return chosen;
  TensorType rest{DType::I64, result_shape()};
  Operand fill = nodes_.filled(rest, element_bytes(llvm::ArrayRef<int64_t>(-1), DType::I64));
  Operand all = node("Concat", {chosen, fill}, {Attr::whole("axis", 0)});
  return node("Slice", {all, nodes_.list(0), nodes_.list(result_shape()[0]), nodes_.list(0)});
}

/// ScatterElements has an index for each element. Sums of halves are not rounded in between.
Result<Operand> OperatorWriter::scatter() {
  ScatterReduce reduce = *parse_scatter_reduce(attr(1).text);
  bool joins = reduce != ScatterReduce::None;
  int since = reduce == ScatterReduce::Max || reduce == ScatterReduce::Min ? 18 : 16;
  if (joins && nodes_.opset() < since)
    return error(Code::unsupported, "`scatter` with `reduce` = \"{0}\" requires opset {1} or later",
                 attr(1).text, since);
  auto axis = static_cast<size_t>(attr(0).number);
  bool of_rows = axis == 0; // each index names a row, as in ScatterND
  llvm::SmallVector<int64_t, 8> column(of_rows ? 2 : type(2).shape.size(), 1);
  column[axis] = -1;
  Operand indices = reshape(x_[1], column);
  if (!of_rows) indices = nodes_.node("Expand", {indices, nodes_.list(type(2).shape)}, x_[1].dtype);
  llvm::SmallVector<Attr, 2> attrs;
  if (!of_rows) attrs.push_back(Attr::whole("axis", attr(0).number));
  if (joins) attrs.push_back(Attr::word("reduction", attr(1).text));
  const char* name = of_rows ? "ScatterND" : "ScatterElements";
  if (!joins || result_ != DType::F16) return node(name, {x_[0], indices, x_[2]}, attrs);
  Operand x = nodes_.cast(x_[0], DType::F32), updates = nodes_.cast(x_[2], DType::F32);
  Operand wide = nodes_.node(name, {x, indices, updates}, DType::F32, attrs);
  return nodes_.node("Cast", {wide}, result_, {Attr::whole("to", data_type(result_))});
}

// --- layout -------------------------------------------------------------------------------------

Operand OperatorWriter::slice() {
  return node("Slice", {x_[0], nodes_.list(attr(1).number), nodes_.list(attr(2).number),
                        nodes_.list(attr(0).number)});
}

Operand OperatorWriter::reshape(const Operand& x, llvm::ArrayRef<int64_t> shape) {
  return nodes_.node("Reshape", {x, nodes_.list(shape)}, x.dtype);
}

Operand OperatorWriter::transpose(const Operand& x, llvm::ArrayRef<int64_t> perm) {
  return nodes_.node("Transpose", {x}, x.dtype, {Attr::list("perm", perm)});
}

Operand OperatorWriter::pad(llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after,
                            const Value& value) {
  llvm::SmallVector<int64_t, 16> pads(before.begin(), before.end());
  pads.append(after.begin(), after.end());
  return node("Pad", {x_[0], nodes_.list(pads), nodes_.scalar(value, result_)});
}

Operand OperatorWriter::enlarge() {
  std::array<int64_t, 4> around = {};
  for (size_t i = 2; i < 4; ++i) around[i] = (result_shape()[i] - type(0)[i]) / 2;
  return pad(around, around, Value::of_float(0));
}

/// Places the rows of a group in one of `count` blocks, which has zeros for the other groups.
Operand OperatorWriter::merge_gconv() {
  int64_t count = attr(0).number, rows = type(0)[0], per_group = rows / attr(1).number;
  llvm::SmallVector<Operand, 4> blocks;
  for (int64_t block = 0; block < count; ++block) {
    std::vector<int64_t> here;
    for (int64_t row = 0; row < rows; ++row) here.push_back(row / per_group % count == block);
    Operand mask = nodes_.tensor("rows_of_block", {DType::Bool, {rows, 1, 1, 1}},
                                 element_bytes(here, DType::Bool));
    blocks.push_back(node("Where", {mask, x_[0], nodes_.scalar(0, result_)}));
  }
  return node("Concat", blocks, {Attr::whole("axis", 1)});
}

/// Writes G w G' as one product of a matrix with all kernels: [products, 9] by [9, O * I].
Operand OperatorWriter::winograd_weight() {
  const Winograd& winograd = winograd_of_results(attr(0).number);
  const TensorType& w = type(0);
  std::vector<double> matrix;
  double denominator = static_cast<double>(winograd.denominator) * winograd.denominator;
  for (int64_t p = 0; p < winograd.products(); ++p)
    for (int64_t k = 0; k < 9; ++k)
      matrix.push_back(static_cast<double>(winograd.weights[p / winograd.tile][k / 3]) *
                       winograd.weights[p % winograd.tile][k % 3] / denominator);
  return in_f32([&](llvm::ArrayRef<Operand> x) {
    Operand factors = nodes_.tensor("winograd", {result_, {winograd.products(), 9}},
                                    element_bytes(matrix, result_));
    Operand kernels = transpose(reshape(x[0], {w[0] * w[1], 9}), {1, 0});
    return reshape(node("MatMul", {factors, kernels}), result_shape());
  });
}

/// Writes a Gather of the positions of each window. A small table of positions is a constant; the
/// file computes a large one from ranges.
Operand OperatorWriter::windows() {
  constexpr int64_t kMostWritten = 1 << 16;
  auto axis = static_cast<size_t>(attr(0).number);
  int64_t step = attr(2).number, dilation = attr(3).number;
  TensorType type{DType::I64, {graph_.type(id_)[axis], graph_.type(id_)[axis + 1]}};
  Attr along = Attr::whole("axis", attr(0).number);
  if (type.elements() <= kMostWritten && !nodes_.varies(id_)) {
    llvm::SmallVector<int64_t, 32> places;
    for (int64_t i = 0; i < type[0]; ++i)
      for (int64_t j = 0; j < type[1]; ++j) places.push_back(i * step + j * dilation);
    return node("Gather",
                {x_[0], nodes_.tensor("windows", type, element_bytes(places, DType::I64))},
                {along});
  }
  auto range = [&](int64_t count, int64_t apart) {
    return nodes_.node("Range",
                       {nodes_.whole_scalar(0, DType::I64),
                        nodes_.whole_scalar(count * apart, DType::I64),
                        nodes_.whole_scalar(apart, DType::I64)},
                       DType::I64);
  };
  Operand starts = reshape(range(type[0], step), {-1, 1});
  Operand places = nodes_.node("Add", {starts, range(type[1], dilation)}, DType::I64);
  return node("Gather", {x_[0], places}, {along});
}

Operand OperatorWriter::iota() {
  constexpr int64_t kMostWritten = 1024;
  TensorType type = graph_.type(id_);
  auto axis = static_cast<size_t>(attr(1).number);
  if (type.elements() > kMostWritten || nodes_.varies(id_)) {
    Operand range = nodes_.node("Range",
                                {nodes_.whole_scalar(0, DType::I64),
                                 nodes_.whole_scalar(type[axis], DType::I64),
                                 nodes_.whole_scalar(1, DType::I64)},
                                DType::I64);
    llvm::SmallVector<int64_t, 6> column(type.shape.size(), 1);
    column[axis] = -1;
    Operand numbers = nodes_.cast(reshape(range, column), result_);
    return node("Expand", {numbers, nodes_.list(type.shape)});
  }
  llvm::ArrayRef<int64_t> behind = llvm::ArrayRef<int64_t>(type.shape).drop_front(axis + 1);
  int64_t inner = std::accumulate(behind.begin(), behind.end(), int64_t{1}, std::multiplies<>());
  std::vector<int64_t> values;
  for (int64_t i = 0, count = type.elements(); i < count; ++i)
    values.push_back(i / inner % type[axis]);
  return nodes_.tensor("iota", type, element_bytes(values, type.dtype));
}

// --- element by element -------------------------------------------------------------------------

Result<Operand> OperatorWriter::pointwise() {
  llvm::SmallVector<Value, 2> numbers;
  for (size_t slot = 0; slot < graph_.attrs(id_).size(); ++slot) numbers.push_back(attr(slot));
  return write_pointwise(nodes_, graph_.node(id_).op, x_, numbers);
}

/// Writes the operators one by one, without rounding to halves in between.
Result<Operand> OperatorWriter::fused_map() {
  std::optional<FusedBody> body = parse_fused_body(attr(0).text);
  bool half = llvm::any_of(x_, [](const Operand& x) { return x.dtype == DType::F16; });
  llvm::SmallVector<Operand, 8> stack;
  for (const FusedInstr& instr : body->code) {
    if (instr.is_operand) {
      const Operand& x = x_[instr.operand];
      stack.push_back(x.dtype == DType::F16 ? nodes_.cast(x, DType::F32) : x);
      continue;
    }
    size_t arity = op_info(instr.op).operand_count;
    llvm::SmallVector<Operand, 3> args(stack.end() - arity, stack.end());
    TG_TRY(Operand value, write_pointwise(nodes_, instr.op, args));
    stack.truncate(stack.size() - arity);
    stack.push_back(std::move(value));
  }
  if (!half || !is_float(result_)) return stack.back();
  return nodes_.node("Cast", {stack.back()}, result_, {Attr::whole("to", data_type(result_))});
}

// NOLINTNEXTLINE(readability-function-size): a flat switch over operators
Result<Operand> OperatorWriter::write() {
  switch (graph_.node(id_).op) {
#define TG_OP(...)
#define TG_POINTWISE(kind, ...) case OpKind::kind:
#include "lang/core/ops.def"
    return pointwise();
  case OpKind::Matmul: return matmul();
  case OpKind::Conv2d: return conv2d();
  case OpKind::Conv3d: return conv3d();
  case OpKind::ConvTranspose2d: return conv_transpose2d();
  case OpKind::WinogradWeight: return winograd_weight();
  case OpKind::MaxPool2d:
  case OpKind::AvgPool2d: return pool();
  case OpKind::Resize:
    if (attr(ResizeSlot::Mode).text == "nearest") return write_resize(nodes_, graph_, id_, x_[0]);
    return in_f32(
        [&](llvm::ArrayRef<Operand> x) { return write_resize(nodes_, graph_, id_, x[0]); });
  case OpKind::Cast: return write_cast(nodes_, x_[0], result_);
  case OpKind::Softmax: return node("Softmax", x_, {Attr::whole("axis", attr(0).number)});
  case OpKind::BatchNorm: return batch_norm();
  case OpKind::LayerNorm: return layer_norm();
  case OpKind::ReduceSum: return reduce("ReduceSum", 13);
  case OpKind::ReduceMean: return is_mean_of_image() ? mean_of_image() : reduce("ReduceMean", 18);
  case OpKind::ReduceMax: return reduce("ReduceMax", 18);
  case OpKind::ReduceMin: return reduce("ReduceMin", 18);
  case OpKind::ReduceProd: return reduce("ReduceProd", 18);
  case OpKind::Cumsum: return cumsum();
  case OpKind::Argmax: return argmax();
  case OpKind::TopK: return top_k();
  case OpKind::NonMaxSuppression:
    if (x_[0].dtype == DType::F64)
      return error(Code::unsupported,
                   "`non_max_suppression` of f64 cannot be written: ONNX requires f32");
    return non_max_suppression();
  case OpKind::Concat: return node("Concat", x_, {Attr::whole("axis", attr(0).number)});
  case OpKind::Slice: return slice();
  case OpKind::Windows: return windows();
  case OpKind::Reshape: return reshape(x_[0], result_shape());
  case OpKind::Transpose: return transpose(x_[0], attr(0).ints);
  case OpKind::Pad: return pad(attr(0).ints, attr(1).ints, attr(2));
  case OpKind::Enlarge: return enlarge();
  case OpKind::MergeGconv: return merge_gconv();
  case OpKind::Gather: return node("Gather", x_, {Attr::whole("axis", attr(0).number)});
  case OpKind::Scatter: return scatter();
  case OpKind::Broadcast: return node("Expand", {x_[0], nodes_.list(result_shape())});
  case OpKind::Iota: return iota();
  case OpKind::FusedMap: return fused_map();
  case OpKind::WinogradConv2d:
    return error(
        Code::unsupported,
        "`winograd_conv2d` cannot be written: its kernel is not a `winograd_weight` of the "
        "convolution's");
  case OpKind::Extern:
    return error(Code::unsupported,
                 "`{0}` is an `extern op`, which ONNX's operators cannot express", attr(0).text);
  case OpKind::Attention: // its products and softmax are written (export.cpp)
  case OpKind::None:
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::Constant:
  case OpKind::Split: break;
  }
  return error(Code::unsupported, "`{0}` cannot be expressed in ONNX operators",
               op_info(graph_.node(id_).op).name);
}

} // namespace

Result<Operand> write_operator(NodeWriter& nodes, const Graph& graph, NodeId id,
                               llvm::ArrayRef<Operand> operands, bool is_open) {
  OpKind op = graph.node(id).op;
  DType result = graph.type(id).dtype;
  bool computes = op != OpKind::Cast && op != OpKind::Reshape && op != OpKind::Identity;
  bool brain = result == DType::BF16 ||
               llvm::any_of(operands, [](const Operand& x) { return x.dtype == DType::BF16; });
  if (!brain || !computes)
    return OperatorWriter(nodes, graph, id, operands, result, is_open).write();
  llvm::SmallVector<Operand, 5> wide;
  for (const Operand& x : operands)
    wide.push_back(x.dtype == DType::BF16 ? nodes.cast(x, DType::F32) : x);
  bool rounds = result == DType::BF16;
  TG_TRY(Operand value,
         OperatorWriter(nodes, graph, id, wide, rounds ? DType::F32 : result).write());
  if (!rounds) return value;
  return nodes.node("Cast", {value}, DType::BF16, {Attr::whole("to", data_type(DType::BF16))});
}

} // namespace tg::onnx
