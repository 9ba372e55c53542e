// The history of an e-graph as equations between terms. A class is represented by the term with
// which it was made, so both sides of an application are built from the bindings of its variables.
//
// A condition on a class that some member satisfies (weight, constant) holds for that member, but
// not for every term of the class. If the conditions of an application do not hold for the original
// terms of its classes, equal terms that satisfy them are used instead.
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/egraph/explain/term_closure.h"

namespace tg {

struct RuleApplication {
  RuleId rule{};
  std::vector<NodeId> classes; // bindings of the rule's variables; for native rules the leaves
  std::vector<ValueId> values;
  llvm::SmallVector<NodeId, 2> left, right;
  uint32_t inlined = 0; // as DerivationStep::inlined
  uint32_t first_equation = 0;
};

class ExplainLedger {
public:
  /// The ledger is incomplete if `stop` ended it.
  ExplainLedger(const History& history, llvm::ArrayRef<Rule> rules,
                std::shared_ptr<Symbols> symbols, const StopToken& stop);
  ExplainLedger(const ExplainLedger&) = delete;

  struct Equation {
    uint32_t application = 0, side = 0;
  };
  const Rule& rule(const RuleApplication& a) const { return rules_[a.rule]; }
  const RuleApplication& application(uint32_t i) const { return applications_[i]; }
  llvm::ArrayRef<RuleApplication> applications() const { return applications_; }
  Equation equation(uint32_t i) const { return equations_[i]; }

  Graph terms;
  TermClosure closure;

private:
  void name_classes(const History& history);
  void read(const History& history);
  bool build_sides(RuleApplication& a);
  bool take_bound(RuleApplication& a, llvm::ArrayRef<uint32_t> words);
  bool take_native(RuleApplication& a, llvm::ArrayRef<uint32_t> words);
  bool repair_application(RuleApplication& a);
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
