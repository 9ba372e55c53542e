// Rules of element-by-element operators, reshape and transpose, for tensors of any rank and size.
// An element of a result is a function of elements of the tensors, each at the result's index under
// a path of maps (permutations and changes of shape). Paths are compared as words:
//   - Consecutive permutations compose; a change of shape and its inverse cancel.
//   - Broadcasting is determined by a tensor's own shape, and is omitted at the end of a path. It
//     commutes with a permutation if it drops no axes (equal ranks); otherwise the rule is not
//     proved in this way.
// Shapes are names, equal where the rule says so; different names imply nothing.
//
// Other operators may be above, the same on both sides: operators of the same kind with the same
// attributes and with operands of equal shapes and elements are equal.
#include "compiler/verify/proof/case.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <set>

namespace tg::proof {

namespace {

using Kind = ValueExpr::Kind;

struct Step {
  bool permutes = false;
  std::vector<std::string> perms; // applied in this order
  std::string from, to;           // a change of shape
};

class Whole {
public:
  Whole(const Rule& rule, Arith& arith) : rule_(rule), dtypes_(rule), sums_(arith) {}

  bool run() {
    for (ExprIndex condition : rule_.conditions) read(rule_.exprs[condition]);
    for (size_t i = 0; i < rule_.lhs.size() && why_.empty(); ++i) {
      // The engine ensures that both sides have the same type.
      if (!congruent(rule_.lhs[i], rule_.rhs[i], /*typed_alike=*/true) && why_.empty())
        why_ = "the normal forms differ";
    }
    return why_.empty() && !sums_.overflowed();
  }
  const std::string& why() const { return why_; }

private:
  // --- terms that are alike --------------------------------------------------------------------

  /// Returns true if the terms are equal element by element, or are the same operator over
  /// congruent operands. Otherwise why_ has the reason.
  bool congruent(TermId left, TermId right, bool typed_alike) {
    struct Pair {
      TermId left, right;
      bool typed_alike;
    };
    std::vector<Pair> open = {{left, right, typed_alike}};
    while (!open.empty()) {
      Pair pair = open.back();
      open.pop_back();
      if (same_elements(pair.left, pair.right, pair.typed_alike)) continue;
      const Term &a = rule_.terms[pair.left], &b = rule_.terms[pair.right];
      if (a.kind != Term::Kind::Op || b.kind != Term::Kind::Op || !same_head(a, b)) return false;
      why_.clear();
      for (size_t i = 0; i < a.operands.size(); ++i)
        open.push_back({a.operands[i], b.operands[i], false});
    }
    return true;
  }

  bool same_elements(TermId left, TermId right, bool typed_alike) {
    const Term &a = rule_.terms[left], &b = rule_.terms[right];
    if (left == right) return true;
    if (a.kind == Term::Kind::ClassVar && b.kind == a.kind) return a.variable == b.variable;
    if (a.kind == Term::Kind::Op && b.kind == a.kind && a.operands.empty()) return same_head(a, b);
    if (!typed_alike && (shape(left) != shape(right) || !why_.empty())) return false;
    Value x = at(left, {}), y = at(right, {});
    return why_.empty() && sums_.equal(x, y);
  }

  bool same_head(const Term& a, const Term& b) const {
    if (a.op != b.op || a.operands.size() != b.operands.size()) return false;
    for (size_t slot = 0; slot < a.attrs.size(); ++slot) {
      const TermAttr &x = a.attrs[slot], &y = b.attrs[slot];
      if (x.kind != y.kind || x.kind == TermAttr::Kind::Computed) return false;
      bool variable = x.kind == TermAttr::Kind::Variable;
      if (variable ? x.variable != y.variable : !(x.literal == y.literal)) return false;
    }
    return true;
  }

  // --- names of shapes and ranks ---------------------------------------------------------------

  std::string find(std::string name) const {
    for (auto at = same_.find(name); at != same_.end(); at = same_.find(name)) name = at->second;
    return name;
  }
  void join(const std::string& a, const std::string& b) {
    std::string x = find(a), y = find(b);
    if (x != y) same_[std::max(x, y)] = std::min(x, y);
  }
  std::string tensor(uint32_t v) const { return "x" + std::to_string(v); }
  std::string attribute(uint32_t v) const { return "s" + std::to_string(v); }
  static std::string rank_of(const std::string& shape) { return "rank:" + shape; }

  /// Reads equalities of shapes and ranks; other conditions are not needed.
  void read(const ValueExpr& e) {
    if (e.kind == Kind::And)
      for (ExprIndex operand : e.operands) read(rule_.exprs[operand]);
    if (e.kind != Kind::Eq) return;
    const ValueExpr &a = rule_.exprs[e.operands[0]], &b = rule_.exprs[e.operands[1]];
    auto shape = [&](const ValueExpr& side) -> std::string {
      if (side.kind == Kind::ShapeOf) return tensor(side.variable);
      return side.kind == Kind::Variable ? attribute(side.variable) : "";
    };
    if (a.kind == Kind::Rank && b.kind == Kind::Literal && b.literal == tg::Value::of_int(0))
      join(tensor(a.variable), "scalar");
    if (a.kind == Kind::Rank && b.kind == Kind::Rank)
      join(rank_of(tensor(a.variable)), rank_of(tensor(b.variable)));
    if (std::string x = shape(a), y = shape(b); !x.empty() && !y.empty()) join(x, y);
  }

  bool same_rank(const std::string& a, const std::string& b) const {
    return a == b || find(rank_of(a)) == find(rank_of(b));
  }

  std::string shape(TermId id) {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) return find(tensor(term.variable));
    const OpInfo& info = op_info(term.op);
    if (term.op == OpKind::Constant) {
      const TermAttr& type = term.attrs[1];
      bool scalar = type.kind == TermAttr::Kind::Literal && type.literal.ints.empty();
      return scalar ? "scalar" : "constant " + std::to_string(id);
    }
    if (term.op == OpKind::Reshape) {
      const TermAttr& s = term.attrs[0];
      if (s.kind == TermAttr::Kind::Variable) return find(attribute(s.variable));
      why_ = "a computed shape";
      return "";
    }
    if (term.op == OpKind::Transpose) {
      std::string of = shape(term.operands[0]);
      std::string name = "T(" + of + "," + llvm::join(perms(term), ".") + ")";
      same_.try_emplace(rank_of(name), find(rank_of(of))); // a permutation keeps the rank
      return find(name);
    }
    if (!info.has(Trait::Pointwise)) {
      why_ = "the operator " + std::string(info.name);
      return "";
    }
    std::string result = "scalar";
    for (TermId operand : term.operands) {
      std::string other = shape(operand);
      if (other == result || other == "scalar") continue;
      result = result == "scalar" ? other : broadcast(result, other);
    }
    return result;
  }

  /// Order does not matter: a broadcast shape is that of a set of shapes.
  std::string broadcast(const std::string& a, const std::string& b) {
    std::set<std::string> members;
    for (const std::string& side : {a, b}) {
      auto made = broadcasts_.find(side);
      if (made == broadcasts_.end())
        members.insert(side);
      else
        members.insert(made->second.begin(), made->second.end());
    }
    std::string name = "B(" + llvm::join(members, ",") + ")";
    if (same_rank(a, b)) same_.try_emplace(rank_of(name), find(rank_of(a)));
    broadcasts_.emplace(name, std::move(members));
    return name;
  }

  // --- paths -----------------------------------------------------------------------------------

  void compose(ExprIndex at, std::vector<std::string>& out) {
    const ValueExpr& e = rule_.exprs[at];
    if (e.kind == Kind::Variable) return out.push_back(attribute(e.variable));
    if (e.kind != Kind::Permute) {
      why_ = "a computed permutation";
      return;
    }
    // r[i] = p1[p0[i]]: first p0, then p1.
    compose(e.operands[0], out);
    compose(e.operands[1], out);
  }

  /// r = transpose(x, p): element i of r is that of x at the index j with j[p[k]] = i[k].
  std::vector<std::string> perms(const Term& term) {
    std::vector<std::string> names;
    const TermAttr& p = term.attrs[0];
    if (p.kind == TermAttr::Kind::Variable) names.push_back(attribute(p.variable));
    if (p.kind == TermAttr::Kind::Computed) compose(p.expr, names);
    if (p.kind == TermAttr::Kind::Literal) {
      bool identity = true;
      for (size_t i = 0; i < p.literal.ints.size(); ++i)
        identity &= p.literal.ints[i] == static_cast<int64_t>(i);
      if (!identity) names.push_back(p.literal.text_form());
    }
    return names;
  }

  static void append(std::vector<Step>& path, Step step) {
    if (step.permutes) {
      if (step.perms.empty()) return;
      if (!path.empty() && path.back().permutes) {
        auto& perms = path.back().perms;
        perms.insert(perms.end(), step.perms.begin(), step.perms.end());
        return;
      }
    } else {
      if (!path.empty() && !path.back().permutes) {
        step.from = path.back().from;
        path.pop_back();
      }
      if (step.from == step.to) return;
    }
    path.push_back(std::move(step));
  }

  Value element(uint32_t v, const std::vector<Step>& path, bool scalar) const {
    std::string name = tensor(v);
    if (!scalar)
      for (const Step& step : path)
        name += step.permutes ? "|" + llvm::join(step.perms, ".") : "|" + step.from + ">" + step.to;
    return Sums::of({Factor::Kind::Element, name, {}, {}, false});
  }

  /// Returns the element of the term to which the path leads. `dropped`: a previous broadcast may
  /// have dropped axes, after which no map may follow.
  Value at(TermId id, const std::vector<Step>& path, bool dropped = false, bool broad = false) {
    const Term& term = rule_.terms[id];
    if (!why_.empty()) return {};
    if (term.kind == Term::Kind::ClassVar)
      return element(term.variable, path, shape(id) == "scalar");
    if (term.op == OpKind::Constant) return constant(term);
    if (term.op == OpKind::Reshape || term.op == OpKind::Transpose) {
      bool reshapes = term.op == OpKind::Reshape;
      if (dropped || (reshapes && broad)) why_ = "a map after broadcasting";
      std::string from = shape(id), to = shape(term.operands[0]);
      std::vector<Step> longer = path;
      if (reshapes)
        append(longer, {false, {}, from, to});
      else
        append(longer, {true, perms(term), "", ""});
      return at(term.operands[0], longer, dropped, broad);
    }
    if (op_info(term.op).attr_count != 0) why_ = "an attribute";
    std::string own = shape(id);
    std::vector<Value> args;
    for (TermId operand : term.operands) {
      std::string its = shape(operand);
      bool apart = its != own;
      args.push_back(at(operand, path, dropped || (apart && !same_rank(its, own)), broad || apart));
    }
    if (!why_.empty()) return {};
    return pointwise(sums_, term.op, std::move(args), dtypes_.may_be_integer(id));
  }

  Value constant(const Term& term) {
    const TermAttr& values = term.attrs[0];
    const tg::Value& literal = values.literal;
    if (values.kind == TermAttr::Kind::Literal && literal.reals.size() + literal.ints.size() == 1) {
      Ratio ratio = literal.reals.empty() ? Ratio{literal.ints[0]} : ratio_of(literal.reals[0]);
      if (ratio.valid && ratio.over != INT64_MIN) return Sums::number(ratio);
    }
    why_ = "a constant";
    return {};
  }

  const Rule& rule_;
  RuleDTypes dtypes_;
  Sums sums_;
  std::string why_;
  std::map<std::string, std::string> same_;
  std::map<std::string, std::set<std::string>> broadcasts_; // by name
};

} // namespace

bool prove_whole(const Rule& rule, const std::shared_ptr<Solver>& solver, std::string& why) {
  Arith arith(solver, 1000);
  Whole whole(rule, arith);
  bool proved = whole.run();
  why = whole.why();
  return proved;
}

} // namespace tg::proof
