#include "runtime/cpu/lowering/kernel_choice.h"

#include "runtime/cpu/tile_schedules.h"

#include <llvm/Support/raw_ostream.h>

namespace tg::cpu {

namespace {

bool is_held(const Plan& plan, PlanValueId id) {
  const PlanValue& value = plan.values[id];
  switch (value.kind) {
  case PlanValue::Kind::Input: return false;
  case PlanValue::Kind::Weight:
  case PlanValue::Kind::Constant: return true;
  case PlanValue::Kind::Temporary: break;
  }
  return plan.steps[value.defined_by].phase == Phase::Load;
}

} // namespace

std::string operator_text(const Plan& plan, const PlanStep& step, int threads) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const OpInfo& info = op_info(step.op);
  out << info.name;
  llvm::StringRef separator = "(";
  for (PlanValueId id : step.operands) {
    out << separator;
    separator = ", ";
    if (id == kNoValue) {
      out << "none";
      continue;
    }
    out << plan.values[id].type.text() << (is_held(plan, id) ? " held" : "");
  }
  out << ")";
  for (size_t i = 0; i < step.attrs.size(); ++i) out << " " << step.attrs[i].text_form();
  out << " on " << threads;
  return text;
}

bool chooses_own_kernel(const Lowering& l, const PlanStep& step, bool by_rule) {
  if (l.products != Products::Chosen || !l.schedules) return by_rule;
  return l.schedules->uses_own_kernel(operator_text(l.plan, step, l.options.threads), by_rule);
}

} // namespace tg::cpu
