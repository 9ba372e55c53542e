// Instances of a rule made out of others by small changes: another attribute, another size, an axis
// more, another dtype, a constant of another sign. What the engine would apply the rule to (both
// sides typed, of one type, conditions hold) is an instance, however it was come by. So kinds of
// instances are reached that a walk down the left side seldom guesses (sample.h).
#pragma once

#include "compiler/rules/instances/instance.h"

#include <random>

namespace tg {

class RuleChanges {
public:
  /// All outlive it.
  RuleChanges(Symbols& symbols, const Rule& rule, std::mt19937_64& rng);

  /// One change, or now and then a few. Not always an instance.
  RuleInstance changed(const RuleInstance& from);

  /// True if the engine would apply the rule here; then `types` are those of the terms, none with
  /// more than `most` elements.
  bool admitted(const RuleInstance& instance, std::vector<TypeId>& types,
                int64_t most = kMaxInstanceElements);

  /// Makes what depends on sizes and dtypes follow them: shapes that reshapes are given, numbers of
  /// the left side, the elements of constants.
  void mend(RuleInstance& instance);

private:
  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class List> size_t any_of(const List& list) {
    return static_cast<size_t>(between(0, static_cast<int64_t>(list.size()) - 1));
  }
  int64_t any_size() { return between(1, 6); }
  int64_t size_of(const RuleInstance& instance);

  void change(RuleInstance& instance);
  void mend_shapes(RuleInstance& instance);
  void mend_numbers(RuleInstance& instance);
  void change_value(RuleInstance& instance);
  Value shifted(Value pad);
  Value other(AttrKind kind, const Value& value);
  Value other_list(Value value);
  void change_tensor(RuleInstance& instance);
  void change_presence(RuleInstance& instance);
  void change_origin(RuleInstance& instance);
  void rename_size(RuleInstance& instance);
  void change_dtypes(RuleInstance& instance);
  void add_axis(RuleInstance& instance);
  template <class F> void each_type(RuleInstance& instance, F change);

  Symbols& symbols_;
  const Rule& rule_;
  std::mt19937_64& rng_;
  std::vector<std::optional<AttrKind>> kinds_; // of value variables
};

} // namespace tg
