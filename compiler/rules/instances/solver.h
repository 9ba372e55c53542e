// Makes instances of a rule that satisfy its conditions and further wishes, from instances of its
// left side, by solving for one place at a time.
//
// A place (RuleCell) is a part of an instance that an expression of the rule reads: a size, a rank,
// a dtype, an entry of an attribute. The numbers tried for a place are those at which an expression
// may change: the rule's own numbers with their neighbours and multiples, and numbers that make
// both sides of a comparison equal. A new number is carried to the other tensors (equal sizes stay
// equal), and further changes repair the parts that no longer fit. Only `infer` decides whether the
// result is an instance.
#pragma once

#include "compiler/rules/instances/changes.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <random>

namespace tg {

/// Limit on the elements of the largest tensor of a solved instance; all others are smaller
/// (kMaxInstanceElements).
inline constexpr int64_t kMaxSolvedElements = 1 << 17;

struct RuleCell {
  enum class Kind : uint8_t { Dim, Rank, DType, Attribute };
  Kind kind{};
  uint32_t variable = 0; // class variable, or value variable for an attribute
  int64_t at = -1;       // axis, or entry of a list; -1: a value that is not a list
  bool operator==(const RuleCell&) const = default;
};

class InstanceSolver {
public:
  /// All arguments must outlive the object.
  InstanceSolver(Symbols& symbols, const Rule& rule, std::mt19937_64& rng);

  using InstancePredicate = llvm::function_ref<bool(const RuleInstance&)>;
  /// A further requirement besides the conditions, to be met by changing these places.
  struct InstanceRequirement {
    llvm::ArrayRef<RuleCell> cells;
    InstancePredicate holds;
    std::optional<ExprIndex> expr = {}; // the expression it concerns
    std::optional<int64_t> number = {}; // the value that a place should have
  };

  /// Changes an instance of the left side until all conditions and the wish hold. Returns false
  /// after `steps` steps; then `instance` is unusable.
  bool solve(RuleInstance& instance, const InstanceRequirement* wish, size_t steps);

  /// Returns the places that an expression reads at an instance.
  std::vector<RuleCell> cells(const RuleInstance& instance, ExprIndex expr) const;
  /// Returns true if the engine would apply the rule here, with both sides within
  /// kMaxSolvedElements.
  bool admitted(const RuleInstance& instance);
  /// Returns the value of a place; nullopt if the instance has no such place.
  std::optional<Value> value(const RuleInstance& instance, const RuleCell& cell) const;
  /// Changes only this place of the instance. Returns false if there is no such place.
  bool set(RuleInstance& instance, const RuleCell& cell, const Value& value) const;
  /// Returns numbers at which an expression that reads the place may change.
  std::vector<Value> candidates(const RuleInstance& instance, const RuleCell& cell,
                                std::optional<ExprIndex> expr) const;

private:
  int64_t between(int64_t low, int64_t high);
  bool chance(int percent) { return between(0, 99) < percent; }
  bool left_typed(const RuleInstance& instance);
  bool holds(const RuleInstance& instance, ExprIndex condition) const;
  std::optional<double> number(const RuleInstance& instance, ExprIndex expr) const;
  void add_differences(const RuleInstance& instance, ExprIndex expr, double current,
                       std::vector<double>& numbers) const;
  size_t violated(const RuleInstance& instance, const InstanceRequirement* wish) const;
  bool step(RuleInstance& instance, const InstanceRequirement* wish);
  bool apply(RuleInstance& instance, const RuleCell& cell, const Value& value);
  void carry_size(RuleInstance& instance, const RuleCell& cell, int64_t before, int64_t after);
  void carry_rank(RuleInstance& instance, const RuleCell& cell, int64_t rank);
  void repair(RuleInstance& instance, int64_t hint);
  void shrink(RuleInstance& instance, int64_t kept);

  Symbols& symbols_;
  const Rule& rule_;
  std::mt19937_64& rng_;
  RuleChanges changes_;
  std::vector<std::optional<AttrKind>> kinds_; // by value variable
  std::vector<double> numbers_;                // the rule's own, with neighbours and multiples
  std::vector<ExprIndex> conditions_;          // with conjunctions split
  std::vector<TypeId> types_;
};

/// Returns the numbers in a rule's expressions, attributes and constants.
std::vector<double> numbers_of(const Rule& rule);

} // namespace tg
