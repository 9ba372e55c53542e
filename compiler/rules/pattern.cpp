#include "compiler/rules/pattern.h"

namespace tg {

namespace {

class Compiler {
public:
  Compiler(Symbols& symbols, const Rule& rule)
      : symbols_(symbols), rule_(rule), class_name_(rule.class_vars, kUnbound),
        value_name_(rule.value_vars, kUnbound) {}

  CompiledPattern run(TermId root) {
    worklist_.push_back({root, 0, 0, 0});
    while (!worklist_.empty()) {
      WorkItem next = worklist_.pop_back_val();
      step(next);
    }
    out_.pattern.class_vars = static_cast<uint32_t>(out_.use.class_map.size());
    out_.pattern.value_vars = static_cast<uint32_t>(out_.use.value_map.size());
    return std::move(out_);
  }

private:
  static constexpr uint32_t kUnbound = UINT32_MAX;
  struct WorkItem {
    TermId term;
    uint32_t parent, position, depth;
  };

  void step(const WorkItem& item) {
    const Term& term = rule_.terms[item.term];
    uint32_t self = static_cast<uint32_t>(out_.pattern.steps.size());
    PatternStep s;
    s.op = term.op;
    s.arity = static_cast<uint32_t>(term.operands.size());
    s.parent = item.parent, s.position = item.position, s.depth = item.depth;
    out_.pattern.depth = std::max(out_.pattern.depth, s.depth);
    attributes(term, s);
    for (uint32_t i = 0; i < term.operands.size(); ++i) {
      const Term& operand = rule_.terms[term.operands[i]];
      if (operand.kind == Term::Kind::ClassVar)
        s.child_tests.push_back(name(operand.variable, i, class_name_, out_.use.class_map));
      else if (operand.op == OpKind::None)
        s.child_tests.push_back({PatternTest::Kind::Absent, i, 0, {}});
    }
    for (uint32_t i = s.arity; i-- > 0;) { // a stack: the first operand is next
      const Term& operand = rule_.terms[term.operands[i]];
      if (operand.kind == Term::Kind::Op && operand.op != OpKind::None)
        worklist_.push_back({term.operands[i], self, i, item.depth + 1});
    }
    out_.pattern.steps.push_back(std::move(s));
  }

  void attributes(const Term& term, PatternStep& s) {
    llvm::SmallVector<ValueId, 4> literals;
    for (uint32_t slot = 0; slot < term.attrs.size(); ++slot) {
      const TermAttr& attr = term.attrs[slot];
      if (attr.kind == TermAttr::Kind::Variable) {
        s.attr_tests.push_back(name(attr.variable, slot, value_name_, out_.use.value_map));
        continue;
      }
      literals.push_back(symbols_.value(attr.literal));
      s.attr_tests.push_back({PatternTest::Kind::Literal, slot, 0, literals.back()});
    }
    if (literals.size() != term.attrs.size()) return;
    s.attrs = symbols_.attrs(literals);
    s.attr_tests.clear();
  }

  PatternTest name(uint32_t variable, uint32_t place, std::vector<uint32_t>& names,
                   llvm::SmallVectorImpl<uint32_t>& map) {
    bool first = names[variable] == kUnbound;
    if (first) {
      names[variable] = static_cast<uint32_t>(map.size());
      map.push_back(variable);
    }
    return {first ? PatternTest::Kind::Bind : PatternTest::Kind::Same, place, names[variable], {}};
  }

  Symbols& symbols_;
  const Rule& rule_;
  std::vector<uint32_t> class_name_, value_name_; // numbers of the rule's variables in the pattern
  llvm::SmallVector<WorkItem, 8> worklist_;
  CompiledPattern out_;
};

} // namespace

std::optional<CompiledPattern> compile_pattern(Symbols& symbols, const Rule& rule, TermId root) {
  if (rule.terms[root].kind != Term::Kind::Op) return std::nullopt;
  return Compiler(symbols, rule).run(root);
}

} // namespace tg
