// Lowers resize in the operand's layout, for any order of its axes:
// one pass for two adjacent axes, and further passes for the other axes.
// Floats are weighted by resize/resize.h. Elements of other dtypes, which are only selected,
// are copied.
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/resize/resize.h"

#include <algorithm>
#include <cstring>

namespace tg::cpu {

namespace {

/// Limit of a row: vectors of indices have 32 bits.
constexpr int64_t kLongestRow = INT32_MAX / 2;

/// One or two axes in memory: their taps, and the sizes around them.
struct PassTaps {
  ResizeShape shape;
  AxisTaps rows, columns;
};

/// Each result is an element of x: copies elements of any dtype.
class SelectPass {
public:
  SelectPass(PassTaps taps, int64_t element_bytes)
      : taps_(std::move(taps)), bytes_(taps_.shape.inner * element_bytes),
        in_row_(taps_.shape.width * bytes_), out_row_(taps_.columns.results() * bytes_) {}

  int64_t result_bytes() const { return taps_.shape.outer * taps_.rows.results() * out_row_; }

  void run(const Threads& threads, const std::byte* x, std::byte* y) const {
    int64_t height = taps_.rows.results();
    parallel_for(threads, taps_.shape.outer * height, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        auto i = static_cast<size_t>(r % height);
        std::byte* to = y + r * out_row_;
        const std::vector<int64_t>& places = taps_.rows.places;
        if (r > begin && i > 0 && taps_.rows.count(r % height) == 1 && places[i] == places[i - 1])
          std::memcpy(to, to - out_row_, static_cast<size_t>(out_row_));
        else
          row(to, x + (r / height * taps_.shape.height + places[i]) * in_row_);
      }
    });
  }

private:
  void row(std::byte* to, const std::byte* from) const {
    switch (bytes_) {
    case 1: return elements<uint8_t>(to, from);
    case 2: return elements<uint16_t>(to, from);
    case 4: return elements<uint32_t>(to, from);
    case 8: return elements<uint64_t>(to, from);
    default:
      for (int64_t place : taps_.columns.places) {
        std::memcpy(to, from + place * bytes_, static_cast<size_t>(bytes_));
        to += bytes_;
      }
    }
  }
  template <class E> void elements(std::byte* to, const std::byte* from) const {
    for (int64_t place : taps_.columns.places) {
      std::memcpy(to, from + place * static_cast<int64_t>(sizeof(E)), sizeof(E));
      to += sizeof(E);
    }
  }

  PassTaps taps_;
  int64_t bytes_, in_row_, out_row_;
};

/// An axis that changes size; with `pair`, also the previous axis.
struct AxisGroup {
  size_t last;
  bool pair;
};

/// Returns the axes that change size, shrinking ones first.
std::vector<AxisGroup> groups_of(const Resize& resize) {
  std::vector<AxisGroup> groups;
  auto changes = [&](size_t i) { return !resize.axes[i].is_kept(); };
  for (size_t end = resize.axes.size(); end > 0; --end) {
    if (!changes(end - 1)) continue;
    bool pair = end > 1 && changes(end - 2);
    groups.push_back({end - 1, pair});
    if (pair) --end;
  }
  auto growth = [&](const AxisGroup& group) {
    double growth = 1;
    for (size_t i = group.last - (group.pair ? 1 : 0); i <= group.last; ++i)
      growth *= static_cast<double>(resize.axes[i].out) / static_cast<double>(resize.axes[i].in);
    return growth;
  };
  llvm::stable_sort(groups,
                    [&](const AxisGroup& a, const AxisGroup& b) { return growth(a) < growth(b); });
  return groups;
}

AxisTaps taps_of_kept(int64_t size) {
  ResampledAxis kept;
  kept.in = kept.out = size;
  return axis_taps({}, kept);
}

/// A single axis with other axes after it is an axis of rows, which are summed whole.
PassTaps pass_of(const Resize& resize, const AxisGroup& group, llvm::ArrayRef<int64_t> sizes) {
  auto product = [](llvm::ArrayRef<int64_t> some) {
    int64_t count = 1;
    for (int64_t size : some) count *= size;
    return count;
  };
  size_t first = group.last - (group.pair ? 1 : 0);
  int64_t outer = product(sizes.take_front(first)),
          inner = product(sizes.drop_front(group.last + 1));
  AxisTaps last = axis_taps(resize.how, resize.axes[group.last]);
  if (group.pair)
    return {{outer, sizes[first], sizes[group.last], inner},
            axis_taps(resize.how, resize.axes[first]),
            std::move(last)};
  if (inner == 1) return {{outer, 1, sizes[first], 1}, taps_of_kept(1), std::move(last)};
  return {{outer, sizes[first], inner, 1}, std::move(last), taps_of_kept(inner)};
}

/// Returns the passes, each on the sizes that result from the previous ones.
std::vector<PassTaps> passes_of(const Resize& resize) {
  Shape sizes;
  for (const ResampledAxis& axis : resize.axes) sizes.push_back(axis.in);
  std::vector<PassTaps> passes;
  for (const AxisGroup& group : groups_of(resize)) {
    passes.push_back(pass_of(resize, group, sizes));
    for (size_t i = group.last - (group.pair ? 1 : 0); i <= group.last; ++i)
      sizes[i] = resize.axes[i].out;
  }
  return passes;
}

class ResizeKernel final : public Kernel {
public:
  ResizeKernel(std::vector<PassTaps> passes, Place src, Place dst, const Threads& threads)
      : src_(std::move(src)), dst_(std::move(dst)), threads_(threads) {
    int64_t each = dtype_size(src_.dtype);
    for (PassTaps& pass : passes) {
      if (src_.dtype == DType::F32)
        weighed_.emplace_back(resize_table(), pass.shape, std::move(pass.rows),
                              std::move(pass.columns));
      else
        selected_.emplace_back(std::move(pass), each);
      between_ =
          std::max(between_, align_up(src_.dtype == DType::F32 ? weighed_.back().results() * each
                                                               : selected_.back().result_bytes()));
    }
    if (count() == 1) between_ = 0;
    for (const ResizePass& pass : weighed_)
      pass_bytes_ = std::max(pass_bytes_, pass.scratch_bytes(threads));
  }

  int64_t scratch_bytes() const { return 2 * between_ + pass_bytes_; }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(src_);
    to_ = addresses.bytes(dst_);
    scratch_ = addresses.scratch;
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    const std::byte* from = from_;
    for (size_t i = 0; i < count(); ++i) {
      std::byte* to = i + 1 == count() ? to_ : scratch_ + static_cast<int64_t>(i % 2) * between_;
      if (weighed_.empty())
        selected_[i].run(threads_, from, to);
      else
        weighed_[i].run(threads_, reinterpret_cast<const float*>(from),
                        reinterpret_cast<float*>(to), scratch_ + 2 * between_);
      from = to;
    }
    return dnnl_success;
  }

private:
  size_t count() const { return weighed_.size() + selected_.size(); }

  Place src_, dst_;
  Threads threads_;
  std::vector<ResizePass> weighed_;
  std::vector<SelectPass> selected_;
  int64_t between_ = 0, pass_bytes_ = 0;
  const std::byte* from_ = nullptr;
  std::byte *to_ = nullptr, *scratch_ = nullptr;
};

/// Returns the resize with its axes in this order; it has one for each axis of the operand.
Resize in_order(const Resize& resize, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<int64_t> order) {
  Resize turned = resize;
  turned.first_axis = 0;
  turned.axes.clear();
  for (int64_t axis : order) {
    auto at = static_cast<size_t>(axis);
    ResampledAxis kept;
    kept.in = kept.out = shape[at];
    turned.axes.push_back(at < resize.first_axis ? kept : resize.axes[at - resize.first_axis]);
  }
  return turned;
}

} // namespace

bool moves_elements(const PlanStep& resize) { return attr(resize, "mode").text == "nearest"; }

Result<void> lower_resize(Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x");
  llvm::SmallVector<const Value*, ResizeSlot::Count> attrs;
  for (const Value& value : step.attrs) attrs.push_back(&value);
  Place src = l.place(x);
  if (!is_dense(src)) {
    TG_TRY(src, l.operand_plain(x));
  }
  llvm::SmallVector<int64_t> order = axis_order(src);
  if (is_plain(src)) llvm::sort(order);
  const Shape &before = l.type(x).shape, &after = l.type(step.result).shape;
  Resize resize = in_order(Resize(attrs, before), before, order);
  std::vector<PassTaps> passes = passes_of(resize);
  bool too_long = llvm::any_of(passes, [](const PassTaps& pass) {
    return std::max(pass.shape.width, pass.columns.results()) * pass.shape.inner > kLongestRow;
  });
  if (too_long) return lower_reference(l, step);
  if (passes.empty()) {
    l.set_view(step, src);
    return {};
  }
  Place dst = l.new_result(step, dense_strides(after, order));
  Op op = l.describe(step);
  op.threads = l.threads_for(std::max(copy_us(op.bytes), op.flops / 10e3));
  op.implementation = "resize:";
  op.implementation += src.dtype == DType::F32 ? resize_table().isa : "copy";
  op.buffers = {src.buffer, dst.buffer};
  auto kernel = std::make_unique<ResizeKernel>(std::move(passes), src, dst, op.threads);
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
