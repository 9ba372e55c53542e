#include "compiler/extract/cost/price_features.h"

#include "lang/core/fused_body.h"
#include "lang/core/shape_rules.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

double log_of(double size) { return std::log2(std::max(size, 1e-9)); }

/// Returns the product of the axes from `begin` up to `end`.
double elements(llvm::ArrayRef<int64_t> shape, size_t begin, size_t end) {
  double count = 1;
  for (size_t i = begin; i < end; ++i) count *= static_cast<double>(shape[i]);
  return count;
}

/// Distances of discrete choices; for sizes one unit is a factor of two.
constexpr double kOtherKernel = 3, kOtherForm = 2, kEpilogue = 1;
/// f64 has no library kernels and runs the loops that define the operator, so prices of f32 are of
/// no use for it.
constexpr double kDefinition = 8;

/// Appends the features of one instance, in an order that is the same for all of a family.
class Describer {
public:
  Describer(const Symbols& symbols, const OpInstance& instance, PriceFeatures& out)
      : symbols_(symbols), instance_(instance), info_(op_info(instance.op)), out_(out) {}

  void describe() {
    by_class();
    if (out_.family != PriceFamily::Copy) add(of_doubles(), kDefinition);
  }

private:
  void by_class() {
    switch (info_.price()) {
    case PriceClass::product: return product();
    case PriceClass::attention: return attention();
    case PriceClass::convolution: return convolution();
    case PriceClass::filtering: return filtering();
    case PriceClass::window: return pooling();
    case PriceClass::normalising:
    case PriceClass::reduction: return rows();
    case PriceClass::copy:
    case PriceClass::shuffle: return copy();
    case PriceClass::map: return map();
    }
  }

  const TensorType& operand(size_t i) const { return symbols_.type(instance_.operands[i]); }
  const TensorType& result() const { return symbols_.type(instance_.result); }
  bool given(size_t i) const { return i < instance_.operands.size() && !operand(i).is_none(); }
  bool is_weight(size_t i) const { return i < 32 && (instance_.weight_operands >> i & 1) != 0; }
  const Value* attr(llvm::StringRef name) const {
    int slot = info_.attr_slot(name);
    return slot < 0 ? nullptr : &symbols_.attr(instance_.attrs, static_cast<size_t>(slot));
  }
  void add(double number) { out_.x.push_back(number); }
  void add(bool choice, double steps) { add(choice ? steps : 0.0); }

  bool of_doubles() const {
    auto is_double = [&](TypeId type) { return symbols_.type(type).dtype == DType::F64; };
    return is_double(instance_.result) || llvm::any_of(instance_.operands, is_double);
  }

  /// Bias, residual, activation.
  void epilogue() {
    add(given(2), kEpilogue);
    add(given(3), kEpilogue);
    const Value* value = attr("act");
    llvm::StringRef act = value ? llvm::StringRef(value->text) : "none";
    add(act != "none", kEpilogue);
    add(act == "gelu" || act == "tanh" || act == "sigmoid", kEpilogue);
  }

  /// Returns how far rows of a result evict each other because they begin in the same few sets of
  /// the first-level cache. With AVX2, products into rows of a multiple of 4 KiB take twice as long
  /// as into others, and those into rows of an odd multiple of 2 KiB half as long again.
  static double same_sets(int64_t columns) {
    return columns % 1024 == 0 ? 1 : columns % 512 == 0 ? 0.5 : 0;
  }

  void product() {
    out_.family = PriceFamily::Product;
    const TensorType &x = operand(0), &y = operand(1);
    auto rank = static_cast<size_t>(result().rank());
    double rows = static_cast<double>(x.shape[x.shape.size() - 2]);
    add(log_of(elements(result().shape, 0, rank - 2)));
    add(log_of(rows));
    add(rows == 1, kOtherForm); // a vector times a matrix uses another kernel
    add(rows > 1 ? kOtherForm * same_sets(y.shape.back()) : 0);
    add(log_of(static_cast<double>(x.shape.back())));
    add(log_of(static_cast<double>(y.shape.back())));
    add(is_weight(0), kOtherForm);
    add(is_weight(1), kOtherForm);
    epilogue();
  }

  void attention() {
    out_.family = PriceFamily::Attention;
    const Shape &q = operand(0).shape, &keys = operand(1).shape, &y = result().shape;
    add(log_of(elements(y, 0, y.size() - 2)));
    add(log_of(static_cast<double>(y.end()[-2])));
    add(log_of(static_cast<double>(q.back())));
    add(log_of(static_cast<double>(keys.back())));
    add(log_of(static_cast<double>(y.back())));
    add(given(3), kEpilogue);
    add(given(4), kEpilogue);
  }

  /// Returns log2 of the additional work for channels that do not fill the last vector: they are
  /// padded or processed one by one.
  static double padding(double channels) {
    constexpr double kLanes = 16;
    return std::log2(kLanes * std::ceil(channels / kLanes) / channels);
  }

  /// Adds channels per group, in and out, and the number of groups. Returns true for one channel
  /// per group: depthwise convolutions have other kernels, which keep channels adjacent.
  bool channels(double of_input, double of_group, double of_result) {
    double groups = of_input / of_group;
    add(log_of(of_group));
    add(log_of(of_result / groups));
    add(log_of(groups));
    bool one_each = groups > 1 && of_group == 1;
    add(groups > 1, kOtherForm);
    add(one_each ? 0 : padding(of_group));
    add(one_each ? 0 : padding(of_result / groups));
    return one_each;
  }

  void convolution() {
    const Shape &x = operand(0).shape, &w = operand(1).shape, &y = result().shape;
    const Value* groups = attr("groups"); // otherwise they follow from the kernel
    int64_t of_group = groups ? x[1] / groups->number : w[1];
    bool one_each = channels(static_cast<double>(x[1]), static_cast<double>(of_group),
                             static_cast<double>(y[1]));
    out_.family = one_each ? PriceFamily::Depthwise : PriceFamily::Convolution;
    double window = elements(w, 2, w.size());
    add(log_of(static_cast<double>(y[0]) * elements(y, 2, y.size())));
    add(log_of(static_cast<double>(y.back())));
    add(log_of(window));
    add(window == 1, kOtherForm);
    add(1.5 * log_of(static_cast<double>(attr("stride")->ints[0])));
    add(attr("dilation")->ints[0] > 1, kOtherForm);
    add(is_weight(1), kOtherForm);
    add(library_may_filter(), kOtherKernel);
    epilogue();
  }

  /// Returns true if libraries may use minimal filtering by themselves.
  bool library_may_filter() const {
    const Shape &w = operand(1).shape, &y = result().shape;
    const Value &stride = *attr("stride"), &dilation = *attr("dilation");
    return info_.shape == ShapeRule::conv2d && w[2] == 3 && w[3] == 3 && stride.ints[0] == 1 &&
           dilation.ints[0] == 1 && w[0] % 16 == 0 && w[1] % 16 == 0 && y[2] * y[3] >= 14 * 14;
  }

  void filtering() {
    out_.family = PriceFamily::Filtering;
    const Shape &x = operand(0).shape, &u = operand(1).shape, &y = result().shape;
    channels(static_cast<double>(x[1]), static_cast<double>(u[2]), static_cast<double>(u[1]));
    add(log_of(static_cast<double>(y[0]) * elements(y, 2, 4)));
    add(log_of(static_cast<double>(y[3])));
    add(u[0] > 16, kOtherKernel); // tiles of 4 x 4 or of 2 x 2 results
    add(is_weight(1), kOtherForm);
    epilogue();
  }

  void pooling() {
    out_.family = PriceFamily::Window;
    const Shape& y = result().shape;
    add(log_of(static_cast<double>(y[0] * y[1])));
    add(log_of(elements(y, 2, 4)));
    add(log_of(elements(attr("kernel")->ints, 0, 2)));
    add(1.5 * log_of(static_cast<double>(attr("stride")->ints[0])));
  }

  /// Returns the first and the last of the axes along which the operator works.
  std::pair<size_t, size_t> worked() const {
    auto rank = static_cast<size_t>(operand(0).rank());
    if (const Value* axis = attr("axis")) {
      auto one = static_cast<size_t>(axis->number);
      return {one, one};
    }
    const Value* axes = attr("axes");
    if (!axes || axes->ints.empty()) return {rank - 1, rank - 1};
    auto [low, high] = std::minmax_element(axes->ints.begin(), axes->ints.end());
    return {static_cast<size_t>(*low), static_cast<size_t>(*high)};
  }

  void rows() {
    out_.family = PriceFamily::Rows;
    const Shape& x = operand(0).shape;
    if (x.empty()) {
      for (int i = 0; i < 5; ++i) add(0.0);
      return;
    }
    auto [first, last] = worked();
    add(log_of(elements(x, 0, first)));
    add(log_of(elements(x, first, last + 1)));
    add(log_of(elements(x, last + 1, x.size())));
    add(last + 1 == x.size(), kOtherForm);
    // Channels of images are adjacent in memory, and are summed in vectors if they fill them.
    bool over_pixels = x.size() == 4 && first == 2 && last == 3;
    add(over_pixels && padding(static_cast<double>(x[1])) > 0, kOtherForm);
  }

  void map() {
    out_.family = PriceFamily::Map;
    double cheap = 0, dear = 0;
    auto count = [&](OpKind op) { // a formula counts as often as it has flops
      double flops = op_info(op).flops;
      (is_expensive(op) ? dear : cheap) +=
          std::max(1.0, is_expensive(op) ? flops / kTranscendentalFlops : flops);
    };
    std::optional<FusedBody> body;
    if (instance_.op == OpKind::FusedMap) body = parse_fused_body(attr("body")->text);
    if (body) {
      for (const FusedInstr& instr : body->code)
        if (!instr.is_operand) count(instr.op);
    } else {
      count(instance_.op);
    }
    double full = 0, other = 0;
    for (size_t i = 0; i < instance_.operands.size(); ++i)
      if (given(i)) (operand(i).elements() >= result().elements() ? full : other) += 1;
    add(log_of(static_cast<double>(result().elements())));
    add(full);
    add(other / 2);
    add(log_of(1 + cheap));
    add(1.5 * log_of(1 + dear));
    add(!is_float(result().dtype), kOtherForm);
  }

  static bool is_expensive(OpKind op) {
    const OpInfo& info = op_info(op);
    return info.work == Work::transcendental || op == OpKind::Div || op == OpKind::Sqrt;
  }

  /// Returns the number of elements that are adjacent both before and after, per run.
  double run() const {
    const Shape &x = operand(0).shape, &y = result().shape;
    if (const Value* perm = attr("perm")) {
      size_t end = y.size();
      while (end > 0 && perm->ints[end - 1] == static_cast<int64_t>(end - 1)) --end;
      return elements(y, end, y.size());
    }
    if (const Value* axis = attr("axis")) {
      auto from = static_cast<size_t>(axis->number);
      return elements(x, std::min(from + (info_.index_operand() >= 0 ? 1 : 0), x.size()), x.size());
    }
    return y.empty() ? 1 : static_cast<double>(y.back());
  }

  void copy() {
    out_.family = PriceFamily::Copy;
    double size = static_cast<double>(result().elements()), side_by_side = run();
    add(log_of(size));
    add(log_of(side_by_side));
    add(log_of(size / side_by_side) / 2);
    add(size <= side_by_side, kOtherForm); // whole tensors, perhaps in place
    add(static_cast<double>(instance_.operands.size()) / 2);
    add(instance_.weight_operands != 0, kOtherForm);
  }

  const Symbols& symbols_;
  const OpInstance& instance_;
  const OpInfo& info_;
  PriceFeatures& out_;
};

} // namespace

PriceFeatures price_features(AnalyticCost& roofline, const Symbols& symbols,
                             const OpInstance& instance, double washed_mib) {
  PriceFeatures out;
  out.op = instance.op;
  out.roofline_us = roofline.price(symbols, instance);
  Describer(symbols, instance, out).describe();
  OpWork work = op_work(symbols, instance.op, instance.attrs, instance.operands, instance.result);
  double weights = 0;
  for (size_t i = 0; i < instance.operands.size() && i < 32; ++i)
    if (instance.weight_operands >> i & 1)
      weights += static_cast<double>(symbols.type(instance.operands[i]).bytes());
  // The level of cache behind the operator; half steps, since the features above cover most of it.
  out.x.push_back(log_of(work.bytes + weights) / 2);
  out.x.push_back(log_of(work.flops + 1) / 2);
  out.x.push_back(log_of(washed_mib + 1) / 2);
  return out;
}

} // namespace tg
