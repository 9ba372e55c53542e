// Applies a rule at a match by adding its right side to the e-graph. All checks (conditions, types
// of all operators, type of the result, cycle filter) come before building, so a refused match
// leaves the e-graph unchanged.
#pragma once

#include "compiler/egraph/cycle.h"
#include "compiler/egraph/fuse.h"
#include "compiler/egraph/match/multi_match.h"
#include "compiler/egraph/memos.h"

namespace tg {

enum class Outcome : uint8_t {
  Refused, // by conditions, types or limits of attributes
  Cyclic,  // by the cycle filter
  Known,   // the e-graph represents the equality already
  Applied,
};

class Applier {
public:
  /// `cycles` may be null; then only break_cycles() filters.
  Applier(EGraph& egraph, Cycles* cycles, CycleFilter filter)
      : egraph_(egraph), cycles_(cycles), filter_(filter), fuse_(egraph) {}

  /// `roots` holds, for each left side, the node that matched its root. Classes and values are in
  /// the rule's numbering.
  Outcome apply(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
                llvm::ArrayRef<ClassId> classes, llvm::ArrayRef<ValueId> values);
  /// Applies a row of a single-source rule.
  Outcome apply_single(const CompiledRule& rule, const uint32_t* row);
  /// Applies a row of the join of several sources. If a symmetric rule is refused, tries it with
  /// the sources exchanged.
  Outcome apply_joint(const CompiledRule& rule, const JointRows& joint, size_t row);
  Outcome apply_native(const CompiledRule& rule, ENodeId root);
  size_t memory_bytes() const { return memo_.memory_bytes(); }

private:
  struct Built {
    Typing typing;
    ClassId id;
  };
  bool check(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
             llvm::ArrayRef<ValueId> values);
  bool check_application(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots,
                         llvm::ArrayRef<ValueId> values);
  bool closes_cycle(llvm::ArrayRef<ENodeId> roots);
  bool build(const CompiledRule& rule, llvm::ArrayRef<ENodeId> roots);
  void note(const CompiledRule& rule, llvm::ArrayRef<ValueId> values);
  bool build_step(const CompiledRule& rule, size_t step, llvm::ArrayRef<ENodeId> roots);
  TypeId type(PlanRef ref) const;
  ClassId resolve(PlanRef ref) const;

  EGraph& egraph_;
  Cycles* cycles_;
  CycleFilter filter_;
  FusePointwise fuse_;
  CheckMemo memo_;
  llvm::SmallVector<ClassId, 8> classes_;
  llvm::SmallVector<Built, 8> built_;
};

} // namespace tg
