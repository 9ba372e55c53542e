#include "compiler/rules/instances/solver.h"

#include "compiler/rules/instances/kinds.h"
#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

constexpr size_t kPaired = 10;    // pairs of up to this many numbers are combined
constexpr int64_t kScanned = 520; // sizes tried one by one if no number of the rule helps
constexpr int64_t kSmall = 32;    // larger sizes make the others shrink
constexpr int kRepairs = 10;      // attempts to carry one change to the other parts of an instance

void ascending(std::vector<double>& numbers) {
  std::sort(numbers.begin(), numbers.end(), [](double a, double b) {
    return std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a < b;
  });
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

void add_numbers(const Value& value, std::vector<double>& numbers) {
  switch (value.kind) {
  case Value::Kind::Int: numbers.push_back(static_cast<double>(value.number)); return;
  case Value::Kind::Float: numbers.push_back(value.real); return;
  case Value::Kind::Ints:
    for (int64_t n : value.ints) numbers.push_back(static_cast<double>(n));
    return;
  case Value::Kind::Floats: llvm::append_range(numbers, value.reals); return;
  case Value::Kind::Type:
    for (int64_t n : value.as_type().shape) numbers.push_back(static_cast<double>(n));
    return;
  default: return;
  }
}

bool is_whole(double x) { return x == std::floor(x) && std::abs(x) < 0x1p53; }

bool is_permutation_of_axes(llvm::ArrayRef<int64_t> list) {
  std::vector<int64_t> sorted(list.begin(), list.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  return true;
}

} // namespace

std::vector<double> numbers_of(const Rule& rule) {
  std::vector<double> numbers;
  for (const ValueExpr& e : rule.exprs)
    if (e.kind == Kind::Literal) add_numbers(e.literal, numbers);
  for (const Term& term : rule.terms)
    for (const TermAttr& attr : term.attrs)
      if (attr.kind == TermAttr::Kind::Literal) add_numbers(attr.literal, numbers);
  llvm::erase_if(numbers, [](double x) { return !std::isfinite(x); });
  ascending(numbers);
  return numbers;
}

InstanceSolver::InstanceSolver(Symbols& symbols, const Rule& rule, std::mt19937_64& rng)
    : symbols_(symbols), rule_(rule), rng_(rng), changes_(symbols, rule, rng),
      kinds_(attribute_kinds(rule)), conditions_(rule.conditions) {
  for (size_t i = 0; i < conditions_.size();) {
    const ValueExpr& e = rule.exprs[conditions_[i]];
    if (e.kind != Kind::And) {
      ++i;
      continue;
    }
    conditions_[i] = e.operands[0];
    conditions_.push_back(e.operands[1]);
  }
  const std::vector<double> own = numbers_of(rule);
  auto add = [&](double x) {
    for (double y : {x, x - 1, x + 1}) numbers_.push_back(y);
  };
  for (double x : own)
    for (double times : {1, 2, 3}) add(times * x);
  for (size_t i = 0; i < std::min(own.size(), kPaired); ++i)
    for (size_t j = 0; j < std::min(own.size(), kPaired); ++j) {
      for (double x : {own[i] + own[j], own[i] - own[j], own[i] * own[j]}) numbers_.push_back(x);
      if (own[j] != 0) add(std::floor(own[i] / own[j]));
    }
  for (int64_t n = 1; n <= 6; ++n) numbers_.push_back(static_cast<double>(n));
  llvm::erase_if(numbers_, [](double x) { return !std::isfinite(x); });
  ascending(numbers_);
}

int64_t InstanceSolver::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
}

// --- places ------------------------------------------------------------------------------------

std::vector<RuleCell> InstanceSolver::cells(const RuleInstance& instance, ExprIndex expr) const {
  std::vector<RuleCell> found;
  auto add = [&](RuleCell cell) {
    if (!llvm::is_contained(found, cell)) found.push_back(cell);
  };
  auto add_sizes = [&](uint32_t v) {
    if (instance.types[v] == TypeId{}) return;
    for (int64_t axis = 0; axis < symbols_.type(instance.types[v]).rank(); ++axis)
      add({RuleCell::Kind::Dim, v, axis});
  };
  std::vector<ExprIndex> open = {expr};
  while (!open.empty()) {
    const ValueExpr& e = rule_.exprs[open.back()];
    open.pop_back();
    llvm::append_range(open, e.operands);
    switch (e.kind) {
    case Kind::Dim:
      if (std::optional<double> axis = number(instance, e.operands[0]))
        add({RuleCell::Kind::Dim, e.variable, static_cast<int64_t>(*axis)});
      break;
    case Kind::Rank: add({RuleCell::Kind::Rank, e.variable}); break;
    case Kind::DTypeOf:
    case Kind::IsFloat: add({RuleCell::Kind::DType, e.variable}); break;
    case Kind::ShapeOf: add_sizes(e.variable); break;
    case Kind::SameType:
      for (uint32_t v : {e.variable, e.variable2}) {
        add({RuleCell::Kind::DType, v});
        add_sizes(v);
      }
      break;
    case Kind::Variable: {
      if (instance.values[e.variable] == ValueId{}) break;
      const Value& value = symbols_.value(instance.values[e.variable]);
      size_t entries = std::max(value.ints.size(), value.reals.size());
      if (entries == 0) add({RuleCell::Kind::Attribute, e.variable});
      for (size_t i = 0; i < entries; ++i)
        add({RuleCell::Kind::Attribute, e.variable, static_cast<int64_t>(i)});
      break;
    }
    default: break;
    }
  }
  return found;
}

std::optional<Value> InstanceSolver::value(const RuleInstance& instance,
                                           const RuleCell& cell) const {
  if (cell.kind == RuleCell::Kind::Attribute) {
    if (instance.values[cell.variable] == ValueId{}) return std::nullopt;
    const Value& whole = symbols_.value(instance.values[cell.variable]);
    auto at = static_cast<size_t>(cell.at);
    if (cell.at < 0) return whole;
    if (at < whole.ints.size()) return Value::of_int(whole.ints[at]);
    if (at < whole.reals.size()) return Value::of_float(whole.reals[at]);
    return std::nullopt;
  }
  if (instance.types[cell.variable] == TypeId{}) return std::nullopt;
  const TensorType& type = symbols_.type(instance.types[cell.variable]);
  if (type.is_none()) return std::nullopt;
  if (cell.kind == RuleCell::Kind::DType) return Value::of_enum(dtype_name(type.dtype));
  if (cell.kind == RuleCell::Kind::Rank) return Value::of_int(type.rank());
  int64_t axis = cell.at < 0 ? cell.at + type.rank() : cell.at;
  if (axis < 0 || axis >= type.rank()) return std::nullopt;
  return Value::of_int(type[static_cast<size_t>(axis)]);
}

bool InstanceSolver::set(RuleInstance& instance, const RuleCell& cell, const Value& value) const {
  if (!this->value(instance, cell)) return false;
  if (cell.kind == RuleCell::Kind::Attribute) {
    Value whole = symbols_.value(instance.values[cell.variable]);
    auto at = static_cast<size_t>(cell.at);
    if (cell.at < 0)
      whole = value;
    else if (at < whole.ints.size())
      whole.ints[at] = value.number;
    else
      whole.reals[at] = value.real;
    instance.values[cell.variable] = symbols_.value(whole);
    return true;
  }
  TensorType type = symbols_.type(instance.types[cell.variable]);
  if (cell.kind == RuleCell::Kind::DType) {
    type.dtype = parse_dtype(value.text).value_or(type.dtype);
  } else if (cell.kind == RuleCell::Kind::Rank) {
    if (value.number < 0 || value.number > kMaxRank) return false;
    while (type.rank() > value.number) type.shape.erase(type.shape.begin());
    while (type.rank() < value.number) type.shape.insert(type.shape.begin(), 1);
  } else {
    int64_t axis = cell.at < 0 ? cell.at + type.rank() : cell.at;
    if (value.number < 1 || value.number > kMaxSolvedElements) return false;
    type.shape[static_cast<size_t>(axis)] = value.number;
  }
  instance.types[cell.variable] = symbols_.type(type);
  return true;
}

// --- numbers to try ----------------------------------------------------------------------------

std::optional<double> InstanceSolver::number(const RuleInstance& instance, ExprIndex expr) const {
  std::optional<Value> v = evaluate_value({rule_, symbols_, instance.values, instance}, expr);
  std::optional<ConstNumber> n = v ? number_of(*v) : std::nullopt;
  return n && n->is_number() ? std::optional(n->as_real()) : std::nullopt;
}

/// Adds the numbers that make both sides of a comparison equal, if the place occurs once.
void InstanceSolver::add_differences(const RuleInstance& instance, ExprIndex expr, double current,
                                     std::vector<double>& numbers) const {
  std::vector<ExprIndex> open = {expr};
  while (!open.empty()) {
    const ValueExpr& e = rule_.exprs[open.back()];
    open.pop_back();
    llvm::append_range(open, e.operands);
    const bool alone = e.kind == Kind::Abs; // compared with 0, like exponents of 0
    const bool compares = alone || (e.kind >= Kind::Eq && e.kind <= Kind::Ge) ||
                          e.kind == Kind::Min || e.kind == Kind::Max || e.kind == Kind::Pow;
    if (!compares) continue;
    std::optional<double> a = number(instance, e.operands[0]);
    std::optional<double> b = alone ? 0 : number(instance, e.operands[1]);
    if (!a || !b) continue;
    for (double gap : {*b - *a, *a - *b})
      for (double beside : {0, -1, 1}) numbers.push_back(current + gap + beside);
  }
}

std::vector<Value> InstanceSolver::candidates(const RuleInstance& instance, const RuleCell& cell,
                                              std::optional<ExprIndex> expr) const {
  std::vector<Value> values;
  std::optional<Value> now = value(instance, cell);
  if (!now) return values;
  if (cell.kind == RuleCell::Kind::DType) {
    for (DType dtype : kAllDTypes) values.push_back(Value::of_enum(dtype_name(dtype)));
    return values;
  }
  if (cell.kind == RuleCell::Kind::Rank) {
    for (int64_t rank = 0; rank <= kMaxRank; ++rank) values.push_back(Value::of_int(rank));
    return values;
  }
  if (now->is(Value::Kind::Bool)) return {Value::of_bool(false), Value::of_bool(true)};
  if (now->is(Value::Kind::Enum) && kinds_[cell.variable])
    for (llvm::StringRef name : enum_members(*kinds_[cell.variable]))
      values.push_back(Value::of_enum(name));
  std::optional<ConstNumber> current = number_of(*now);
  if (!current) return values;
  std::vector<double> numbers = numbers_;
  if (expr) add_differences(instance, *expr, current->as_real(), numbers);
  ascending(numbers);
  for (double x : numbers) {
    if (current->is(Value::Kind::Float)) {
      values.push_back(Value::of_float(x));
      continue;
    }
    bool fits = is_whole(x) && x >= (cell.kind == RuleCell::Kind::Dim ? 1 : 0);
    if (fits) values.push_back(Value::of_int(static_cast<int64_t>(x)));
  }
  return values;
}

// --- steps -------------------------------------------------------------------------------------

bool InstanceSolver::holds(const RuleInstance& instance, ExprIndex condition) const {
  return tg::holds({rule_, symbols_, instance.values, instance}, condition);
}

size_t InstanceSolver::violated(const RuleInstance& instance,
                                const InstanceRequirement* wish) const {
  size_t count = wish && !wish->holds(instance);
  for (ExprIndex condition : conditions_) count += !holds(instance, condition);
  return count;
}

bool InstanceSolver::left_typed(const RuleInstance& instance) {
  types_.assign(rule_.terms.size(), TypeId{});
  for (TermId root : rule_.lhs)
    if (!type_terms(symbols_, rule_, instance, root, types_)) return false;
  return llvm::all_of(types_, [&](TypeId id) {
    return id == TypeId{} || symbols_.type(id).is_none() ||
           symbols_.type(id).elements() <= kMaxSolvedElements;
  });
}

bool InstanceSolver::admitted(const RuleInstance& instance) {
  return changes_.admitted(instance, types_, kMaxSolvedElements);
}

bool InstanceSolver::solve(RuleInstance& instance, const InstanceRequirement* wish, size_t steps) {
  for (size_t i = 0; i < steps; ++i) {
    if (violated(instance, wish) == 0) return true;
    step(instance, wish);
  }
  return violated(instance, wish) == 0;
}

/// Makes one open condition, or the wish, hold by changing one place.
bool InstanceSolver::step(RuleInstance& instance, const InstanceRequirement* wish) {
  std::vector<std::optional<ExprIndex>> open; // nullopt: the wish
  for (ExprIndex condition : conditions_)
    if (!holds(instance, condition)) open.push_back(condition);
  if (wish && !wish->holds(instance)) open.push_back(std::nullopt);
  if (open.empty()) return true;
  const std::optional<ExprIndex> target = open[static_cast<size_t>(between(0, open.size() - 1))];
  std::vector<RuleCell> places =
      target ? cells(instance, *target) : std::vector(wish->cells.begin(), wish->cells.end());
  if (places.empty()) return false;
  const RuleCell cell = places[static_cast<size_t>(between(0, places.size() - 1))];
  RuleInstance trial = instance;
  auto satisfies = [&](const Value& v) {
    trial.types = instance.types, trial.values = instance.values;
    return set(trial, cell, v) && (target ? holds(trial, *target) : wish->holds(trial));
  };
  std::vector<Value> fits, tried = candidates(instance, cell, target ? target : wish->expr);
  if (!target && wish->number) tried.push_back(Value::of_int(*wish->number));
  llvm::copy_if(tried, std::back_inserter(fits), satisfies);
  std::optional<Value> now = value(instance, cell);
  auto leaves_none = [&](const Value& v) { return satisfies(v) && violated(trial, wish) == 0; };
  const bool scans = now && now->is(Value::Kind::Int) && llvm::none_of(fits, leaves_none);
  if (scans && chance(30)) {
    std::vector<Value> scanned;
    for (int64_t n = 1; n <= kScanned && scanned.size() < 4; ++n)
      if (Value v = Value::of_int(n); fits.empty() ? satisfies(v) : leaves_none(v))
        scanned.push_back(v);
    if (!scanned.empty()) fits = std::move(scanned);
  }
  if (fits.empty()) fits = std::move(tried); // a detour: another place may solve it afterwards
  if (fits.empty()) return false;
  size_t which = chance(40) ? 0 : static_cast<size_t>(between(0, fits.size() - 1));
  const size_t before = violated(instance, wish);
  for (int attempt = 0; attempt < kRepairs; ++attempt) {
    trial = instance;
    if (!apply(trial, cell, fits[which])) return false;
    int64_t hint = fits[which].is(Value::Kind::Int) ? fits[which].number : 2;
    for (int more = 0; more < std::min(attempt, 3); ++more) repair(trial, hint);
    changes_.adapt(trial);
    if (!left_typed(trial) || violated(trial, wish) > before) continue;
    instance = std::move(trial);
    return true;
  }
  return false;
}

/// Sets the place, and carries the change to tensors and attributes that were equal.
bool InstanceSolver::apply(RuleInstance& instance, const RuleCell& cell, const Value& to) {
  std::optional<Value> before = value(instance, cell);
  if (!before) return false;
  switch (cell.kind) {
  case RuleCell::Kind::Dim:
    if (to.number < 1) return false;
    if (to.number > kSmall) shrink(instance, before->number);
    before = value(instance, cell);
    carry_size(instance, cell, before->number, to.number);
    return set(instance, cell, to);
  case RuleCell::Kind::Rank: carry_rank(instance, cell, to.number); return set(instance, cell, to);
  case RuleCell::Kind::DType: {
    bool all = chance(80);
    const std::optional<DType> dtype = parse_dtype(to.text);
    for (TypeId& id : instance.types) {
      if (!all || !dtype || id == TypeId{} || symbols_.type(id).is_none()) continue;
      TensorType type = symbols_.type(id);
      if (dtype_name(type.dtype) == before->text) type.dtype = *dtype;
      id = symbols_.type(type);
    }
    return set(instance, cell, to);
  }
  case RuleCell::Kind::Attribute: break;
  }
  bool alike = chance(60); // entries of one list, and lists, that were equal
  for (uint32_t v = 0; alike && v < rule_.value_vars; ++v)
    for (int64_t at = -1; at < 8; ++at) {
      RuleCell other{RuleCell::Kind::Attribute, v, at};
      std::optional<Value> now = value(instance, other);
      bool same_kind = kinds_[v] == kinds_[cell.variable];
      if (now && same_kind && *now == *before) set(instance, other, to);
    }
  return set(instance, cell, to);
}

void InstanceSolver::carry_size(RuleInstance& instance, const RuleCell& cell, int64_t before,
                                int64_t after) {
  enum { All, Alone, OneTensor, Some };
  const int64_t how = between(All, Some);
  if (how == Alone) return;
  for (uint32_t v = 0; v < rule_.class_vars; ++v) {
    if (instance.types[v] == TypeId{} || symbols_.type(instance.types[v]).is_none()) continue;
    if (how == OneTensor && v != cell.variable) continue;
    TensorType type = symbols_.type(instance.types[v]);
    for (int64_t& n : type.shape)
      if (n == before && (how != Some || chance(50))) n = after;
    instance.types[v] = symbols_.type(type);
  }
  for (uint32_t v = 0; v < rule_.value_vars; ++v) { // lists that are shapes, ends of slices
    const bool list = kinds_[v] == AttrKind::ints, number = kinds_[v] == AttrKind::integer;
    if (instance.values[v] == ValueId{} || !(list || number) || chance(30)) continue;
    Value value = symbols_.value(instance.values[v]);
    if (number && value.number == before) value.number = after;
    for (int64_t& n : value.ints)
      if (n == before && (how != Some || chance(50))) n = after;
    instance.values[v] = symbols_.value(value);
  }
}

/// Adds or removes axes of size 1 in front or behind, of all tensors, of those of the same
/// rank, or of one.
void InstanceSolver::carry_rank(RuleInstance& instance, const RuleCell& cell, int64_t rank) {
  const int64_t old = symbols_.type(instance.types[cell.variable]).rank();
  const int64_t more = rank - old, how = between(0, 2);
  if (more <= 0) {
    for (uint32_t v = 0; v < rule_.class_vars && how < 2; ++v)
      if (auto now = value(instance, {RuleCell::Kind::Rank, v}); now && now->number == old)
        set(instance, {RuleCell::Kind::Rank, v}, Value::of_int(rank));
    return;
  }
  const bool front = chance(70);
  for (uint32_t v = 0; v < rule_.class_vars; ++v) {
    if (instance.types[v] == TypeId{} || symbols_.type(instance.types[v]).is_none()) continue;
    TensorType type = symbols_.type(instance.types[v]);
    if ((how == 1 && type.rank() != old) || (how == 2 && v != cell.variable)) continue;
    type.shape.insert(front ? type.shape.begin() : type.shape.end(), static_cast<size_t>(more), 1);
    if (type.rank() <= kMaxRank) instance.types[v] = symbols_.type(type);
  }
  if (chance(25)) return;
  for (uint32_t v = 0; v < rule_.value_vars; ++v) {
    if (instance.values[v] == ValueId{} || !kinds_[v]) continue;
    Value value = symbols_.value(instance.values[v]);
    auto& list = value.ints;
    bool perm = list.size() == static_cast<size_t>(old) && is_permutation_of_axes(list);
    if (*kinds_[v] == AttrKind::axis && front) value.number += more;
    if (*kinds_[v] == AttrKind::axes && front)
      for (int64_t& axis : list) axis += more;
    if (*kinds_[v] == AttrKind::axes && perm)
      for (int64_t i = 0; i < more; ++i)
        list.insert(list.begin() + (front ? i : old + i), front ? i : old + i);
    if (*kinds_[v] == AttrKind::ints && list.size() == static_cast<size_t>(old))
      list.insert(front ? list.begin() : list.end(), static_cast<size_t>(more), between(0, 1));
    instance.values[v] = symbols_.value(value);
  }
}

/// Changes the surroundings of a place that now has the value `hint`.
void InstanceSolver::repair(RuleInstance& instance, int64_t hint) {
  if (rule_.class_vars == 0) return;
  const int64_t what = between(0, 99);
  auto v = static_cast<uint32_t>(between(0, rule_.class_vars - 1));
  if (what < 15) {
    instance = changes_.changed(instance);
    return;
  }
  if (what < 30 && rule_.value_vars > 0) {
    auto w = static_cast<uint32_t>(between(0, rule_.value_vars - 1));
    RuleCell cell{RuleCell::Kind::Attribute, w, between(-1, 3)};
    if (auto now = value(instance, cell); now && now->is(Value::Kind::Int))
      set(instance, cell, Value::of_int(chance(60) ? hint : between(0, 3)));
    return;
  }
  std::optional<Value> rank = value(instance, {RuleCell::Kind::Rank, v});
  if (!rank) return;
  if (what < 40 && hint < kMaxRank) {
    carry_rank(instance, {RuleCell::Kind::Rank, v}, hint + between(0, 2));
    return;
  }
  if (rank->number == 0) return;
  RuleCell cell{RuleCell::Kind::Dim, v, between(0, rank->number - 1)};
  const int64_t sizes[] = {hint, hint, hint + 1, 2 * hint, hint + between(1, 4), 1, between(1, 6)};
  const int64_t before = value(instance, cell)->number;
  const int64_t to = std::clamp<int64_t>(sizes[between(0, 6)], 1, kMaxSolvedElements);
  carry_size(instance, cell, before, to);
  set(instance, cell, Value::of_int(to));
}

/// Sets sizes other than `kept` to 1 or 2, so that one large size is affordable.
void InstanceSolver::shrink(RuleInstance& instance, int64_t kept) {
  RuleInstance small = instance;
  for (uint32_t v = 0; v < rule_.class_vars; ++v) {
    std::optional<Value> rank = value(small, {RuleCell::Kind::Rank, v});
    for (int64_t axis = 0; rank && axis < rank->number; ++axis) {
      RuleCell cell{RuleCell::Kind::Dim, v, axis};
      const int64_t before = value(small, cell)->number;
      if (before <= 2 || before == kept) continue;
      RuleInstance next = small;
      const int64_t to = between(1, 2);
      for (TypeId& id : next.types) {
        if (id == TypeId{} || symbols_.type(id).is_none()) continue;
        TensorType type = symbols_.type(id);
        std::replace(type.shape.begin(), type.shape.end(), before, to);
        id = symbols_.type(type);
      }
      changes_.adapt(next);
      if (left_typed(next)) small = std::move(next);
    }
  }
  instance = std::move(small);
}

} // namespace tg
