#include "compiler/rules/compile/names.h"

#include "compiler/rules/compile/values.h"
#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace tg {

namespace {

bool is_activation(OpKind op) {
  for (Act act : {Act::Relu, Act::Tanh, Act::Sigmoid, Act::Gelu, Act::Relu6})
    if (act_op(act) == op) return true;
  return false;
}

/// Returns the operator of an infix or prefix sign in a tensor expression.
std::optional<OpKind> sign_operator(ast::Op op) {
  switch (op) {
  case ast::Op::Add: return OpKind::Add;
  case ast::Op::Sub: return OpKind::Sub;
  case ast::Op::Mul: return OpKind::Mul;
  case ast::Op::Div: return OpKind::Div;
  case ast::Op::MatMul: return OpKind::Matmul;
  case ast::Op::Neg: return OpKind::Neg;
  case ast::Op::Mod: return OpKind::Mod;
  case ast::Op::Pow: return OpKind::Pow;
  case ast::Op::Eq: return OpKind::Equal;
  case ast::Op::Ne: return OpKind::NotEqual;
  case ast::Op::Lt: return OpKind::Less;
  case ast::Op::Le: return OpKind::LessEqual;
  case ast::Op::Gt: return OpKind::Greater;
  case ast::Op::Ge: return OpKind::GreaterEqual;
  case ast::Op::And: return OpKind::LogicalAnd;
  case ast::Op::Or: return OpKind::LogicalOr;
  case ast::Op::Not: return OpKind::LogicalNot;
  default: return std::nullopt;
  }
}

} // namespace

std::optional<RuleParamKind> parse_rule_param_kind(llvm::StringRef word) {
  return llvm::StringSwitch<std::optional<RuleParamKind>>(word)
      .Case("tensor", RuleParamKind::Tensor)
      .Cases("int", "ints", "float", "bool", "axis", RuleParamKind::Attribute)
      .Cases("axes", "pair", "pad", "act", RuleParamKind::Attribute)
      .Cases("Pad", "Act", "string", RuleParamKind::Attribute)
      .Case("pointwise", RuleParamKind::Pointwise)
      .Case("unary", RuleParamKind::Unary)
      .Case("binary", RuleParamKind::Binary)
      .Case("activation", RuleParamKind::Activation)
      .Default(std::nullopt);
}

llvm::SmallVector<OpKind, 16> operators_of(RuleParamKind kind) {
  llvm::SmallVector<OpKind, 16> ops;
  for (const OpInfo& info : all_ops()) {
    bool pointwise = info.has(Trait::Pointwise) && info.kind != OpKind::Identity;
    if (!pointwise || info.has(Trait::Logical)) continue; // variables of rules denote numbers
    if ((kind == RuleParamKind::Unary && info.operand_count == 1) ||
        (kind == RuleParamKind::Binary && info.operand_count == 2) ||
        (kind == RuleParamKind::Activation && is_activation(info.kind)))
      ops.push_back(info.kind);
  }
  return ops;
}

bool RuleNames::declare_params() {
  for (const ast::Param& param : tree_[decl_.params]) {
    auto [at, fresh] = names_.try_emplace(param.name.text);
    if (!fresh)
      return errors_.fail(error(Code::duplicate_name, param.name.span,
                                "the parameter `{0}` is declared twice", param.name.text)),
             false;
    Meaning& meaning = at->second;
    meaning.declared = param.name.span;
    for (auto [name, op] : operators_)
      if (name == param.name.text) {
        meaning.kind = Meaning::Kind::Operator;
        meaning.op = op;
        meaning.bound = true;
      }
    if (!param.type) continue;
    RuleParamKind kind =
        parse_rule_param_kind(tree_[param.type].name.text).value_or(RuleParamKind::Any);
    if (kind == RuleParamKind::Tensor) {
      meaning.kind = Meaning::Kind::Class;
      meaning.number = draft_.new_class(param.name.text.str());
    }
    meaning.value_only = kind == RuleParamKind::Attribute;
  }
  return true;
}

bool RuleNames::declare_lets() {
  uint32_t order = 0;
  for (ast::StmtId id : tree_[decl_.lets]) {
    const ast::Stmt& let = tree_[id];
    ++order;
    llvm::ArrayRef<ast::Name> targets = tree_[let.targets];
    for (size_t i = 0; i < targets.size(); ++i) {
      auto [at, fresh] = names_.try_emplace(targets[i].text);
      if (!fresh)
        return errors_.fail(error(Code::duplicate_name, targets[i].span,
                                  "`{0}` is named twice in this rule", targets[i].text)),
               false;
      at->second.kind = Meaning::Kind::Let;
      at->second.bound = true;
      at->second.let = let.value;
      at->second.order = order;
      at->second.declared = targets[i].span;
      if (let.destructures) at->second.part = static_cast<int>(i);
    }
  }
  return true;
}

RuleNames::Meaning* RuleNames::find(const ast::Expr& e) {
  if (e.unfolded_from) return nullptr;
  auto at = names_.find(e.kind == ast::ExprKind::Call ? e.callee.text : e.text);
  if (at == names_.end()) return nullptr;
  bool too_late = at->second.kind == Meaning::Kind::Let && at->second.order >= let_limit_;
  return too_late ? nullptr : &at->second;
}

RuleNames::Meaning* RuleNames::let(const ast::Expr& name) {
  Meaning* meaning = name.kind == ast::ExprKind::Name ? find(name) : nullptr;
  return meaning && meaning->kind == Meaning::Kind::Let ? meaning : nullptr;
}

std::nullopt_t RuleNames::unknown(ast::ExprId name, llvm::StringRef what) {
  const ast::Expr& e = tree_[name];
  Diagnostic d = error(Code::unknown_name, e.span, "unknown name `{0}`", e.text);
  if (e.unfolded_from) return errors_.fail(std::move(d));
  d.mark(what.str());
  std::vector<llvm::StringRef> known;
  for (const ast::Param& param : tree_[decl_.params]) known.push_back(param.name.text);
  llvm::StringRef near = near_miss(e.text, known);
  d.help = near.empty() ? llvm::formatv("add `{0}` to the parameters of the rule", e.text).str()
                        : llvm::formatv("did you mean `{0}`?", near).str();
  return errors_.fail(std::move(d));
}

RuleNames::Meaning* RuleNames::tensor(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = find(e);
  if (!meaning) return unknown(id, "not a parameter of the rule"), nullptr;
  if (!meaning->used.valid()) meaning->used = e.span;
  if (meaning->kind == Meaning::Kind::Unknown && !meaning->value_only) {
    meaning->kind = Meaning::Kind::Class;
    meaning->number = draft_.new_class(e.text.str());
  }
  if (meaning->kind != Meaning::Kind::Class) {
    errors_.fail(
        error(Code::wrong_kind, e.span, "`{0}` is not a tensor", e.text).mark("expected a tensor"));
    return nullptr;
  }
  return meaning;
}

RuleNames::Meaning* RuleNames::attribute(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = find(e);
  if (!meaning) return nullptr; // it may be an enumerator, which the caller knows
  if (!meaning->used.valid()) meaning->used = e.span;
  if (meaning->kind == Meaning::Kind::Unknown) {
    meaning->kind = Meaning::Kind::Value;
    meaning->number = draft_.new_value(e.text.str());
  }
  if (meaning->kind == Meaning::Kind::Class)
    errors_.fail(error(Code::wrong_kind, e.span, "`{0}` is a tensor", e.text)
                     .mark("expected a compile-time value"));
  return meaning;
}

bool RuleNames::is_unbound(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = e.kind == ast::ExprKind::Name ? find(e) : nullptr;
  return meaning && meaning->kind == Meaning::Kind::Unknown;
}

bool RuleNames::take(ast::ExprId id, ExprIndex stands_for) {
  if (!is_unbound(id)) return false;
  Meaning* meaning = find(tree_[id]);
  meaning->kind = Meaning::Kind::Alias;
  meaning->expr = stands_for;
  meaning->used = tree_[id].span;
  return meaning->bound = true;
}

bool RuleNames::check_bound(bool reversed) {
  for (const ast::Param& param : tree_[decl_.params]) {
    const Meaning& meaning = names_[param.name.text];
    if (meaning.bound || !meaning.used.valid()) continue;
    errors_.fail(
        error(Code::unbound_variable, meaning.used,
              "`{0}` is not bound by the {1} side of rule `{2}`", param.name.text,
              reversed ? "right" : "left", decl_.name.text)
            .mark("used here")
            .at(param.name.span, "declared here")
            .suggest(
                "an operand or attribute of an operator can bind it; functions of compile-time "
                "values, such as `min` and `abs`, only read it"));
    return false;
  }
  return true;
}

bool RuleNames::check_all_used() {
  for (const ast::Param& param : tree_[decl_.params]) {
    const Meaning& meaning = names_[param.name.text];
    if (meaning.used.valid() || meaning.kind == Meaning::Kind::Operator) continue;
    errors_.fail(error(Code::unbound_variable, param.name.span,
                       "rule `{0}` does not use its parameter `{1}`", decl_.name.text,
                       param.name.text));
    return false;
  }
  return true;
}

std::optional<OpKind> RuleNames::operator_of(const ast::Expr& e) {
  if (e.kind == ast::ExprKind::Binary || e.kind == ast::ExprKind::Unary) return sign_operator(e.op);
  if (e.kind != ast::ExprKind::Call) return std::nullopt;
  if (Meaning* meaning = find(e); meaning && meaning->kind == Meaning::Kind::Operator) {
    meaning->used = e.callee.span;
    return meaning->op;
  }
  return find_op(e.callee.text);
}

bool RuleNames::is_tensor(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case ast::ExprKind::Name: return name_is_tensor(e);
  case ast::ExprKind::Unary: return is_tensor(e.a);
  case ast::ExprKind::Binary: return is_tensor(e.a) || is_tensor(e.b);
  case ast::ExprKind::Call:
    if (!is_rule_function(e.callee.text)) return true;
    return find_op(e.callee.text) && llvm::any_of(tree_[e.args], [&](const ast::Arg& arg) {
             return arg.value && is_tensor(arg.value); // of numbers, it is a number
           });
  case ast::ExprKind::Tuple: return true;
  case ast::ExprKind::Index: return is_tensor(e.a);
  default: return false;
  }
}

bool RuleNames::name_is_tensor(const ast::Expr& e) {
  Meaning* meaning = find(e);
  if (!meaning) { // lowering it as a tensor reports the error
    std::optional<Value> word = constant_of_name(e.text);
    return !word || !is_number(*word); // inf, nan
  }
  if (meaning->kind != Meaning::Kind::Let)
    return meaning->kind == Meaning::Kind::Class ||
           (meaning->kind == Meaning::Kind::Unknown && !meaning->value_only);
  auto known = let_is_tensor_.find(meaning->let.index);
  if (known != let_is_tensor_.end()) return known->second;
  LetScope before(*this, *meaning);
  bool tensor = is_tensor(meaning->let);
  let_is_tensor_[meaning->let.index] = tensor;
  return tensor;
}

} // namespace tg
