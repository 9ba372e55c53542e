// The class of numerics of a rule, as its operators say (rules/numerics/derived_class.h), held
// against what its instances show in float64: an `exact` rule gives the same bits, whatever its
// inputs hold; a `reassociates` rule differs by rounding alone, and leaves finite what does not
// depend on an infinity or NaN among the inputs. What is seen can only weaken what is derived.
#pragma once

#include "compiler/rules/numerics/derived_class.h"
#include "compiler/verify/join.h"

#include <string>
#include <vector>

namespace tg {

/// Of one rule, over its instances.
class ClassWatch {
public:
  /// The rule outlives the watch.
  explicit ClassWatch(const Rule& rule) : rule_(rule), derivation_(rule) {}

  /// An instance and what it was built into, with numbers drawn by the seed.
  void look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& instance,
            const Joined& sides, uint64_t seed);

  /// The least class that fits all that float64 showed.
  Numerics observed() const { return observed_; }
  /// The class that the rule has: derived and observed.
  Numerics numerics() const;
  /// Why the rule is not of the class that it states;
  /// "" where nothing speaks against it, or it states none.
  std::string fault() const;

private:
  void observe(const Joined& sides, uint64_t seed, const std::string& where);
  void observe_not_finite(const Joined& sides, uint64_t seed, const std::string& where);

  const Rule& rule_;
  ClassDerivation derivation_;
  size_t looked_ = 0;
  Numerics observed_ = Numerics::Exact;
  std::string worst_;  // the instance that showed it
  std::string spread_; // what an infinity or NaN did, where it broke a promise
};

} // namespace tg
