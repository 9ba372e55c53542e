#include "compiler/rules/book.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

AttrsId literal_attrs(Symbols& symbols, const Term& term) {
  llvm::SmallVector<ValueId, 4> values;
  for (const TermAttr& attr : term.attrs) {
    if (attr.kind != TermAttr::Kind::Literal) return {};
    values.push_back(symbols.value(attr.literal));
  }
  return symbols.attrs(values);
}

/// Plans the terms that `rhs` needs, operands first, with an explicit stack.
class Planner {
public:
  Planner(Symbols& symbols, const Rule& rule, CompiledRule& out)
      : symbols_(symbols), rule_(rule), out_(out), place_(rule.terms.size(), kOpen) {}

  void run() {
    for (TermId root : rule_.rhs) {
      stack_.push_back(root);
      while (!stack_.empty()) visit(stack_.back());
      out_.results.push_back(ref(root));
    }
  }

private:
  static constexpr uint32_t kOpen = UINT32_MAX;

  PlanRef ref(TermId id) const {
    const Term& term = rule_.terms[id];
    if (term.kind == Term::Kind::ClassVar) return {false, term.variable};
    return {true, place_[id]};
  }

  void visit(TermId id) {
    const Term& term = rule_.terms[id];
    bool done = term.kind == Term::Kind::ClassVar || place_[id] != kOpen;
    if (done) return stack_.pop_back();
    size_t before = stack_.size();
    for (TermId operand : term.operands)
      if (rule_.terms[operand].kind == Term::Kind::Op && place_[operand] == kOpen)
        stack_.push_back(operand);
    if (stack_.size() != before) return;
    BuildStep step{term.op, literal_attrs(symbols_, term), &term, {}};
    for (TermId operand : term.operands) step.operands.push_back(ref(operand));
    place_[id] = static_cast<uint32_t>(out_.plan.size());
    out_.plan.push_back(std::move(step));
    stack_.pop_back();
  }

  Symbols& symbols_;
  const Rule& rule_;
  CompiledRule& out_;
  std::vector<uint32_t> place_;
  std::vector<TermId> stack_;
};

/// Returns true if each variable that both sources bind has the same number in the pattern.
bool same_places(llvm::ArrayRef<uint32_t> a, llvm::ArrayRef<uint32_t> b) {
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j)
      if (a[i] == b[j] && i != j) return false;
  return true;
}

bool is_symmetric(const CompiledRule& rule) {
  if (rule.sources.size() != 2) return false;
  const PatternUse &a = rule.sources[0], &b = rule.sources[1];
  return a.pattern == b.pattern && same_places(a.class_map, b.class_map) &&
         same_places(a.value_map, b.value_map);
}

} // namespace

RuleBook::RuleBook(Symbols& symbols, llvm::ArrayRef<Rule> rules) {
  assert(rules.size() < kCongruence && "rules are numbered with 16 bits");
  rules_.reserve(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    CompiledRule compiled;
    compiled.id = static_cast<RuleId>(i);
    if (compile(symbols, rules[i], compiled)) rules_.push_back(std::move(compiled));
  }
}

bool RuleBook::compile(Symbols& symbols, const Rule& rule, CompiledRule& out) {
  out.rule = &rule;
  if (rule.native != Native::No) {
    depth_ = std::max(depth_, 1u); // it examines all members of its operands' classes
    inner_ops_.set();
    return true;
  }
  for (TermId root : rule.lhs) {
    std::optional<CompiledPattern> compiled = compile_pattern(symbols, rule, root);
    if (!compiled) return false;
    compiled->use.pattern = intern(std::move(compiled->pattern));
    out.sources.push_back(std::move(compiled->use));
  }
  Planner(symbols, rule, out).run();
  out.symmetric = is_symmetric(out);
  return true;
}

uint32_t RuleBook::intern(Pattern pattern) {
  auto found = std::find(patterns_.begin(), patterns_.end(), pattern);
  if (found != patterns_.end()) return static_cast<uint32_t>(found - patterns_.begin());
  depth_ = std::max(depth_, pattern.depth);
  for (size_t i = 1; i < pattern.steps.size(); ++i)
    inner_ops_.set(static_cast<size_t>(pattern.steps[i].op));
  patterns_.push_back(std::move(pattern));
  return static_cast<uint32_t>(patterns_.size() - 1);
}

namespace {

using Operators = std::bitset<kOpCount>;

/// Returns those of the given operators that occur in the terms below `roots`.
Operators operators_below(const Rule& rule, llvm::ArrayRef<TermId> roots, const Operators& of) {
  Operators found;
  std::vector<TermId> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const Term& term = rule.terms[open.back()];
    open.pop_back();
    if (term.kind == Term::Kind::Op && of.test(static_cast<size_t>(term.op)))
      found.set(static_cast<size_t>(term.op));
    open.insert(open.end(), term.operands.begin(), term.operands.end());
  }
  return found;
}

} // namespace

std::vector<bool> rules_in_use(llvm::ArrayRef<Rule> rules, Numerics most,
                               llvm::function_ref<bool(OpKind)> present) {
  Operators yielding, known;
  for (const OpInfo& info : all_ops()) {
    yielding.set(static_cast<size_t>(info.kind), info.has(Trait::Yields));
    known.set(static_cast<size_t>(info.kind), !info.has(Trait::Yields) || present(info.kind));
  }
  std::vector<bool> used(rules.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < rules.size(); ++i) {
      if (used[i] || !admits(most, rules[i])) continue;
      if ((operators_below(rules[i], rules[i].lhs, yielding) & ~known).any()) continue;
      used[i] = more = true;
      known |= operators_below(rules[i], rules[i].rhs, yielding);
    }
  }
  return used;
}

} // namespace tg
