#include "compiler/optimizer/retyped_cost.h"

#include "compiler/ir/retype.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

std::vector<GroupPrice> RetypedGroups::price(llvm::ArrayRef<const Graph*> graphs) {
  std::vector<GroupPrice> prices(graphs.size());
  std::vector<Graph> typed;
  std::vector<size_t> places;
  for (size_t i = 0; i < graphs.size(); ++i)
    if (Result<Graph> graph = retype(*graphs[i], dtype_)) {
      typed.push_back(std::move(*graph));
      places.push_back(i);
    }
  std::vector<const Graph*> asked;
  for (const Graph& graph : typed) asked.push_back(&graph);
  std::vector<GroupPrice> known = inner_.price(asked);
  for (size_t i = 0; i < known.size(); ++i) prices[places[i]] = known[i];
  return prices;
}

RetypedCost::RetypedCost(CostModel& inner, DType dtype) : inner_(inner), dtype_(dtype) {
  if (GroupPricer* groups = inner.groups()) groups_.emplace(*groups, dtype);
}

TypeId RetypedCost::type(const TensorType& from, bool wide) {
  if (from.is_none()) return symbols_.none_type();
  bool narrow = !wide && from.dtype == DType::F32;
  return symbols_.type({narrow ? dtype_ : from.dtype, from.shape});
}

/// Returns the cast of an f32 value of the source, from or to f32.
RetypedCost::Step RetypedCost::cast(const TensorType& from, bool to_wide) {
  ValueId name = symbols_.value(Value::of_enum(dtype_name(to_wide ? DType::F32 : dtype_)));
  return {OpKind::Cast, symbols_.attrs({name}), {type(from, !to_wide)}, type(from, to_wide), 0};
}

std::vector<RetypedCost::Step> RetypedCost::steps(const Symbols& from, const OpInstance& instance) {
  bool wide = stays_wide(instance.op);
  const TensorType& result = from.type(instance.result);
  Step step{instance.op, {}, {}, type(result, wide), instance.weight_operands};
  llvm::SmallVector<ValueId, 4> attrs;
  for (ValueId value : from.attrs(instance.attrs))
    attrs.push_back(symbols_.value(from.value(value)));
  if (instance.op == OpKind::Cast && result.dtype == DType::F32)
    attrs[0] = symbols_.value(Value::of_enum(dtype_name(dtype_)));
  step.attrs = symbols_.attrs(attrs);
  std::vector<Step> steps;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    const TensorType& operand = from.type(instance.operands[i]);
    step.operands.push_back(type(operand, wide));
    bool at_load = i < 32 && (instance.weight_operands >> i & 1);
    if (wide && !at_load && operand.dtype == DType::F32) steps.push_back(cast(operand, true));
  }
  if (wide && result.dtype == DType::F32) steps.push_back(cast(result, false));
  steps.push_back(std::move(step));
  return steps;
}

std::vector<RetypedCost::Step> RetypedCost::steps(const Symbols& from,
                                                  llvm::ArrayRef<OpInstance> instances) {
  std::vector<Step> all;
  for (const OpInstance& instance : instances) llvm::append_range(all, steps(from, instance));
  return all;
}

std::vector<OpInstance> RetypedCost::views_of(llvm::ArrayRef<Step> steps) {
  std::vector<OpInstance> views;
  for (const Step& step : steps) views.push_back(step.instance());
  return views;
}

double RetypedCost::price(const Symbols& from, const OpInstance& instance) {
  double sum = 0;
  for (const Step& step : steps(from, instance)) sum += inner_.price(symbols_, step.instance());
  return sum;
}

void RetypedCost::prepare(const Symbols& from, llvm::ArrayRef<OpInstance> instances) {
  std::vector<Step> all = steps(from, instances);
  inner_.prepare(symbols_, views_of(all));
}

bool RetypedCost::known(const Symbols& from, llvm::ArrayRef<OpInstance> instances) {
  std::vector<Step> all = steps(from, instances);
  return inner_.known(symbols_, views_of(all));
}

double RetypedCost::refine_prices(const Symbols& from, llvm::ArrayRef<PriceUse> uses,
                                  double graph_us, const StopToken& stop) {
  std::deque<std::vector<Step>> kept; // storage of the uses
  std::vector<PriceUse> of_steps;
  for (const PriceUse& use : uses) {
    kept.push_back(steps(from, use.instance));
    for (const Step& step : kept.back()) of_steps.push_back({step.instance(), use.weight});
  }
  return inner_.refine_prices(symbols_, of_steps, graph_us, stop);
}

CostModel& in_dtype(DType dtype, CostModel& costs, std::optional<RetypedCost>& narrow) {
  return dtype == DType::F32 ? costs : narrow.emplace(costs, dtype);
}

} // namespace tg
