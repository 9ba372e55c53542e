// Searches for instances of a rule unlike those compared so far. Candidates are made from compared
// instances by changes (rules/instances/changes.h). The next instance is one with a kind
// (rules/instances/kinds.h) that was not compared yet, or else with the most new pairs of kinds.
#pragma once

#include "compiler/rules/instances/changes.h"
#include "compiler/rules/instances/kinds.h"

#include <deque>

namespace tg {

class InstanceChanges {
public:
  /// `symbols` and `rule` must outlive the object.
  InstanceChanges(Symbols& symbols, const Rule& rule, uint64_t seed);

  /// Records a compared instance.
  void reached(const RuleInstance& instance);
  /// Returns the number of the instance's pairs of kinds that were not compared yet.
  size_t new_pairs(const RuleInstance& instance);
  /// Adds an instance of the left side, from which others may be made.
  void start_from(const RuleInstance& instance);
  /// Returns nullopt if no change gave anything new.
  std::optional<RuleInstance> next();
  /// Returns true if instances with new kinds are waiting.
  bool pending();

  size_t kinds() const; // compared so far
  size_t pairs() const;

private:
  struct Candidate {
    RuleInstance instance;
    RuleKinds::Set kinds;
  };
  bool new_to(const RuleKinds::Set& known, const RuleKinds::Set& set) const;
  size_t new_pairs(const RuleKinds::Set& set) const;
  std::optional<Candidate> candidate();

  std::mt19937_64 rng_;
  RuleChanges changes_;
  RuleKinds of_;
  std::vector<TypeId> types_;
  std::vector<Candidate> compared_; // starting points of changes
  std::deque<Candidate> pending_, walk_;
  RuleKinds::Set reached_, seen_;      // kinds compared; kinds of all candidates
  std::vector<RuleKinds::Set> beside_; // by kind: kinds compared together with it
};

} // namespace tg
