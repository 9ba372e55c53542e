#include "compiler/rules/equal.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/Hashing.h>
#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

/// A one-to-one map from the variables of one rule to those of another.
class Renaming {
public:
  Renaming(uint32_t from, uint32_t to) : to_(from, kNone), from_(to, kNone) {}

  bool same(uint32_t a, uint32_t b) {
    if (to_[a] == kNone && from_[b] == kNone) to_[a] = b, from_[b] = a;
    return to_[a] == b && from_[b] == a;
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> to_, from_;
};

/// Left sides are compared first, so that later comparisons only look up variables.
class Comparison {
public:
  Comparison(const Rule& a, const Rule& b)
      : a_(a), b_(b), classes_(a.class_vars, b.class_vars), values_(a.value_vars, b.value_vars) {}

  bool sides(llvm::ArrayRef<TermId> a, llvm::ArrayRef<TermId> b) {
    return a.size() == b.size() &&
           llvm::all_of(llvm::zip(a, b), [&](auto pair) { return term(pair); });
  }

  /// Returns true if the rules have the same conditions.
  bool conditions() {
    if (a_.conditions.size() != b_.conditions.size()) return false;
    std::vector<ExprIndex> left = b_.conditions;
    return llvm::all_of(a_.conditions, [&](ExprIndex x) {
      auto found = llvm::find_if(left, [&](ExprIndex y) { return expr({x, y}); });
      if (found == left.end()) return false;
      left.erase(found);
      return true;
    });
  }

private:
  bool term(std::tuple<TermId, TermId> pair) {
    const Term &x = a_.terms[std::get<0>(pair)], &y = b_.terms[std::get<1>(pair)];
    if (x.kind != y.kind) return false;
    if (x.kind == Term::Kind::ClassVar) return classes_.same(x.variable, y.variable);
    return x.op == y.op && x.attrs.size() == y.attrs.size() &&
           llvm::all_of(llvm::zip(x.attrs, y.attrs), [&](auto p) { return attr(p); }) &&
           sides(x.operands, y.operands);
  }

  bool attr(std::tuple<const TermAttr&, const TermAttr&> pair) {
    auto [x, y] = pair;
    if (x.kind != y.kind) return false;
    switch (x.kind) {
    case TermAttr::Kind::Variable: return values_.same(x.variable, y.variable);
    case TermAttr::Kind::Literal: return x.literal == y.literal;
    case TermAttr::Kind::Computed: return expr({x.expr, y.expr});
    }
    return false;
  }

  bool expr(std::tuple<ExprIndex, ExprIndex> pair) {
    using Kind = ValueExpr::Kind;
    const ValueExpr &x = a_.exprs[std::get<0>(pair)], &y = b_.exprs[std::get<1>(pair)];
    if (x.kind != y.kind || x.operands.size() != y.operands.size()) return false;
    bool of_class = x.queries_class() || x.kind == Kind::TypeLike;
    if (x.kind == Kind::Literal && !(x.literal == y.literal)) return false;
    if (x.kind == Kind::Variable && !values_.same(x.variable, y.variable)) return false;
    if (of_class && !classes_.same(x.variable, y.variable)) return false;
    if (x.kind == Kind::SameType && !classes_.same(x.variable2, y.variable2)) return false;
    return llvm::all_of(llvm::zip(x.operands, y.operands), [&](auto p) { return expr(p); });
  }

  const Rule &a_, &b_;
  Renaming classes_, values_;
};

/// Returns a hash that is equal for rules that are the same.
llvm::hash_code rough_hash(const Rule& rule) {
  auto op_of = [&](TermId id) { return static_cast<int>(rule.terms[id].op); };
  llvm::hash_code hash = llvm::hash_combine(rule.lhs.size(), rule.class_vars, rule.value_vars,
                                            rule.conditions.size(), static_cast<int>(rule.native));
  for (TermId id : rule.lhs) hash = llvm::hash_combine(hash, op_of(id));
  for (TermId id : rule.rhs) hash = llvm::hash_combine(hash, op_of(id));
  return hash;
}

} // namespace

bool same_rule(const Rule& a, const Rule& b) {
  if (a.native != b.native || a.numerics != b.numerics) return false;
  Comparison comparison(a, b);
  return comparison.sides(a.lhs, b.lhs) && comparison.sides(a.rhs, b.rhs) &&
         comparison.conditions();
}

std::vector<RuleId> distinct_rules(llvm::ArrayRef<Rule> rules) {
  std::vector<RuleId> distinct;
  llvm::DenseMap<size_t, llvm::SmallVector<size_t, 2>> places; // into `distinct`, by rough hash
  for (size_t i = 0; i < rules.size(); ++i) {
    llvm::SmallVector<size_t, 2>& alike = places[size_t{rough_hash(rules[i])} >> 2];
    auto same = llvm::find_if(
        alike, [&](size_t place) { return same_rule(rules[distinct[place]], rules[i]); });
    if (same == alike.end()) {
      alike.push_back(distinct.size());
      distinct.push_back(static_cast<RuleId>(i));
    } else if (rules[distinct[*same]].built_in && !rules[i].built_in) {
      distinct[*same] = static_cast<RuleId>(i);
    }
  }
  return distinct;
}

} // namespace tg
