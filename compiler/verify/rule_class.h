// Checks the numerics class of a rule, as derived from its operators
// (rules/numerics/derived_class.h), against float64 on its instances. An `exact` rule gives the
// same bits for all inputs. A `reassociates` rule differs only by rounding, and keeps results
// finite that do not depend on an infinity or NaN in the inputs. Observations can only weaken the
// derived class.
#pragma once

#include "compiler/rules/numerics/derived_class.h"
#include "compiler/verify/join.h"

#include <string>
#include <vector>

namespace tg {

/// Observes one rule over its instances.
class ClassWatch {
public:
  /// The rule must outlive the watch.
  explicit ClassWatch(const Rule& rule) : rule_(rule), derivation_(rule) {}

  /// Observes an instance, built as `sides`, with numbers drawn by the seed.
  void look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& instance,
            const Joined& sides, uint64_t seed);

  /// Returns the strictest class that fits all observations in float64.
  Numerics observed() const { return observed_; }
  /// Returns the class of the rule: the weaker of derived and observed.
  Numerics numerics() const;
  /// Returns why the rule does not have its stated class; "" if it has, or states none.
  std::string fault() const;

private:
  void observe(const Joined& sides, uint64_t seed, const std::string& where);
  void observe_not_finite(const Joined& sides, uint64_t seed, const std::string& where);

  const Rule& rule_;
  ClassDerivation derivation_;
  size_t looked_ = 0;
  Numerics observed_ = Numerics::Exact;
  std::string worst_;  // the instance that showed it
  std::string spread_; // how an infinity or NaN broke a promise
};

} // namespace tg
