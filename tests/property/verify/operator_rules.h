// Rules `op(..) => op(..)` for the operators in the table, and the same rules with one change
// on the right side. Operands, and which of them may be absent, come from the table.
// Values of attributes come from instances that the rule sampler draws. So a new operator
// or attribute needs no change here (except for attributes with text: kTexts).
#pragma once

#include "compiler/rules/instances/sample.h"
#include "lang/core/resample.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tg::test {

/// Values of attributes that cannot be generated: text, types and literals.
struct Text {
  OpKind op;
  size_t slot;
  std::vector<Value> values;
};
inline const std::vector<Text>& texts() {
  static const std::vector<Text> all = {
      {OpKind::Constant, 0, {Value::of_floats({2}), Value::of_floats({3}), Value::of_floats({0})}},
      {OpKind::Constant, 1, {Value::of_type(f32({4})), Value::of_type(f32({5}))}},
      {OpKind::Iota, 0, {Value::of_type(f32({4, 4})), Value::of_type(f32({4, 5}))}},
      {OpKind::FusedMap,
       0,
       {Value::of_string("tanh(sub($0, $1))"), Value::of_string("tanh(sub($1, $0))")}},
      {OpKind::Scatter,
       1,
       {Value::of_string("none"), Value::of_string("add"), Value::of_string("mul"),
        Value::of_string("max"), Value::of_string("min")}},
      {OpKind::Resize,
       ResizeSlot::Mode,
       {Value::of_string("nearest"), Value::of_string("linear"), Value::of_string("cubic")}},
      {OpKind::Resize,
       ResizeSlot::Coordinates,
       {Value::of_string("half_pixel"), Value::of_string("align_corners"),
        Value::of_string("asymmetric")}},
      {OpKind::Resize,
       ResizeSlot::Rounding,
       {Value::of_string("round_prefer_floor"), Value::of_string("floor"),
        Value::of_string("ceil")}},
      {OpKind::Resize, ResizeSlot::Scales, {Value::of_floats({})}},
      {OpKind::Resize, ResizeSlot::Region, {Value::of_floats({})}},
      {OpKind::Extern, 0, {Value::of_string("f"), Value::of_string("g")}},
      {OpKind::Extern,
       1,
       {Value::of_string("(f32[N], f32[N]) -> f32[N]"),
        Value::of_string("(f32[N], f32[M]) -> f32[N]")}},
  };
  return all;
}

/// An operator with a choice of operands. The optional operands in `absent` are missing.
struct Form {
  OpKind op{};
  uint32_t absent = 0; // one bit for each operand
  size_t operands() const { return op_info(op).variadic() ? 2 : op_info(op).operand_count; }
  std::string text() const {
    std::string name(op_info(op).name);
    for (size_t i = 0; i < operands(); ++i)
      if (absent >> i & 1) name += " without " + std::string(op_info(op).operands()[i].name);
    return name;
  }
};

/// Returns all operators that rules may name, in all forms.
inline std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (const OpInfo& info : all_ops()) {
    bool given = info.kind == OpKind::Input || info.kind == OpKind::Weight ||
                 info.kind == OpKind::None || info.has(Trait::Sugar);
    uint32_t optional = 0;
    for (size_t i = 0; i < info.operand_count; ++i)
      if (info.operands()[i].optional) optional |= 1u << i;
    for (uint32_t absent = optional;; absent = (absent - 1) & optional) {
      if (!given) forms.push_back({info.kind, absent});
      if (absent == 0) break;
    }
  }
  return forms;
}

/// Builds the terms of a rule in order. `left` and `right` are its sides.
class RuleMaker {
public:
  RuleMaker() { rule_.name = rule_.declared = "identity"; }

  TermId variable() {
    Term term;
    term.kind = Term::Kind::ClassVar;
    term.variable = rule_.class_vars++;
    rule_.class_var_names.push_back("x" + std::to_string(term.variable));
    return add(term);
  }
  TermId none() {
    Term term;
    term.kind = Term::Kind::Op;
    term.op = OpKind::None;
    return add(term);
  }
  TermAttr value_variable() {
    TermAttr attr;
    attr.kind = TermAttr::Kind::Variable;
    attr.variable = rule_.value_vars++;
    rule_.value_var_names.push_back("v" + std::to_string(attr.variable));
    return attr;
  }
  static TermAttr literal(Value value) {
    TermAttr attr;
    attr.kind = TermAttr::Kind::Literal;
    attr.literal = std::move(value);
    return attr;
  }
  TermId op(OpKind op, llvm::ArrayRef<TermId> operands, llvm::ArrayRef<TermAttr> attrs = {}) {
    Term term;
    term.kind = Term::Kind::Op;
    term.op = op;
    term.operands.assign(operands.begin(), operands.end());
    term.attrs.assign(attrs.begin(), attrs.end());
    return add(std::move(term));
  }
  /// Adds the condition rank(variable) == rank.
  void require_rank(uint32_t variable, int64_t rank) {
    ValueExpr of, number, equal;
    of.kind = ValueExpr::Kind::Rank;
    of.variable = variable;
    number.literal = Value::of_int(rank);
    equal.kind = ValueExpr::Kind::Eq;
    equal.operands = {push(of), push(number)};
    rule_.conditions.push_back(push(equal));
  }
  Rule& rule() { return rule_; }

private:
  TermId add(Term term) {
    rule_.terms.push_back(std::move(term));
    return static_cast<TermId>(rule_.terms.size() - 1);
  }
  ExprIndex push(ValueExpr e) {
    rule_.exprs.push_back(std::move(e));
    return static_cast<ExprIndex>(rule_.exprs.size() - 1);
  }
  Rule rule_;
};

/// One operator, or one applied to the first operand of another, as both sides of a rule,
/// with variables for operands and given attributes.
struct Composed {
  std::vector<Form> forms;                   // the outer one first
  std::vector<std::vector<TermAttr>> attrs;  // of each operator
  std::vector<std::optional<int64_t>> ranks; // of class variables, if a condition must require them
  int64_t rank = 0;                          // of the result
  bool numbers = true;                       // the result is not bool

  /// Returns the rule. `terms` gets the right side's operators, the outer one first.
  RuleMaker make(std::vector<TermId>* terms = nullptr) const {
    RuleMaker maker;
    std::vector<TermId> right;
    std::vector<std::vector<TermId>> variables(forms.size());
    for (size_t n = 0; n < forms.size(); ++n)
      for (size_t i = 0; i < forms[n].operands(); ++i) {
        bool inner = n + 1 < forms.size() && i == 0;
        bool absent = forms[n].absent >> i & 1;
        variables[n].push_back(inner ? 0 : absent ? maker.none() : maker.variable());
      }
    for (bool left : {true, false}) {
      TermId below = 0;
      right.assign(forms.size(), 0);
      for (size_t n = forms.size(); n-- > 0;) {
        std::vector<TermId> operands = variables[n];
        if (n + 1 < forms.size()) operands[0] = below;
        right[n] = below = maker.op(forms[n].op, operands, attrs[n]);
      }
      (left ? maker.rule().lhs : maker.rule().rhs) = {below};
    }
    for (uint32_t v = 0; v < ranks.size(); ++v)
      if (ranks[v]) maker.require_rank(v, *ranks[v]);
    for (const auto& list : attrs)
      for (const TermAttr& attr : list)
        while (attr.kind == TermAttr::Kind::Variable && maker.rule().value_vars <= attr.variable)
          maker.value_variable();
    if (terms) *terms = right;
    return maker;
  }
};

/// Returns the composition with variables for all attributes, except those with text.
inline Composed open_form(std::vector<Form> forms) {
  Composed made{std::move(forms), {}, {}, 0, true};
  uint32_t next = 0;
  for (const Form& form : made.forms) {
    made.attrs.emplace_back();
    for (size_t slot = 0; slot < op_info(form.op).attr_count; ++slot) {
      const Text* text = nullptr;
      for (const Text& t : texts())
        if (t.op == form.op && t.slot == slot) text = &t;
      TermAttr attr = RuleMaker::literal(text ? text->values[0] : Value());
      if (!text) attr.kind = TermAttr::Kind::Variable, attr.variable = next++;
      made.attrs.back().push_back(attr);
    }
  }
  return made;
}

/// Returns the composition at an instance: its values as literals, its ranks as conditions.
/// Returns nullopt if it is ill-typed.
inline std::optional<Composed> at_instance(const Composed& open, Symbols& symbols,
                                           const RuleInstance& instance) {
  Composed made = open;
  for (auto& list : made.attrs)
    for (TermAttr& attr : list)
      if (attr.kind == TermAttr::Kind::Variable)
        attr = RuleMaker::literal(symbols.value(instance.values[attr.variable]));
  made.ranks.clear();
  for (TypeId type : instance.types) {
    made.ranks.emplace_back();
    if (type != TypeId{} && !symbols.type(type).is_none())
      made.ranks.back() = symbols.type(type).rank();
  }
  Rule rule = open.make().rule();
  std::vector<TypeId> types;
  if (!type_terms(symbols, rule, instance, rule.lhs[0], types)) return std::nullopt;
  const TensorType& result = symbols.type(types[rule.lhs[0]]);
  made.rank = result.rank();
  made.numbers = result.dtype != DType::Bool;
  return made;
}

/// Returns other values for a slot of this kind: other members, numbers plus or minus one,
/// another order.
inline std::vector<Value> other_values(const Form& form, size_t slot, const Value& value) {
  const AttrInfo& info = op_info(form.op).attrs()[slot];
  std::vector<Value> others;
  for (const Text& text : texts())
    if (text.op == form.op && text.slot == slot) others = text.values;
  if (value.is(Value::Kind::Bool)) others = {Value::of_bool(value.number == 0)};
  for (llvm::StringRef member : enum_members(info.kind)) others.push_back(Value::of_enum(member));
  if (info.kind == AttrKind::pad)
    for (const Shape& pads : {Shape{1, 1, 1, 1}, Shape{1, 0, 0, 1}})
      others.push_back(Value::of_ints(pads));
  if (value.is(Value::Kind::Int))
    for (int64_t by : {1, -1}) others.push_back(Value::of_int(value.number + by));
  if (value.is(Value::Kind::Float))
    for (double x : {value.real + 1, value.real / 2, 0.0}) others.push_back(Value::of_float(x));
  if (value.is(Value::Kind::Ints)) {
    for (size_t i = 0; i < value.ints.size(); ++i)
      for (int64_t by : {1, -1}) {
        others.push_back(value);
        others.back().ints[i] += by;
      }
    others.push_back(value);
    std::reverse(others.back().ints.begin(), others.back().ints.end());
    for (size_t i = 0; i + 1 < value.ints.size(); ++i) {
      others.push_back(value);
      std::swap(others.back().ints[i], others.back().ints[i + 1]);
    }
  }
  std::vector<Value> unlike;
  bool axis = info.kind == AttrKind::axis;  // negative axes denote the same axes
  bool real = value.is(Value::Kind::Float); // zeros of both signs are equal
  for (Value& other : others)
    if (!(real ? other.real == value.real : other == value) && !llvm::is_contained(unlike, other) &&
        !(axis && other.number < 0))
      unlike.push_back(std::move(other));
  return unlike;
}

struct Changed {
  Rule rule;
  std::string what;  // "conv2d.stride", "conv2d operands"
  std::string how;   // "[1, 1] becomes [2, 1]"
  bool none = false; // operands of a commutative operator
};

/// Changes each attribute on the right side, pairs of attributes of one kind,
/// the order of each two operands, and the presence of each optional operand.
class Changes {
public:
  Changes(const Composed& composed, size_t n) : composed_(composed), n_(n) {}

  std::vector<Changed> all() {
    attributes();
    pairs();
    operands();
    return std::move(changes_);
  }

private:
  const Form& form() const { return composed_.forms[n_]; }
  llvm::ArrayRef<AttrInfo> slots() const { return op_info(form().op).attrs(); }
  std::string name() const { return std::string(op_info(form().op).name); }
  const Value& value(size_t slot) const { return composed_.attrs[n_][slot].literal; }

  Term& add(const std::string& what, const std::string& how) {
    std::vector<TermId> right;
    changes_.push_back({composed_.make(&right).rule(), name() + what, how});
    return changes_.back().rule.terms[right[n_]];
  }

  void attributes() {
    for (size_t slot = 0; slot < slots().size(); ++slot)
      for (const Value& other : other_values(form(), slot, value(slot)))
        add("." + std::string(slots()[slot].name),
            value(slot).text_form() + " becomes " + other.text_form())
            .attrs[slot]
            .literal = other;
  }

  /// Increases both (a slice at another place), or swaps them.
  void pairs() {
    for (size_t i = 0; i < slots().size(); ++i)
      for (size_t j = i + 1; j < slots().size(); ++j) {
        if (slots()[i].kind != slots()[j].kind) continue;
        std::string what = "." + std::string(slots()[i].name) + "." + std::string(slots()[j].name);
        if (!(value(i) == value(j))) {
          Term& swapped = add(what, "swapped");
          std::swap(swapped.attrs[i].literal, swapped.attrs[j].literal);
        }
        bool numbers = !value(i).is(Value::Kind::String) && !value(i).is(Value::Kind::Enum);
        if (!numbers) continue;
        Term& up = add(what, "one up");
        for (size_t slot : {i, j}) {
          Value& number = up.attrs[slot].literal;
          number.number += number.is(Value::Kind::Int);
          number.real += number.is(Value::Kind::Float);
          if (number.is(Value::Kind::Ints)) ++number.ints.back();
        }
      }
  }

  void operands() {
    for (size_t i = 0; i < form().operands(); ++i) {
      if (form().absent >> i & 1) continue;
      bool optional = !op_info(form().op).variadic() && op_info(form().op).operands()[i].optional;
      if (optional) {
        std::vector<TermId> right;
        Changed left_out{composed_.make(&right).rule(), name() + " operands",
                         std::to_string(i) + " left out"};
        Term none;
        none.kind = Term::Kind::Op;
        none.op = OpKind::None;
        left_out.rule.terms.push_back(none);
        left_out.rule.terms[right[n_]].operands[i] =
            static_cast<TermId>(left_out.rule.terms.size() - 1);
        changes_.push_back(std::move(left_out));
      }
      for (size_t j = 0; j < form().operands(); ++j) {
        if (j == i || form().absent >> j & 1) continue;
        Term& twice = add(" operands", std::to_string(j) + " for " + std::to_string(i));
        twice.operands[i] = twice.operands[j];
        if (j < i) continue;
        Term& swapped = add(" operands", std::to_string(i) + " and " + std::to_string(j));
        std::swap(swapped.operands[i], swapped.operands[j]);
        changes_.back().none = op_info(form().op).has(Trait::Commutes);
      }
    }
  }

  const Composed& composed_;
  size_t n_;
  std::vector<Changed> changes_;
};

/// Wraps the right side in operators without effect, through which a proof can see only
/// if it knows the operator: two negations, an empty padding, two inverse transposes.
enum class Around { Nothing, Negations, NoPadding, Transposes };
inline bool wrap(Rule& rule, Around around, const Composed& composed) {
  auto put = [&](OpKind op, std::vector<Value> values) {
    Term term;
    term.kind = Term::Kind::Op;
    term.op = op;
    term.operands = {rule.rhs[0]};
    for (Value& value : values) term.attrs.push_back(RuleMaker::literal(std::move(value)));
    rule.terms.push_back(std::move(term));
    rule.rhs[0] = static_cast<TermId>(rule.terms.size() - 1);
  };
  llvm::SmallVector<int64_t, 8> zeros(static_cast<size_t>(composed.rank)), perm;
  for (int64_t i = composed.rank; i-- > 0;) perm.push_back(i);
  switch (around) {
  case Around::Nothing: return true;
  case Around::Negations:
    for (int i = 0; i < 2; ++i) put(OpKind::Neg, {});
    return composed.numbers;
  case Around::NoPadding:
    put(OpKind::Pad, {Value::of_ints(zeros), Value::of_ints(zeros), Value::of_float(1)});
    return composed.rank > 0;
  case Around::Transposes:
    for (int i = 0; i < 2; ++i) put(OpKind::Transpose, {Value::of_ints(perm)});
    return composed.rank > 1;
  }
  return false;
}

} // namespace tg::test
