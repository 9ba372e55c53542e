#include "runtime/cuda/codegen/fusion.h"

#include "runtime/cuda/codegen/layout.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <algorithm>

namespace tg::cuda {

namespace {

/// The maximum number of times that a fused reader may recompute an element,
/// relative to an unfused kernel. Arithmetic is hidden behind memory accesses;
/// function calls are not.
constexpr double kMostRecomputed = 4, kMostRecomputedFunctions = 2;

/// Limit for merged maps; each result is a parameter.
constexpr size_t kMostMergedResults = 8;

bool is_move(OpKind op) { return op_info(op).has(Trait::View | Trait::Strided); }

/// Returns true if a kernel over `domain` elements may compute an operator's `elements` this many
/// times. Moves are free inside a kernel, and a pointwise operator may run once for each element
/// of a domain that is traversed anyway (such as a gate that is broadcast over an image).
bool worth_recomputing(OpKind op, double times, double elements, double domain) {
  const OpInfo& info = op_info(op);
  if (info.has(Trait::Layout | Trait::View)) return true;
  bool functions =
      info.work == Work::transcendental || info.work == Work::fused || !info.has(Trait::Pointwise);
  double most = elements * (functions ? kMostRecomputedFunctions : kMostRecomputed);
  return times <= (info.has(Trait::Pointwise | Trait::Fused) ? std::max(most, domain) : most);
}

bool sums_products(OpKind op) { return op == OpKind::Matmul || op == OpKind::Conv2d; }

/// Returns true if the sums of products in a group can share a kernel. Two such sums in one kernel
/// would be plain loops. Only products of few rows may be combined: they are plain loops or share
/// their rows among threads anyway, and read their matrices in one pass.
bool mix(const Plan& plan, llvm::ArrayRef<PlanStepId> steps) {
  int sums = 0, of_few_rows = 0;
  for (PlanStepId s : steps) {
    sums += sums_products(plan.steps[s].op);
    of_few_rows += is_product_of_few_rows(plan, plan.steps[s]);
  }
  return sums < 2 || sums == of_few_rows;
}

class Fuser {
public:
  Fuser(const Plan& plan, const StridesOf& strides, const IsLibrary& library)
      : plan_(plan), strides_(strides), library_(library), homes_(plan.steps.size()) {}

  Result<std::vector<Unit>> run() {
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (step.phase == Phase::Run && !library_(step) && !can_generate(step.op))
        return error(Code::no_kernel, "`{0}` has no kernel on cuda", op_info(step.op).name);
    }
    find_readers();
    for (PlanStepId s = static_cast<PlanStepId>(plan_.steps.size()); s-- > 0;)
      if (plan_.steps[s].phase == Phase::Run) place(s);
    for (const PlanStep& step : plan_.steps)
      if (step.phase == Phase::Run) merge(groups_making(step.operands));
    return in_order();
  }

private:
  void find_readers() {
    readers_.resize(plan_.values.size());
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      for (PlanValueId operand : plan_.steps[s].operands)
        if (operand != kNoValue && plan_.steps[s].phase == Phase::Run)
          readers_[operand].push_back(s);
  }

  /// Returns the groups that read this value, in order.
  std::vector<size_t> reading_groups(PlanValueId value) const {
    std::set<size_t> groups;
    for (PlanStepId reader : readers_[value])
      groups.insert(homes_[reader].begin(), homes_[reader].end());
    return {groups.begin(), groups.end()};
  }

  void place(PlanStepId s) {
    const PlanStep& step = plan_.steps[s];
    merge(reading_groups(step.result));
    if (!library_(step) && (join_all(s) || join_one(s))) return;
    homes_[s] = {groups_.size()};
    groups_.push_back({{s}, {step.result}});
  }

  /// Moves the step into every group that reads it.
  bool join_all(PlanStepId s) {
    PlanValueId value = plan_.steps[s].result;
    std::vector<size_t> groups = reading_groups(value);
    bool several = groups.size() > 1 && !is_move(plan_.steps[s].op);
    if (groups.empty() || several || plan_.values[value].is_output) return false;
    std::vector<Group> merged;
    for (size_t g : groups) {
      merged.push_back(with(groups_[g], s));
      if (!acceptable(merged.back(), s)) return false;
    }
    for (size_t i = 0; i < groups.size(); ++i) groups_[groups[i]] = std::move(merged[i]);
    homes_[s] = groups;
    return true;
  }

  /// Moves the step into one of several groups that read it. Its value is stored for the others.
  bool join_one(PlanStepId s) {
    PlanValueId value = plan_.steps[s].result;
    for (size_t g : reading_groups(value)) {
      const TensorType& domain = plan_.values[groups_[g].results[0]].type;
      if (plan_.values[value].type.shape != domain.shape || waits_for_readers(g, value)) continue;
      Group merged = with(groups_[g], s);
      merged.results.push_back(value);
      if (!acceptable(merged, s)) continue;
      groups_[g] = std::move(merged);
      homes_[s] = {g};
      return true;
    }
    return false;
  }

  std::vector<size_t> groups_making(llvm::ArrayRef<PlanValueId> values) const {
    std::set<size_t> groups;
    for (PlanValueId id : values)
      if (id != kNoValue && plan_.values[id].defined_by != kNever) {
        const std::vector<size_t>& homes = homes_[plan_.values[id].defined_by];
        groups.insert(homes.begin(), homes.end());
      }
    return {groups.begin(), groups.end()};
  }

  /// Merges neighbours (readers of one value, or producers of one step's operands)
  /// into one launch if they traverse equal domains and do not depend on each other.
  void merge(std::vector<size_t> groups) {
    if (groups.size() < 2) return;
    llvm::erase_if(groups, [&](size_t g) { return !is_map(groups_[g]); });
    for (size_t i = 0; i < groups.size(); ++i)
      for (size_t j = i + 1; j < groups.size();)
        if (merge(groups[i], groups[j]))
          groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
        else
          ++j;
  }

  bool merge(size_t g, size_t h) {
    const Group &a = groups_[g], &b = groups_[h];
    if (a.results.size() + b.results.size() > kMostMergedResults ||
        plan_.values[a.results[0]].type != plan_.values[b.results[0]].type ||
        strides_(a.results[0]) != strides_(b.results[0]))
      return false;
    Group both = a;
    for (PlanStepId s : b.steps)
      if (!llvm::is_contained(both.steps, s)) both = with(std::move(both), s);
    both.results.insert(both.results.end(), b.results.begin(), b.results.end());
    if (both.steps.size() > kMaxGroupSteps || waits_for(g, h) || waits_for(h, g)) return false;
    Kernel scratch;
    Puller puller(plan_, both, strides_, scratch);
    Rows rows;
    std::string why;
    if (!puller.analyse(rows, why)) return false;
    for (PlanStepId s : b.steps) {
      llvm::erase_if(homes_[s], [&](size_t home) { return home == g || home == h; });
      homes_[s].push_back(g);
    }
    groups_[h] = {};
    groups_[g] = std::move(both);
    return true;
  }

  /// Returns true for a kernel whose elements are independent of each other.
  bool is_map(const Group& group) const {
    return !is_view(group) && llvm::all_of(group.steps, [&](PlanStepId s) {
      const PlanStep& step = plan_.steps[s];
      return op_info(step.op).has(Trait::Pointwise | Trait::Layout | Trait::View | Trait::Fused) &&
             !library_(step);
    });
  }

  /// Returns true if group `g` depends, directly or indirectly, on a group that is `wanted`.
  /// Groups that end before step `first` do not.
  bool needs(size_t g, PlanStepId first, llvm::function_ref<bool(size_t)> wanted) const {
    std::vector<size_t> open = {g};
    std::set<size_t> seen = {g};
    while (!open.empty()) {
      size_t group = open.back();
      open.pop_back();
      if (groups_[group].steps.back() < first) continue;
      for (size_t before : makers(groups_[group])) {
        if (wanted(before)) return true;
        if (seen.insert(before).second) open.push_back(before);
      }
    }
    return false;
  }

  bool waits_for(size_t g, size_t other) const {
    return needs(g, groups_[other].steps.front(), [=](size_t group) { return group == other; });
  }

  static Group with(Group group, PlanStepId s) {
    group.steps.insert(std::lower_bound(group.steps.begin(), group.steps.end(), s), s);
    return group;
  }

  bool acceptable(const Group& group, PlanStepId added) const {
    if (group.steps.size() > kMaxGroupSteps) return false;
    if (llvm::any_of(group.steps, [&](PlanStepId s) { return library_(plan_.steps[s]); }))
      return false;
    if (!mix(plan_, group.steps)) return false;
    Kernel scratch;
    Puller puller(plan_, group, strides_, scratch);
    Rows rows;
    std::string why;
    if (!puller.analyse(rows, why)) return false;
    PlanValueId value = plan_.steps[added].result;
    auto elements = [&](PlanValueId id) {
      return static_cast<double>(plan_.values[id].type.elements());
    };
    return worth_recomputing(plan_.steps[added].op, puller.evaluations(value), elements(value),
                             elements(group.results[0]));
  }

  /// Returns true if group `g` depends, through other groups, on a reader of `value`:
  /// joining would make a cycle.
  bool waits_for_readers(size_t g, PlanValueId value) const {
    return needs(g, plan_.values[value].defined_by, [&](size_t group) {
      return llvm::any_of(groups_[group].steps, [&](PlanStepId s) {
        return llvm::is_contained(plan_.steps[s].operands, value);
      });
    });
  }

  /// Returns the groups that produce the operands of this one.
  std::vector<size_t> makers(const Group& group) const {
    std::vector<size_t> found;
    for (PlanValueId operand : operands_of(plan_, group)) {
      PlanStepId s = plan_.values[operand].defined_by;
      if (s == kNever || plan_.steps[s].phase == Phase::Load) continue;
      for (size_t home : homes_[s])
        if (llvm::is_contained(groups_[home].results, operand)) found.push_back(home);
    }
    return found;
  }

  bool is_view(const Group& group) const {
    const PlanStep& step = plan_.steps[group.steps[0]];
    if (group.steps.size() > 1 || !op_info(step.op).has(Trait::View)) return false;
    PlanValueId from = step.operands[0];
    return is_row_major(plan_.values[from].type.shape, strides_(from)) &&
           is_row_major(plan_.values[step.result].type.shape, strides_(step.result));
  }

  Unit unit(const Group& group) const {
    if (library_(plan_.steps[group.steps[0]])) return {Unit::Kind::Library, group};
    return {is_view(group) ? Unit::Kind::View : Unit::Kind::Generated, group};
  }

  /// Orders units depth-first by their operands; independent groups keep the plan's order.
  Result<std::vector<Unit>> in_order() const {
    std::vector<size_t> order;
    for (size_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].steps.empty()) order.push_back(g); // otherwise it was merged
    llvm::sort(order, [&](size_t a, size_t b) {
      return groups_[a].steps.back() < groups_[b].steps.back();
    });
    std::vector<Unit> units;
    enum class State : uint8_t { New, Opened, Done };
    std::vector<State> state(groups_.size(), State::New);
    for (size_t first : order) {
      std::vector<size_t> open = {first};
      while (!open.empty()) {
        size_t g = open.back();
        if (state[g] == State::New) {
          state[g] = State::Opened;
          for (size_t before : makers(groups_[g]))
            if (state[before] == State::New) open.push_back(before);
          continue;
        }
        open.pop_back();
        if (state[g] == State::Opened) units.push_back(unit(groups_[g]));
        state[g] = State::Done;
      }
    }
    return units;
  }

  const Plan& plan_;
  const StridesOf& strides_;
  const IsLibrary& library_;
  std::vector<std::vector<PlanStepId>> readers_; // of each value, in order
  std::vector<std::vector<size_t>> homes_;       // the groups of each step
  std::vector<Group> groups_;
};

} // namespace

std::vector<PlanValueId> operands_of(const Plan& plan, const Group& group) {
  std::vector<PlanValueId> found;
  std::set<PlanValueId> made, seen;
  for (PlanStepId s : group.steps) made.insert(plan.steps[s].result);
  for (PlanStepId s : group.steps)
    for (PlanValueId operand : plan.steps[s].operands)
      if (operand != kNoValue && !made.count(operand) && seen.insert(operand).second)
        found.push_back(operand);
  return found;
}

Result<std::vector<Unit>> fuse(const Plan& plan, const StridesOf& strides,
                               const IsLibrary& library) {
  return Fuser(plan, strides, library).run();
}

} // namespace tg::cuda
