// Compares matrix products of transformers by our own register tiles (runtime/cpu/tile) with
// oneDNN's best implementation, interleaved, as shares of the processor's peak.
//
//   products_bench [--threads N] [--seconds S] [--avx2] [--bf16] [--schedules] [NAME ...]
//
// Each row is one product as the cost model times it: operands and result in the backend's own
// layouts, a constant right operand packed at load, on both sides. NAME keeps the rows whose name
// contains it. The instruction set is the processor's best, limited by DNNL_MAX_CPU_ISA. Our side
// uses Products::Tiles, so it also runs where the selection rule would not choose it.
//
// With --bf16 operands and results are bf16. With --avx2 our AVX2 tiles replace oneDNN.
//
// With --schedules no library runs. Each product with a constant right operand is run by schedules
// near its default one, on one thread, interleaved. The constants of default_schedule are based on
// these figures.
//
// Lower bound of the work: 2 * rows * depth * columns flops; for a product of few rows, the bytes
// of its right operand.
#include "bench/own_kernels.h"
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cpu/tile/product.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

namespace {

using namespace tg;

/// x[batch, rows, depth] @ w[depth, columns]. In products of attention both operands are
/// activations in its layout: heads side by side in a row, keys transposed.
struct ProductRow {
  const char* name;
  int64_t batch, rows, depth, columns;
  enum Form { Constant, Keys, Values } form;
};

constexpr ProductRow kRows[] = {
    {"bert out", 1, 128, 768, 768, ProductRow::Constant},
    {"bert qkv", 1, 128, 768, 2304, ProductRow::Constant},
    {"bert up", 1, 128, 768, 3072, ProductRow::Constant},
    {"bert down", 1, 128, 3072, 768, ProductRow::Constant},
    {"bert keys", 12, 128, 64, 128, ProductRow::Keys},
    {"bert values", 12, 128, 128, 64, ProductRow::Values},
    {"large out", 1, 128, 1024, 1024, ProductRow::Constant},
    {"large up", 1, 128, 1024, 4096, ProductRow::Constant},
    {"vit out", 1, 197, 768, 768, ProductRow::Constant},
    {"vit up", 1, 197, 768, 3072, ProductRow::Constant},
    {"vit down", 1, 197, 3072, 768, ProductRow::Constant},
    {"vit keys", 12, 197, 64, 197, ProductRow::Keys},
    {"vit values", 12, 197, 197, 64, ProductRow::Values},
    {"gpt2 out", 1, 64, 768, 768, ProductRow::Constant},
    {"gpt2 up", 1, 64, 768, 3072, ProductRow::Constant},
    {"gpt2 down", 1, 64, 3072, 768, ProductRow::Constant},
    {"gpt2 keys", 12, 64, 64, 64, ProductRow::Keys},
    {"gpt2 values", 12, 64, 64, 64, ProductRow::Values},
    {"llama q", 1, 32, 4096, 4096, ProductRow::Constant},
    {"llama k", 1, 32, 4096, 1024, ProductRow::Constant},
    {"llama up", 1, 32, 4096, 14336, ProductRow::Constant},
    {"llama down", 1, 32, 14336, 4096, ProductRow::Constant},
    {"few rows", 1, 5, 768, 768, ProductRow::Constant},
    {"two rows", 1, 2, 768, 3072, ProductRow::Constant},
    {"one out", 1, 1, 768, 768, ProductRow::Constant},
    {"one up", 1, 1, 768, 3072, ProductRow::Constant},
    {"one down", 1, 1, 3072, 768, ProductRow::Constant},
    {"one llama", 1, 1, 4096, 4096, ProductRow::Constant},
    {"one class", 1, 1, 2048, 1000, ProductRow::Constant},
    {"lstm", 1, 1, 512, 512, ProductRow::Constant},
    {"mlp", 1, 64, 784, 10, ProductRow::Constant},
    {"long sum", 1, 1, 16384, 16, ProductRow::Constant},
    {"long sums", 1, 4, 16384, 32, ProductRow::Constant},
};

NodeId op(Graph& g, OpKind kind, llvm::ArrayRef<NodeId> operands, std::vector<Value> attrs = {}) {
  const OpInfo& info = op_info(kind);
  llvm::SmallVector<ValueId> ids;
  for (size_t i = 0; i < info.attr_count; ++i)
    ids.push_back(g.symbols().value(i < attrs.size() ? attrs[i] : default_value(info.attrs()[i])));
  return g.add(kind, ids, operands);
}

/// Returns an input [rows, heads * width], the layout of a projection, as [heads, rows, width] or
/// its transpose.
NodeId heads(Graph& g, const char* name, TensorType type, std::initializer_list<int64_t> perm) {
  NodeId x = g.input(name, std::move(type));
  return op(g, OpKind::Transpose, {x}, {Value::of_ints(perm)});
}

Plan plan_of(const ProductRow& row, DType dtype) {
  auto typed = [&](Shape shape) { return TensorType{dtype, std::move(shape)}; };
  Graph g(std::make_shared<Symbols>(), row.name);
  NodeId x, y;
  if (row.form == ProductRow::Constant) {
    x = g.input("x", typed({row.rows, row.depth}));
    y = g.weight("w", typed({row.depth, row.columns}));
  } else if (row.form == ProductRow::Keys) {
    x = heads(g, "q", typed({row.rows, row.batch, row.depth}), {1, 0, 2});
    y = heads(g, "k", typed({row.columns, row.batch, row.depth}), {1, 2, 0});
  } else {
    x = g.input("p", typed({row.batch, row.rows, row.depth}));
    y = heads(g, "v", typed({row.depth, row.batch, row.columns}), {1, 0, 2});
  }
  NodeId product = op(g, OpKind::Matmul, {x, y, g.none(), g.none()});
  if (row.form == ProductRow::Values)
    product = op(g, OpKind::Transpose, {product}, {Value::of_ints({1, 0, 2})});
  g.add_output("y", product);
  return plan_from_graph(g);
}

double flops(const ProductRow& row) {
  return 2.0 * static_cast<double>(row.batch * row.rows * row.depth) *
         static_cast<double>(row.columns);
}

Result<void> compare(const ProductRow& row, const KernelBenchOptions& options, double peak) {
  Plan plan = plan_of(row, options.has("--bf16") ? DType::BF16 : DType::F32);
  Products other = options.has("--avx2") ? Products::Avx2Tiles : Products::Library;
  TG_TRY(std::unique_ptr<Executable> theirs, load_native(plan, other, options.threads));
  TG_TRY(std::unique_ptr<Executable> ours, load_native(plan, Products::Tiles, options.threads));
  TG_TRY(Comparison times, compare_kernels(*theirs, *ours, options.seconds));
  TG_TRY(double difference, output_difference(*theirs, *ours));
  llvm::outs() << llvm::formatv(
      "| {0} | {1}{2} x {3} x {4} | {5} | {6:e1} |\n", row.name,
      row.batch > 1 ? std::to_string(row.batch) + " x " : "", row.rows, row.depth, row.columns,
      compared_cells(times, flops(row), peak, *theirs, *ours), difference);
  return {};
}

// --- schedules ----------------------------------------------------------------------------------

std::vector<tile::Schedule> schedules_around(const tile::ProductShape& shape, tile::Isa isa) {
  tile::Schedule own = tile::default_schedule(shape, isa, 1, tile::caches());
  std::vector<tile::Schedule> found = {own};
  auto add = [&](auto change) {
    found.push_back(own);
    change(found.back());
  };
  add([](tile::Schedule& s) { s.copy_x = !s.copy_x; });
  add([](tile::Schedule& s) {
    s.rows_outside = true;
    s.column_block = 4;
  });
  for (int64_t depth :
       {shape.depth / 8, shape.depth / 4, shape.depth / 3, shape.depth / 2, shape.depth})
    add([&](tile::Schedule& s) { s.depth_block = std::max<int64_t>(1, depth); });
  for (int64_t tiles : {4, 8, 11, 22, 44}) add([&](tile::Schedule& s) { s.row_block = tiles; });
  return found;
}

void sweep(const ProductRow& row, const tile::TileKernels& tiles, double peak, double seconds) {
  tile::ProductShape shape;
  shape.rows = row.rows;
  shape.depth = shape.x_row = row.depth;
  shape.columns = shape.y_row = row.columns;
  shape.w_is_packed = true;
  std::vector<tile::Schedule> schedules = schedules_around(shape, tiles.isa());
  std::vector<tile::Product> products;
  int64_t scratch_size = 16;
  for (const tile::Schedule& s : schedules) {
    products.emplace_back(shape, s, tiles);
    scratch_size = std::max(scratch_size, products.back().scratch_elements());
  }
  auto floats = [](int64_t count) { return std::move(*Tensor::zeros(f32({count}))); };
  Tensor x = floats(row.rows * row.depth), y = floats(row.rows * row.columns);
  Tensor w = floats(tile::packed_cells(row.depth, row.columns, tiles.isa()));
  Tensor scratch = floats(scratch_size);
  auto at = [](Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); };
  tile::ProductData data;
  data.x = at(x);
  data.w = at(w);
  data.y = at(y);
  data.scratch = at(scratch);
  std::vector<std::vector<double>> us(products.size());
  Clock::time_point start = Clock::now();
  do
    for (size_t i = 0; i < products.size(); ++i) {
      Clock::time_point begin = Clock::now();
      products[i].run(data);
      us[i].push_back(1e6 * seconds_since(begin));
    }
  while (us[0].size() < 5 || seconds_since(start) < seconds);
  llvm::outs() << row.name << "\n";
  for (size_t i = 0; i < products.size(); ++i) {
    Timing t = summarise_times(us[i]);
    llvm::outs() << llvm::formatv("  {0,8:f1} us (least {1:f1}) {2:f0}%  {3}\n", t.median_us,
                                  t.min_us, 100 * flops(row) / t.median_us / 1e-6 / peak,
                                  tile::text(schedules[i], tiles.isa()));
  }
  llvm::outs().flush();
}

} // namespace

int main(int argc, char** argv) {
  KernelBenchOptions options =
      KernelBenchOptions::read(argc, argv, {"--avx2", "--bf16", "--schedules"});
  double peak = print_machine(options.threads);
  if (options.has("--schedules")) {
    tile::Isa isa =
        llvm::StringRef(cpu::simd().isa) == "avx512" ? tile::Isa::Avx512 : tile::Isa::Avx2;
    auto tiles = tile::TileKernels::make(isa);
    if (!tiles) {
      llvm::errs() << tiles.error().message << "\n";
      return 1;
    }
    for (const ProductRow& row : kRows)
      if (row.form == ProductRow::Constant && options.wants(row.name))
        sweep(row, **tiles, peak, options.seconds);
    return 0;
  }
  return print_rows<ProductRow>(
      options,
      "| product | sizes | oneDNN, us | ours, us | times faster (95%) | oneDNN | ours | oneDNN's "
      "kernel | our tile | difference |",
      kRows, [&](const ProductRow& row) { return compare(row, options, peak); });
}
