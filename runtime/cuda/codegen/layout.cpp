#include "runtime/cuda/codegen/layout.h"

#include "runtime/cuda/cudnn/problem.h"

#include <llvm/ADT/STLExtras.h>

#include <limits>
#include <map>
#include <set>

namespace tg::cuda {

namespace {

constexpr double kNever_ = std::numeric_limits<double>::infinity();

/// Returns true if the operator can read and write any layout, element by element or by axes,
/// as a generated kernel.
bool reads_any_layout(OpKind op) {
  const OpInfo& info = op_info(op);
  switch (op) {
  case OpKind::Matmul:
  case OpKind::Reshape:
  case OpKind::Transpose:
  case OpKind::Extern:
  case OpKind::WinogradConv2d:
  case OpKind::WinogradWeight: return false;
  default: return !info.has(Trait::Leaf);
  }
}

bool is_image(const Plan& plan, PlanValueId id) {
  const PlanValue& v = plan.values[id];
  return v.type.shape.size() == 4 && is_float(v.type.dtype);
}

/// The maximum flow of a small network, by shortest augmenting paths (Edmonds and Karp).
class MinimumCut {
public:
  explicit MinimumCut(size_t nodes) : from_(nodes) {}

  /// The price is paid if `a` is on the source side and `b` is not;
  /// `back` is paid in the opposite case.
  void link(size_t a, size_t b, double price, double back) {
    if (a == b || (price <= 0 && back <= 0)) return;
    from_[a].push_back(links_.size());
    links_.push_back({b, price});
    from_[b].push_back(links_.size());
    links_.push_back({a, back});
  }

  /// Returns for each node whether it is on the source side.
  std::vector<bool> cut(size_t source, size_t sink) {
    while (augment(source, sink)) {
    }
    std::vector<size_t> by;
    std::vector<bool> side(from_.size());
    reach(source, by, side);
    return side;
  }

private:
  struct Link {
    size_t to = 0;
    double left = 0;
  };

  /// Breadth-first search over links with remaining capacity; `by` is the link that reached a node.
  void reach(size_t source, std::vector<size_t>& by, std::vector<bool>& seen) const {
    by.assign(from_.size(), SIZE_MAX);
    seen.assign(from_.size(), false);
    std::vector<size_t> queue = {source};
    seen[source] = true;
    for (size_t next = 0; next < queue.size(); ++next)
      for (size_t link : from_[queue[next]])
        if (links_[link].left > 1e-9 && !seen[links_[link].to]) {
          seen[links_[link].to] = true;
          by[links_[link].to] = link;
          queue.push_back(links_[link].to);
        }
  }

  bool augment(size_t source, size_t sink) {
    std::vector<size_t> by;
    std::vector<bool> seen;
    reach(source, by, seen);
    if (!seen[sink]) return false;
    double least = kNever_;
    for (size_t node = sink; node != source; node = links_[by[node] ^ 1].to)
      least = std::min(least, links_[by[node]].left);
    if (least == kNever_) return false; // contradictory requirements: no finite choice
    for (size_t node = sink; node != source; node = links_[by[node] ^ 1].to) {
      links_[by[node]].left -= least;
      links_[by[node] ^ 1].left += least;
    }
    return true;
  }

  std::vector<std::vector<size_t>> from_;
  std::vector<Link> links_; // each next to its opposite
};

/// The node of value v is v; source (channels last) and sink (channels first) follow.
/// A convolution has the layout of its result.
class Chooser {
public:
  Chooser(const Plan& plan, const LayoutPrices& prices)
      : plan_(plan), prices_(prices), cut_(plan.values.size() + 2), last_(plan.values.size()),
        first_(last_ + 1) {}

  std::vector<bool> run() {
    for (PlanValueId id = 0; id < plan_.values.size(); ++id)
      if (!free(id)) cut_.link(id, first_, kNever_, 0);
    for (const PlanStep& step : plan_.steps)
      if (step.phase == Phase::Run) add(step);
    for (const PlanOutput& output : plan_.outputs) read_plainly(output.value);
    std::vector<bool> side = cut_.cut(last_, first_);
    side.resize(plan_.values.size());
    return side;
  }

private:
  /// Returns true if the value may have channels last: images that a run computes,
  /// and kernels of convolutions.
  bool free(PlanValueId id) const {
    const PlanValue& v = plan_.values[id];
    if (!is_image(plan_, id) || v.kind == PlanValue::Kind::Input) return false;
    if (v.kind == PlanValue::Kind::Temporary && v.defined_by != kNever &&
        plan_.steps[v.defined_by].phase == Phase::Run)
      return reads_any_layout(plan_.steps[v.defined_by].op);
    return true;
  }
  double conversion(PlanValueId id) const { return prices_.conversion(plan_.values[id].type); }
  void read_plainly(PlanValueId id) {
    if (free(id)) cut_.link(id, first_, conversion(id), 0);
  }

  void add(const PlanStep& step) {
    if (step.op == OpKind::Conv2d && add_convolution(step)) return;
    for (PlanValueId id : step.operands) {
      if (id == kNoValue || !is_image(plan_, id)) continue;
      if (!reads_any_layout(step.op)) {
        read_plainly(id);
      } else if (free(step.result) && made_in_run(id)) {
        // A sum over an image is converted at its smaller end.
        double price = std::min(conversion(id), conversion(step.result));
        cut_.link(id, step.result, price, price);
      }
    }
  }

  bool made_in_run(PlanValueId id) const {
    const PlanValue& v = plan_.values[id];
    return v.kind == PlanValue::Kind::Input ||
           (v.kind == PlanValue::Kind::Temporary && plan_.steps[v.defined_by].phase == Phase::Run);
  }

  /// Returns false if the library supports it in neither layout: then it is a generated kernel.
  bool add_convolution(const PlanStep& step) {
    auto last = prices_.convolution(step, true), first = prices_.convolution(step, false);
    if (!last && !first) return false;
    cut_.link(last_, step.result, first.value_or(kNever_), 0); // paid if channels are first
    cut_.link(step.result, first_, last.value_or(kNever_), 0);
    for (size_t i : {size_t{0}, size_t{3}})
      if (PlanValueId id = step.operands[i]; id != kNoValue)
        cut_.link(id, step.result, conversion(id), conversion(id));
    // A kernel that is known at load is converted at load; any other kernel
    // is an image like others.
    PlanValueId kernel = step.operands[1];
    double price = made_in_run(kernel) ? conversion(kernel) : kNever_;
    cut_.link(kernel, step.result, price, price);
    return true;
  }

  const Plan& plan_;
  const LayoutPrices& prices_;
  MinimumCut cut_;
  size_t last_, first_;
};

/// Counts the connected regions of values with channels last, over the steps that join them.
int count_regions(const Plan& plan, const std::vector<bool>& last) {
  std::vector<size_t> part(plan.values.size());
  for (size_t i = 0; i < part.size(); ++i) part[i] = i;
  auto find = [&](size_t i) {
    while (part[i] != i) i = part[i] = part[part[i]];
    return i;
  };
  for (const PlanStep& step : plan.steps)
    for (PlanValueId id : step.operands)
      if (id != kNoValue && last[id] && last[step.result]) part[find(id)] = find(step.result);
  std::set<size_t> regions;
  for (const PlanStep& step : plan.steps)
    if (step.phase == Phase::Run && last[step.result]) regions.insert(find(step.result));
  return static_cast<int>(regions.size());
}

} // namespace

std::vector<bool> choose_layouts(const Plan& plan, const LayoutPrices& prices) {
  auto convolves = [](const PlanStep& s) {
    return s.op == OpKind::Conv2d && s.phase == Phase::Run;
  };
  if (llvm::none_of(plan.steps, convolves)) return std::vector<bool>(plan.values.size());
  return Chooser(plan, prices).run();
}

PlanWithLayouts assign_layouts(const Plan& plan, std::vector<bool> last) {
  PlanWithLayouts out;
  PlanEdit edit(plan);
  std::map<PlanValueId, PlanValueId> converted;
  auto in_layout = [&](PlanValueId id, bool wanted) {
    if (last[id] == wanted) return id;
    auto [it, fresh] = converted.try_emplace(id);
    if (!fresh) return it->second;
    PlanStep step;
    step.op = OpKind::Identity;
    step.operands = {id};
    it->second = step.result = edit.value(plan.values[id].type);
    last.push_back(wanted);
    edit.emit(std::move(step), kNever);
    out.conversions += !is_row_major(plan.values[id].type.shape,
                                     channels_last_strides(plan.values[id].type.shape));
    return it->second;
  };
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) {
    PlanStep step = plan.steps[s];
    bool run = step.phase == Phase::Run, wanted = last[step.result];
    for (PlanValueId& id : step.operands)
      if (run && id != kNoValue && is_image(plan, id) &&
          (step.op == OpKind::Conv2d || !reads_any_layout(step.op)))
        id = in_layout(id, step.op == OpKind::Conv2d && wanted);
    edit.emit(std::move(step), s);
  }
  for (PlanOutput& output : edit.outputs())
    if (last[output.value]) output.value = in_layout(output.value, false);
  out.edited = edit.finish();
  for (PlanValueId id : out.edited.values) out.channels_last.push_back(last[id]);
  out.regions = count_regions(out.edited.plan, out.channels_last);
  return out;
}

bool is_row_major(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  Shape plain = contiguous_strides(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && strides[axis] != plain[axis]) return false;
  return true;
}

StridesOf strides_of(const Plan& plan, const std::vector<bool>& last) {
  return [&plan, &last](PlanValueId id) {
    const Shape& shape = plan.values[id].type.shape;
    return id < last.size() && last[id] ? channels_last_strides(shape) : contiguous_strides(shape);
  };
}

} // namespace tg::cuda
