// Tests the instances at which rules are verified. Other instances are made from the drawn ones
// by one small change each: another attribute, another size, an additional axis, another dtype.
// If both sides of the rule accept the change (types and conditions, only by `infer`),
// the instance could have been drawn. For each kind of instance that is possible by this test,
// at least one must be among the drawn ones.
#include "compiler/rules/instances/instance.h"
#include "compiler/verify/verify_rule.h"
#include "lang/core/shape_rules.h"
#include "tests/property/rules/library.h"

#include <llvm/ADT/STLExtras.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <set>

namespace tg::test {
namespace {

constexpr size_t kInstances = 200; // as `tg rules verify` draws
constexpr size_t kChanged = 30;    // instances to change, spread over all
constexpr int64_t kRanks = 4;      // larger ranks only take more time

using Kinds = std::set<std::string>;

/// Returns true if the engine would apply the rule: both sides have equal types,
/// and the conditions hold.
bool admitted(Symbols& symbols, const Rule& rule, const RuleInstance& instance) {
  std::vector<TypeId> types;
  for (size_t i = 0; i < rule.lhs.size(); ++i) {
    if (!type_terms(symbols, rule, instance, rule.lhs[i], types)) return false;
    // Bound attributes are in normal form.
    if (!type_terms(symbols, rule, instance, rule.rhs[i], types)) return false;
    if (types[rule.lhs[i]] != types[rule.rhs[i]]) return false;
  }
  return conditions_hold({rule, symbols, instance.values, instance});
}

// --- kinds of instances --------------------------------------------------------------------------

const char* size_kind(int64_t n) {
  if (n == 1) return "1";
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return "composite";
  return "prime";
}

void add_tensor(const std::string& name, const TensorType& type, Kinds& kinds) {
  kinds.insert(name + (type.is_none() ? " absent" : " present"));
  if (type.is_none()) return;
  kinds.insert(name + " of " + dtype_name(type.dtype).str());
  if (type.rank() > kRanks) return;
  kinds.insert(name + " of rank " + std::to_string(type.rank()));
  for (int64_t n : type.shape) kinds.insert(name + " has a size that is " + size_kind(n));
  if (llvm::any_of(type.shape, [&](int64_t n) { return n != type.shape[0]; }))
    kinds.insert(name + " of unequal sizes");
}

/// Adds the kind of an attribute: enumerations, booleans and paddings by value,
/// pairs by each number.
void add_attribute(const std::string& name, AttrKind kind, const Value& value, Kinds& kinds) {
  switch (kind) {
  case AttrKind::act:
  case AttrKind::boolean:
  case AttrKind::dtype: kinds.insert(name + " = " + value.text_form()); return;
  case AttrKind::pad:
    kinds.insert(name + " = " + (value.is(Value::Kind::Enum) ? value.text : "numbers"));
    return;
  case AttrKind::pair:
    for (size_t i : {0, 1})
      if (value.ints[i] <= 3)
        kinds.insert(name + "[" + std::to_string(i) + "] = " + std::to_string(value.ints[i]));
    if (value.ints[0] != value.ints[1]) kinds.insert(name + " of unequal numbers");
    return;
  case AttrKind::axis:
    if (value.number < kRanks) kinds.insert(name + " = " + value.text_form());
    return;
  case AttrKind::axes:
    kinds.insert(name + " of length " + std::to_string(std::min<size_t>(value.ints.size(), 3)));
    return;
  default: return;
  }
}

void add_conv(const std::string& name, const TensorType& x, const TensorType& w, Kinds& kinds) {
  int64_t groups = x[1] / w[1];
  kinds.insert(name + (groups == 1 ? " of one group" : w[1] == 1 ? " by channels" : " of groups"));
  for (size_t i : {2, 3})
    kinds.insert(name + " with a window " + (w[i] == 1 ? "of 1" : w[i] % 2 ? "odd" : "even"));
  if (w[2] != w[3]) kinds.insert(name + " with an oblong window");
}

Kinds kinds_of(Symbols& symbols, const Rule& rule, const RuleInstance& instance) {
  Kinds kinds;
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    if (instance.types[v] == TypeId{}) continue;
    const std::string& name = rule.class_var_names[v];
    add_tensor(name, symbols.type(instance.types[v]), kinds);
    kinds.insert(name + (instance.constants[v] ? " constant"
                         : instance.weights[v] ? " a weight"
                                               : " no weight"));
  }
  std::vector<TypeId> types;
  for (TermId root : rule.lhs) type_terms(symbols, rule, instance, root, types);
  for (TermId id = 0; id < rule.terms.size(); ++id) {
    const Term& term = rule.terms[id];
    if (term.kind != Term::Kind::Op || types[id] == TypeId{}) continue;
    for (size_t slot = 0; slot < term.attrs.size(); ++slot)
      if (term.attrs[slot].kind == TermAttr::Kind::Variable)
        add_attribute(rule.value_var_names[term.attrs[slot].variable],
                      op_info(term.op).attrs()[slot].kind,
                      symbols.value(instance.values[term.attrs[slot].variable]), kinds);
    if (term.op == OpKind::Conv2d)
      add_conv("conv2d " + std::to_string(id), symbols.type(types[term.operands[0]]),
               symbols.type(types[term.operands[1]]), kinds);
  }
  return kinds;
}

// --- changes -------------------------------------------------------------------------------------

class Changes {
public:
  Changes(Symbols& symbols, const Rule& rule) : symbols_(symbols), rule_(rule) {}

  /// Adds the kinds of all accepted instances that differ from this one by one change.
  void add(const RuleInstance& from, Kinds& kinds) {
    from_ = &from;
    kinds_ = &kinds;
    for (uint32_t v = 0; v < rule_.value_vars; ++v) change_value(v);
    for (uint32_t v = 0; v < rule_.class_vars; ++v) {
      if (from.types[v] == TypeId{} || symbols_.type(from.types[v]).is_none()) continue;
      change_tensor(v);
    }
    rename_sizes();
    change_dtypes();
    for (uint32_t v = 0; v < rule_.class_vars; ++v) {
      RuleInstance to = from;
      to.weights[v] = !to.weights[v];
      to.constants[v] = false;
      look(to);
    }
  }

private:
  void look(const RuleInstance& instance) {
    if (!admitted(symbols_, rule_, instance)) return;
    Kinds more = kinds_of(symbols_, rule_, instance);
    kinds_->insert(more.begin(), more.end());
  }

  void look_with(uint32_t v, TensorType type) {
    if (type.rank() > kMaxRank || type.elements() > 4096) return;
    RuleInstance to = *from_;
    to.types[v] = symbols_.type(type);
    look(to);
  }

  AttrKind kind_of(uint32_t v) const {
    for (const Term& term : rule_.terms)
      for (size_t slot = 0; slot < term.attrs.size(); ++slot)
        if (term.attrs[slot].kind == TermAttr::Kind::Variable && term.attrs[slot].variable == v)
          return op_info(term.op).attrs()[slot].kind;
    return AttrKind::string;
  }

  std::vector<Value> others(AttrKind kind) const {
    std::vector<Value> values;
    for (llvm::StringRef name : enum_members(kind)) values.push_back(Value::of_enum(name));
    if (kind == AttrKind::boolean) values = {Value::of_bool(false), Value::of_bool(true)};
    if (kind == AttrKind::pad)
      values.insert(values.end(), {Value::of_ints({1, 1, 1, 1}), Value::of_ints({0, 1, 1, 0})});
    for (int64_t i : {1, 2, 3})
      for (int64_t j : {1, 2, 3})
        if (kind == AttrKind::pair) values.push_back(Value::of_ints({i, j}));
    for (int64_t axis = 0; axis < kRanks; ++axis)
      if (kind == AttrKind::axis) values.push_back(Value::of_int(axis));
    if (kind == AttrKind::axes)
      values = {Value::of_ints({0}), Value::of_ints({0, 1}), Value::of_ints({0, 1, 2})};
    return values;
  }

  void change_value(uint32_t v) {
    if (from_->values[v] == ValueId{}) return;
    for (const Value& value : others(kind_of(v))) {
      RuleInstance to = *from_;
      to.values[v] = symbols_.value(value);
      look(to);
    }
  }

  void change_tensor(uint32_t v) {
    const TensorType type = symbols_.type(from_->types[v]);
    for (size_t axis = 0; axis < type.shape.size(); ++axis)
      for (int64_t n : {1, 2, 3, 4, 6}) {
        TensorType other = type;
        other.shape[axis] = n;
        look_with(v, other);
      }
    TensorType other = type;
    other.shape.insert(other.shape.begin(), 2);
    look_with(v, other);
    if (type.rank() > 0) {
      other.shape.assign(type.shape.begin() + 1, type.shape.end());
      look_with(v, other);
    }
  }

  template <class F> RuleInstance each_type(F change) {
    RuleInstance to = *from_;
    for (TypeId& id : to.types)
      if (id != TypeId{} && !symbols_.type(id).is_none()) {
        TensorType type = symbols_.type(id);
        change(type);
        id = symbols_.type(type);
      }
    return to;
  }

  /// Replaces one size by another in all tensors, and adds a first axis to all.
  void rename_sizes() {
    for (int64_t before = 1; before <= 6; ++before)
      for (int64_t after : {1, 2, 3, 4})
        look(each_type([&](TensorType& type) {
          for (int64_t& n : type.shape)
            if (n == before) n = after;
        }));
    look(each_type([](TensorType& type) {
      if (type.rank() < kRanks) type.shape.insert(type.shape.begin(), 2);
    }));
  }

  /// Changes the dtype of all tensors with one dtype together.
  void change_dtypes() {
    constexpr DType kAll[] = {DType::F32, DType::F16, DType::BF16,
                              DType::I32, DType::I64, DType::Bool};
    for (DType before : kAll)
      for (DType after : kAll)
        look(each_type([&](TensorType& type) {
          if (type.dtype == before) type.dtype = after;
        }));
  }

  Symbols& symbols_;
  const Rule& rule_;
  const RuleInstance* from_ = nullptr;
  Kinds* kinds_ = nullptr;
};

/// Returns the kinds of instances that the rule accepts, but that do not occur among the first
/// `counted` drawn.
std::vector<std::string> never_drawn(const Rule& rule, size_t instances, size_t& seen,
                                     size_t counted = std::numeric_limits<size_t>::max()) {
  Kinds drawn, possible;
  RuleCheckOptions options;
  options.instances = instances;
  size_t at = 0;
  visit_instances(rule, options, [&](Symbols& symbols, const RuleInstance& instance) {
    Kinds more = kinds_of(symbols, rule, instance);
    if (at < counted) drawn.insert(more.begin(), more.end());
    if (at++ % std::max<size_t>(instances / kChanged, 1) == 0)
      Changes(symbols, rule).add(instance, possible);
  });
  EXPECT_GE(at, instances) << rule_text(rule);
  seen += drawn.size();
  std::vector<std::string> missing;
  std::set_difference(possible.begin(), possible.end(), drawn.begin(), drawn.end(),
                      std::back_inserter(missing));
  return missing;
}

TEST(Instances, CoverEveryKindThatARuleAdmits) {
  std::string last;
  size_t kinds = 0, rules = 0;
  for (const Rule& rule : library()) {
    if (rule.native != Native::No || rule.declared == last) continue;
    last = rule.declared; // one form of each declaration
    ++rules;
    for (const std::string& kind : never_drawn(rule, kInstances, kinds))
      ADD_FAILURE() << rule.name << ": " << kind << ", of " << kInstances << " instances";
  }
  std::printf("%zu kinds of instances of %zu rules\n", kinds, rules);
}

/// Shows that the test can fail: a few instances do not cover all kinds.
TEST(Instances, FewAreNotOfAllKinds) {
  size_t kinds = 0;
  for (const Rule& rule : library()) {
    if (rule.name != "join_convs") continue;
    EXPECT_FALSE(never_drawn(rule, kInstances, kinds, 10).empty());
  }
  EXPECT_GT(kinds, 0u);
}

} // namespace
} // namespace tg::test
