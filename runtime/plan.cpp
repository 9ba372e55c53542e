#include "runtime/plan.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace tg {

namespace {

class Verifier {
public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  std::string run() {
    if (!values() || !steps() || !uses() || !outputs() || !streams()) return what_;
    return {};
  }

private:
  template <class... Args> bool fail(const char* format, Args&&... args) {
    what_ = llvm::formatv(format, std::forward<Args>(args)...).str();
    return false;
  }

  bool values() {
    for (PlanValueId id : plan_.inputs)
      if (id >= plan_.values.size() || plan_.values[id].kind != PlanValue::Kind::Input)
        return fail("input %{0} is not of kind Input", id);
    for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
      const PlanValue& v = plan_.values[id];
      bool temporary = v.kind == PlanValue::Kind::Temporary;
      if (temporary != (v.defined_by != kNever))
        return fail("%{0} is defined by a step exactly if it is a temporary", id);
      size_t count = v.constant.size() + v.exact.size();
      if (v.kind == PlanValue::Kind::Constant && count != 1 &&
          static_cast<int64_t>(count) != v.type.elements())
        return fail("the constant %{0} has {1} values", id, count);
    }
    return true;
  }

  bool operand(PlanStepId s, PlanValueId id) {
    if (id == kNoValue) return true;
    if (id >= plan_.values.size()) return fail("step {0} reads no value", s);
    const PlanValue& v = plan_.values[id];
    if (v.kind == PlanValue::Kind::Temporary && v.defined_by >= s)
      return fail("step {0} reads %{1} before it is defined", s, id);
    if (plan_.steps[s].phase == Phase::Run) return true;
    bool at_load = v.kind == PlanValue::Kind::Temporary
                       ? plan_.steps[v.defined_by].phase == Phase::Load
                       : v.kind != PlanValue::Kind::Input;
    return at_load || fail("load step {0} reads %{1}, which only a run has", s, id);
  }

  bool steps() {
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (op_info(step.op).has(Trait::Leaf | Trait::Sugar)) return fail("step {0} is a leaf", s);
      if (s > 0 && step.phase == Phase::Load && plan_.steps[s - 1].phase == Phase::Run)
        return fail("load step {0} comes after a run step", s);
      size_t count = op_info(step.op).attr_count; // a backend's own extern operators may have more
      if (step.op == OpKind::Extern ? step.attrs.size() < count : step.attrs.size() != count)
        return fail("step {0} has {1} attributes", s, step.attrs.size());
      for (PlanValueId id : step.operands)
        if (!operand(s, id)) return false;
      if (step.result >= plan_.values.size() || plan_.values[step.result].defined_by != s)
        return fail("step {0} does not define its result", s);
      if (!in_place(s)) return false;
    }
    return true;
  }

  bool in_place(PlanStepId s) {
    const PlanStep& step = plan_.steps[s];
    if (step.in_place == kNoValue) return true;
    if (!llvm::is_contained(step.operands, step.in_place))
      return fail("step {0} is in place of a value that it does not read", s);
    const PlanValue& v = plan_.values[step.in_place];
    if (v.kind != PlanValue::Kind::Temporary || v.pinned || v.last_use != s)
      return fail("step {0} is in place of %{1}, which lives on", s, step.in_place);
    return v.type == plan_.values[step.result].type ||
           fail("step {0} is in place of %{1}, which has another type", s, step.in_place);
  }

  bool uses() {
    std::vector<PlanStepId> last(plan_.values.size(), kNever);
    std::vector<bool> crosses(plan_.values.size());
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      for (PlanValueId id : plan_.steps[s].operands) {
        if (id == kNoValue) continue;
        last[id] = s;
        PlanStepId definer = plan_.values[id].defined_by;
        crosses[id] = crosses[id] || (definer != kNever && plan_.steps[s].phase == Phase::Run &&
                                      plan_.steps[definer].phase == Phase::Load);
      }
    for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
      const PlanValue& v = plan_.values[id];
      if (v.last_use != last[id]) return fail("the last use of %{0} is wrong", id);
      if ((crosses[id] || v.is_output) && !v.pinned) return fail("%{0} must be pinned", id);
    }
    return true;
  }

  bool outputs() {
    for (const PlanOutput& output : plan_.outputs)
      if (output.value >= plan_.values.size() || !plan_.values[output.value].is_output)
        return fail("output {0} names no output value", output.name);
    return true;
  }

  // Checks that the operands of each step are certain to be available:
  // computed earlier on its own stream, or on another stream whose event it waits for.
  // seen[s][t] is the number of steps of stream t that have certainly ended when s ends.
  // The same holds for overwriting: every reader of `in_place` must have ended.
  bool streams() {
    if (plan_.streams < 1) return fail("a plan needs a stream");
    std::vector<std::vector<uint32_t>> seen(plan_.steps.size()), now(plan_.streams),
        recorded(plan_.events);
    for (auto& clock : now) clock.assign(plan_.streams, 0);
    position_.assign(plan_.steps.size(), 0);
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (step.stream >= plan_.streams) return fail("step {0} is on no stream", s);
      std::vector<uint32_t>& clock = now[step.stream];
      for (uint32_t event : step.waits) {
        if (event >= plan_.events || recorded[event].empty())
          return fail("step {0} waits for event {1}, which nothing has recorded", s, event);
        for (uint32_t t = 0; t < plan_.streams; ++t)
          clock[t] = std::max(clock[t], recorded[event][t]);
      }
      if (!ordered(s, clock)) return false;
      position_[s] = ++clock[step.stream];
      for (uint32_t event : step.signals) {
        if (event >= plan_.events) return fail("step {0} records no event", s);
        recorded[event] = clock;
      }
    }
    return true;
  }

  bool happened(PlanStepId before, const std::vector<uint32_t>& clock) const {
    return clock[plan_.steps[before].stream] >= position_[before];
  }

  bool ordered(PlanStepId s, const std::vector<uint32_t>& clock) {
    const PlanStep& step = plan_.steps[s];
    for (PlanValueId id : step.operands) {
      PlanStepId definer = id == kNoValue ? kNever : plan_.values[id].defined_by;
      if (definer != kNever && !happened(definer, clock))
        return fail("step {0} does not wait for step {1}, whose result it reads", s, definer);
    }
    if (step.in_place == kNoValue || plan_.streams == 1) return true;
    for (PlanStepId reader = 0; reader < s; ++reader)
      if (llvm::is_contained(plan_.steps[reader].operands, step.in_place) &&
          !happened(reader, clock))
        return fail("step {0} overwrites %{1} while step {2} may read it", s, step.in_place,
                    reader);
    return true;
  }

  const Plan& plan_;
  std::vector<uint32_t> position_; // position of a step on its stream, from 1
  std::string what_;
};

std::string value_text(PlanValueId id) {
  return id == kNoValue ? "none" : llvm::formatv("%{0}", id).str();
}

void dump_leaf(const Plan& plan, PlanValueId id, llvm::raw_ostream& out) {
  const PlanValue& v = plan.values[id];
  if (v.kind == PlanValue::Kind::Temporary) return;
  out << value_text(id) << " = ";
  switch (v.kind) {
  case PlanValue::Kind::Input: out << "input " << v.name; break;
  case PlanValue::Kind::Weight: out << "weight " << v.name; break;
  case PlanValue::Kind::Constant:
    out << "constant ";
    if (!v.exact.empty() && v.exact.size() <= 4)
      out << Value::of_ints(v.exact).text_form();
    else if (v.constant.size() <= 4)
      out << Value::of_floats(v.constant).text_form();
    else
      out << v.constant.size() + v.exact.size() << " values";
    break;
  case PlanValue::Kind::Temporary: break;
  }
  out << " : " << v.type.text() << '\n';
}

void dump_step(const Plan& plan, PlanStepId s, llvm::raw_ostream& out) {
  const PlanStep& step = plan.steps[s];
  const OpInfo& info = op_info(step.op);
  out << (step.phase == Phase::Load ? "load " : "run ") << value_text(step.result) << " = "
      << info.name << '(';
  for (size_t i = 0; i < step.operands.size(); ++i)
    out << (i ? ", " : "") << value_text(step.operands[i]);
  out << ')';
  for (size_t i = 0; i < step.attrs.size(); ++i)
    out << (i ? ", " : " {") << info.attrs()[i].name << " = " << step.attrs[i].text_form()
        << (i + 1 == step.attrs.size() ? "}" : "");
  out << " : " << plan.values[step.result].type.text();
  if (step.in_place != kNoValue) out << " in place of " << value_text(step.in_place);
  if (plan.streams > 1) out << " on stream " << step.stream;
  for (uint32_t event : step.waits) out << " after event " << event;
  for (uint32_t event : step.signals) out << " records event " << event;
  llvm::StringRef separator = "; frees ";
  for (PlanValueId id = 0; id < plan.values.size(); ++id) {
    const PlanValue& v = plan.values[id];
    bool dies = v.kind == PlanValue::Kind::Temporary && v.last_use == s && !v.pinned;
    if (!dies || id == step.in_place) continue;
    out << separator << value_text(id);
    separator = ", ";
  }
  out << '\n';
}

} // namespace

std::string verify(const Plan& plan) { return Verifier(plan).run(); }

std::string dump(const Plan& plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "plan " << plan.model << '\n';
  for (PlanValueId id = 0; id < plan.values.size(); ++id) dump_leaf(plan, id, out);
  for (PlanStepId s = 0; s < plan.steps.size(); ++s) dump_step(plan, s, out);
  for (const PlanOutput& output : plan.outputs)
    out << "output " << output.name << " = " << value_text(output.value) << '\n';
  return out.str();
}

} // namespace tg
