#include "compiler/rules/rule_form.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

bool commutes(Kind kind) {
  switch (kind) {
  case Kind::Add:
  case Kind::Mul:
  case Kind::Eq:
  case Kind::Ne:
  case Kind::And:
  case Kind::Or:
  case Kind::Min:
  case Kind::Max:
  case Kind::SameType: return true;
  default: return false;
  }
}

/// a > b equals b < a.
std::optional<Kind> mirrored(Kind kind) {
  if (kind == Kind::Gt) return Kind::Lt;
  if (kind == Kind::Ge) return Kind::Le;
  return std::nullopt;
}

/// Writes a rule with its results in one order. Variables are numbered on first use.
class Writer {
public:
  explicit Writer(const Rule& rule)
      : rule_(rule), tensors_(rule.class_vars), values_(rule.value_vars) {}

  std::string write(llvm::ArrayRef<size_t> order) {
    std::string text;
    for (size_t i : order) text += term(rule_.lhs[i]) + ";";
    text += "=>";
    for (size_t i : order)
      if (i < rule_.rhs.size()) text += term(rule_.rhs[i]) + ";";
    std::vector<std::string> conditions;
    for (ExprIndex condition : rule_.conditions) conditions.push_back(expr(condition));
    llvm::sort(conditions);
    conditions.erase(std::unique(conditions.begin(), conditions.end()), conditions.end());
    return text + "where " + llvm::join(conditions, ";");
  }

private:
  static std::string numbered(llvm::StringRef letter, std::optional<size_t>& number, size_t& next) {
    if (!number) number = next++;
    return letter.str() + std::to_string(*number);
  }
  std::string tensor(uint32_t v) { return numbered("t", tensors_[v], next_tensor_); }
  std::string value(uint32_t v) { return numbered("v", values_[v], next_value_); }

  std::string term(TermId id) {
    const Term& t = rule_.terms[id];
    if (t.kind == Term::Kind::ClassVar) return tensor(t.variable);
    if (t.kind == Term::Kind::AnyPointwise) return "pointwise";
    std::string text = std::string(op_info(t.op).name) + "(";
    for (TermId operand : t.operands) text += term(operand) + ",";
    for (const TermAttr& a : t.attrs) text += attr(a) + ",";
    return text + ")";
  }

  std::string attr(const TermAttr& a) {
    switch (a.kind) {
    case TermAttr::Kind::Literal: return a.literal.text_form();
    case TermAttr::Kind::Variable: return value(a.variable);
    case TermAttr::Kind::Computed: return expr(a.expr);
    }
    return {};
  }

  std::string expr(ExprIndex at) {
    const ValueExpr& e = rule_.exprs[at];
    if (e.kind == Kind::Literal) return e.literal.text_form();
    if (e.kind == Kind::Variable) return value(e.variable);
    std::vector<std::string> operands;
    if (e.queries_class() || e.kind == Kind::TypeLike) operands.push_back(tensor(e.variable));
    if (e.kind == Kind::SameType) operands.push_back(tensor(e.variable2));
    for (ExprIndex operand : e.operands) operands.push_back(expr(operand));
    std::optional<Kind> other = mirrored(e.kind);
    if (other) std::reverse(operands.begin(), operands.end());
    if (commutes(e.kind)) llvm::sort(operands);
    return std::to_string(static_cast<int>(other.value_or(e.kind))) + "(" +
           llvm::join(operands, ",") + ")";
  }

  const Rule& rule_;
  std::vector<std::optional<size_t>> tensors_, values_;
  size_t next_tensor_ = 0, next_value_ = 0;
};

/// Returns a hash that is equal for rules of one form, and quick to compute.
llvm::hash_code rough_hash(const Rule& rule) {
  llvm::hash_code hash =
      llvm::hash_combine(rule.class_vars, rule.value_vars, static_cast<int>(rule.native),
                         static_cast<int>(rule.numerics));
  auto add = [&](llvm::ArrayRef<TermId> side) {
    std::vector<int> ops;
    for (TermId id : side) ops.push_back(static_cast<int>(rule.terms[id].op));
    llvm::sort(ops); // results have no order
    hash = llvm::hash_combine(hash, llvm::hash_combine_range(ops.begin(), ops.end()));
  };
  add(rule.lhs), add(rule.rhs);
  return hash;
}

} // namespace

std::string rule_form(const Rule& rule) {
  std::vector<size_t> order(rule.lhs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::string least;
  do {
    std::string text = Writer(rule).write(order);
    if (least.empty() || text < least) least = std::move(text);
  } while (std::next_permutation(order.begin(), order.end()));
  return std::to_string(static_cast<int>(rule.native)) + least;
}

std::vector<RuleId> distinct_rules(llvm::ArrayRef<Rule> rules) {
  std::vector<RuleId> distinct;
  llvm::DenseMap<size_t, llvm::SmallVector<size_t, 2>> places; // into `distinct`, by rough hash
  for (size_t i = 0; i < rules.size(); ++i) {
    llvm::SmallVector<size_t, 2>& alike = places[size_t{rough_hash(rules[i])} >> 2];
    auto same = llvm::find_if(alike, [&](size_t place) {
      const Rule& other = rules[distinct[place]];
      return other.numerics == rules[i].numerics && rule_form(other) == rule_form(rules[i]);
    });
    if (same == alike.end()) {
      alike.push_back(distinct.size());
      distinct.push_back(static_cast<RuleId>(i));
    } else if (rules[distinct[*same]].built_in && !rules[i].built_in) {
      distinct[*same] = static_cast<RuleId>(i);
    }
  }
  return distinct;
}

std::vector<Repetition> repetitions(llvm::ArrayRef<Rule> rules) {
  struct Declaration {
    std::string name;
    std::set<std::string> forms;
  };
  std::vector<Declaration> all;
  std::map<std::pair<std::string, std::string>, size_t> number; // by file and name
  std::map<std::string, std::vector<size_t>> saying;            // by form
  for (const Rule& rule : rules) {
    auto [at, fresh] = number.insert({{rule.file, rule.declared}, all.size()});
    if (fresh) all.push_back({rule.declared, {}});
    std::string form = rule_form(rule);
    if (all[at->second].forms.insert(form).second) saying[form].push_back(at->second);
  }
  std::vector<Repetition> found;
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t other : saying[*all[i].forms.begin()]) {
      const auto &mine = all[i].forms, &theirs = all[other].forms;
      bool whole = mine.size() == theirs.size();
      if (other == i || (whole && other > i)) continue;
      if (!std::includes(theirs.begin(), theirs.end(), mine.begin(), mine.end())) continue;
      found.push_back({all[i].name, all[other].name, whole});
      break;
    }
  return found;
}

} // namespace tg
