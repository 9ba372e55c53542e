// Convolutions by kernels of our own (runtime/tile) beside oneDNN's best for them, in turns, as
// shares of the processor's peak.
//
//   convolutions_bench [--threads N] [--seconds S] [NAME ...]
//
// Each row is one convolution as a price sees it: image and result channels last, the kernel packed
// at load, on both sides, with a bias and relu6. NAME keeps the rows whose name holds it. Ours is
// made with Products::Tiles, so it runs where the rule would not choose it, too.
//
// What they must cost: 2 * results * kernel rows * kernel columns * channels of a group flops (taps
// in the padding counted), and as many bytes as image, kernel and result have.
#include "bench/own_kernels.h"
#include "compiler/emit/plan_from_graph.h"

namespace {

using namespace tg;

/// size x size pixels of `inputs` channels, `outputs` of them out, padding as for "same".
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

int64_t results(const ConvolutionRow& row) { return (row.size + row.stride - 1) / row.stride; }

double flops(const ConvolutionRow& row) {
  return 2.0 * static_cast<double>(results(row) * results(row) * row.outputs) *
         static_cast<double>(row.kernel * row.kernel * (row.inputs / row.groups));
}

Plan plan_of(const ConvolutionRow& row) {
  Graph g(std::make_shared<Symbols>(), "convolution");
  int64_t pad = row.kernel / 2;
  const OpInfo& info = op_info(OpKind::Conv2d);
  std::vector<Value> attrs = {Value::of_ints({row.stride, row.stride}),
                              Value::of_ints({pad, pad, pad, pad}), Value::of_ints({1, 1}),
                              Value::of_enum("relu6")};
  llvm::SmallVector<ValueId> ids;
  for (size_t i = 0; i < info.attr_count; ++i) ids.push_back(g.symbols().value(attrs[i]));
  g.add_output(
      "y",
      g.add(OpKind::Conv2d, ids,
            {g.input("x", f32({1, row.inputs, row.size, row.size})),
             g.weight("w", f32({row.outputs, row.inputs / row.groups, row.kernel, row.kernel})),
             g.weight("b", f32({row.outputs})), g.none()}));
  return plan_from_graph(g);
}

Result<void> compare(const ConvolutionRow& row, const KernelBenchOptions& options, double peak) {
  Plan plan = plan_of(row);
  TG_TRY(std::unique_ptr<Executable> theirs, load_native(plan, Products::Library, options.threads));
  TG_TRY(std::unique_ptr<Executable> ours, load_native(plan, Products::Tiles, options.threads));
  TG_TRY(std::unique_ptr<Executable> chosen, load_native(plan, Products::Chosen, options.threads));
  TG_TRY(Comparison times, compare_kernels(*theirs, *ours, options.seconds));
  TG_TRY(double difference, output_difference(*theirs, *ours));
  const char* choice = kernels_of(*chosen) == kernels_of(*ours) ? "ours" : "oneDNN";
  llvm::outs() << llvm::formatv(
      "| {0} | {1} x {2} x {2} to {3}, {4} groups, {5} x {5} / {6} | {7} | {8} | {9:e1} |\n",
      row.name, row.inputs, row.size, row.outputs, row.groups, row.kernel, row.stride,
      compared_cells(times, flops(row), peak, *theirs, *ours), choice, difference);
  return {};
}

} // namespace

int main(int argc, char** argv) {
  KernelBenchOptions options = KernelBenchOptions::read(argc, argv, {});
  double peak = print_machine(options.threads);
  return print_rows<ConvolutionRow>(
      options,
      "| convolution | sizes | oneDNN, us | ours, us | times faster (95%) | oneDNN | ours | "
      "oneDNN's kernel | our kernel | chosen | difference |",
      kRows, [&](const ConvolutionRow& row) { return compare(row, options, peak); });
}
