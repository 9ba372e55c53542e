#include "compiler/driver/analytic_groups.h"

#ifdef TG_HAVE_CUDA
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/grouping.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#endif

namespace tg {

#ifdef TG_HAVE_CUDA

namespace {

class AnalyticGroups final : public GroupPricer {
public:
  explicit AnalyticGroups(const AnalyticCost& costs) : costs_(costs) {}

  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<GroupPrice> prices;
    for (const Graph* graph : graphs) {
      Result<cuda::GroupedPlan> grouped = cuda::group_plan(plan_from_graph(*graph));
      prices.push_back(grouped ? price(*grouped) : GroupPrice());
    }
    return prices;
  }

private:
  GroupPrice price(const cuda::GroupedPlan& grouped) {
    GroupPrice price{0, 0};
    for (const cuda::Unit& unit : grouped.units) {
      if (unit.kind == cuda::Unit::Kind::View) continue;
      ++price.groups;
      price.microseconds += costs_.together(roofline(grouped, unit));
    }
    return price;
  }

  Roofline roofline(const cuda::GroupedPlan& grouped, const cuda::Unit& unit) {
    Roofline work;
    for (PlanStepId s : unit.group.steps) {
      bool as_before = unit.kind == cuda::Unit::Kind::Library;
      const Plan& plan = as_before ? grouped.before : grouped.plan;
      const PlanStep& step = plan.steps[as_before ? grouped.origin[s] : s];
      Roofline own = roofline(plan, step);
      work.compute_us += own.compute_us;
      if (!op_info(step.op).has(Trait::View))
        work.byte_share = std::min(work.byte_share, own.byte_share);
    }
    work.bytes = traffic(grouped.plan, unit.group);
    return work;
  }

  Roofline roofline(const Plan& plan, const PlanStep& step) {
    auto type = [&](PlanValueId id) {
      return id == kNoValue ? symbols_.none_type() : symbols_.type(plan.values[id].type);
    };
    llvm::SmallVector<TypeId, 5> operands;
    for (PlanValueId id : step.operands) operands.push_back(type(id));
    llvm::SmallVector<ValueId, 4> attrs;
    for (const Value& value : step.attrs) attrs.push_back(symbols_.value(value));
    OpInstance instance{step.op, symbols_.attrs(attrs), operands, type(step.result), 0};
    return costs_.roofline(symbols_, instance);
  }

  /// Bytes of the results, and of what they need of values from outside: of a slice or a gather the
  /// piece, through views what is needed of the view (op_work, over several operators).
  static double traffic(const Plan& plan, const cuda::Group& group) {
    auto bytes = [&](PlanValueId id) { return static_cast<double>(plan.values[id].type.bytes()); };
    double total = 0;
    llvm::DenseMap<PlanValueId, double> needed;
    for (PlanValueId result : group.results) total += needed[result] = bytes(result);
    for (PlanStepId s : llvm::reverse(group.steps)) {
      const PlanStep& step = plan.steps[s];
      bool piece = step.op == OpKind::Slice || step.op == OpKind::Gather;
      bool part = piece || op_info(step.op).has(Trait::View);
      double of_result = needed.lookup(step.result);
      for (PlanValueId id : step.operands) {
        if (id == kNoValue) continue;
        double& so_far = needed[id];
        so_far = std::min(bytes(id), so_far + (part ? of_result : bytes(id)));
      }
    }
    for (PlanValueId operand : cuda::operands_of(plan, group)) total += needed.lookup(operand);
    return total;
  }

  const AnalyticCost& costs_;
  Symbols symbols_;
};

} // namespace

std::unique_ptr<GroupPricer> make_analytic_groups(const AnalyticCost& costs) {
  return std::make_unique<AnalyticGroups>(costs);
}

#else

std::unique_ptr<GroupPricer> make_analytic_groups(const AnalyticCost&) { return nullptr; }

#endif

} // namespace tg
