// The device table, the efficiencies by kind of operator, and the roofline over them. All figures
// are data; the formula is together().
#include "compiler/extract/cost/analytic.h"

#include "lang/core/semantics/winograd_transforms.h"
#include "lang/core/shape_rules.h"

#include <algorithm>

namespace tg {

namespace {

// clang-format off
constexpr DeviceProfile kProfiles[] = {
    // The first is the processor of this machine.
    // name    backend  f32 GF/s  half GF/s  GB/s   cache   MB    launch us
    {"cpu",    "cpu",     426,       426,    25,    120,   32,   0.6,
     "two AVX-512 cores: FMA loop 213 GFLOP/s a core; stream copy; step overhead of our runtime"},
    {"t4",     "cuda",  8'141,    65'130,   320,  1'000,    4,   5.0,
     "NVIDIA T4 datasheet (2019): 8.1 TFLOPS f32, 65 TFLOPS f16, 320 GB/s; launch: CUDA stream"},
    {"a100",   "cuda", 19'500,   312'000, 1'555,  4'000,   40,   4.0,
     "NVIDIA A100 40GB datasheet (2020): 19.5 TFLOPS f32, 312 TFLOPS f16, 1,555 GB/s"},
    {"h200",   "cuda", 66'900,   989'000, 4'800,  9'000,   50,   3.0,
     "NVIDIA H200 SXM datasheet (2023): 67 TFLOPS f32, 989 TFLOPS f16 dense, 4.8 TB/s"},
};

/// Reachable share of peak arithmetic and of peak bandwidth with a well-made kernel.
struct Efficiency {
  double flops, bytes;
};
constexpr Efficiency kDense     {0.75, 0.80}; // matmul, convolution
constexpr Efficiency kWindow    {0.10, 0.60}; // pooling: one vector operation per element, strided
constexpr Efficiency kPointwise {0.15, 0.85}; // no FMA, and one load per operation
constexpr Efficiency kNormalise {0.12, 0.50}; // two or three passes, the last from cache
constexpr Efficiency kReduce    {0.10, 0.70};
constexpr Efficiency kCopy      {1.00, 0.80}; // whole rows
constexpr Efficiency kShuffle   {1.00, 0.35}; // single elements
// clang-format on

Efficiency efficiency(PriceClass price) {
  switch (price) {
  case PriceClass::product:
  case PriceClass::attention:
  case PriceClass::convolution:
  case PriceClass::filtering: return kDense;
  case PriceClass::window: return kWindow;
  case PriceClass::normalising: return kNormalise;
  case PriceClass::reduction: return kReduce;
  case PriceClass::copy: return kCopy;
  case PriceClass::shuffle: return kShuffle;
  case PriceClass::map: break;
  }
  return kPointwise;
}

/// Returns the efficiency for the input channels of a group: few of them leave most of a vector or
/// matrix unit idle.
double group_efficiency(const Symbols& symbols, const OpInstance& instance) {
  constexpr double kFullGroup = 16;
  const OpInfo& info = op_info(instance.op);
  bool winograd = info.price() == PriceClass::filtering;
  if (!winograd && info.price() != PriceClass::convolution) return 1;
  int64_t channels = symbols.type(instance.operands[0])[1];
  int64_t of_group = symbols.type(instance.operands[1])[winograd ? 2 : 1];
  if (int groups = info.attr_slot("groups"); groups >= 0)
    of_group = channels / symbols.attr(instance.attrs, static_cast<size_t>(groups)).number;
  if (channels == of_group) return 1;
  return std::min(1.0, static_cast<double>(of_group) / kFullGroup);
}

/// Returns the flops of minimal filtering, each divided by the share of peak that its kind reaches.
/// A transform of a tile applies the one-dimensional transform to rows, then columns. That takes 4
/// flops for the inputs and 4 for the results of F(2, 3), 13 and 10 for those of F(4, 3) (Lavin and
/// Gray 2016, section 4).
double winograd_flops(const Symbols& symbols, const OpInstance& instance) {
  const TensorType &x = symbols.type(instance.operands[0]), &u = symbols.type(instance.operands[1]);
  const TensorType& y = symbols.type(instance.result);
  const Winograd& f = winograd_of_products(u[0]);
  auto tiles_along = [&](int64_t size) { return (size + f.results - 1) / f.results; };
  auto tiles = static_cast<double>(y[0] * tiles_along(y[2]) * tiles_along(y[3]));
  bool small = f.results == 2;
  double of_inputs = (small ? 4.0 : 13.0) * static_cast<double>(2 * f.tile);
  double of_results = (small ? 4.0 : 10.0) * static_cast<double>(f.tile + f.results);
  auto inputs = static_cast<double>(x[1]), outputs = static_cast<double>(y[1]);
  double products = 2 * static_cast<double>(u.elements()) / kDense.flops;
  return tiles * (products / group_efficiency(symbols, instance) +
                  (of_inputs * inputs + of_results * outputs) / kPointwise.flops);
}

/// Returns the flops of attention: its two products and the softmax between them, each divided by
/// the share of peak that its kind reaches.
double attention_flops(const Symbols& symbols, const OpInstance& instance) {
  const TensorType &q = symbols.type(instance.operands[0]), &y = symbols.type(instance.result);
  auto width = static_cast<double>(q.shape.back()), of_values = static_cast<double>(y.shape.back());
  double scores = static_cast<double>(y.elements()) / of_values *
                  static_cast<double>(symbols.type(instance.operands[1]).shape.back());
  return scores *
         (2 * (width + of_values) / kDense.flops + kTranscendentalFlops / kNormalise.flops);
}

/// Returns the peak for a dtype; vector units hold half as many doubles as floats.
double peak_gflops(const DeviceProfile& device, DType dtype) {
  if (is_half(dtype)) return device.half_gflops;
  return dtype == DType::F64 ? device.f32_gflops / 2 : device.f32_gflops;
}

} // namespace

llvm::ArrayRef<DeviceProfile> device_profiles() { return kProfiles; }

const DeviceProfile* find_device_profile(llvm::StringRef name) {
  if (name.empty()) return &kProfiles[0];
  for (const DeviceProfile& row : kProfiles)
    if (row.name == name) return &row;
  return nullptr;
}

bool is_view(const Symbols& symbols, const OpInstance& instance) {
  if (op_info(instance.op).has(Trait::View)) return true;
  if (instance.op != OpKind::Slice) return false;
  // Contiguous in row-major order if all axes before the sliced one have size 1.
  const TensorType& x = symbols.type(instance.operands[0]);
  int64_t axis = symbols.attr(instance.attrs, 0).number;
  return std::all_of(x.shape.begin(), x.shape.begin() + axis, [](int64_t d) { return d == 1; });
}

Roofline AnalyticCost::roofline(const Symbols& symbols, const OpInstance& instance) const {
  OpWork work = op_work(symbols, instance.op, instance.attrs, instance.operands, instance.result);
  PriceClass kind = op_info(instance.op).price();
  Efficiency share = efficiency(kind);
  double peak = peak_gflops(device_, symbols.type(instance.result).dtype);
  double flops = work.flops / share.flops;
  if (kind == PriceClass::filtering)
    flops = winograd_flops(symbols, instance);
  else if (kind == PriceClass::attention)
    flops = attention_flops(symbols, instance);
  else
    flops /= group_efficiency(symbols, instance);
  // 1 GFLOP/s is 1,000 operations a microsecond; 1 GB/s 1,000 bytes.
  return {flops / (peak * 1e3), work.bytes, share.bytes};
}

double AnalyticCost::together(const Roofline& work) const {
  double bandwidth = work.bytes <= device_.cache_mb * 1e6 ? device_.cache_gbs : device_.memory_gbs;
  double traffic = work.bytes / (bandwidth * 1e3 * work.byte_share);
  return device_.launch_us + std::max(work.compute_us, traffic);
}

double AnalyticCost::price(const Symbols& symbols, const OpInstance& instance) {
  if (op_info(instance.op).has(Trait::Leaf) || is_view(symbols, instance)) return 0;
  return together(roofline(symbols, instance));
}

Result<std::unique_ptr<CostModel>> make_analytic_cost(llvm::StringRef profile,
                                                      llvm::ArrayRef<KernelPattern> patterns) {
  const DeviceProfile* row = find_device_profile(profile);
  if (row) return std::unique_ptr<CostModel>(std::make_unique<AnalyticCost>(*row, patterns));
  std::vector<llvm::StringRef> names;
  for (const DeviceProfile& each : kProfiles) names.push_back(each.name);
  Diagnostic d = error(Code::usage, "unknown device profile `{0}`", profile);
  d.note(llvm::formatv("the profiles are {0:$[, ]}", llvm::make_range(names.begin(), names.end())));
  if (llvm::StringRef near = near_miss(profile, names); !near.empty())
    d.help = "did you mean `analytic:" + near.str() + "`?";
  return d;
}

} // namespace tg
