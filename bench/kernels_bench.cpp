// Times each kernel of the cpu backend as a plan of one operator with inputs and outputs in the
// backend's own layouts: the price that a rule pays or saves. The comment before each benchmark has
// the bytes that it must move or the flops that it must do, so that GB/s or GFLOP/s can be compared
// with the processor's peak from layers_bench. Arguments: elements or sizes; one thread.
//
// Lower bounds (f32): elementwise kernels move 4 bytes per operand and result element; below 1 MB
// the data is in the second-level cache (about 150 GB/s on an AVX-512 core), beyond 32 MB in memory
// (36 GB/s). Transcendental kernels in cache are bound by arithmetic: 0.1 to 0.35 ns per element.
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cpu/backend.h"
#include "runtime/random.h"

#include <benchmark/benchmark.h>

namespace {

using namespace tg;

class Network {
public:
  NodeId input(Shape shape) {
    return graph_.input("x" + std::to_string(graph_.size()), f32(shape));
  }
  NodeId weight(Shape shape) {
    return graph_.weight("w" + std::to_string(graph_.size()), f32(shape));
  }
  NodeId none() { return graph_.none(); }
  NodeId op(OpKind kind, llvm::ArrayRef<NodeId> operands, std::vector<Value> attrs = {}) {
    const OpInfo& info = op_info(kind);
    llvm::SmallVector<ValueId> ids;
    for (size_t i = 0; i < info.attr_count; ++i)
      ids.push_back(
          graph_.symbols().value(i < attrs.size() ? attrs[i] : default_value(info.attrs()[i])));
    return graph_.add(kind, ids, operands);
  }

  /// Runs the plan until the benchmark stops; sets its counters from the figures of the steps.
  void measure(benchmark::State& state, NodeId output) {
    graph_.add_output("y", output);
    Plan plan = plan_from_graph(graph_);
    CompileOptions options;
    options.io_layout = IoLayout::Native;
    auto executable = make_cpu_backend()->compile(plan, options);
    if (!executable) return state.SkipWithError(executable.error().message.c_str());
    auto inputs = random_inputs(plan, 1);
    if (!inputs || !(*executable)->bind_inputs(*inputs)) return state.SkipWithError("no inputs");
    for (auto _ : state)
      if (!(*executable)->run_once()) return state.SkipWithError("the run failed");
    double bytes = 0, flops = 0;
    std::string kernels;
    for (const StepInfo& step : (*executable)->steps()) {
      bytes += step.bytes;
      flops += step.flops;
      kernels += (kernels.empty() ? "" : ", ") + step.implementation;
    }
    auto rate = [](double amount) {
      return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate,
                                benchmark::Counter::OneK::kIs1000);
    };
    state.counters["bytes/s"] = rate(bytes);
    state.counters["flop/s"] = rate(flops);
    state.SetLabel(kernels);
  }

private:
  Graph graph_{std::make_shared<Symbols>(), "kernel"};
};

Value pair(int64_t a) { return Value::of_ints({a, a}); }

// --- elementwise: 8 bytes an element for one operand, 12 for two --------------------------------

void unary(benchmark::State& state, OpKind kind) {
  Network n;
  n.measure(state, n.op(kind, {n.input({state.range(0)})}));
}
BENCHMARK_CAPTURE(unary, relu, OpKind::Relu)->Arg(1 << 14)->Arg(1 << 16)->Arg(1 << 24);
BENCHMARK_CAPTURE(unary, exp, OpKind::Exp)->Arg(1 << 16);
BENCHMARK_CAPTURE(unary, sigmoid, OpKind::Sigmoid)->Arg(1 << 16);
BENCHMARK_CAPTURE(unary, tanh, OpKind::Tanh)->Arg(1 << 16);
BENCHMARK_CAPTURE(unary, gelu, OpKind::Gelu)->Arg(1 << 16);

void add(benchmark::State& state) {
  Network n;
  n.measure(state, n.op(OpKind::Add, {n.input({state.range(0)}), n.input({state.range(0)})}));
}
BENCHMARK(add)->Arg(1 << 16)->Arg(1 << 24);

// A chain of five operators in one pass (fused_map) moves 16 bytes per element, in five passes 52.
void chain_fused(benchmark::State& state) {
  Network n;
  Shape shape = {state.range(0)};
  n.measure(state, n.op(OpKind::FusedMap, {n.input(shape), n.input(shape), n.input(shape)},
                        {Value::of_string("relu(sub(mul(add($0, $1), $2), $0))")}));
}
BENCHMARK(chain_fused)->Arg(512)->Arg(1 << 16)->Arg(1 << 22);

void chain_of_operators(benchmark::State& state) {
  Network n;
  Shape shape = {state.range(0)};
  NodeId x = n.input(shape), y = n.input(shape), z = n.input(shape);
  NodeId product = n.op(OpKind::Mul, {n.op(OpKind::Add, {x, y}), z});
  n.measure(state, n.op(OpKind::Relu, {n.op(OpKind::Sub, {product, x})}));
}
BENCHMARK(chain_of_operators)->Arg(512)->Arg(1 << 16)->Arg(1 << 22);

// --- images: per-channel factors are staged once per block, so 8 bytes an element, as if dense ---

void batch_norm(benchmark::State& state) {
  Network n;
  int64_t channels = state.range(0), size = state.range(1);
  NodeId x = n.input({1, channels, size, size});
  NodeId s = n.weight({channels}), b = n.weight({channels}), m = n.weight({channels});
  n.measure(state,
            n.op(OpKind::BatchNorm, {x, s, b, m, n.op(OpKind::Exp, {n.weight({channels})})}));
}
BENCHMARK(batch_norm)->Args({64, 56})->Args({256, 56})->Args({3, 224});

// Each element of the image is read once; a quarter as many are written.
void max_pool(benchmark::State& state) {
  Network n;
  NodeId x = n.input({1, state.range(0), state.range(1), state.range(1)});
  n.measure(state, n.op(OpKind::MaxPool2d, {x}, {pair(3), pair(2)}));
}
BENCHMARK(max_pool)->Args({64, 112})->Args({128, 55});

// The image is read once.
void global_mean(benchmark::State& state) {
  Network n;
  NodeId x = n.input({1, state.range(0), state.range(1), state.range(1)});
  n.measure(state, n.op(OpKind::ReduceMean, {x}, {Value::of_ints({2, 3})}));
}
BENCHMARK(global_mean)->Args({2048, 7})->Args({64, 56});

// --- rows: read and written once, in cache between the passes ------------------------------------

void softmax(benchmark::State& state) {
  Network n;
  n.measure(state, n.op(OpKind::Softmax, {n.input({state.range(0), state.range(1)})}));
}
BENCHMARK(softmax)->Args({64, 1024})->Args({1024, 64});

void layer_norm(benchmark::State& state) {
  Network n;
  int64_t width = state.range(1);
  NodeId x = n.input({state.range(0), width});
  n.measure(state, n.op(OpKind::LayerNorm, {x, n.weight({width}), n.weight({width})}));
}
BENCHMARK(layer_norm)->Args({64, 1024});

// --- moves: 8 bytes an element -------------------------------------------------------------------

void concat_channels(benchmark::State& state) {
  Network n;
  Shape shape = {1, state.range(0), state.range(1), state.range(1)};
  n.measure(state, n.op(OpKind::Concat, {n.input(shape), n.input(shape)}, {Value::of_int(1)}));
}
BENCHMARK(concat_channels)->Args({64, 55})->Args({256, 13});

void transposed_copy(benchmark::State& state) {
  Network n;
  int64_t rows = state.range(0), columns = state.range(1);
  NodeId x = n.op(OpKind::Transpose, {n.input({rows, columns})}, {Value::of_ints({1, 0})});
  n.measure(state, n.op(OpKind::Reshape, {x}, {Value::of_ints({rows * columns})}));
}
BENCHMARK(transposed_copy)->Args({1024, 1024});

// --- products: 2 m k n flops; one row is bound by the matrix, 4 k n bytes ------------------------

void matmul(benchmark::State& state) {
  Network n;
  int64_t m = state.range(0), k = state.range(1), columns = state.range(2);
  n.measure(state,
            n.op(OpKind::Matmul, {n.input({m, k}), n.weight({k, columns}), n.none(), n.none()}));
}
BENCHMARK(matmul)
    ->Args({1, 512, 512})
    ->Args({1, 2048, 1000})
    ->Args({64, 1024, 1024})
    ->Args({512, 512, 512});

void conv2d(benchmark::State& state) {
  Network n;
  int64_t in = state.range(0), size = state.range(1), out = state.range(2), kernel = state.range(3);
  int64_t groups = state.range(4);
  NodeId x = n.input({1, in, size, size});
  NodeId w = n.weight({out, in / groups, kernel, kernel}), b = n.weight({out});
  n.measure(state, n.op(OpKind::Conv2d, {x, w, b, n.none()},
                        {pair(1), Value::of_enum("same"), pair(1), Value::of_enum("relu")}));
}
BENCHMARK(conv2d)
    ->Args({256, 56, 64, 1, 1})
    ->Args({64, 56, 64, 3, 1})  // Winograd
    ->Args({512, 7, 512, 3, 1}) // direct
    ->Args({128, 56, 128, 3, 32})
    ->Args({32, 112, 32, 3, 32}) // depthwise
    ->Args({3, 224, 64, 7, 1});

// Minimal filtering against the same convolution by oneDNN (conv2d above selects its Winograd
// algorithm where it pays off, else the direct one). Multiply-adds of the products: tiles *
// positions * inputs * outputs. For tile 4 in 64 channels of 56 x 56 pixels these are 196 * 36 * 64
// * 64 = 29 million, 0.25 ms at 228 GFLOP/s; the direct algorithm needs 116 million and 1.01 ms.
// Transforms take about 40 ns per tile and 16 channels. Bytes: the image, the result, and the
// weights (4 * positions * inputs * outputs) once per block of tiles; for 256 channels 9.4 MB at
// tile 4, 4.2 MB at tile 2.
void winograd(benchmark::State& state) {
  Network n;
  int64_t in = state.range(0), size = state.range(1), out = state.range(2), groups = state.range(3);
  NodeId x = n.input({1, in, size, size}), b = n.weight({out});
  Value relu = Value::of_enum("relu"), same = Value::of_enum("same");
  NodeId w = n.weight({out, in / groups, 3, 3});
  if (state.range(4) == 0)
    return n.measure(state,
                     n.op(OpKind::Conv2d, {x, w, b, n.none()}, {pair(1), same, pair(1), relu}));
  NodeId u = n.op(OpKind::WinogradWeight, {w}, {Value::of_int(state.range(4))});
  n.measure(state, n.op(OpKind::WinogradConv2d, {x, u, b, n.none()}, {same, relu}));
}
void winograd_layers(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"in", "size", "out", "groups", "tile"});
  constexpr int64_t kLayers[][4] = {
      {64, 56, 64, 1},   {128, 28, 128, 1},  {256, 14, 256, 1},  {512, 7, 512, 1},    // resnet50
      {128, 56, 128, 8}, {256, 28, 256, 16}, {512, 14, 512, 32}, {1024, 7, 1024, 32}, // resnext50
      {16, 55, 64, 1},   {32, 27, 128, 1},   {48, 13, 192, 1},   {64, 13, 256, 1}};   // squeezenet
  for (const auto& l : kLayers)
    for (int64_t tile : {0, 2, 4}) benchmark->Args({l[0], l[1], l[2], l[3], tile});
}
BENCHMARK(winograd)->Apply(winograd_layers); // tile 0: conv2d

} // namespace

BENCHMARK_MAIN();
