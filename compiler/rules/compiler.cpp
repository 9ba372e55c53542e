#include "compiler/rules/compiler.h"

#include "lang/core/shape_rules.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/StringSwitch.h>

namespace tg {

namespace {

bool is_activation(OpKind op) {
  for (Act act : {Act::Relu, Act::Tanh, Act::Sigmoid, Act::Gelu, Act::Relu6})
    if (act_op(act) == op) return true;
  return false;
}

/// The operator of an infix or prefix sign in a tensor expression.
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

constexpr uint32_t kMaxLets = 32;
constexpr uint32_t kMaxDepth = 500;
constexpr size_t kMaxSize = 10'000; // terms, expressions

std::vector<llvm::StringRef> operator_names() {
  std::vector<llvm::StringRef> names;
  for (const OpInfo& info : all_ops())
    if (!info.has(Trait::Leaf) && info.kind != OpKind::Extern) names.push_back(info.name);
  return names;
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
    if (!pointwise || info.has(Trait::Logical)) continue; // variables of rules stand for numbers
    if ((kind == RuleParamKind::Unary && info.operand_count == 1) ||
        (kind == RuleParamKind::Binary && info.operand_count == 2) ||
        (kind == RuleParamKind::Activation && is_activation(info.kind)))
      ops.push_back(info.kind);
  }
  return ops;
}

RuleCompiler::RuleCompiler(const Ast& tree, const ast::Decl& decl, OperatorChoice operators,
                           bool reversed, uint32_t swaps, DiagnosticSink& sink, bool integers)
    : tree_(tree), decl_(decl), operators_(std::move(operators)), reversed_(reversed),
      swaps_(swaps), sink_(sink), integers_(integers) {}

std::optional<Rule> RuleCompiler::run() {
  if (!declare_params() || !declare_lets()) return std::nullopt;
  if (!lower_left_sides()) return std::nullopt;
  for (ast::ExprId where : tree_[decl_.where])
    if (!condition(where)) return std::nullopt;
  on_left_ = false;
  if (!lower_right_sides() || !check_bound() || !check_all_used()) return std::nullopt;
  return std::move(rule_);
}

std::nullopt_t RuleCompiler::fail(Diagnostic d) {
  if (!failed_) {
    if (reversed_) d.notes.push_back("the rule is two-way; this is its direction right to left");
    sink_.report(std::move(d));
  }
  failed_ = true; // one mistake, one error
  return std::nullopt;
}

/// Lets may name lets, so that a short text can stand for a large rule; reports it.
bool RuleCompiler::too_large(ast::ExprId at) {
  if (depth_ <= kMaxDepth && rule_.terms.size() <= kMaxSize && rule_.exprs.size() <= kMaxSize)
    return failed_;
  fail(error(Code::rule_pattern, tree_[at].span,
             "rule `{0}` is too large: its lets unfold into more "
             "than {1} parts, or deeper than {2}",
             decl_.name.text, kMaxSize, kMaxDepth));
  return true;
}

// --- names --------------------------------------------------------------------------------------

bool RuleCompiler::declare_params() {
  for (const ast::Param& param : tree_[decl_.params]) {
    auto [at, fresh] = names_.try_emplace(param.name.text);
    if (!fresh)
      return fail(error(Code::duplicate_name, param.name.span,
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
      meaning.number = new_class(param.name.text.str());
    }
    meaning.value_only = kind == RuleParamKind::Attribute;
  }
  return true;
}

bool RuleCompiler::declare_lets() {
  uint32_t order = 0;
  if (decl_.lets.size() > kMaxLets) {
    fail(error(Code::rule_pattern, decl_.name.span, "rule `{0}` has more than {1} lets",
               decl_.name.text, kMaxLets));
    return false;
  }
  for (ast::StmtId id : tree_[decl_.lets]) {
    const ast::Stmt& let = tree_[id];
    ++order;
    llvm::ArrayRef<ast::Name> targets = tree_[let.targets];
    for (size_t i = 0; i < targets.size(); ++i) {
      auto [at, fresh] = names_.try_emplace(targets[i].text);
      if (!fresh)
        return fail(error(Code::duplicate_name, targets[i].span,
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

RuleCompiler::Meaning* RuleCompiler::find(llvm::StringRef name) {
  auto at = names_.find(name);
  if (at == names_.end()) return nullptr;
  bool too_late = at->second.kind == Meaning::Kind::Let && at->second.order >= let_limit_;
  return too_late ? nullptr : &at->second;
}

std::nullopt_t RuleCompiler::unknown(ast::ExprId name, llvm::StringRef what) {
  const ast::Expr& e = tree_[name];
  Diagnostic d = error(Code::unknown_name, e.span, "unknown name `{0}`", e.text);
  d.mark(what.str());
  std::vector<llvm::StringRef> known;
  for (const ast::Param& param : tree_[decl_.params]) known.push_back(param.name.text);
  llvm::StringRef near = near_miss(e.text, known);
  d.help = near.empty() ? llvm::formatv("add `{0}` to the parameters of the rule", e.text).str()
                        : llvm::formatv("did you mean `{0}`?", near).str();
  return fail(std::move(d));
}

/// The name in an operand's place: a class variable. Null after an error.
RuleCompiler::Meaning* RuleCompiler::tensor(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = find(e.text);
  if (!meaning) return unknown(id, "not a parameter of the rule"), nullptr;
  if (!meaning->used.valid()) meaning->used = e.span;
  if (meaning->kind == Meaning::Kind::Unknown && !meaning->value_only) {
    meaning->kind = Meaning::Kind::Class;
    meaning->number = new_class(e.text.str());
  }
  if (meaning->kind != Meaning::Kind::Class) {
    fail(error(Code::wrong_kind, e.span, "`{0}` is no tensor", e.text)
             .mark("a tensor is needed here"));
    return nullptr;
  }
  return meaning;
}

/// The name in an attribute's place: a value variable or what stands for one.
RuleCompiler::Meaning* RuleCompiler::attribute(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* meaning = find(e.text);
  if (!meaning) return nullptr; // perhaps a word of an enumeration: the caller knows
  if (!meaning->used.valid()) meaning->used = e.span;
  if (meaning->kind == Meaning::Kind::Unknown) {
    meaning->kind = Meaning::Kind::Value;
    meaning->number = new_value(e.text.str());
  }
  if (meaning->kind == Meaning::Kind::Class)
    fail(error(Code::wrong_kind, e.span, "`{0}` is a tensor", e.text)
             .mark("a compile-time value is needed here"));
  return meaning;
}

bool RuleCompiler::check_bound() {
  for (const ast::Param& param : tree_[decl_.params]) {
    const Meaning& meaning = names_[param.name.text];
    if (meaning.bound || !meaning.used.valid()) continue;
    fail(error(Code::unbound_variable, meaning.used,
               "`{0}` is not bound by the {1} side of rule `{2}`", param.name.text,
               reversed_ ? "right" : "left", decl_.name.text)
             .mark("used here")
             .at(param.name.span, "declared here"));
    return false;
  }
  return true;
}

bool RuleCompiler::check_all_used() {
  for (const ast::Param& param : tree_[decl_.params]) {
    const Meaning& meaning = names_[param.name.text];
    if (meaning.used.valid() || meaning.kind == Meaning::Kind::Operator) continue;
    fail(error(Code::unbound_variable, param.name.span,
               "rule `{0}` does not use its parameter `{1}`", decl_.name.text, param.name.text));
    return false;
  }
  return true;
}

uint32_t RuleCompiler::new_value(const std::string& name, std::optional<AttrKind> kind) {
  std::string unique = name;
  for (int i = 2; llvm::is_contained(rule_.value_var_names, unique); ++i)
    unique = name + std::to_string(i);
  rule_.value_var_names.push_back(std::move(unique));
  value_kinds_.push_back(kind);
  return rule_.value_vars++;
}

uint32_t RuleCompiler::new_class(std::string name) {
  rule_.class_var_names.push_back(std::move(name));
  return rule_.class_vars++;
}

TermId RuleCompiler::add(Term term) {
  rule_.terms.push_back(std::move(term));
  return static_cast<TermId>(rule_.terms.size() - 1);
}

TermId RuleCompiler::class_term(uint32_t number) {
  Term term;
  term.kind = Term::Kind::ClassVar;
  term.variable = number;
  return add(std::move(term));
}

TermId RuleCompiler::none_term() {
  Term term;
  term.kind = Term::Kind::Op;
  term.op = OpKind::None;
  return add(std::move(term));
}

// --- calls --------------------------------------------------------------------------------------

/// The operator that an expression applies; nullopt if it applies none (then nothing is reported).
std::optional<OpKind> RuleCompiler::operator_of(const ast::Expr& e) {
  if (e.kind == ast::ExprKind::Binary || e.kind == ast::ExprKind::Unary) return sign_operator(e.op);
  if (e.kind != ast::ExprKind::Call) return std::nullopt;
  if (Meaning* meaning = find(e.callee.text); meaning && meaning->kind == Meaning::Kind::Operator) {
    meaning->used = e.callee.span;
    return meaning->op;
  }
  return find_op(e.callee.text);
}

std::optional<RuleCompiler::Call> RuleCompiler::read_call(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<OpKind> op = operator_of(e);
  if (!op && e.kind == ast::ExprKind::Call) {
    Diagnostic d =
        error(Code::unknown_name, e.callee.span, "unknown operator `{0}`", e.callee.text);
    std::vector<llvm::StringRef> names = operator_names();
    llvm::StringRef near = near_miss(e.callee.text, names);
    d.help = idiom_of_function(e.callee.text);
    if (d.help.empty())
      d.help = near.empty() ? "rules are of operators, which `tg ops` lists"
                            : llvm::formatv("did you mean `{0}`?", near).str();
    return fail(std::move(d));
  }
  if (!op || (op_info(*op).has(Trait::Leaf) && *op != OpKind::None))
    return fail(error(Code::rule_pattern, e.span, "this cannot be part of a rule's term"));
  const OpInfo& info = op_info(*op);
  Call call;
  call.op = *op;
  call.expr = id;
  call.optional.resize(info.operand_count);
  call.attrs.resize(info.attr_count);
  if (e.kind != ast::ExprKind::Call) {
    call.operands.push_back(e.a);
    if (e.kind == ast::ExprKind::Binary) call.operands.push_back(e.b);
    return call;
  }
  size_t position = 0;
  for (const ast::Arg& arg : tree_[e.args]) {
    bool ok = true;
    if (arg.kind == ast::ArgKind::Rest)
      call.rest = true;
    else if (arg.kind == ast::ArgKind::Named)
      ok = read_named(call, arg);
    else
      ok = read_positional(call, position++, arg);
    if (!ok) return std::nullopt;
  }
  size_t needed = 0;
  for (const OperandInfo& operand : info.operands()) needed += !operand.optional;
  if (call.operands.size() < needed)
    return fail(error(Code::missing_argument, e.span, "`{0}` needs its operand `{1}`", info.name,
                      info.operands()[call.operands.size()].name));
  return call;
}

/// `concat([a, b])`: the operands of a variadic operator are one list.
bool RuleCompiler::read_variadic(Call& call, const ast::Arg& arg) {
  const ast::Expr& list = tree_[arg.value];
  if (list.kind != ast::ExprKind::List || list.items.empty()) {
    fail(error(Code::wrong_kind, arg.span, "`{0}` takes a list of operands", op_info(call.op).name)
             .suggest("write them as [a, b]"));
    return false;
  }
  for (ast::ExprId item : tree_[list.items]) call.operands.push_back(item);
  return true;
}

/// Operands that must be given come first, in order, then attributes by slot. Optional operands go
/// by name.
bool RuleCompiler::read_positional(Call& call, size_t position, const ast::Arg& arg) {
  const OpInfo& info = op_info(call.op);
  size_t required = 0;
  for (const OperandInfo& operand : info.operands()) required += !operand.optional;
  if (arg.kind == ast::ArgKind::Spread) {
    fail(error(Code::not_yet, arg.span, "`...` stands only in a rule on pointwise operators"));
    return false;
  }
  if (info.variadic() && position == 0) return read_variadic(call, arg);
  if (position < required) {
    call.operands.push_back(arg.value);
    return true;
  }
  if (position - required < info.attr_count) {
    call.attrs[position - required] = arg.value;
    return true;
  }
  fail(error(Code::too_many_arguments, arg.span, "`{0}` takes {1} operand{2} and {3} attribute{4}",
             info.name, required, required == 1 ? "" : "s", info.attr_count,
             info.attr_count == 1 ? "" : "s"));
  return false;
}

bool RuleCompiler::read_named(Call& call, const ast::Arg& arg) {
  const OpInfo& info = op_info(call.op);
  llvm::StringRef name = arg.name.text;
  ast::ExprId* place = nullptr;
  if (int slot = info.attr_slot(name); slot >= 0) place = &call.attrs[slot];
  if (int operand = info.operand_index(name); operand >= 0 && info.operands()[operand].optional)
    place = &call.optional[operand];
  if (call.op == OpKind::Split && name == "parts") place = &call.parts;
  if (place && !place->valid()) {
    *place = arg.value;
    return true;
  }
  if (place) {
    fail(error(Code::duplicate_name, arg.span, "`{0}` is given twice", name));
    return false;
  }
  Diagnostic d =
      error(Code::unknown_argument, arg.name.span, "`{0}` has no attribute `{1}`", info.name, name);
  std::vector<llvm::StringRef> known;
  for (const AttrInfo& attr : info.attrs()) known.push_back(attr.name);
  for (const OperandInfo& operand : info.operands())
    if (operand.optional) known.push_back(operand.name);
  llvm::StringRef near = near_miss(name, known);
  llvm::SmallVector<llvm::StringRef, 2> meant;
  idiom_of_argument(name).split(meant, ' ', -1, /*KeepEmpty=*/false);
  const auto* idiom = llvm::find_if(meant, [&](auto m) { return llvm::is_contained(known, m); });
  if (idiom != meant.end())
    d.help = llvm::formatv("it is called `{0}` here", *idiom);
  else if (!near.empty())
    d.help = llvm::formatv("did you mean `{0}`?", near).str();
  else
    d.help = "it takes " + parameters_text(call.op);
  fail(std::move(d));
  return false;
}

std::nullopt_t RuleCompiler::lacks_attribute(const Call& call, const AttrInfo& attr) {
  return fail(error(Code::missing_argument, tree_[call.expr].span,
                    "`{0}` needs its attribute `{1}`", op_info(call.op).name, attr.name)
                  .suggest("in a rule it takes " + parameters_text(call.op)));
}

std::nullopt_t RuleCompiler::bad_attribute(const Call& call, const AttrInfo& attr, Span span,
                                           const Value& given) {
  Diagnostic d = error(Code::bad_attribute, span, "`{0}` of `{1}` cannot be {2}", attr.name,
                       op_info(call.op).name, given.text_form());
  if (given.is(Value::Kind::String)) d.help = idiom_of_quotes(attr.name, attr.kind, given.text);
  return fail(std::move(d));
}

} // namespace tg
