// Makes instances of a rule from others by small changes: another attribute or size, an additional
// axis, another dtype, a constant of the other sign. Whatever the engine would apply the rule to
// (both sides typed, with equal types, and conditions hold) is an instance, however it was made. So
// kinds of instances are reached that a walk down the left side (sample.h) seldom guesses.
#pragma once

#include "compiler/rules/instances/instance.h"

#include <random>

namespace tg {

class RuleChanges {
public:
  /// All arguments must outlive the object.
  RuleChanges(Symbols& symbols, const Rule& rule, std::mt19937_64& rng);

  /// Applies one change, or now and then several. The result is not always an instance.
  RuleInstance changed(const RuleInstance& from);

  /// Returns true if the engine would apply the rule here; then sets `types` to those of the terms,
  /// none with more than `most` elements.
  bool admitted(const RuleInstance& instance, std::vector<TypeId>& types,
                int64_t most = kMaxInstanceElements);

  /// Adapts parts that depend on sizes and dtypes: shapes given to reshapes, numbers of the left
  /// side, the elements of constants.
  void adapt(RuleInstance& instance);

private:
  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class List> size_t any_of(const List& list) {
    return static_cast<size_t>(between(0, static_cast<int64_t>(list.size()) - 1));
  }
  int64_t any_size() { return between(1, 6); }
  int64_t size_of(const RuleInstance& instance);

  void change(RuleInstance& instance);
  void adapt_shapes(RuleInstance& instance);
  void adapt_numbers(RuleInstance& instance);
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
  std::vector<std::optional<AttrKind>> kinds_; // by value variable
};

} // namespace tg
