#include "runtime/cpu/lowering/slices.h"

#include "runtime/arena.h"
#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace tg::cpu {

namespace {

class Slices final : public Kernel {
public:
  explicit Slices(const Threads& threads) : threads_(threads) {}

  Result<void> add(Slice ops, int64_t scratch, dnnl_engine_t engine) {
    One& one = slices_.emplace_back();
    one.scratch = scratch;
    TG_TRY(one.stream, make_stream(engine));
    for (Op& op : ops)
      if (op.kernel) one.kernels.push_back(std::move(op.kernel));
    return {};
  }

  Result<void> bind(const Addresses& addresses) override {
    for (One& one : slices_) {
      Addresses own = addresses;
      own.scratch += one.scratch;
      for (auto& kernel : one.kernels) TG_CHECK(kernel->bind(own));
    }
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    std::atomic<dnnl_status_t> status = dnnl_success;
    each([&](Kernel& kernel, dnnl_stream_t stream) {
      if (dnnl_status_t s = kernel.run(stream); s != dnnl_success) status = s;
    });
    return status;
  }

  bool may_lose_nan() const override {
    return llvm::any_of(slices_, [](const One& one) {
      return llvm::any_of(one.kernels, [](const auto& kernel) { return kernel->may_lose_nan(); });
    });
  }

  Result<void> run_exact(dnnl_stream_t) override {
    std::mutex mutex;
    std::optional<Diagnostic> error;
    each([&](Kernel& kernel, dnnl_stream_t stream) {
      Result<void> ran = kernel.run_exact(stream);
      if (ran) return;
      std::lock_guard lock(mutex);
      error = std::move(ran.error());
    });
    if (error) return std::move(*error);
    return {};
  }

private:
  struct One {
    std::vector<std::unique_ptr<Kernel>> kernels;
    StreamHandle stream;
    int64_t scratch = 0; // start of its own
  };

  template <class Run> void each(const Run& run) const {
    parallel_parts(threads_, static_cast<int>(slices_.size()), [&](int i) {
      OneLibraryThread one_thread;
      const One& one = slices_[static_cast<size_t>(i)];
      for (const auto& kernel : one.kernels) run(*kernel, one.stream.get());
    });
  }

  std::vector<One> slices_;
  Threads threads_;
};

/// Returns the windows of results [begin, end) along the first image axis;
/// nullopt if one is entirely in the padding.
std::optional<WindowSlice> rows_of(const Geometry& g, const Place& src, const Place& dst,
                                   int64_t begin, int64_t end) {
  int64_t reach = (g.kernel[0] - 1) * (g.dilates[0] + 1) + 1;
  int64_t first = begin * g.strides[0] - g.before[0];
  int64_t last = (end - 1) * g.strides[0] - g.before[0] + reach;
  int64_t inside = std::max<int64_t>(first, 0), inside_end = std::min(last, src.shape[2]);
  if (inside >= inside_end) return std::nullopt;
  WindowSlice one{g, slice(src, 2, inside, inside_end), slice(dst, 2, begin, end)};
  one.geometry.before[0] = inside - first;
  one.geometry.after[0] = last - inside_end;
  return one;
}

} // namespace

Result<void> set_slices(Op& op, std::vector<Slice> slices, dnnl_engine_t engine) {
  auto kernel = std::make_unique<Slices>(op.threads);
  op.scratch_bytes = 0;
  for (Slice& ops : slices) {
    int64_t scratch = 0;
    for (const Op& one : ops) {
      scratch = std::max(scratch, one.scratch_bytes);
      for (BufferId buffer : one.buffers)
        if (!llvm::is_contained(op.buffers, buffer)) op.buffers.push_back(buffer);
      if (one.step == op.step) op.implementation = one.implementation;
    }
    TG_CHECK(kernel->add(std::move(ops), op.scratch_bytes, engine));
    op.scratch_bytes += align_up(scratch);
  }
  op.kernel = std::move(kernel);
  return {};
}

Result<void> add_sliced(Lowering& l, const PlanStep& step, const Threads& threads, int count,
                        llvm::function_ref<Result<void>(int)> lower) {
  if (count <= 1) return lower(0);
  if (step.phase == Phase::Load) { // packing, which slices share, belongs to the same program
    for (int i = 0; i < count; ++i) TG_CHECK(lower(i));
    return {};
  }
  std::vector<Slice> slices;
  std::vector<Op>& ops = l.run_program.ops;
  size_t before = ops.size();
  l.slicing = true;
  for (int i = 0; i < count; ++i) {
    Result<void> lowered = lower(i);
    auto first = ops.begin() + static_cast<ptrdiff_t>(before);
    slices.emplace_back(std::move_iterator(first), std::move_iterator(ops.end()));
    ops.erase(first, ops.end());
    if (!lowered) return lowered;
  }
  l.slicing = false;
  Op op = l.describe(step);
  op.threads = threads;
  TG_CHECK(set_slices(op, std::move(slices), l.engine));
  l.add_op(step.phase, std::move(op));
  return {};
}

std::vector<WindowSlice> cut_windows(const Geometry& g, const Place& src, const Place& dst,
                                     int parts, int64_t unit) {
  std::vector<WindowSlice> slices;
  int64_t images = dst.shape[0], units = (dst.shape[2] + unit - 1) / unit;
  int64_t count = std::min<int64_t>(parts, images > 1 ? images : units);
  for (int64_t i = 0; i < count && count > 1; ++i) {
    if (images > 1) {
      int64_t begin = images * i / count, end = images * (i + 1) / count;
      slices.push_back({g, slice(src, 0, begin, end), slice(dst, 0, begin, end)});
      continue;
    }
    int64_t begin = units * i / count * unit;
    int64_t end = std::min(units * (i + 1) / count * unit, dst.shape[2]);
    std::optional<WindowSlice> one = rows_of(g, src, dst, begin, end);
    if (!one) return {{g, src, dst}};
    slices.push_back(std::move(*one));
  }
  if (slices.empty()) slices.push_back({g, src, dst});
  return slices;
}

} // namespace tg::cpu
