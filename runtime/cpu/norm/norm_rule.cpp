// Lowers sqrt(reduce_sum(x * x)), the norm of rows or of whole matrices,
// to one kernel (norm/norms.h), with or without the root. As separate steps,
// the squares would be written and read again. The kernel runs at the step of the squares,
// when x is available; the later steps then do nothing.
#include "runtime/cpu/norm/norms.h"

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/tile_schedules.h"

namespace tg::cpu {

namespace {

class NormKernel final : public Kernel {
public:
  NormKernel(Place x, Place y, const NormShape& shape, int64_t y_step, const NormSchedule& schedule,
             const Threads& threads)
      : x_(std::move(x)), y_(std::move(y)), shape_(shape), y_step_(y_step), schedule_(schedule),
        threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(x_);
    to_ = addresses.of(y_);
    scratch_ = reinterpret_cast<double*>(addresses.scratch);
    return {};
  }
  dnnl_status_t run(dnnl_stream_t) override {
    run_norms(norm_table(), shape_, schedule_, threads_, from_, to_, y_step_, scratch_);
    return dnnl_success;
  }

private:
  Place x_, y_;
  NormShape shape_;
  int64_t y_step_;
  NormSchedule schedule_;
  Threads threads_;
  const float* from_ = nullptr;
  float* to_ = nullptr;
  double* scratch_ = nullptr;
};

/// The sum over a square, and its root, if they have no other readers.
struct NormSteps {
  const PlanStep *sum = nullptr, *root = nullptr;
  const PlanStep& last() const { return root ? *root : *sum; }
};

std::optional<NormSteps> norm_steps(const Lowering& l, const PlanStep& square) {
  if (l.products == Products::Library || square.operands[0] != square.operands[1] ||
      l.type(square.result).dtype != DType::F32)
    return std::nullopt;
  NormSteps found;
  found.sum = only_reader(l, square.result);
  if (!found.sum || found.sum->op != OpKind::ReduceSum || found.sum->phase != square.phase)
    return std::nullopt;
  const PlanStep* root = only_reader(l, found.sum->result);
  if (root && root->op == OpKind::Sqrt && root->phase == square.phase) found.root = root;
  return found;
}

/// The axes of x that are summed, and the remaining axes.
struct NormAxes {
  Place summed, kept;
  NormAxes(const Place& x, llvm::ArrayRef<int64_t> axes)
      : summed{x.buffer, x.offset, {}, {}}, kept(summed) {
    for (size_t i = 0; i < x.shape.size(); ++i) {
      Place& into = llvm::is_contained(axes, static_cast<int64_t>(i)) ? summed : kept;
      into.shape.push_back(x.shape[i]);
      into.strides.push_back(x.strides[i]);
    }
  }
};

/// Returns the shape if rows are dense and evenly spaced, with results in row-major order.
std::optional<NormShape> norm_shape(const NormAxes& axes) {
  Place results = axes.kept;
  results.strides = contiguous_strides(results.shape);
  llvm::SmallVector<Loop, 4> kept = loops({&results, &axes.kept}), summed = loops({&axes.summed});
  if (kept.size() != 1 || summed.size() != 1) return std::nullopt;
  bool one = kept[0].extent == 1, dense = summed[0].extent == 1 || summed[0].strides[0] == 1;
  if (!dense || (!one && kept[0].strides[0] != 1)) return std::nullopt;
  return NormShape{kept[0].extent, summed[0].extent, one ? 0 : kept[0].strides[1]};
}

/// Returns the estimated microseconds on one thread at 60 GB/s, to choose the number of threads.
double norm_us(const NormShape& s) { return 4 * static_cast<double>(s.rows * s.length) / 60e3; }

} // namespace

Result<bool> lower_norm(Lowering& l, const PlanStep& square) {
  std::optional<NormSteps> steps = norm_steps(l, square);
  if (!steps) return false;
  const Place x = l.place(square.operands[0]);
  if (!(x.shape == l.type(square.result).shape)) return false;
  std::optional<NormShape> shape = norm_shape(NormAxes(x, attr(*steps->sum, "axes").ints));
  if (!shape || shape->rows == 0 || shape->length == 0) return false;
  shape->root = steps->root != nullptr;
  Threads threads = l.threads_for(norm_us(*shape));
  std::optional<NormSchedule> tuned;
  if (TileSchedules* schedules = schedules_of(l, square))
    tuned = schedules->find_norm(*shape, threads);
  NormSchedule schedule = tuned.value_or(default_norm_schedule(*shape));

  Shape strides = contiguous_strides(l.type(steps->last().result).shape);
  Place y = l.new_result(steps->last(), strides);
  Op op = l.describe(steps->last());
  op.name = steps->root ? "norm" : "sum of squares";
  op.implementation = std::string("norm:") + norm_table().isa + (tuned ? " tuned" : "");
  op.threads = threads;
  op.flops = 2 * static_cast<double>(shape->rows * shape->length);
  op.bytes = 4 * static_cast<double>(shape->rows * (shape->length + 1));
  op.scratch_bytes = 8 * norm_scratch_doubles(*shape, schedule);
  op.buffers = {x.buffer, y.buffer};
  op.kernel = std::make_unique<NormKernel>(x, y, *shape, 1, schedule, threads);
  l.add_op(square.phase, std::move(op));
  l.done[l.id(*steps->sum)] = true;
  if (steps->root) l.done[l.id(*steps->root)] = true;
  return true;
}

} // namespace tg::cpu
