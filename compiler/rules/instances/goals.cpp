#include "compiler/rules/instances/goals.h"

#include "compiler/rules/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

constexpr size_t kBases = 48;     // instances to start from
constexpr size_t kGoalEach = 3;   // instances per goal: sides of a small one may agree by chance
constexpr size_t kGoalTries = 24; // for one instance
constexpr size_t kGoalSteps = 12; // of one try
constexpr int64_t kDrawn = 6;     // sizes up to this are drawn anyway
constexpr int kMostListed = 16;   // entries of a literal list

bool compares(Kind kind) { return kind >= Kind::Eq && kind <= Kind::Ge; }
bool chooses(Kind kind) { return kind == Kind::Min || kind == Kind::Max; }
bool holds_at(Kind comparison, int gap) {
  switch (comparison) {
  case Kind::Eq: return gap == 0;
  case Kind::Ne: return gap != 0;
  case Kind::Lt: return gap < 0;
  case Kind::Le: return gap <= 0;
  case Kind::Gt: return gap > 0;
  default: return gap >= 0;
  }
}
bool divides(Kind kind) { return kind == Kind::FloorDiv || kind == Kind::Mod; }

/// Returns the operand that an atom compares with 0: that of a magnitude or of a power of 0.
std::optional<ExprIndex> compared_with_zero(const Rule& rule, const ValueExpr& e) {
  if (e.kind == Kind::Abs) return e.operands[0];
  if (e.kind != Kind::Pow) return std::nullopt;
  const ValueExpr& base = rule.exprs[e.operands[0]];
  bool zero =
      base.kind == Kind::Literal && base.literal.is(Value::Kind::Int) && base.literal.number == 0;
  return zero ? std::optional(e.operands[1]) : std::nullopt;
}

} // namespace

RuleGoals::RuleGoals(Symbols& symbols, const Rule& rule, uint64_t seed)
    : symbols_(symbols), rule_(rule), rng_(seed ^ 0x676f616c73), solver_(symbols, rule, rng_),
      bounds_(rule) {
  read_atoms();
  for (size_t i = 0; i < atoms_.size(); ++i) add_goals(atoms_[i], i);
  add_size_goals();
}

// --- atoms -------------------------------------------------------------------------------------

RuleGoals::Role RuleGoals::role_within(Role role, Kind kind) {
  if (role == Role::Right || (kind == Kind::And && role != Role::Free)) return role;
  return kind == Kind::Or && role != Role::Free ? Role::Alternative : Role::Free;
}

void RuleGoals::read_atoms() {
  std::vector<std::pair<ExprIndex, Role>> open;
  for (ExprIndex condition : rule_.conditions) open.push_back({condition, Role::Given});
  for (const Term& term : rule_.terms)
    for (const TermAttr& attr : term.attrs)
      if (attr.kind == TermAttr::Kind::Computed) open.push_back({attr.expr, Role::Right});
  while (!open.empty()) {
    auto [at, role] = open.back();
    open.pop_back();
    const ValueExpr& e = rule_.exprs[at];
    for (ExprIndex operand : e.operands) open.push_back({operand, role_within(role, e.kind)});
    add_atom(at, role);
  }
}

void RuleGoals::add_atom(ExprIndex at, Role role) {
  const ValueExpr& e = rule_.exprs[at];
  if (e.kind == Kind::Eq && number_like(rule_, e)) return;
  bool listed = e.kind == Kind::Index && rule_.exprs[e.operands[0]].kind == Kind::List;
  bool known = llvm::any_of(atoms_, [&](const Atom& atom) { return atom.expr == at; });
  if (!known && (compares(e.kind) || chooses(e.kind) || divides(e.kind) || listed ||
                 compared_with_zero(rule_, e)))
    atoms_.push_back({at, role, {}});
}

std::optional<double> RuleGoals::number(const RuleInstance& instance, ExprIndex at) const {
  std::optional<Value> v = evaluate_value({rule_, symbols_, instance.values, instance}, at);
  std::optional<ConstNumber> n = v ? number_of(*v) : std::nullopt;
  return n ? std::optional(n->as_real()) : std::nullopt;
}

/// Returns the outcome of an atom. For a comparison, and for a magnitude or exponent compared with
/// 0: -2 to 2, the sign of the difference and whether it is 1. For other values: 0 or 2, whether
/// they are equal. For a quotient: its value, up to 3. For a remainder: 0 if it is 0, 1 if it is
/// the largest, 3 if the dividend is below the divisor, else 2. For a list: the entry.
std::optional<int> RuleGoals::outcome(const RuleInstance& instance, ExprIndex at) const {
  const ValueExpr& e = rule_.exprs[at];
  const std::optional<ExprIndex> alone = compared_with_zero(rule_, e);
  std::optional<double> b = alone ? 0 : number(instance, e.operands[1]);
  if (e.kind == Kind::Index) {
    if (!b) return std::nullopt;
    auto size = static_cast<double>(rule_.exprs[e.operands[0]].operands.size());
    return static_cast<int>(*b < 0 ? *b + size : *b);
  }
  std::optional<double> a = number(instance, alone.value_or(e.operands[0]));
  if (alone && !a) return std::nullopt;
  if (!a || !b) {
    RuleMatch match{rule_, symbols_, instance.values, instance};
    std::optional<Value> x = evaluate_value(match, e.operands[0]),
                         y = evaluate_value(match, e.operands[1]);
    if (!x || !y || !compares(e.kind)) return std::nullopt;
    return equal_values(*x, *y) ? 0 : 2;
  }
  if (divides(e.kind)) {
    if (*b == 0) return std::nullopt;
    const double quotient = std::floor(*a / *b), rest = *a - quotient * *b;
    if (e.kind == Kind::FloorDiv) return static_cast<int>(std::clamp(quotient, -1.0, 3.0));
    return rest == 0 ? 0 : rest == *b - 1 ? 1 : quotient == 0 ? 3 : 2;
  }
  const double gap = *a - *b;
  const int far = std::abs(gap) == 1 ? 1 : 2;
  return gap == 0 ? 0 : gap < 0 ? -far : far;
}

// --- goals -------------------------------------------------------------------------------------

void RuleGoals::add_goals(const Atom& atom, size_t index) {
  const ValueExpr& e = rule_.exprs[atom.expr];
  auto add = [&](int outcome) { goals_.push_back({.atom = index, .outcome = outcome}); };
  if (e.kind == Kind::Index) {
    const int entries = static_cast<int>(rule_.exprs[e.operands[0]].operands.size());
    for (int i = 0; i < std::min(entries, kMostListed); ++i) add(i);
    return;
  }
  if (e.kind == Kind::FloorDiv) return add(1), add(0), add(2);
  if (e.kind == Kind::Mod) return add(0), add(1), add(2), add(3);
  const bool held_only =
      atom.role == Role::Given && compares(e.kind); // a condition holds only on one side
  const RuleBounds::Range possible = gap_range(e);
  for (int gap = -2; gap <= 2; ++gap)
    if ((!held_only || holds_at(e.kind, gap)) && possible.low <= gap && gap <= possible.high)
      add(gap);
}

/// Adds goals for sizes beyond those that are drawn: for the operands of the right side's
/// arithmetic, in case it is a polynomial, and for all tensors, near the numbers in operators.
void RuleGoals::add_size_goals() {
  std::map<std::string, ExprIndex> read; // by text, since `dim(x, -1)` may occur many times
  std::vector<ExprIndex> open;
  std::vector<double> numbers;
  for (const Term& term : rule_.terms)
    for (const TermAttr& attr : term.attrs) {
      if (attr.kind == TermAttr::Kind::Computed) open.push_back(attr.expr);
      if (attr.kind != TermAttr::Kind::Literal) continue;
      if (attr.literal.is(Value::Kind::Int))
        numbers.push_back(static_cast<double>(attr.literal.number));
      for (int64_t n : attr.literal.ints) numbers.push_back(static_cast<double>(n));
      llvm::append_range(numbers, attr.literal.reals);
    }
  while (!open.empty()) {
    const ExprIndex at = open.back();
    const ValueExpr& e = rule_.exprs[at];
    open.pop_back();
    llvm::append_range(open, e.operands);
    if (e.kind == Kind::Dim || e.kind == Kind::Variable) read.insert({expr_text(rule_, at), at});
  }
  const auto any = static_cast<int64_t>(65 + rng_() % 400);
  for (const auto& [text, at] : read)
    for (int64_t size : {int64_t(7), int64_t(10), int64_t(17), int64_t(64), any})
      goals_.push_back({.read = at, .number = size});
  for (double x : numbers)
    if (x == std::floor(x) && x >= kDrawn && x < kMaxSolvedElements)
      for (uint32_t v = 0; v < rule_.class_vars; ++v)
        for (int64_t beside : {-1, 0, 1})
          goals_.push_back({.number = static_cast<int64_t>(x) + beside, .sized = v});
}

bool RuleGoals::reaches_goal(const RuleInstance& instance, const Goal& goal) const {
  if (goal.atom) return outcome(instance, atoms_[*goal.atom].expr) == goal.outcome;
  auto is = [&](const RuleCell& cell) {
    std::optional<Value> v = solver_.value(instance, cell);
    std::optional<ConstNumber> n = v ? number_of(*v) : std::nullopt;
    return n && n->as_real() == static_cast<double>(goal.number);
  };
  return llvm::any_of(places(instance, goal), is);
}

std::vector<RuleCell> RuleGoals::places(const RuleInstance& instance, const Goal& goal) const {
  if (goal.atom) return solver_.cells(instance, atoms_[*goal.atom].expr);
  if (goal.read) return solver_.cells(instance, *goal.read);
  std::vector<RuleCell> all;
  std::optional<Value> rank = solver_.value(instance, {RuleCell::Kind::Rank, goal.sized, -1});
  for (int64_t axis = 0; rank && axis < rank->number; ++axis)
    all.push_back({RuleCell::Kind::Dim, goal.sized, axis});
  return all;
}

void RuleGoals::reached(const RuleInstance& instance) {
  for (Atom& atom : atoms_)
    if (std::optional<int> at = outcome(instance, atom.expr)) atom.reached.insert(*at);
  for (Goal& goal : goals_)
    if (goal.met < kGoalEach && reaches_goal(instance, goal)) ++goal.met;
  ++seen_;
  if (bases_.size() < kBases)
    bases_.push_back(instance);
  else if (size_t place = rng_() % seen_; place < kBases)
    bases_[place] = instance;
}

std::optional<RuleInstance> RuleGoals::next() {
  for (; at_ < goals_.size(); ++at_) {
    Goal& goal = goals_[at_];
    if (bases_.empty() || std::max(goal.made, goal.met) >= kGoalEach) continue;
    std::optional<RuleInstance> made = make(goal);
    if (!made) continue;
    ++goal.made;
    return made;
  }
  return std::nullopt;
}

std::optional<RuleInstance> RuleGoals::make(const Goal& goal) {
  for (size_t i = 0; i < kGoalTries; ++i) {
    RuleInstance instance = bases_[rng_() % bases_.size()];
    const std::vector<RuleCell> cells = places(instance, goal);
    if (cells.empty()) continue;
    auto holds = [&](const RuleInstance& at) { return reaches_goal(at, goal); };
    InstanceSolver::InstanceRequirement wish{cells, holds};
    if (goal.atom) wish.expr = atoms_[*goal.atom].expr;
    if (!goal.atom) wish.number = goal.number;
    if (solver_.solve(instance, &wish, kGoalSteps) && solver_.admitted(instance)) return instance;
  }
  return std::nullopt;
}

// --- unreached outcomes ------------------------------------------------------------------------

/// Returns the range of the difference that a comparison tests.
RuleBounds::Range RuleGoals::gap_range(const ValueExpr& e) {
  if (std::optional<ExprIndex> alone = compared_with_zero(rule_, e)) return bounds_.range(*alone);
  return bounds_.difference(e.operands[0], e.operands[1]);
}

/// Returns true if all sides that its role requires were reached or do not exist.
bool RuleGoals::reached_enough(const Atom& atom) {
  if (atom.role == Role::Given || atom.role == Role::Free) return true;
  const ValueExpr& e = rule_.exprs[atom.expr];
  if (atom.role == Role::Alternative)
    return !compares(e.kind) ||
           llvm::any_of(atom.reached, [&](int gap) { return holds_at(e.kind, gap); });
  if (divides(e.kind) || e.kind == Kind::Index)
    return atom.reached.size() > 1 ||
           bounds_.range(divides(e.kind) ? atom.expr : e.operands[1]).single();
  auto any = [&](auto side) { return llvm::any_of(atom.reached, side); };
  const bool below = any([](int n) { return n < 0; }), above = any([](int n) { return n > 0; }),
             equal = atom.reached.count(0) > 0;
  const RuleBounds::Range gap = gap_range(e);
  switch (e.kind) {
  case Kind::Pow: return (equal || gap.low > 0 || gap.high < 0) && (above || gap.high <= 0);
  case Kind::Eq:
  case Kind::Ne:
    return (equal || gap.low > 0 || gap.high < 0) &&
           (below || above || (gap.low == 0 && gap.single()));
  case Kind::Lt:
  case Kind::Ge: return (below || gap.low >= 0) && (equal || above || gap.high < 0);
  case Kind::Le:
  case Kind::Gt: return (above || gap.high <= 0) && (equal || below || gap.low > 0);
  default: return (below || gap.low >= 0) && (above || gap.high <= 0); // Min, Max, Abs
  }
}

std::string RuleGoals::unreached() {
  llvm::SmallVector<std::string, 4> parts;
  for (const Atom& atom : atoms_) {
    const ValueExpr& e = rule_.exprs[atom.expr];
    auto literal = [&](ExprIndex at) { return rule_.exprs[at].kind == Kind::Literal; };
    bool threshold = e.kind == Kind::Index || compared_with_zero(rule_, e) ||
                     literal(e.operands[0]) || literal(e.operands[1]);
    if (atom.reached.empty() || !threshold || reached_enough(atom)) continue;
    parts.push_back("`" + expr_text(rule_, atom.expr) + "`");
  }
  return llvm::join(parts, ", ");
}

} // namespace tg
