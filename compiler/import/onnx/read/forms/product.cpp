// MatMul, Gemm, and determinants of small matrices. Quantised products have no form: their
// operators are rejected by name.
#include "compiler/import/onnx/read/call.h"

#include <cmath>

namespace tg::onnx {
namespace {

/// Larger determinants would be sums of hundreds of products.
constexpr int64_t kLargestDet = 4;

// --- products ------------------------------------------------------------------------------------

/// Multiplies by NumPy's rules: a vector on the left is a row, one on the right a column.
void write_matmul(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), y = call.input(1);
  if (call.failed()) return;
  if (e.rank(x) == 0 || e.rank(y) == 0) return void(call.fail("it multiplies a scalar"));
  bool row = e.rank(x) == 1, column = e.rank(y) == 1;
  NodeId made = e.matmul(row ? e.unsqueeze(x, 0) : x, column ? e.unsqueeze(y, 1) : y);
  if (made.valid() && column) made = e.squeeze(made, e.rank(made) - 1);
  if (made.valid() && row) made = e.squeeze(made, e.rank(made) - (column ? 1 : 2));
  call.result(made);
}

/// Returns `x` times a number of the file, which must be an integer if x has integers.
NodeId scaled(Call& call, NodeId x, double factor, const char* name) {
  if (!x.valid() || factor == 1) return x;
  if (!is_float(call.emit().dtype(x)) && factor != std::floor(factor))
    return call.fail(llvm::Twine("its attribute `") + name +
                     "` must be an integer, since its inputs are");
  return call.emit().mul(x, factor);
}

/// Returns true for a term of `columns` numbers, the same for all rows.
bool is_bias(const TensorType& type, int64_t columns) {
  return type.elements() == columns && (type.rank() == 0 || type.shape.back() == columns);
}

void write_gemm(Call& call) {
  Emitter& e = call.emit();
  NodeId a = call.input(0), b = call.input(1), c = call.optional(2);
  double alpha = call.real("alpha", 1), beta = call.real("beta", 1);
  bool turn_a = flag(call, "transA", false), turn_b = flag(call, "transB", false);
  if (call.failed()) return;
  if (e.rank(a) != 2 || e.rank(b) != 2)
    return void(call.fail("it multiplies matrices, but its inputs are " + e.type(a).text() +
                          " and " + e.type(b).text()));
  if (turn_a) a = e.swap_axes(a, 0, 1);
  if (turn_b) b = e.swap_axes(b, 0, 1);
  // A factor of weights is folded when the model is loaded.
  bool folds = b.valid() && e.graph().node(b).weight_only;
  if (folds) b = scaled(call, b, alpha, "alpha");
  if (call.failed()) return;
  if (beta == 0) c = NodeId();
  c = scaled(call, c, beta, "beta");
  int64_t columns = e.shape(b)[1];
  bool fuses = c.valid() && (folds || alpha == 1) && is_bias(e.type(c), columns);
  NodeId bias = fuses ? e.reshape(c, {columns}) : e.none();
  NodeId made = e.op(OpKind::Matmul, {a, b, bias, e.none()});
  if (!folds) made = scaled(call, made, alpha, "alpha");
  if (!fuses && c.valid()) {
    NodeId sum = e.add(made, c);
    if (sum.valid() && e.shape(sum) != e.shape(made))
      return void(call.fail("its input 3 is " + e.type(c).text() + ", but the product is " +
                            e.type(made).text()));
    made = sum;
  }
  call.result(made);
}

// --- determinants --------------------------------------------------------------------------------

/// Returns the determinant of the rows from `row` on and these columns, expanded along the first
/// row.
NodeId minor(Emitter& e, const std::vector<std::vector<NodeId>>& elements, size_t row,
             llvm::ArrayRef<size_t> columns) {
  if (columns.size() == 1) return elements[row][columns[0]];
  NodeId sum;
  for (size_t i = 0; i < columns.size(); ++i) {
    llvm::SmallVector<size_t, 4> others(columns.begin(), columns.end());
    others.erase(others.begin() + i);
    NodeId term = e.mul(elements[row][columns[i]], minor(e, elements, row + 1, others));
    sum = i == 0 ? term : i % 2 == 0 ? e.add(sum, term) : e.sub(sum, term);
  }
  return sum;
}

void write_det(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  if (call.failed()) return;
  int64_t rank = e.rank(x);
  if (rank < 2 ||
      e.shape(x)[static_cast<size_t>(rank) - 1] != e.shape(x)[static_cast<size_t>(rank) - 2])
    return void(call.fail("it takes square matrices, but its input is " + e.type(x).text()));
  int64_t size = e.shape(x).back();
  if (size > kLargestDet)
    return void(call.fail("determinants of more than " + llvm::Twine(kLargestDet) +
                          " rows are not supported, but these have " + llvm::Twine(size)));
  Ints batch = e.shape(x).drop_back(2);
  std::vector<std::vector<NodeId>> elements;
  llvm::SmallVector<size_t, 4> columns;
  for (int64_t i = 0; i < size; ++i) {
    NodeId row = e.slice(x, rank - 2, i, i + 1);
    elements.emplace_back();
    for (int64_t k = 0; k < size; ++k)
      elements.back().push_back(e.reshape(e.slice(row, rank - 1, k, k + 1), batch));
    columns.push_back(static_cast<size_t>(i));
  }
  call.result(minor(e, elements, 0, columns));
}

} // namespace

llvm::ArrayRef<Form> product_forms() {
  static constexpr Form kForms[] = {
      {"Det", write_det},
      {"Gemm", write_gemm},
      {"MatMul", write_matmul},
  };
  return kForms;
}

} // namespace tg::onnx
