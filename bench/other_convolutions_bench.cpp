// Compares convolutions of volumes and sequences and transposed convolutions by our own kernels
// (runtime/cpu/tile) with oneDNN's best algorithm for them, interleaved, as shares of the
// processor's peak.
//
//   other_convolutions_bench [--threads N] [--seconds S] [--random] [NAME ...]
//
// With --random the rows are 120 random shapes. Each row is one convolution as the cost model times
// it: image and result channels-last, the kernel packed at load on both sides, with a bias. NAME
// keeps the rows whose name contains it. Our side uses Products::Tiles, so it also runs where the
// selection rule would not choose it.
//
// Lower bound of the work: 2 flops per tap of each result, taps in the padding counted; for a
// transposed convolution, 2 flops per tap of each pixel of x, cropped ones counted.
#include "bench/own_kernels.h"
#include "compiler/emit/plan_from_graph.h"

#include <cmath>
#include <random>

namespace {

using namespace tg;

using Numbers = std::initializer_list<int64_t>;

struct Row {
  const char* name;
  OpKind op;
  Shape image; // channels, then spatial axes
  int64_t outputs;
  Shape kernel, stride;
  llvm::SmallVector<int64_t, 6> pad; // before each axis, then after each axis
  int64_t groups = 1;
};

/// Returns a convolution with "same" padding if the kernel is odd.
Row convolution(const char* name, OpKind op, Numbers image, int64_t outputs, Numbers kernel,
                Numbers stride, int64_t groups) {
  llvm::SmallVector<int64_t, 6> pad;
  for (int side = 0; side < 2; ++side)
    for (int64_t size : kernel) pad.push_back(size / 2);
  return {name, op, image, outputs, kernel, stride, pad, groups};
}
Row volume(const char* name, Numbers image, int64_t outputs, Numbers kernel,
           Numbers stride = {1, 1, 1}, int64_t groups = 1) {
  return convolution(name, OpKind::Conv3d, image, outputs, kernel, stride, groups);
}
/// Returns a convolution of a sequence of length `size`, stored as an image of one row.
Row sequence(const char* name, int64_t inputs, int64_t size, int64_t outputs, int64_t kernel,
             int64_t stride, int64_t pad, int64_t groups = 1) {
  return {name,        OpKind::Conv2d, {inputs, 1, size}, outputs,
          {1, kernel}, {1, stride},    {0, pad, 0, pad},  groups};
}
Row transposed(const char* name, int64_t inputs, int64_t size, int64_t outputs, int64_t kernel,
               int64_t stride, int64_t pad, int64_t groups = 1) {
  return {name,
          OpKind::ConvTranspose2d,
          {inputs, size, size},
          outputs,
          {kernel, kernel},
          {stride, stride},
          {pad, pad, pad, pad},
          groups};
}
Row upsampled(const char* name, int64_t inputs, int64_t size, int64_t outputs, int64_t kernel,
              int64_t stride) {
  int64_t pad = (kernel - stride) / 2;
  return {name,        OpKind::ConvTranspose2d, {inputs, 1, size}, outputs, {1, kernel},
          {1, stride}, {0, pad, 0, pad}};
}

std::vector<Row> rows() {
  return {
      volume("c3d volume", {3, 16, 112, 112}, 64, {3, 3, 3}),
      volume("c3d volume", {64, 16, 56, 56}, 128, {3, 3, 3}),
      volume("c3d volume", {256, 8, 28, 28}, 256, {3, 3, 3}),
      volume("c3d volume", {512, 4, 14, 14}, 512, {3, 3, 3}),
      volume("c3d volume", {512, 2, 7, 7}, 512, {3, 3, 3}),
      volume("r(2+1)d volume", {3, 16, 112, 112}, 45, {1, 7, 7}, {1, 2, 2}),
      volume("r(2+1)d volume", {45, 16, 56, 56}, 64, {3, 1, 1}),
      volume("r(2+1)d volume", {64, 16, 56, 56}, 144, {1, 3, 3}),
      volume("r(2+1)d volume", {144, 16, 56, 56}, 64, {3, 1, 1}),
      volume("r(2+1)d volume", {64, 16, 56, 56}, 230, {1, 3, 3}, {1, 2, 2}),
      volume("r(2+1)d volume", {230, 16, 28, 28}, 128, {3, 1, 1}, {2, 1, 1}),
      volume("r(2+1)d volume", {64, 16, 56, 56}, 128, {1, 1, 1}, {2, 2, 2}),
      volume("r(2+1)d volume", {128, 8, 28, 28}, 288, {1, 3, 3}),
      volume("r(2+1)d volume", {288, 8, 28, 28}, 128, {3, 1, 1}),
      volume("r(2+1)d volume", {256, 4, 14, 14}, 576, {1, 3, 3}),
      volume("r(2+1)d volume", {576, 4, 14, 14}, 256, {3, 1, 1}),
      volume("r(2+1)d volume", {512, 2, 7, 7}, 1152, {1, 3, 3}),
      volume("r(2+1)d volume", {1152, 2, 7, 7}, 512, {3, 1, 1}),
      volume("3-d u-net volume", {32, 32, 64, 64}, 32, {3, 3, 3}),
      volume("3-d u-net volume", {128, 8, 16, 16}, 128, {3, 3, 3}),
      volume("x3d depthwise volume", {54, 16, 56, 56}, 54, {3, 3, 3}, {1, 1, 1}, 54),
      volume("x3d depthwise volume", {108, 16, 28, 28}, 108, {3, 3, 3}, {1, 1, 1}, 108),
      volume("x3d depthwise volume", {216, 16, 14, 14}, 216, {3, 3, 3}, {1, 2, 2}, 216),
      volume("grouped volume", {128, 8, 28, 28}, 128, {3, 3, 3}, {1, 1, 1}, 32),
      volume("pointwise volume", {54, 16, 56, 56}, 24, {1, 1, 1}),
      volume("pointwise volume", {432, 16, 7, 7}, 192, {1, 1, 1}),

      sequence("wav2vec2 sequence", 1, 16000, 512, 10, 5, 0),
      sequence("wav2vec2 sequence", 512, 3199, 512, 3, 2, 0),
      sequence("wav2vec2 sequence", 512, 799, 512, 3, 2, 0),
      sequence("wav2vec2 sequence", 512, 199, 512, 2, 2, 0),
      sequence("wav2vec2 positions sequence", 768, 49, 768, 128, 1, 64, 16),
      sequence("whisper sequence", 80, 3000, 384, 3, 1, 1),
      sequence("whisper sequence", 384, 3000, 384, 3, 2, 1),
      sequence("conformer depthwise sequence", 256, 400, 256, 31, 1, 15, 256),
      sequence("conformer depthwise sequence", 512, 1000, 512, 31, 1, 15, 512),
      sequence("tcn sequence", 64, 4096, 64, 3, 1, 1),
      sequence("hifi-gan sequence", 128, 2048, 128, 7, 1, 3),
      sequence("hifi-gan sequence", 32, 16384, 32, 11, 1, 5),
      sequence("hifi-gan sequence", 32, 16384, 1, 7, 1, 3),
      sequence("conv-tasnet depthwise sequence", 512, 3000, 512, 3, 1, 1, 512),
      sequence("conv-tasnet sequence", 128, 3000, 512, 1, 1, 0),

      transposed("dcgan transposed", 100, 1, 512, 4, 1, 0),
      transposed("dcgan transposed", 512, 4, 256, 4, 2, 1),
      transposed("dcgan transposed", 256, 8, 128, 4, 2, 1),
      transposed("dcgan transposed", 128, 16, 64, 4, 2, 1),
      transposed("dcgan transposed", 64, 32, 3, 4, 2, 1),
      transposed("u-net transposed", 1024, 14, 512, 2, 2, 0),
      transposed("u-net transposed", 512, 28, 256, 2, 2, 0),
      transposed("u-net transposed", 256, 56, 128, 2, 2, 0),
      transposed("u-net transposed", 128, 112, 64, 2, 2, 0),
      transposed("pose transposed", 256, 16, 256, 4, 2, 1),
      transposed("pose transposed", 256, 32, 256, 4, 2, 1),
      transposed("decoder transposed", 128, 28, 64, 3, 2, 1),
      transposed("decoder transposed", 64, 56, 64, 3, 1, 1),
      transposed("fcn transposed", 21, 34, 21, 4, 2, 0),
      transposed("fcn transposed", 21, 70, 21, 16, 8, 4),
      transposed("bilinear transposed", 64, 32, 64, 4, 2, 1, 64),
      transposed("grouped transposed", 64, 32, 64, 4, 2, 1, 4),
      upsampled("hifi-gan transposed", 512, 32, 256, 16, 8),
      upsampled("hifi-gan transposed", 256, 256, 128, 16, 8),
      upsampled("hifi-gan transposed", 128, 2048, 64, 4, 2),
      upsampled("hifi-gan transposed", 64, 4096, 32, 4, 2),
  };
}

/// Returns a random convolution of at most about half a GFLOP.
Row random_row(std::mt19937_64& draws) {
  auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(draws);
  };
  auto channels = [&] {
    return in(0, 2) == 0 ? in(1, 70) : in(0, 1) ? 16 * in(1, 16) : 32 * in(1, 12);
  };
  auto limit = [&](double others) { // limit on the elements of an image
    return std::max<int64_t>(1, static_cast<int64_t>(250e6 / others));
  };
  int64_t inputs = channels(), outputs = channels();
  auto each = static_cast<double>(inputs * outputs);
  switch (in(0, 2)) {
  case 0: {
    Shape kernel = {in(1, 3), in(1, 3), 0}, stride = {in(1, 2), in(1, 2), 0};
    kernel[2] = kernel[1];
    stride[2] = stride[1];
    auto side = static_cast<double>(in(1, 3) == 1 ? 4 : 1);
    double cube = std::cbrt(static_cast<double>(
                      limit(each * static_cast<double>(kernel[0] * kernel[1] * kernel[2])))) *
                  side;
    int64_t size = std::clamp<int64_t>(static_cast<int64_t>(cube), 2, 64);
    int64_t planes = std::clamp<int64_t>(static_cast<int64_t>(cube / side / side), 2, 32);
    return {
        "random volume",
        OpKind::Conv3d,
        {inputs, planes, size, size},
        outputs,
        kernel,
        stride,
        {kernel[0] / 2, kernel[1] / 2, kernel[2] / 2, kernel[0] / 2, kernel[1] / 2, kernel[2] / 2}};
  }
  case 1: {
    int64_t kernel = in(1, 11), length = limit(each * static_cast<double>(kernel));
    return sequence("random sequence", inputs, std::clamp<int64_t>(length, 16, 16384), outputs,
                    kernel, in(1, 3), kernel / 2);
  }
  default: {
    int64_t kernel = in(2, 5), stride = in(1, 4);
    double size =
        std::sqrt(static_cast<double>(limit(each * static_cast<double>(kernel * kernel))));
    return transposed("random transposed", inputs,
                      std::clamp<int64_t>(static_cast<int64_t>(size), 1, 112), outputs, kernel,
                      stride, (kernel - 1) / 2);
  }
  }
}

Shape with_batch(const Shape& image) {
  Shape all = {1};
  all.append(image.begin(), image.end());
  return all;
}

Shape kernel_of(const Row& row) {
  bool turned = row.op == OpKind::ConvTranspose2d;
  Shape w = {turned ? row.image[0] : row.outputs,
             (turned ? row.outputs : row.image[0]) / row.groups};
  w.append(row.kernel.begin(), row.kernel.end());
  return w;
}

std::vector<Value> attrs_of(const Row& row) {
  Value stride = Value::of_ints(row.stride), pad = Value::of_ints(row.pad);
  switch (row.op) {
  case OpKind::Conv2d: return {stride, pad, Value::of_ints({1, 1}), Value::of_enum("none")};
  case OpKind::Conv3d: return {stride, pad, Value::of_ints({1, 1, 1})};
  default:
    return {stride, pad, Value::of_ints({0, 0}), Value::of_ints({1, 1}), Value::of_int(row.groups)};
  }
}

Plan plan_of(const Row& row) {
  Graph g(std::make_shared<Symbols>(), "convolution");
  llvm::SmallVector<ValueId> ids;
  for (const Value& value : attrs_of(row)) ids.push_back(g.symbols().value(value));
  llvm::SmallVector<NodeId> operands = {g.input("x", f32(with_batch(row.image))),
                                        g.weight("w", f32(kernel_of(row))),
                                        g.weight("b", f32({row.outputs}))};
  if (row.op == OpKind::Conv2d) operands.push_back(g.none());
  g.add_output("y", g.add(row.op, ids, operands));
  return plan_from_graph(g);
}

double flops_of(const Row& row, const Plan& plan) {
  const Shape& y = plan.values[plan.steps.back().result].type.shape;
  const Shape& image = row.op == OpKind::ConvTranspose2d ? with_batch(row.image) : y;
  double flops = 2.0 * static_cast<double>(row.image[0] / row.groups * row.outputs);
  for (size_t axis = 2; axis < image.size(); ++axis)
    flops *= static_cast<double>(image[axis] * row.kernel[axis - 2]);
  return flops;
}

std::string sizes_of(const Row& row) {
  auto list = [](llvm::ArrayRef<int64_t> numbers) {
    std::string text;
    for (int64_t one : numbers) text += (text.empty() ? "" : " x ") + std::to_string(one);
    return text;
  };
  return llvm::formatv("{0} to {1}, {2} groups, {3} / {4}", list(row.image), row.outputs,
                       row.groups, list(row.kernel), list(row.stride));
}

Result<void> compare(const Row& row, const KernelBenchOptions& options, double peak) {
  Plan plan = plan_of(row);
  TG_TRY(std::unique_ptr<Executable> theirs, load_native(plan, Products::Library, options.threads));
  TG_TRY(std::unique_ptr<Executable> ours, load_native(plan, Products::Tiles, options.threads));
  TG_TRY(std::unique_ptr<Executable> chosen, load_native(plan, Products::Chosen, options.threads));
  TG_TRY(Comparison times, compare_kernels(*theirs, *ours, options.seconds));
  TG_TRY(double difference, output_difference(*theirs, *ours));
  llvm::outs() << llvm::formatv("| {0} | {1} | {2} | {3} | {4:e1} |\n", row.name, sizes_of(row),
                                compared_cells(times, flops_of(row, plan), peak, *theirs, *ours),
                                kernels_of(*chosen) == kernels_of(*ours) ? "ours" : "oneDNN",
                                difference);
  return {};
}

constexpr llvm::StringLiteral kColumns =
    "| convolution | sizes | oneDNN, us | ours, us | times faster (95%) | oneDNN | ours | "
    "oneDNN's kernel | our kernel | chosen | difference |";

} // namespace

int main(int argc, char** argv) {
  KernelBenchOptions options = KernelBenchOptions::read(argc, argv, {"--random"});
  double peak = print_machine(options.threads);
  std::vector<Row> all = rows();
  if (options.has("--random")) {
    constexpr size_t kRandom = 120;
    std::mt19937_64 draws(1);
    all.clear();
    while (all.size() < kRandom) all.push_back(random_row(draws));
  }
  return print_rows<Row>(options, kColumns, all,
                         [&](const Row& row) { return compare(row, options, peak); });
}
