// Compares attention as one operator (runtime/cpu/tile) with the separate steps, interleaved.
//
//   attention_bench [--threads N] [--seconds S] [NAME ...]
//
// Each row is the attention of one layer on operands in the layout of its projections: heads side
// by side in a row, read through reshapes and transposes, and joined again afterwards. The separate
// steps are two products, the mask of the scores, and softmax, as the backend runs them by default.
// Keys broadcast along an axis of the heads that share them. NAME keeps the rows whose name
// contains it.
//
// Lower bound of the work: 2 * rows * places * (width + width of values) flops and one exponential
// per score; for one row, 4 * places * (width + width of values) bytes per head of keys.
#include "bench/own_kernels.h"
#include "compiler/emit/plan_from_graph.h"

#include <llvm/Support/FormatVariadic.h>

namespace {

using namespace tg;

enum class Mask : uint8_t { None, Added, Causal };

/// There are `key_heads` heads of keys and values; each serves heads / key_heads query heads.
struct AttentionRow {
  const char* name;
  int64_t heads, key_heads, rows, places, width;
  Mask mask;
};

constexpr AttentionRow kRows[] = {
    {"bert", 12, 12, 128, 128, 64, Mask::Added},
    {"vit", 12, 12, 197, 197, 64, Mask::None},
    {"gpt2", 12, 12, 64, 64, 64, Mask::Causal},
    {"gpt2 long", 12, 12, 512, 512, 64, Mask::Causal},
    {"llama", 32, 8, 32, 32, 128, Mask::Causal},
    {"llama long", 32, 8, 256, 256, 128, Mask::Causal},
    {"few rows", 12, 12, 3, 512, 64, Mask::None},
    {"step 512", 12, 12, 1, 512, 64, Mask::None},
    {"step 2048", 12, 12, 1, 2048, 64, Mask::None},
    {"llama step 512", 32, 8, 1, 512, 128, Mask::None},
    {"llama step 2048", 32, 8, 1, 2048, 128, Mask::None},
};

NodeId op(Graph& g, OpKind kind, llvm::ArrayRef<NodeId> operands, std::vector<Value> attrs = {}) {
  const OpInfo& info = op_info(kind);
  llvm::SmallVector<ValueId> ids;
  for (size_t i = 0; i < info.attr_count; ++i)
    ids.push_back(g.symbols().value(i < attrs.size() ? attrs[i] : default_value(info.attrs()[i])));
  return g.add(kind, ids, operands);
}

/// Returns an input [rows, groups * each * width] as [groups, each, rows, width], or with the last
/// two axes exchanged if `turned`. `cached`: keys and values of a step of one place come from a
/// cache, [groups, 1, rows, width].
NodeId heads(Graph& g, const char* name, int64_t groups, int64_t each, int64_t rows, int64_t width,
             bool cached, bool turned) {
  if (cached) {
    NodeId x = g.input(name, f32({groups, 1, rows, width}));
    return turned ? op(g, OpKind::Transpose, {x}, {Value::of_ints({0, 1, 3, 2})}) : x;
  }
  NodeId x = g.input(name, f32({rows, groups * each * width}));
  NodeId split = op(g, OpKind::Reshape, {x}, {Value::of_ints({rows, groups, each, width})});
  Value perm = turned ? Value::of_ints({1, 2, 3, 0}) : Value::of_ints({1, 2, 0, 3});
  return op(g, OpKind::Transpose, {split}, {perm});
}

/// Returns a mask bool[rows, places]: rows are the last places, and each sees itself and all places
/// before it.
NodeId causal(Graph& g, const AttentionRow& row) {
  std::vector<double> seen;
  for (int64_t i = 0; i < row.rows; ++i)
    for (int64_t j = 0; j < row.places; ++j) seen.push_back(j <= i + row.places - row.rows);
  return g.constant(seen, {DType::Bool, {row.rows, row.places}});
}

Plan plan_of(const AttentionRow& row, bool fused) {
  Graph g(std::make_shared<Symbols>(), row.name);
  int64_t each = row.heads / row.key_heads;
  bool step = row.rows == 1;
  NodeId q = heads(g, "q", row.key_heads, each, row.rows, row.width, false, false);
  NodeId keys = heads(g, "k", row.key_heads, 1, row.places, row.width, step, true);
  NodeId values = heads(g, "v", row.key_heads, 1, row.places, row.width, step, false);
  NodeId mask = row.mask == Mask::Added ? g.input("mask", f32({1, row.places})) : g.none();
  NodeId seen = row.mask == Mask::Causal ? causal(g, row) : g.none();
  NodeId y;
  if (fused) {
    y = op(g, OpKind::Attention, {q, keys, values, mask, seen});
  } else {
    NodeId scores = op(g, OpKind::Matmul, {q, keys, g.none(), g.none()});
    if (row.mask == Mask::Added) scores = op(g, OpKind::Add, {scores, mask});
    if (row.mask == Mask::Causal)
      scores = op(g, OpKind::Select, {seen, scores, g.constant({-1e9}, f32({}))});
    NodeId fit = op(g, OpKind::Softmax, {scores}, {Value::of_int(3)});
    y = op(g, OpKind::Matmul, {fit, values, g.none(), g.none()});
  }
  y = op(g, OpKind::Transpose, {y}, {Value::of_ints({2, 0, 1, 3})});
  g.add_output("y",
               op(g, OpKind::Reshape, {y}, {Value::of_ints({row.rows, row.heads * row.width})}));
  return plan_from_graph(g);
}

double flops(const AttentionRow& row) {
  return 4.0 * static_cast<double>(row.heads * row.rows * row.places * row.width);
}

Result<void> compare(const AttentionRow& row, const KernelBenchOptions& options, double peak) {
  Plan separate = plan_of(row, false), fused = plan_of(row, true);
  TG_TRY(std::unique_ptr<Executable> theirs,
         load_native(separate, Products::Chosen, options.threads));
  TG_TRY(std::unique_ptr<Executable> ours, load_native(fused, Products::Chosen, options.threads));
  TG_TRY(Comparison times, compare_kernels(*theirs, *ours, options.seconds));
  TG_TRY(double difference, output_difference(*theirs, *ours));
  std::string sharing =
      row.heads == row.key_heads ? "" : llvm::formatv("/{0}", row.key_heads).str();
  llvm::outs() << llvm::formatv(
      "| {0} | {1}{2} x {3} x {4} x {5} | {6} | {7:e1} |\n", row.name, row.heads, sharing, row.rows,
      row.places, row.width, compared_cells(times, flops(row), peak, *theirs, *ours), difference);
  return {};
}

} // namespace

int main(int argc, char** argv) {
  KernelBenchOptions options = KernelBenchOptions::read(argc, argv, {});
  double peak = print_machine(options.threads);
  return print_rows<AttentionRow>(
      options,
      "| attention | heads x rows x places x width | separate, us | one, us | times faster (95%) | "
      "separate | one | separate kernels | one kernel | difference |",
      kRows, [&](const AttentionRow& row) { return compare(row, options, peak); });
}
