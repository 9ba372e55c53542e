#include "compiler/rules/from_ast.h"

#include "compiler/rules/compile/compiler.h"
#include "compiler/rules/numerics/derived_class.h"
#include "compiler/rules/text.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

namespace tg {

namespace {

/// Limit on choices of operators for one declaration.
constexpr size_t kMaxInstances = 128;

/// In patterns with more commuting operators, only the first ones are matched in both orders.
constexpr uint32_t kMaxSwapped = 3;

/// Returns the left side of a rule as text, with variables numbered by first occurrence: rules of
/// one declaration with equal keys are the same.
std::string left_key(Rule rule) {
  std::vector<int> classes(rule.class_vars, -1), values(rule.value_vars, -1);
  int next = 0;
  auto number = [&](int& slot) { slot = slot < 0 ? next++ : slot; };
  std::vector<TermId> open(rule.lhs.rbegin(), rule.lhs.rend());
  while (!open.empty()) { // in the order of the text
    const Term& term = rule.terms[open.back()];
    open.pop_back();
    if (term.kind == Term::Kind::ClassVar) number(classes[term.variable]);
    for (const TermAttr& attr : term.attrs)
      if (attr.kind == TermAttr::Kind::Variable) number(values[attr.variable]);
    open.insert(open.end(), term.operands.rbegin(), term.operands.rend());
  }
  for (uint32_t v = 0; v < rule.class_vars; ++v)
    rule.class_var_names[v] = "c" + std::to_string(classes[v]);
  for (uint32_t v = 0; v < rule.value_vars; ++v)
    rule.value_var_names[v] = "v" + std::to_string(values[v]);
  std::vector<std::string> conditions;
  for (ExprIndex condition : rule.conditions) conditions.push_back(expr_text(rule, condition));
  std::sort(conditions.begin(), conditions.end());
  std::string key = rule_side_text(rule, true);
  for (const std::string& condition : conditions) key += "; " + condition;
  return key;
}

class DeclarationReader {
public:
  DeclarationReader(const Ast& tree, const ast::Decl& decl, DiagnosticSink& sink, RuleTypes types)
      : tree_(tree), decl_(decl), sink_(sink), types_(types) {}

  /// Returns the rules of the declaration, without set and place; empty after an error.
  std::vector<Rule> run() {
    if (!read_numerics() || !read_params()) return {};
    if (native_) return read_native();
    size_t instances = 1;
    for (const auto& [name, ops] : operators_) instances *= ops.size();
    if (operators_.size() > 4 || instances > kMaxInstances) {
      sink_.report(error(Code::rule_pattern, decl_.name.span,
                         "the operator variables of rule `{0}` stand for more than {1} rules",
                         decl_.name.text, kMaxInstances));
      return {};
    }
    std::vector<Rule> rules;
    for (const OperatorChoice& choice : choices())
      for (bool reversed : {false, true})
        if ((!reversed || decl_.two_way) && !read_orders(choice, reversed, rules)) return {};
    return rules;
  }

private:
  /// Reads one direction with one choice of operators: a rule for each order of the operands of
  /// commuting operators on the left, except orders that match the same.
  bool read_orders(const OperatorChoice& choice, bool reversed, std::vector<Rule>& out) {
    bool divides = false;
    std::optional<RuleFault> fault;
    if (!read_variant(choice, reversed, false, divides, fault, out)) return false;
    if (!divides) return !fault || report(*fault, reversed);
    std::optional<RuleFault> other; // `// `//` has one meaning for floats and another for integers
    if (!read_variant(choice, reversed, true, divides, other, out)) return false;
    return !fault || !other || report(*fault, reversed);
  }

  /// `fault`: why no types fit, if none do.
  bool read_variant(const OperatorChoice& choice, bool reversed, bool integers, bool& divides,
                    std::optional<RuleFault>& fault, std::vector<Rule>& out) {
    std::vector<std::string> seen;
    uint32_t orders = 1;
    for (uint32_t swaps = 0; swaps < orders; ++swaps) {
      RuleCompiler compiler(tree_, decl_, choice, reversed, swaps, sink_, integers);
      std::optional<Rule> rule = compiler.run();
      if (!rule) return false;
      divides = compiler.divides();
      orders = 1u << std::min(compiler.commuting(), kMaxSwapped);
      std::string key = left_key(*rule);
      if (llvm::is_contained(seen, key)) continue;
      seen.push_back(std::move(key));
      rule->name = name_of(choice, reversed, integers);
      if (seen.size() > 1) rule->name += "~" + std::to_string(seen.size());
      rule->at = decl_.name.span;
      if (types_ == RuleTypes::Checked || divides) fault = check_types(*rule);
      if (fault) return fault->kind != RuleFault::Kind::TypesDiffer || report(*fault, reversed);
      set_class(*rule);
      out.push_back(std::move(*rule));
    }
    return true;
  }

  /// A rule without a stated class gets the class of its operators.
  void set_class(Rule& rule) const {
    rule.stated = stated_.has_value();
    rule.numerics = stated_.value_or(Numerics::Exact);
    if (stated_) return;
    ClassDerivation::Derived derived = derive_class(rule);
    rule.numerics = derived.numerics;
    for (uint32_t variable : must_be_finite(derived, derived.numerics))
      if (!llvm::is_contained(rule.finite, variable)) rule.finite.push_back(variable);
  }

  bool read_numerics() {
    if (!decl_.numerics) return true;
    stated_ = llvm::StringSwitch<std::optional<Numerics>>(decl_.numerics.text)
                  .Case("exact", Numerics::Exact)
                  .Case("reassociates", Numerics::Reassociates)
                  .Case("risky", Numerics::Risky)
                  .Case("lossy", Numerics::Lossy)
                  .Default(std::nullopt);
    if (stated_) return true;
    Diagnostic d = error(Code::unknown_name, decl_.numerics.span, "unknown class of numerics `{0}`",
                         decl_.numerics.text);
    d.help = "the classes are exact, reassociates, risky and lossy";
    sink_.report(std::move(d));
    return false;
  }

  bool read_params() {
    for (const ast::Param& param : tree_[decl_.params]) {
      if (!param.type) continue;
      const ast::Type& type = tree_[param.type];
      std::optional<RuleParamKind> kind = parse_rule_param_kind(type.name.text);
      if (type.kind == ast::TypeKind::Error) return false;
      if (!kind || type.bracketed) return unknown_kind(type);
      if (*kind == RuleParamKind::Pointwise) native_ = true;
      llvm::SmallVector<OpKind, 16> ops = operators_of(*kind);
      if (!ops.empty()) operators_.push_back({param.name.text, std::move(ops)});
    }
    return true;
  }

  bool unknown_kind(const ast::Type& type) {
    Diagnostic d = error(Code::unknown_name, type.span, "`{0}` is not a kind of rule parameter",
                         type.name.text);
    bool tensor =
        parse_dtype(type.name.text) || type.bracketed || !idiom_of_type(type.name.text).empty();
    d.help = tensor ? "omit it: a variable matches tensors of every "
                      "shape; write "
                      "requirements after `where`"
                    : "the kinds are tensor, unary, binary, activation, pointwise, "
                      "and those of attributes "
                      "(int, ints, float, bool, pair, pad, act, axis, axes); "
                      "most can be omitted";
    sink_.report(std::move(d));
    return false;
  }

  /// Returns all combinations of operators for the operator variables; a single empty one
  /// without them.
  std::vector<OperatorChoice> choices() const {
    std::vector<OperatorChoice> all(1);
    for (const auto& [name, ops] : operators_) {
      std::vector<OperatorChoice> longer;
      for (const OperatorChoice& choice : all)
        for (OpKind op : ops) {
          longer.push_back(choice);
          longer.back().push_back({name, op});
        }
      all = std::move(longer);
    }
    return all;
  }

  std::string name_of(const OperatorChoice& choice, bool reversed, bool integers) const {
    std::string name = decl_.name.text.str();
    if (integers) name += "-int";
    if (reversed) name += "-rev";
    for (size_t i = 0; i < choice.size(); ++i)
      name += (i == 0 ? "[" : ", ") + std::string(op_info(choice[i].second).name);
    return choice.empty() ? name : name + "]";
  }

  /// Reads `f(xs...) => fuse(f, xs...)` and nothing else.
  std::vector<Rule> read_native() {
    if (!is_fuse_pointwise()) {
      sink_.report(error(Code::rule_pattern, decl_.span,
                         "a rule on arbitrary pointwise operators has "
                         "only one form")
                       .suggest("write f(xs...) => fuse(f, xs...), with parameters "
                                "f: pointwise, xs..."));
      return {};
    }
    Rule rule;
    rule.name = decl_.name.text.str();
    rule.native = Native::FusePointwise;
    rule.numerics = stated_.value_or(Numerics::Exact);
    rule.at = decl_.name.span;
    Term term;
    term.kind = Term::Kind::AnyPointwise;
    rule.terms.push_back(std::move(term));
    rule.lhs.push_back(0);
    return {std::move(rule)};
  }

  bool is_fuse_pointwise() const {
    llvm::ArrayRef<ast::Param> params = tree_[decl_.params];
    if (params.size() != 2 || decl_.lhs.size() != 1 || decl_.rhs.size() != 1 || decl_.two_way ||
        !decl_.where.empty() || !decl_.lets.empty())
      return false;
    llvm::StringRef f = params[0].name.text, xs = params[1].name.text;
    const ast::Expr &left = tree_[tree_[decl_.lhs][0]], &right = tree_[tree_[decl_.rhs][0]];
    if (left.kind != ast::ExprKind::Call || right.kind != ast::ExprKind::Call) return false;
    if (left.callee.text != f || right.callee.text != "fuse") return false;
    llvm::ArrayRef<ast::Arg> from = tree_[left.args], to = tree_[right.args];
    return from.size() == 1 && to.size() == 2 && is_spread(from[0], xs) && is_spread(to[1], xs) &&
           to[0].kind == ast::ArgKind::Positional && tree_[to[0].value].text == f;
  }

  bool is_spread(const ast::Arg& arg, llvm::StringRef name) const {
    return arg.kind == ast::ArgKind::Spread && tree_[arg.value].text == name;
  }

  std::optional<RuleFault> check_types(const Rule& rule) {
    Symbols symbols;
    RuleFault fault = check_rule(symbols, rule);
    if (fault.kind == RuleFault::Kind::None) return std::nullopt;
    fault.rule = rule.name;
    return fault;
  }

  /// Reports the fault; always returns false.
  bool report(RuleFault fault, bool reversed) {
    ast::ExprId left = tree_[reversed ? decl_.rhs : decl_.lhs][0];
    ast::ExprId right = tree_[reversed ? decl_.lhs : decl_.rhs][0];
    Span span = tree_[fault.kind == RuleFault::Kind::NeverBuilt ? right : left].span;
    Diagnostic d = error(Code::rule_type, span, "{0}", message(fault));
    d.label = fault.kind == RuleFault::Kind::TypesDiffer ? fault.left : fault.why;
    if (fault.kind == RuleFault::Kind::TypesDiffer)
      d.labels.push_back({tree_[right].span, fault.right});
    d.notes = std::move(fault.operands);
    if (reversed) d.notes.push_back("the rule is two-way; this is its direction right to left");
    sink_.report(std::move(d));
    return false;
  }

  static std::string message(const RuleFault& fault) {
    switch (fault.kind) {
    case RuleFault::Kind::NeverTyped:
      return "rule `" + fault.rule + "` can never match: no types fit its left side";
    case RuleFault::Kind::NeverHolds:
      return "rule `" + fault.rule + "` can never match: no types satisfy its conditions";
    case RuleFault::Kind::NeverBuilt:
      return "rule `" + fault.rule + "` can never apply: no types fit its result";
    default: return "the sides of rule `" + fault.rule + "` have different types";
    }
  }

  const Ast& tree_;
  const ast::Decl& decl_;
  DiagnosticSink& sink_;
  RuleTypes types_;
  std::optional<Numerics> stated_;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::SmallVector<OpKind, 16>>, 2> operators_;
  bool native_ = false;
};

} // namespace

static bool is_error_in(const Diagnostic& d, const Ast& tree, const ast::Decl& decl) {
  return d.severity == Severity::Error && d.span.valid() && d.span.file == tree.file() &&
         decl.span.begin <= d.span.begin && d.span.begin < decl.span.end;
}

/// Returns true if an error in the declaration was reported, so that further errors would
/// be misleading.
static bool is_broken(const Ast& tree, const ast::Decl& decl, const DiagnosticSink& sink) {
  return llvm::any_of(sink.all(), [&](const Diagnostic& d) { return is_error_in(d, tree, decl); });
}

/// Returns the rule of the tree in which the error is.
static std::optional<UnreadRule> unread_rule(const Ast& tree, const SourceManager& sources,
                                             const Diagnostic& d) {
  std::string set;
  for (ast::DeclId id : tree.decls()) {
    const ast::Decl& decl = tree[id];
    if (decl.kind == ast::DeclKind::Ruleset) set = decl.name.text.str();
    if (decl.kind != ast::DeclKind::Rule || !is_error_in(d, tree, decl)) continue;
    const SourceFile& file = sources.file(tree.file());
    return UnreadRule{decl.name.text.str(), set, file.name().str(),
                      file.position(decl.span.begin).line,
                      d.message + (d.label.empty() ? "" : ": " + d.label)};
  }
  return std::nullopt;
}

std::optional<std::vector<UnreadRule>> unread_rules(llvm::ArrayRef<const Ast*> trees,
                                                    const SourceManager& sources,
                                                    llvm::ArrayRef<Diagnostic> diagnostics) {
  std::vector<UnreadRule> found;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::Error) continue;
    std::optional<UnreadRule> rule;
    for (const Ast* tree : trees)
      if (!rule) rule = unread_rule(*tree, sources, d);
    if (!rule) return std::nullopt;
    bool known = llvm::any_of(
        found, [&](const UnreadRule& r) { return r.file == rule->file && r.line == rule->line; });
    if (!known) found.push_back(std::move(*rule));
  }
  return found;
}

std::vector<Rule> rules_from_ast(const Ast& written, const SourceManager& sources,
                                 DiagnosticSink& sink, const OpScope* operators, RuleTypes types) {
  OpScope own;
  own.declare(written);
  Ast tree = unfold_ops(written, operators ? *operators : own, sink);
  std::vector<Rule> rules;
  std::string set;
  const SourceFile& file = sources.file(tree.file());
  llvm::StringMap<Span> declared;
  for (ast::DeclId id : tree.decls()) {
    const ast::Decl& decl = tree[id];
    if (decl.kind == ast::DeclKind::Ruleset) set = decl.name.text.str();
    if (decl.kind != ast::DeclKind::Rule) continue;
    if (auto [at, fresh] = declared.try_emplace(decl.name.text, decl.name.span); !fresh) {
      sink.report(error(Code::duplicate_name, decl.name.span, "rule `{0}` is declared twice",
                        decl.name.text)
                      .at(at->second, "first here"));
      continue;
    }
    if (is_broken(tree, decl, sink)) continue;
    for (Rule& rule : DeclarationReader(tree, decl, sink, types).run()) {
      rule.declared = decl.name.text.str();
      rule.set = set;
      rule.file = file.name().str();
      rule.line = file.position(decl.name.span.begin).line;
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

} // namespace tg
