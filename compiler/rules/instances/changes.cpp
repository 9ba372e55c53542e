#include "compiler/rules/instances/changes.h"

#include "compiler/rules/instances/kinds.h"
#include "compiler/rules/instances/partition.h"
#include "lang/core/semantics/walk.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

using semantics::product;

RuleChanges::RuleChanges(Symbols& symbols, const Rule& rule, std::mt19937_64& rng)
    : symbols_(symbols), rule_(rule), rng_(rng), kinds_(attribute_kinds(rule)) {}

int64_t RuleChanges::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
}

bool RuleChanges::admitted(const RuleInstance& instance, std::vector<TypeId>& types, int64_t most) {
  types.assign(rule_.terms.size(), TypeId{});
  for (TermId root : rule_.lhs)
    if (!type_terms(symbols_, rule_, instance, root, types)) return false;
  if (!conditions_hold({rule_, symbols_, instance.values, instance})) return false;
  for (size_t i = 0; i < rule_.lhs.size(); ++i)
    if (!type_terms(symbols_, rule_, instance, rule_.rhs[i], types) ||
        types[rule_.lhs[i]] != types[rule_.rhs[i]])
      return false;
  return llvm::all_of(types, [&](TypeId id) {
    return id == TypeId{} || symbols_.type(id).is_none() || symbols_.type(id).elements() <= most;
  });
}

RuleInstance RuleChanges::changed(const RuleInstance& from) {
  RuleInstance to = from;
  change(to);
  for (int more = 0; more < 2 && chance(30); ++more) change(to);
  adapt(to);
  return to;
}

void RuleChanges::adapt(RuleInstance& instance) {
  adapt_shapes(instance);
  adapt_numbers(instance);
  for (uint32_t v = 0; v < rule_.class_vars; ++v) { // many numbers, of another shape
    auto& numbers = instance.literals[v];
    const TypeId id = instance.types[v];
    bool typed = id != TypeId{} && !symbols_.type(id).is_none();
    if (numbers.size() > 1 &&
        (!typed || static_cast<int64_t>(numbers.size()) != symbols_.type(id).elements()))
      numbers.resize(1);
  }
}

/// Adapts reshapes of a tensor with changed sizes; otherwise no change of a single size
/// would be valid.
void RuleChanges::adapt_shapes(RuleInstance& instance) {
  for (const Term& term : rule_.terms) {
    if (term.op != OpKind::Reshape || term.attrs[0].kind != TermAttr::Kind::Variable) continue;
    const Term& operand = rule_.terms[term.operands[0]];
    const uint32_t v = term.attrs[0].variable;
    if (operand.kind != Term::Kind::ClassVar || instance.values[v] == ValueId{}) continue;
    const TypeId id = instance.types[operand.variable];
    if (id == TypeId{} || symbols_.type(id).is_none()) continue;
    const Shape& shape = symbols_.type(id).shape;
    if (product(symbols_.value(instance.values[v]).ints) == product(shape)) continue;
    Value list = Value::of_ints(shape);
    for (int64_t more = between(0, 2); more > 0; --more) list = other_list(list);
    instance.values[v] = symbols_.value(list);
  }
}

/// Gives numbers of the left side the dtype of their neighbours.
void RuleChanges::adapt_numbers(RuleInstance& instance) {
  for (ExprIndex condition : rule_.conditions) {
    std::optional<NumberLike> number = number_like(rule_, rule_.exprs[condition]);
    if (!number || instance.types[number->like] == TypeId{}) continue;
    DType dtype = symbols_.type(instance.types[number->like]).dtype;
    instance.values[number->type] = symbols_.value(Value::of_type({dtype, {}}));
  }
}

void RuleChanges::change(RuleInstance& instance) {
  int64_t what = between(0, 99);
  if (rule_.value_vars > 0 && (what < 38 || rule_.class_vars == 0)) return change_value(instance);
  if (rule_.class_vars == 0) return;
  if (what < 62) return change_tensor(instance);
  if (what < 76) return rename_size(instance);
  if (what < 80) return add_axis(instance);
  if (what < 87) return change_presence(instance);
  if (what < 92) return change_origin(instance);
  change_dtypes(instance);
}

void RuleChanges::change_value(RuleInstance& instance) {
  uint32_t v = static_cast<uint32_t>(between(0, rule_.value_vars - 1));
  if (instance.values[v] == ValueId{} || !kinds_[v]) return;
  const ValueId before = instance.values[v];
  const ValueId after = symbols_.value(other(*kinds_[v], symbols_.value(before)));
  bool alike = chance(40); // values that conditions relate change together
  for (uint32_t w = 0; w < rule_.value_vars; ++w)
    if (w == v || (alike && instance.values[w] == before && kinds_[w] == kinds_[v]))
      instance.values[w] = after;
}

/// Moves padding from one side of an axis to the other, which keeps all sizes.
Value RuleChanges::shifted(Value pad) {
  int64_t from = between(0, 3);
  if (pad.ints[static_cast<size_t>(from)] > 0) {
    --pad.ints[static_cast<size_t>(from)];
    ++pad.ints[static_cast<size_t>((from + 2) % 4)];
  }
  return pad;
}

Value RuleChanges::other(AttrKind kind, const Value& value) {
  llvm::ArrayRef<llvm::StringRef> members = enum_members(kind);
  if (!members.empty() && (kind != AttrKind::pad || chance(50)))
    return Value::of_enum(members[any_of(members)]);
  switch (kind) {
  case AttrKind::boolean: return Value::of_bool(!value.number);
  case AttrKind::pad: {
    if (value.ints.size() == 4 && chance(40)) return shifted(value);
    int64_t h = between(0, 2), w = chance(60) ? h : between(0, 2);
    return chance(60) ? Value::of_ints({h, w, h, w})
                      : Value::of_ints({h, w, between(0, 2), between(0, 2)});
  }
  case AttrKind::pair: {
    auto step = [&] { return chance(15) ? 5 : between(1, 3); }; // 5: beyond most windows
    int64_t h = step();
    return Value::of_ints({h, chance(60) ? h : step()});
  }
  case AttrKind::axis: return Value::of_int(between(0, 4));
  case AttrKind::integer: return Value::of_int(std::max<int64_t>(value.number + between(-2, 2), 0));
  case AttrKind::real: {
    constexpr Partition kAll[] = {Partition::Positive, Partition::Negative, Partition::Zero,
                                  Partition::One,      Partition::Ties,     Partition::Tiny,
                                  Partition::Large};
    double x = number_in(kAll[between(0, 6)], DType::F32, rng_());
    return Value::of_float(std::abs(x) < 1e-3 ? x : std::round(x * 16) / 16);
  }
  case AttrKind::axes:
  case AttrKind::ints: return other_list(value);
  default: return value;
  }
}

/// Changes a list (shape, axes, paddings): an entry is changed, moved, split, joined,
/// inserted or removed.
Value RuleChanges::other_list(Value value) {
  auto& ints = value.ints;
  if (ints.empty()) return value;
  size_t at = any_of(ints), to = any_of(ints);
  switch (between(0, 7)) {
  case 0: ints[at] = between(0, 4); break;
  case 7: { // all equal entries
    int64_t n = ints[at], other = between(0, 4);
    std::replace(ints.begin(), ints.end(), n, other);
    break;
  }
  case 1: std::swap(ints[at], ints[to]); break;
  case 2: ints.insert(ints.begin() + at, chance(50) ? 1 : between(0, 3)); break;
  case 3: ints.erase(ints.begin() + at); break;
  case 4: // split
    for (int64_t d : {2, 3})
      if (ints[at] > d && ints[at] % d == 0) {
        ints[at] /= d;
        ints.insert(ints.begin() + at, d);
        break;
      }
    break;
  case 5: // join
    if (at + 1 == ints.size()) break;
    ints[at] *= ints[at + 1];
    ints.erase(ints.begin() + at + 1);
    break;
  default: // move a factor
    for (int64_t d : {2, 3})
      if (at != to && ints[at] > 0 && ints[at] % d == 0) {
        ints[at] /= d;
        ints[to] *= d;
        break;
      }
  }
  return value;
}

void RuleChanges::change_tensor(RuleInstance& instance) {
  uint32_t v = static_cast<uint32_t>(between(0, rule_.class_vars - 1));
  if (instance.types[v] == TypeId{}) return;
  TensorType type = symbols_.type(instance.types[v]);
  if (type.is_none()) return;
  Shape& shape = type.shape;
  int64_t what = shape.empty() ? 2 : between(0, 6);
  if (what < 2) {
    shape[any_of(shape)] = chance(40) ? size_of(instance) : any_size();
  } else if (what < 4) { // another axis, often of an existing size, or of 1
    int64_t size = !shape.empty() && chance(40) ? shape[any_of(shape)]
                   : chance(50)                 ? 1
                                                : any_size();
    shape.insert(shape.begin() + between(0, type.rank()), size);
  } else if (what == 4) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(any_of(shape)));
  } else if (what == 5) {
    std::swap(shape[any_of(shape)], shape[any_of(shape)]);
  } else { // axes of 1 at the end, to line up with another tensor's
    shape.append(static_cast<size_t>(between(1, 3)), 1);
  }
  if (type.rank() <= kMaxRank && type.elements() <= kMaxInstanceElements)
    instance.types[v] = symbols_.type(type);
}

/// Adds or removes optional operands.
void RuleChanges::change_presence(RuleInstance& instance) {
  uint32_t v = static_cast<uint32_t>(between(0, rule_.class_vars - 1));
  if (instance.types[v] == TypeId{}) return;
  if (!symbols_.type(instance.types[v]).is_none()) {
    instance.types[v] = symbols_.none_type();
    return;
  }
  // A vector with the channels of some kernel; the walk guesses other optional operands well.
  uint32_t like = static_cast<uint32_t>(between(0, rule_.class_vars - 1));
  if (instance.types[like] == TypeId{}) return;
  const TensorType& type = symbols_.type(instance.types[like]);
  if (type.rank() == 0) return;
  instance.types[v] = symbols_.type({type.dtype, {chance(50) ? type.shape[0] : type.shape.back()}});
}

void RuleChanges::change_origin(RuleInstance& instance) {
  uint32_t v = static_cast<uint32_t>(between(0, rule_.class_vars - 1));
  if (instance.constants[v] && !instance.literals[v].empty() && chance(60)) {
    double& x = instance.literals[v][any_of(instance.literals[v])];
    if (symbols_.type(instance.types[v]).dtype == DType::Bool) return;
    x = chance(50) ? -x : static_cast<double>(between(-2, 2));
    return;
  }
  instance.weights[v] = !instance.weights[v];
  instance.constants[v] = false;
}

template <class F> void RuleChanges::each_type(RuleInstance& instance, F change) {
  for (TypeId& id : instance.types) {
    if (id == TypeId{} || symbols_.type(id).is_none()) continue;
    TensorType type = symbols_.type(id);
    change(type);
    if (type.rank() <= kMaxRank && type.elements() <= kMaxInstanceElements)
      id = symbols_.type(type);
  }
}

/// Returns a size that some tensor has, so that sizes agree by chance, or any size.
int64_t RuleChanges::size_of(const RuleInstance& instance) {
  const TypeId id = instance.types[any_of(instance.types)];
  if (id == TypeId{} || symbols_.type(id).rank() == 0) return any_size();
  const Shape& shape = symbols_.type(id).shape;
  return shape[any_of(shape)];
}

/// Replaces one size by another, in all tensors and in lists that are shapes.
void RuleChanges::rename_size(RuleInstance& instance) {
  int64_t before = size_of(instance), after = chance(40) ? size_of(instance) : any_size();
  auto rename = [&](auto& list) {
    for (int64_t& n : list)
      if (n == before) n = after;
  };
  each_type(instance, [&](TensorType& type) { rename(type.shape); });
  if (chance(50)) return;
  for (uint32_t v = 0; v < rule_.value_vars; ++v) {
    if (instance.values[v] == ValueId{} || kinds_[v] != AttrKind::ints) continue;
    Value value = symbols_.value(instance.values[v]);
    rename(value.ints);
    instance.values[v] = symbols_.value(value);
  }
}

/// Adds an axis in front of all; sometimes also shifts the axis attributes.
void RuleChanges::add_axis(RuleInstance& instance) {
  int64_t size = any_size();
  each_type(instance, [&](TensorType& type) { type.shape.insert(type.shape.begin(), size); });
  if (chance(50)) return;
  for (uint32_t v = 0; v < rule_.value_vars; ++v) {
    if (instance.values[v] == ValueId{} || !kinds_[v]) continue;
    Value value = symbols_.value(instance.values[v]);
    if (kinds_[v] == AttrKind::axis) ++value.number;
    if (kinds_[v] == AttrKind::axes)
      for (int64_t& axis : value.ints) ++axis;
    if (kinds_[v] == AttrKind::ints) value.ints.insert(value.ints.begin(), size);
    instance.values[v] = symbols_.value(value);
  }
}

/// Changes the dtype of all tensors of one dtype.
void RuleChanges::change_dtypes(RuleInstance& instance) {
  const TypeId some = instance.types[any_of(instance.types)];
  if (some == TypeId{} || symbols_.type(some).is_none()) return;
  const DType before = symbols_.type(some).dtype, after = kAllDTypes[between(0, 6)];
  each_type(instance, [&](TensorType& type) {
    if (type.dtype == before) type.dtype = after;
  });
  for (auto& numbers : instance.literals)
    if (!is_float(after))
      for (double& x : numbers) x = after == DType::Bool ? x != 0 : std::round(x);
}

} // namespace tg
