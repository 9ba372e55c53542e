#include "compiler/equiv/rule_class.h"

#include "compiler/egraph/rule_text.h"
#include "compiler/equiv/probe.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

constexpr double kRounding = 1e-9; // what reassociation may cost in float64

} // namespace

void ClassWatch::look(const Symbols& symbols, const RuleInstance& instance, const Joined& sides,
                      uint64_t seed) {
  for (Probe probe : {Probe::Plain, Probe::Positive})
    for (size_t i = 0; i < sides.a.size(); ++i) {
      auto values = evaluate(sides.graph, probe_leaves(probe, seed), {sides.a[i], sides.b[i]});
      assert(values && "probes fill every leaf");
      Numerics seen = Numerics::Exact;
      if (first_difference((*values)[0], (*values)[1], 0)) seen = Numerics::Reassociates;
      if (first_difference((*values)[0], (*values)[1], kRounding)) seen = Numerics::Risky;
      if (seen <= observed_) continue;
      observed_ = seen;
      worst_ = describe(symbols, rule_, instance);
    }
}

std::string ClassWatch::fault() const {
  if (observed_ <= rule_.numerics) return "";
  return llvm::formatv("the rule is stated `{0}`, but in float64 it is `{1}`: at {2}",
                       numerics_name(rule_.numerics), numerics_name(observed_),
                       llvm::join(worst_, ", "));
}

} // namespace tg
