// The history of an e-graph as equations between terms. A class stands for the term that it was
// made with, so that both sides of an application are built from what its variables were bound to.
//
// Conditions that ask of a class what some member shows (weight, constant) hold of such a member,
// not of any term of the class: an application whose conditions do not hold of the terms that its
// classes were made with is told with equal terms of which they do.
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/egraph/explain/term_closure.h"

namespace tg {

struct RuleApplication {
  RuleId rule{};
  std::vector<NodeId> classes; // what the rule's variables stand for; of native rules the leaves
  std::vector<ValueId> values;
  llvm::SmallVector<NodeId, 2> left, right;
  uint32_t inlined = 0; // as DerivationStep::inlined
  uint32_t first_equation = 0;
};

class ExplainLedger {
public:
  /// Not all of it where `stop` says so.
  ExplainLedger(const History& history, llvm::ArrayRef<Rule> rules,
                std::shared_ptr<Symbols> symbols, const StopToken& stop);
  ExplainLedger(const ExplainLedger&) = delete;

  struct Equation {
    uint32_t application = 0, side = 0;
  };
  const Rule& rule(const RuleApplication& a) const { return rules_[a.rule]; }
  const RuleApplication& application(uint32_t i) const { return applications_[i]; }
  Equation equation(uint32_t i) const { return equations_[i]; }

  Graph terms;
  TermClosure closure;

private:
  void name_classes(const History& history);
  void read(const History& history);
  bool build_sides(RuleApplication& a);
  bool take_bound(RuleApplication& a, llvm::ArrayRef<uint32_t> words);
  bool take_native(RuleApplication& a, llvm::ArrayRef<uint32_t> words);
  bool mend(RuleApplication& a);
  NodeId weight_form(NodeId term, int depth);
  NodeId constant_form(NodeId term) const;
  void state(RuleApplication a);

  llvm::ArrayRef<Rule> rules_;
  StopToken stop_;
  std::vector<NodeId> names_; // by class
  std::vector<RuleApplication> applications_;
  std::vector<Equation> equations_;
};

} // namespace tg
