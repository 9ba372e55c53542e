#include "compiler/api/calibration/calibration.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/public_types.h"
#include "compiler/extract/cost/price_features.h"
#include "compiler/optimizer/refined_search.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/trial/backend_finalists.h"
#include "lang/core/support/random.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tg {

namespace {

using Sizes = llvm::ArrayRef<int64_t>;

/// Draws keys of one kind of operator each.
class Drawer {
public:
  std::string convolution(int64_t window) {
    auto [c, hw] = image();
    int64_t o = channels(), stride = rarely() ? 2 : 1;
    return conv(c, hw, o, c, window, stride);
  }
  std::string depthwise() {
    auto [c, hw] = image();
    return conv(c, hw, c, 1, rarely() ? 5 : 3, rarely() ? 2 : 1);
  }
  /// As in ResNeXt, or as merged groups of a depthwise convolution.
  std::string grouped() {
    auto [c, hw] = image();
    return conv(c, hw, c, part_of(c, pick({2, 4, 8, 16, 32})), rarely() ? 5 : 3, rarely() ? 2 : 1);
  }
  std::string filtering() {
    auto [c, hw] = image();
    bool merged = rarely();
    int64_t o = merged ? c : channels(), of_group = merged ? part_of(c, pick({4, 16})) : c;
    return llvm::formatv("winograd_conv2d(f32[1, {0}, {1}, {1}], w f32[{2}, {3}, {6}], {4}) {{pad "
                         "= same, act = {5}}",
                         c, hw, pick({16, 36}), o, epilogue(o, {1, o, hw, hw}), act(), of_group);
  }
  /// Products of activations and weights.
  std::string dense() {
    int64_t m = pick({1, 1, 16, 64, 128, 197, 256, 512}), k = width(), n = width();
    return llvm::formatv("matmul(f32[{0}, {1}], w f32[{1}, {2}], {3}) {{act = {4}}", m, k, n,
                         epilogue(n, {m, n}), act());
  }
  /// As in large language models, with weights beyond every cache. Guessed from smaller products,
  /// these were a third too cheap (AVX2).
  std::string large() {
    int64_t k = pick({2048, 4096, 5120}), n = pick({4096, 5120, 8192, 11008, 14336});
    if (coin()) std::swap(k, n);
    return llvm::formatv("matmul(f32[{0}, {1}], w f32[{1}, {2}], none, none) {{act = none}",
                         pick({1, 16, 32, 64}), k, n);
  }
  /// As in attention.
  std::string batched() {
    int64_t heads = pick({1, 8, 12, 16}), q = pick({1, 64, 128, 197, 256}), d = pick({32, 64, 128});
    int64_t keys = std::max<int64_t>(q, 64);
    bool scores = coin();
    return llvm::formatv("matmul(f32[1, {0}, {1}, {2}], f32[1, {0}, {2}, {3}], none, none) {{act = "
                         "none}",
                         heads, q, scores ? d : keys, scores ? keys : d);
  }
  /// Attention as a single operator: two products and a softmax.
  std::string attention() {
    int64_t heads = pick_attention({8, 12, 32}), q = pick_attention({1, 32, 64, 128, 197, 256});
    int64_t d = pick_attention({32, 64, 128});
    int64_t keys = q > 1 ? q : pick_attention({128, 512, 2048});
    std::string seen = "none";
    if (pick_attention({0, 1})) seen = llvm::formatv("w bool[{0}, {1}]", q, keys);
    return llvm::formatv("attention(f32[1, {0}, {1}, {2}], f32[1, {0}, {2}, {3}], f32[1, {0}, {3}, "
                         "{2}], none, {4}) {{otherwise = -1e+09}",
                         heads, q, d, keys, seen);
  }
  std::string pooling() {
    auto [c, hw] = image();
    const char* op = coin() ? "max_pool2d" : "avg_pool2d";
    int64_t window = pick({2, 3});
    return llvm::formatv("{0}(f32[1, {1}, {2}, {2}]) {{kernel = [{3}, {3}], stride = [{4}, {4}], "
                         "pad = same{5}}",
                         op, c, hw, window, pick({1, 2}),
                         op[0] == 'a' ? ", count_padding = false" : "");
  }
  std::string rows() {
    int64_t r = pick({1, 64, 128, 197, 1536}), n = pick({64, 128, 256, 768, 1024, 4096});
    switch (pick({0, 1, 2, 3})) {
    case 0: return llvm::formatv("softmax(f32[{0}, {1}]) {{axis = 1}", r, n);
    case 1:
      return llvm::formatv("layer_norm(f32[{0}, {1}], w f32[{1}], w f32[{1}]) {{eps = 1e-05}", r,
                           n);
    case 2: return llvm::formatv("reduce_mean(f32[{0}, {1}]) {{axes = [1], keepdims = true}", r, n);
    default: {
      auto [c, hw] = image();
      return llvm::formatv("reduce_mean(f32[1, {0}, {1}, {1}]) {{axes = [2, 3], keepdims = true}",
                           c, hw);
    }
    }
  }
  std::string map() {
    std::string type = any_type();
    switch (pick({0, 1, 2, 3, 4, 5})) {
    case 0: return llvm::formatv("relu({0})", type);
    case 1: return llvm::formatv("add({0}, {0})", type);
    case 2: return llvm::formatv("gelu({0})", type);
    case 3: return llvm::formatv("fused_map({0}, {0}) {{body = \"relu(add($0, $1))\"}", type);
    case 4:
      return llvm::formatv("fused_map({0}, {0}) {{body = \"mul(sigmoid($0), tanh($1))\"}", type);
    default: {
      auto [c, hw] = image();
      return llvm::formatv("batch_norm(f32[1, {0}, {1}, {1}], w f32[{0}], w f32[{0}], w f32[{0}], "
                           "w f32[{0}]) {{eps = 1e-05}",
                           c, hw);
    }
    }
  }
  std::string copy() {
    auto [c, hw] = image();
    int64_t s = pick({16, 64, 128, 197}), h = pick({8, 12, 16}), d = pick({32, 64});
    switch (pick({0, 1, 2, 3, 4, 5})) {
    case 0:
      return llvm::formatv("concat(f32[1, {0}, {1}, {1}], f32[1, {0}, {1}, {1}]) {{axis = 1}", c,
                           hw);
    case 1: return llvm::formatv("concat(f32[{0}, {1}], f32[{0}, {1}]) {{axis = 1}", s, h * d);
    case 2:
      return llvm::formatv("transpose(f32[1, {0}, {1}, {2}]) {{perm = [0, 2, 1, 3]}", s, h, d);
    case 3:
      return llvm::formatv("transpose(f32[1, {1}, {0}, {2}]) {{perm = [0, 1, 3, 2]}", s, h, d);
    case 4:
      return llvm::formatv("slice(f32[{0}, {1}]) {{axis = 1, start = 0, stop = {2}}", s, 3 * h * d,
                           h * d);
    default:
      return llvm::formatv("slice(f32[1, {0}, {1}, {1}]) {{axis = 1, start = 0, stop = {2}}", 2 * c,
                           hw, c);
    }
  }

private:
  int64_t pick(std::initializer_list<int64_t> from) {
    return from
        .begin()[static_cast<size_t>(stream_.uniform(next_++) * static_cast<double>(from.size()))];
  }
  /// Draws from a separate stream, so that earlier draws stay the same.
  int64_t pick_attention(std::initializer_list<int64_t> from) {
    double drawn = attention_stream_.uniform(next_of_attention_++);
    return from.begin()[static_cast<size_t>(drawn * static_cast<double>(from.size()))];
  }
  bool coin() { return pick({0, 1}) == 1; }
  bool rarely() { return pick({0, 0, 1}) == 1; }
  int64_t channels() { return pick({16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024}); }
  int64_t width() {
    return pick({64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 2304, 3072, 4096});
  }
  const char* act() {
    return coin() ? "none" : rarely() && coin() ? "gelu" : coin() ? "relu" : "relu6";
  }

  /// Returns channels and pixels along a side: more channels have fewer pixels.
  std::pair<int64_t, int64_t> image() {
    int64_t c = channels();
    int64_t side = c >= 512   ? pick({7, 14})
                   : c >= 128 ? pick({7, 14, 28})
                              : pick({14, 28, 56, 112});
    return {c, side};
  }
  /// Halves the number until it divides the channels.
  static int64_t part_of(int64_t channels, int64_t of_group) {
    while (channels % of_group != 0) of_group /= 2;
    return of_group;
  }
  std::string any_type() {
    if (coin()) return llvm::formatv("f32[{0}, {1}]", pick({1, 16, 128, 512}), width());
    auto [c, hw] = image();
    return llvm::formatv("f32[1, {0}, {1}, {1}]", c, hw);
  }
  /// Bias and residual.
  std::string epilogue(int64_t width, llvm::ArrayRef<int64_t> result) {
    std::string bias = coin() ? llvm::formatv("w f32[{0}]", width).str() : "none";
    if (!rarely()) return bias + ", none";
    return bias + ", " + TensorType(f32(result)).text();
  }
  std::string conv(int64_t c, int64_t hw, int64_t o, int64_t of_group, int64_t window,
                   int64_t stride) {
    int64_t side = (hw + stride - 1) / stride;
    return llvm::formatv("conv2d(f32[1, {0}, {1}, {1}], w f32[{2}, {3}, {4}, {4}], {5}) {{stride = "
                         "[{6}, {6}], pad = {7}, dilation = [1, 1], act = {8}}",
                         c, hw, o, of_group, window, epilogue(o, {1, o, side, side}), stride,
                         window == 1 && stride == 1 ? "valid" : "same", act());
  }

  RandomStream stream_{1, "calibration"}, attention_stream_{1, "calibration of attention"};
  uint64_t next_ = 0, next_of_attention_ = 0;
};

/// One round of the list, with kinds in their shares. Elementwise operators and copies are fewer,
/// because the networks give more information on them than a separate timing.
void draw_round(Drawer& draw, std::vector<std::string>& keys) {
  for (int i = 0; i < 4; ++i) {
    keys.push_back(draw.convolution(1));
    keys.push_back(draw.dense());
    if (i % 2 == 0) keys.push_back(draw.convolution(i == 0 ? 3 : 5));
    if (i % 2 == 1) keys.push_back(draw.filtering());
    if (i % 2 == 0) keys.push_back(draw.depthwise());
    if (i % 2 == 0) keys.push_back(draw.grouped());
  }
  keys.push_back(draw.convolution(3));
  keys.push_back(draw.batched());
  keys.push_back(draw.attention());
  keys.push_back(draw.rows());
  keys.push_back(draw.pooling());
  keys.push_back(draw.map());
  keys.push_back(draw.copy());
}

/// Larger operators take the time of many others, and smaller ones give the same information,
/// except for products (Drawer::large).
constexpr double kMostFlops = 2e9, kMostBytes = 64 << 20;

bool small_enough(Symbols& symbols, const OwnedInstance& read) {
  OpWork work = op_work(symbols, read.op, read.attrs, read.operands, read.result);
  double weights = 0;
  for (TypeId id : read.operands) weights += static_cast<double>(symbols.type(id).bytes());
  return work.flops <= kMostFlops && std::max(work.bytes, weights) <= kMostBytes;
}

/// The conditions of prices: networks that touch this many bytes in a run.
constexpr int64_t kNetworkBytes[] = {64 << 20, 8 << 20};

/// Returns prices of this machine for networks of that size. Errors: those of making the backend.
Result<std::unique_ptr<CalibratedCost>> costs_under(int64_t network_bytes,
                                                    const std::string& backend_name,
                                                    const CalibrationOptions& options) {
  TG_TRY(std::unique_ptr<Backend> backend, make_backend(backend_name, options.measure.cost_db));
  MeasuredCostOptions measure = options.measure;
  measure.network_bytes = network_bytes;
  measure.stop = options.stop;
  measure.progress = {};
  return std::make_unique<CalibratedCost>(
      std::make_unique<MeasuredCost>(std::move(backend), measure),
      *find_device_profile(profile_of_backend(backend_name)));
}

/// Times the lists on one backend, a part at a time.
class Calibrator {
public:
  Calibrator(std::string backend, const CalibrationOptions& options)
      : backend_(std::move(backend)), options_(options) {}

  Result<void> time_alone(int64_t network_bytes, llvm::ArrayRef<std::string> keys,
                          llvm::function_ref<void(size_t)> done);
  Result<void> time_in_place(const ModelRequest& network);

  Calibration report;
  std::vector<double> errors; // of guesses, as |guess / time - 1|

private:
  void judge(const PriceGuess& guess, double microseconds) {
    if (microseconds > 0) errors.push_back(std::abs(guess.microseconds / microseconds - 1));
  }

  std::string backend_;
  const CalibrationOptions& options_;
  bool places_ = true; // the backend can time operators in place, as far as is known
};

Result<void> Calibrator::time_alone(int64_t network_bytes, llvm::ArrayRef<std::string> keys,
                                    llvm::function_ref<void(size_t)> done) {
  TG_TRY(std::unique_ptr<CalibratedCost> costs, costs_under(network_bytes, backend_, options_));
  Symbols symbols;
  constexpr size_t kPortion = 8;
  for (size_t i = 0; i < keys.size() && !options_.stop.asked(); i += kPortion) {
    std::vector<OwnedInstance> read;
    std::vector<OpInstance> instances;
    for (const std::string& key : keys.slice(i, std::min(kPortion, keys.size() - i)))
      read.push_back(*read_instance(symbols, key));
    for (const OwnedInstance& one : read) instances.push_back(one.instance());
    for (const CalibratedCost::Timed& one : costs->time(symbols, instances, options_.stop))
      judge(one.guess, one.microseconds);
    done(i + instances.size());
  }
  report.samples = costs->samples();
  report.unsettled += costs->measured().unsettled();
  report.notes = costs->notes();
  return {};
}

/// Returns true if images enter from the user's layout or leave to it there. The conversion then
/// counts with the operator (NodeTime), which does not occur inside other networks. Images of three
/// channels are excluded, because networks begin with them.
bool at_border(const Graph& graph, NodeId node) {
  auto is_image = [&](NodeId id) { return graph.type(id).rank() == 4; };
  bool leaves =
      llvm::any_of(graph.outputs(), [&](const GraphOutput& output) { return output.node == node; });
  return (leaves && is_image(node)) || llvm::any_of(graph.operands(node), [&](NodeId id) {
           return graph.node(id).op == OpKind::Input && is_image(id) && graph.type(id).shape[1] > 3;
         });
}

/// Runs a network unless all of its operators are known. Repeats a run that was disturbed.
Result<void> Calibrator::time_in_place(const ModelRequest& network) {
  if (!places_) return {};
  Graph graph = calibration_graph(network);
  TG_TRY(std::unique_ptr<CalibratedCost> costs,
         costs_under(network_bytes(graph), backend_, options_));
  std::unique_ptr<CostDb> kept = costs->measured().open_placed(kBlockLayout);
  auto wanted = [&](const OpInstance& instance) {
    return costs->measured().is_timed(graph.symbols(), instance) &&
           !kept->find(instance_key(graph.symbols(), instance));
  };
  GraphInstances of = instances_of(graph);
  auto places = llvm::zip(of.nodes, of.instances);
  if (std::none_of(places.begin(), places.end(), [&](const auto& place) {
        return !at_border(graph, std::get<0>(place)) && wanted(std::get<1>(place));
      }))
    return {};
  PrepareOptions prepare;
  prepare.backend = backend_;
  prepare.cost_db = options_.measure.cost_db;
  prepare.threads = options_.measure.threads;
  prepare.memory_limit_bytes = options_.measure.memory_limit_bytes;
  prepare.stop = options_.stop;
  Result<std::vector<PlacedNodes>> nodes = BackendFinalists(prepare).time_in_place(graph, nullptr);
  places_ = !nodes || !nodes->empty();
  if (!nodes || !places_) return {};
  llvm::erase_if(nodes->front().nodes,
                 [&](const PlacedNodes::One& one) { return at_border(graph, one.node); });
  std::vector<CostRow> rows;
  PlacedInstances placed = placed_instances(graph, nodes->front());
  for (const PlacedTime& time : placed.times) {
    if (!wanted(time.instance)) continue;
    rows.push_back({instance_key(graph.symbols(), time.instance), time.microseconds, "in place"});
    judge(costs->guess(graph.symbols(), time.instance), time.microseconds);
  }
  if (nodes->front().trust != TimeTrust::Steady) {
    report.unsettled += rows.size();
    return {};
  }
  kept->store(rows);
  report.samples += rows.size();
  return {};
}

/// Returns the median of the second half, because the first guesses had little data. nullopt: too
/// few.
std::optional<double> median_error(std::vector<double>& errors) {
  constexpr size_t kLeast = 16;
  if (errors.size() < kLeast) return std::nullopt;
  auto begin = errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2);
  auto middle = begin + (errors.end() - begin) / 2;
  std::nth_element(begin, middle, errors.end());
  return *middle;
}

} // namespace

std::vector<std::string> calibration_keys() {
  constexpr size_t kKeys = 1'050, kRoundsForALargeOne = 6;
  std::vector<std::string> keys;
  llvm::StringSet<> known;
  Drawer draw;
  Symbols symbols;
  auto take = [&](llvm::StringRef text, bool any_size) {
    std::optional<OwnedInstance> read = read_instance(symbols, text);
    if (!read || (!any_size && !small_enough(symbols, *read))) return;
    std::string key = instance_key(symbols, read->instance());
    if (known.insert(key).second) keys.push_back(std::move(key));
  };
  for (size_t round = 0; keys.size() < kKeys; ++round) {
    std::vector<std::string> drawn;
    draw_round(draw, drawn);
    for (const std::string& text : drawn) take(text, false);
    if (round % kRoundsForALargeOne == 0) take(draw.large(), true);
  }
  return keys;
}

Result<Calibration> calibrate(const std::string& backend, const CalibrationOptions& options) {
  Stopwatch watch;
  std::vector<std::string> keys = calibration_keys();
  std::vector<ModelRequest> networks = calibration_networks();
  Calibrator calibrator(backend, options);
  // Interleaved, so that an interrupted run has some of each.
  constexpr size_t kTurn = 48;
  size_t total = keys.size(), turns = (total + kTurn - 1) / kTurn, run = 0;
  for (size_t turn = 0; turn < turns && !options.stop.asked(); ++turn) {
    int64_t bytes = kNetworkBytes[turn % std::size(kNetworkBytes)];
    auto part = llvm::ArrayRef(keys).slice(turn * kTurn, std::min(kTurn, total - turn * kTurn));
    TG_CHECK(calibrator.time_alone(bytes, part, [&](size_t n) {
      if (options.progress) options.progress(turn * kTurn + n, total);
    }));
    for (; run < networks.size() * (turn + 1) / turns && !options.stop.asked(); ++run)
      TG_CHECK(calibrator.time_in_place(networks[run]));
  }
  Calibration report = std::move(calibrator.report);
  report.finished = !options.stop.asked() && report.unsettled == 0;
  report.timed = calibrator.errors.size();
  report.seconds = watch.seconds();
  report.median_error = median_error(calibrator.errors);
  return report;
}

Result<Calibration> calibrate(const tangram::CalibrateOptions& o, const StopToken& stop) {
  const BackendRow* row = find_backend(o.backend);
  if (row && !row->is_timed())
    return error(Code::usage, "operators are timed on {0}, not on `{1}`",
                 backend_names(std::mem_fn(&BackendRow::is_timed)), row->name);
  CalibrationOptions options;
  options.measure.cost_db = o.cost_db;
  options.measure.threads = thread_count(o.threads);
  options.measure.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  options.stop = stop;
  options.progress = o.progress;
  return calibrate(name_of(o.backend), options);
}

} // namespace tg
