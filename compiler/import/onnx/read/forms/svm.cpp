// Support vector machines of the domain ai.onnx.ml: kernels between rows and support vectors, and
// sums of them. A classifier decides each pair of classes, and a row belongs to the class that
// wins most pairs.
#include "compiler/import/onnx/read/forms/ml.h"

namespace tg::onnx {
namespace {

using namespace ml;

/// Differences of all rows and vectors are computed up to this many elements.
constexpr int64_t kMostDifferences = int64_t{1} << 26;

/// Returns the sums over features of (x - v)^2: [rows, vectors].
NodeId distances(Emitter& e, NodeId x, NodeId vectors) {
  int64_t rows = e.size(x, 0), count = e.size(vectors, 0), features = e.size(x, 1);
  if (rows * count > kMostDifferences / features) {
    NodeId product = e.matmul(x, e.transpose(vectors, {1, 0}));
    NodeId of_vectors = e.transpose(e.sum(e.mul(vectors, vectors), {1}), {1, 0});
    return e.add(e.sub(e.sum(e.mul(x, x), {1}), e.mul(product, 2.0)), of_vectors);
  }
  NodeId apart = e.sub(e.reshape(x, {rows, 1, features}), e.reshape(vectors, {1, count, features}));
  return e.reduce(OpKind::ReduceSum, e.mul(apart, apart), {2}, false);
}

/// Returns the kernel of each row and support vector: [rows, vectors].
NodeId kernel(Call& call, NodeId x) {
  Emitter& e = call.emit();
  Reals support = reals(call, "support_vectors"), params = reals(call, "kernel_params");
  std::string name = call.text("kernel_type", "LINEAR");
  if (call.failed()) return {};
  int64_t features = e.size(x, 1), count = static_cast<int64_t>(support.size()) / features;
  if (count == 0 || static_cast<int64_t>(support.size()) != count * features)
    return call.fail("its support vectors do not match rows of " + llvm::Twine(features) +
                     ", or there are none");
  params.resize(3);
  NodeId vectors = real_table(e, support, {count, features});
  if (name == "RBF") return e.unary(OpKind::Exp, e.mul(distances(e, x, vectors), -params[0]));
  NodeId product = e.matmul(x, e.transpose(vectors, {1, 0}));
  if (name == "LINEAR") return product;
  NodeId scaled = e.add(e.mul(product, params[0]), params[1]);
  if (name == "SIGMOID") return e.unary(OpKind::Tanh, scaled);
  if (name == "POLY") return e.op(OpKind::Pow, {scaled, e.like(scaled, params[2])});
  return call.fail("its `kernel_type` " + name + " is unknown");
}

/// Returns the coefficients of the pair i < j on all support vectors; those of other classes are 0.
Reals pair_coefficients(const Reals& all, const Shape& starts, size_t i, size_t j) {
  auto vectors = static_cast<size_t>(starts.back());
  Reals made(vectors);
  auto copy = [&](size_t owner, size_t row) {
    for (auto v = static_cast<size_t>(starts[owner]); v < static_cast<size_t>(starts[owner + 1]);
         ++v)
      made[v] = all[row * vectors + v];
  };
  copy(i, j - 1), copy(j, i);
  return made;
}

} // namespace

void svm_regressor(Call& call) {
  Emitter& e = call.emit();
  NodeId x = rows_of(call), values = kernel(call, x);
  Reals coefficients = reals(call, "coefficients"), rho = reals(call, "rho");
  ignore(call, "n_supports");
  bool is_one_class = call.whole("one_class", 0) != 0;
  if (call.failed()) return;
  auto count = static_cast<int64_t>(coefficients.size());
  if (count != e.size(values, 1) || rho.size() != 1) {
    call.fail("its coefficients or `rho` do not match its support vectors");
    return;
  }
  NodeId score = e.add(e.matmul(values, real_table(e, coefficients, {count, 1})), rho[0]);
  if (is_one_class)
    score = e.select(e.less(e.like(score, 0), score), e.like(score, 1), e.like(score, -1));
  call.result(transformed(call, score));
}

void svm_classifier(Call& call) {
  Emitter& e = call.emit();
  NodeId x = rows_of(call), values = kernel(call, x);
  Reals coefficients = reals(call, "coefficients"), rho = reals(call, "rho");
  Shape sizes = wholes(call, "vectors_per_class"), starts = {0};
  for (int64_t size : sizes) starts.push_back(starts.back() + size);
  bool has_chances = !reals(call, "prob_a").empty() || !reals(call, "prob_b").empty();
  if (call.failed()) return;
  size_t classes = sizes.size(), pairs = classes * (classes - 1) / 2;
  auto vectors = static_cast<size_t>(starts.back());
  if (has_chances || call.text("post_transform", "NONE") != "NONE") {
    call.fail("probabilities, which are iterated row by row, are not supported");
    return;
  }
  if (classes < 2 || rho.size() != pairs || coefficients.size() != (classes - 1) * vectors ||
      e.size(values, 1) != starts.back()) {
    call.fail("its coefficients, `rho` and `vectors_per_class` do not match");
    return;
  }
  Reals weights, wins, base(classes);
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j) {
      Reals pair = pair_coefficients(coefficients, starts, i, j);
      weights.insert(weights.end(), pair.begin(), pair.end());
      Reals row(classes);
      row[i] = 1, row[j] = -1;
      wins.insert(wins.end(), row.begin(), row.end());
      base[j] += 1;
    }
  auto n = static_cast<int64_t>(pairs), k = static_cast<int64_t>(classes);
  NodeId table_of_pairs = real_table(e, weights, {n, starts.back()});
  NodeId scores =
      e.add(e.matmul(values, e.transpose(table_of_pairs, {1, 0})), real_table(e, rho, {n}));
  NodeId won = e.cast(e.less(e.like(scores, 0), scores), DType::F32);
  NodeId votes = e.add(e.matmul(won, real_table(e, wins, {n, k})), real_table(e, base, {k}));
  label(call, "classlabels_ints", largest(e, votes));
  call.result(1, classes == 2 ? e.concat({e.neg(scores), scores}, 1) : scores);
}

} // namespace tg::onnx
