// The search for instances of a rule that are unlike those it was compared at: candidates are made
// by changes (rules/instances/changes.h) out of what was compared, and of many the one is next that
// brings a kind (rules/instances/kinds.h) that was not compared yet, or else most pairs of kinds.
#pragma once

#include "compiler/rules/instances/changes.h"
#include "compiler/rules/instances/kinds.h"

#include <deque>

namespace tg {

class InstanceChanges {
public:
  /// `symbols` and `rule` outlive it.
  InstanceChanges(Symbols& symbols, const Rule& rule, uint64_t seed);

  /// Notes what is compared.
  void reached(const RuleInstance& instance);
  /// How many pairs of kinds it has that were not compared yet.
  size_t new_pairs(const RuleInstance& instance);
  /// Of the left side alone: others may be made of it.
  void start_from(const RuleInstance& instance);
  /// nullopt if no change gave anything new.
  std::optional<RuleInstance> next();
  /// Instances wait that are of kinds which were not compared yet.
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
  std::vector<Candidate> compared_; // those that changes start from
  std::deque<Candidate> pending_, walk_;
  RuleKinds::Set reached_, seen_;      // kinds compared; kinds of any candidate
  std::vector<RuleKinds::Set> beside_; // by kind: the kinds that were compared beside it
};

} // namespace tg
