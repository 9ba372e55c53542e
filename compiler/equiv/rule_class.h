// The class of numerics of a rule, held against what its instances show in float64: an `exact` rule
// gives the same bits, a `reassociates` rule differs by rounding alone. What is seen can only
// weaken what a rule states.
#pragma once

#include "compiler/egraph/rule_instance.h"
#include "compiler/equiv/join.h"

#include <string>
#include <vector>

namespace tg {

/// Of one rule, over its instances.
class ClassWatch {
public:
  /// The rule outlives the watch.
  explicit ClassWatch(const Rule& rule) : rule_(rule) {}

  /// How the two sides round at an instance, on ordinary numbers.
  void look(const Symbols& symbols, const RuleInstance& instance, const Joined& sides,
            uint64_t seed);

  /// The least class that fits all that was seen.
  Numerics observed() const { return observed_; }
  /// Why the rule is not of the class that it states; "" where nothing speaks against it.
  std::string fault() const;

private:
  const Rule& rule_;
  Numerics observed_ = Numerics::Exact;
  std::vector<std::string> worst_; // the instance that showed it
};

} // namespace tg
