// The thresholds of a rule's integer arithmetic, and instances on all sides of them. An atom is a
// comparison, a quotient, a remainder, a minimum or maximum, a magnitude, a power of 0, or an entry
// of a literal list, in a condition or in an expression of the right side. Its outcome at an
// instance gives the side of the threshold and the distance. Instances for each outcome are solved
// for (solver.h), not drawn. If only one side of an atom was reached, the rule is not verified,
// since it may be wrong on the other, unless bounds.h shows that there is no other side.
#pragma once

#include "compiler/rules/instances/bounds.h"
#include "compiler/rules/instances/solver.h"

#include <set>
#include <string>

namespace tg {

class RuleGoals {
public:
  /// `symbols` and `rule` must outlive the object.
  RuleGoals(Symbols& symbols, const Rule& rule, uint64_t seed);
  RuleGoals(const RuleGoals&) = delete;
  RuleGoals& operator=(const RuleGoals&) = delete;

  /// Records an instance that was compared. Later ones are derived from it.
  void reached(const RuleInstance& instance);
  /// Returns an instance with an outcome that few compared instances had; nullopt if no
  /// more were found.
  std::optional<RuleInstance> next();
  /// Returns the atoms of which only one side was reached: "`dim(x, 0) // 9`, `max(k, 5)`"; "" if
  /// there are none.
  std::string unreached();

private:
  /// The role of an atom: an expression of the right side (both sides must be reached), a condition
  /// that must hold, one of several alternatives (it must hold somewhere), or part of a condition.
  enum class Role : uint8_t { Right, Given, Alternative, Free };
  struct Atom {
    ExprIndex expr = 0;
    Role role{};
    std::set<int> reached; // outcomes
  };
  /// A goal: an outcome of an atom; or a number for a size or an attribute that the right side
  /// reads, or for the size of any axis of a tensor.
  struct Goal {
    std::optional<size_t> atom = {};
    int outcome = 0;
    std::optional<ExprIndex> read = {};
    int64_t number = 0;
    uint32_t sized = 0;       // class variable of the tensor
    size_t made = 0, met = 0; // instances made for it, and compared
  };

  void read_atoms();
  static Role role_within(Role role, ValueExpr::Kind kind);
  void add_atom(ExprIndex at, Role role);
  void add_goals(const Atom& atom, size_t index);
  void add_size_goals();
  RuleBounds::Range gap_range(const ValueExpr& e);
  std::optional<double> number(const RuleInstance& instance, ExprIndex at) const;
  std::optional<int> outcome(const RuleInstance& instance, ExprIndex at) const;
  bool reaches_goal(const RuleInstance& instance, const Goal& goal) const;
  std::optional<RuleInstance> make(const Goal& goal);
  std::vector<RuleCell> places(const RuleInstance& instance, const Goal& goal) const;
  bool reached_enough(const Atom& atom);

  Symbols& symbols_;
  const Rule& rule_;
  std::mt19937_64 rng_;
  InstanceSolver solver_;
  RuleBounds bounds_;
  std::vector<Atom> atoms_;
  std::vector<Goal> goals_;
  std::vector<RuleInstance> bases_;
  size_t seen_ = 0, at_ = 0;
};

} // namespace tg
