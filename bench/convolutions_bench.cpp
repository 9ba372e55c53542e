// Compares convolutions by our own kernels (runtime/cpu/tile) with oneDNN's best algorithm for
// them, interleaved, as shares of the processor's peak.
//
//   convolutions_bench [--threads N] [--seconds S] [--relu] [NAME | MODEL.tg ...]
//
// Each row is one convolution as the cost model times it: image and result channels-last, the
// kernel packed at load on both sides, with a bias and relu6. With --relu the activation is relu,
// for which oneDNN has a Winograd algorithm on AVX-512; its reorders are included. NAME keeps the
// rows whose name contains it. A model gives one row per distinct convolution instead, followed by
// the total. Our side uses Products::Tiles, so it also runs where the selection rule would not
// choose it.
//
// Lower bound of the work: 2 * results * kernel rows * kernel columns * channels of a group flops
// (taps in the padding counted), and the bytes of image, kernel and result.
#include "bench/examples.h"
#include "bench/own_kernels.h"
#include "compiler/api/files/model.h"
#include "compiler/emit/plan_from_graph.h"
#include "lang/core/diagnostics/source.h"

#include <cmath>

namespace {

using namespace tg;

/// A convolution of size x size pixels from `inputs` to `outputs` channels with "same" padding.
struct ConvolutionRow {
  const char* name;
  int64_t inputs, size, outputs, groups, kernel, stride;
};

constexpr ConvolutionRow depthwise(const char* name, int64_t channels, int64_t size, int64_t kernel,
                                   int64_t stride) {
  return {name, channels, size, channels, channels, kernel, stride};
}

constexpr ConvolutionRow kRows[] = {
    depthwise("mobilenetv2 depthwise", 32, 112, 3, 1),
    depthwise("mobilenetv2 depthwise", 96, 112, 3, 2),
    depthwise("mobilenetv2 depthwise", 144, 56, 3, 1),
    depthwise("mobilenetv2 depthwise", 144, 56, 3, 2),
    depthwise("mobilenetv2 depthwise", 192, 28, 3, 1),
    depthwise("mobilenetv2 depthwise", 192, 28, 3, 2),
    depthwise("mobilenetv2 depthwise", 384, 14, 3, 1),
    depthwise("mobilenetv2 depthwise", 576, 14, 3, 1),
    depthwise("mobilenetv2 depthwise", 576, 14, 3, 2),
    depthwise("mobilenetv2 depthwise", 960, 7, 3, 1),
    depthwise("shufflenet depthwise", 136, 28, 3, 1),
    depthwise("efficientnet depthwise", 144, 56, 5, 2),
    depthwise("efficientnet depthwise", 240, 28, 5, 1),
    depthwise("efficientnet depthwise", 672, 14, 5, 1),
    depthwise("efficientnet depthwise", 672, 14, 5, 2),
    depthwise("efficientnet depthwise", 1152, 7, 5, 1),
    depthwise("convnext depthwise", 96, 56, 7, 1),
    depthwise("convnext depthwise", 192, 28, 7, 1),
    depthwise("convnext depthwise", 384, 14, 7, 1),
    depthwise("convnext depthwise", 768, 7, 7, 1),
    depthwise("odd channels depthwise", 34, 28, 3, 1),
    depthwise("few channels depthwise", 4, 28, 3, 1),
    depthwise("large kernel depthwise", 128, 28, 13, 1),
    {"shufflenet grouped", 24, 56, 112, 4, 1, 1},
    {"shufflenet grouped", 112, 28, 112, 4, 1, 1},
    {"shufflenet grouped", 136, 28, 136, 4, 1, 1},
    {"shufflenet grouped", 272, 14, 272, 4, 1, 1},
    {"shufflenet grouped", 544, 7, 544, 4, 1, 1},
    {"small groups", 128, 28, 128, 32, 1, 1},
    {"small groups", 128, 28, 128, 16, 1, 1},
    {"small groups", 128, 28, 128, 8, 1, 1},
    {"large groups", 512, 14, 512, 2, 1, 1},
    {"strided groups", 256, 28, 256, 4, 1, 2},
    {"resnext grouped", 128, 56, 128, 32, 3, 1},
    {"resnext grouped", 256, 56, 256, 32, 3, 2},
    {"resnext grouped", 256, 28, 256, 32, 3, 1},
    {"resnext grouped", 512, 28, 512, 32, 3, 2},
    {"resnext grouped", 512, 14, 512, 32, 3, 1},
    {"resnext grouped", 1024, 14, 1024, 32, 3, 2},
    {"resnext grouped", 1024, 7, 1024, 32, 3, 1},
    {"few in a group, taps", 128, 28, 128, 64, 3, 1},
    {"few in a group, taps", 96, 28, 96, 32, 3, 1},
    {"few in a group, taps", 96, 28, 96, 16, 3, 1},
    {"odd groups, taps", 120, 28, 120, 10, 3, 1},
    {"odd groups, taps", 160, 14, 160, 8, 3, 1},
    {"odd groups, taps", 64, 28, 256, 32, 3, 1},
    {"large groups, taps", 256, 28, 256, 4, 3, 1},
    {"large groups, taps", 256, 28, 256, 2, 3, 1},
    {"grouped 5 x 5", 128, 28, 128, 16, 5, 1},
    {"grouped 5 x 5", 192, 28, 192, 2, 5, 1},
    {"mobilenetv2 dense", 32, 112, 16, 1, 1, 1},
    {"mobilenetv2 dense", 16, 112, 96, 1, 1, 1},
    {"mobilenetv2 dense", 24, 56, 144, 1, 1, 1},
    {"mobilenetv2 dense", 144, 56, 24, 1, 1, 1},
    {"mobilenetv2 dense", 192, 28, 32, 1, 1, 1},
    {"mobilenetv2 dense", 64, 14, 384, 1, 1, 1},
    {"mobilenetv2 dense", 384, 14, 64, 1, 1, 1},
    {"mobilenetv2 dense", 576, 14, 96, 1, 1, 1},
    {"mobilenetv2 dense", 160, 7, 960, 1, 1, 1},
    {"mobilenetv2 dense", 960, 7, 160, 1, 1, 1},
    {"mobilenetv2 dense", 320, 7, 1280, 1, 1, 1},
    {"resnet50 dense", 256, 56, 64, 1, 1, 1},
    {"resnet50 dense", 64, 56, 256, 1, 1, 1},
    {"resnet50 dense", 512, 28, 128, 1, 1, 1},
    {"resnet50 dense", 1024, 14, 256, 1, 1, 1},
    {"resnet50 dense", 2048, 7, 512, 1, 1, 1},
    {"resnet50 dense", 512, 7, 2048, 1, 1, 1},
    {"resnet50 dense", 256, 56, 512, 1, 1, 2},
    {"resnet50 dense", 1024, 14, 2048, 1, 1, 2},
};

/// The convolution of a row of the table or of a step of a model.
struct Convolution {
  std::string name;
  Shape image, kernel, result;
  std::vector<Value> attrs; // of conv2d
  int64_t times = 1;        // occurrences in its model

  int64_t groups() const { return image[1] / kernel[1]; }
  double flops() const {
    return 2.0 * static_cast<double>(result[0] * result[2] * result[3] * kernel[0]) *
           static_cast<double>(kernel[1] * kernel[2] * kernel[3]);
  }
  /// "3 x 224 x 224 to 64, 1 groups, 7 x 7 / 2".
  std::string sizes() const {
    return llvm::formatv("{0} x {1} x {2} to {3}, {4} groups, {5} x {6} / {7}", image[1], image[2],
                         image[3], kernel[0], groups(), kernel[2], kernel[3], attrs[0].ints[0]);
  }
};

const char* activation = "relu6";

std::vector<Value> conv2d_attrs(int64_t stride, const Value& pad, const Value& dilation) {
  return {Value::of_ints({stride, stride}), pad, dilation, Value::of_enum(activation)};
}

Plan plan_of(const Convolution& c) {
  Graph g(std::make_shared<Symbols>(), "convolution");
  const OpInfo& info = op_info(OpKind::Conv2d);
  llvm::SmallVector<ValueId> ids;
  for (size_t i = 0; i < info.attr_count; ++i) ids.push_back(g.symbols().value(c.attrs[i]));
  g.add_output("y", g.add(OpKind::Conv2d, ids,
                          {g.input("x", f32(c.image)), g.weight("w", f32(c.kernel)),
                           g.weight("b", f32({c.kernel[0]})), g.none()}));
  return plan_from_graph(g);
}

Convolution convolution_of(const ConvolutionRow& row) {
  int64_t pad = row.kernel / 2, size = (row.size + row.stride - 1) / row.stride;
  return {row.name,
          {1, row.inputs, row.size, row.size},
          {row.outputs, row.inputs / row.groups, row.kernel, row.kernel},
          {1, row.outputs, size, size},
          conv2d_attrs(row.stride, Value::of_ints({pad, pad, pad, pad}), Value::of_ints({1, 1}))};
}

/// The sums over the rows of a model.
struct Total {
  double flops = 0, theirs_us = 0, ours_us = 0, best_us = 0, chosen_us = 0;
  double their_logs = 0, our_logs = 0; // of shares of the peak
  int64_t rows = 0;
};

Result<void> compare(const Convolution& c, const KernelBenchOptions& options, double peak,
                     Total& total) {
  Plan plan = plan_of(c);
  TG_TRY(std::unique_ptr<Executable> theirs, load_native(plan, Products::Library, options.threads));
  TG_TRY(std::unique_ptr<Executable> ours, load_native(plan, Products::Tiles, options.threads));
  TG_TRY(std::unique_ptr<Executable> chosen, load_native(plan, Products::Chosen, options.threads));
  TG_TRY(Comparison times, compare_kernels(*theirs, *ours, options.seconds));
  TG_TRY(double difference, output_difference(*theirs, *ours));
  bool is_ours = kernels_of(*chosen) == kernels_of(*ours);
  llvm::outs() << llvm::formatv("| {0} | {1} | {2} | {3} | {4:e1} |\n", c.name, c.sizes(),
                                compared_cells(times, c.flops(), peak, *theirs, *ours),
                                is_ours ? "ours" : "oneDNN", difference);
  auto n = static_cast<double>(c.times);
  double first = times.first.median_us, second = times.second.median_us;
  total.flops += n * c.flops();
  total.theirs_us += n * first;
  total.ours_us += n * second;
  total.best_us += n * std::min(first, second);
  total.chosen_us += n * (is_ours ? second : first);
  total.their_logs += std::log(c.flops() / (1e-6 * first) / peak);
  total.our_logs += std::log(c.flops() / (1e-6 * second) / peak);
  ++total.rows;
  return {};
}

/// Returns the model's distinct convolutions in order.
Result<std::vector<Convolution>> convolutions_of(const std::string& path) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<LoadedModel> model = load_model(sources, path, {}, sink);
  if (!model) return error(Code::usage, "cannot read {0}", path);
  Plan plan = plan_from_graph(model->graph);
  std::vector<Convolution> found;
  for (const PlanStep& step : plan.steps) {
    if (step.op != OpKind::Conv2d) continue;
    auto shape = [&](PlanValueId id) { return plan.values[id].type.shape; };
    Convolution c = {"", shape(step.operands[0]), shape(step.operands[1]), shape(step.result),
                     conv2d_attrs(step.attrs[0].ints[0], step.attrs[1], step.attrs[2])};
    auto same = llvm::find_if(found, [&](const Convolution& one) {
      return one.image == c.image && one.kernel == c.kernel && one.result == c.result &&
             one.sizes() == c.sizes();
    });
    if (same == found.end())
      found.push_back(std::move(c));
    else
      ++same->times;
  }
  for (Convolution& c : found) c.name = llvm::formatv("{0} x{1}", model_name(path), c.times);
  return found;
}

void print_total(const Total& t, double peak) {
  auto share = [&](double us) { return 100 * t.flops / (1e-6 * us) / peak; };
  auto mean = [&](double logs) { return 100 * std::exp(logs / static_cast<double>(t.rows)); };
  llvm::outs() << llvm::formatv(
      "\n{0} convolutions, geometric mean of their shares of the peak: oneDNN {1:f1}%, ours "
      "{2:f1}%. All runs of them: oneDNN {3:f2} ms ({4:f1}%), ours {5:f2} ({6:f1}%), the faster "
      "of both each time {7:f2}, as chosen {8:f2}\n\n",
      t.rows, mean(t.their_logs), mean(t.our_logs), t.theirs_us / 1000, share(t.theirs_us),
      t.ours_us / 1000, share(t.ours_us), t.best_us / 1000, t.chosen_us / 1000);
}

constexpr llvm::StringLiteral kColumns =
    "| convolution | sizes | oneDNN, us | ours, us | times faster (95%) | oneDNN | ours | "
    "oneDNN's kernel | our kernel | chosen | difference |";

/// Returns the exit code of the program.
int print_model(const std::string& path, KernelBenchOptions options, double peak) {
  tg::Result<std::vector<Convolution>> rows = convolutions_of(path);
  if (!rows) {
    llvm::errs() << rows.error().message << "\n";
    return 1;
  }
  options.names.clear();
  Total total;
  int code = print_rows<Convolution>(options, kColumns, *rows, [&](const Convolution& c) {
    return compare(c, options, peak, total);
  });
  if (code == 0) print_total(total, peak);
  return code;
}

} // namespace

int main(int argc, char** argv) {
  KernelBenchOptions options = KernelBenchOptions::read(argc, argv, {"--relu"});
  if (options.has("--relu")) activation = "relu";
  double peak = print_machine(options.threads);
  std::vector<std::string> models;
  llvm::erase_if(options.names, [&](const std::string& name) {
    if (!llvm::StringRef(name).endswith(".tg")) return false;
    models.push_back(name);
    return true;
  });
  for (const std::string& model : models)
    if (int code = print_model(model, options, peak); code != 0) return code;
  if (!models.empty() && options.names.empty()) return 0;
  Total total;
  return print_rows<ConvolutionRow>(options, kColumns, kRows, [&](const ConvolutionRow& row) {
    return compare(convolution_of(row), options, peak, total);
  });
}
