#include "compiler/extract/cost/fused.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <cassert>

namespace tg {

namespace {

using ClassList = llvm::SmallVector<ClassIx, 8>;

/// Returns the classes of the nodes after the first, which the pattern computes and uses itself.
ClassList inner_classes(const ExtractionProblem& problem, const FusedPattern& pattern) {
  ClassList inner;
  for (NodeIx node : llvm::makeArrayRef(pattern.nodes).drop_front())
    inner.push_back(problem.class_of(node));
  return inner;
}

/// Returns the classes that the pattern needs from outside, each once, in order of first use.
ClassList outer_children(const ExtractionProblem& problem, const FusedPattern& pattern) {
  ClassList inner = inner_classes(problem, pattern), outer;
  for (NodeIx node : pattern.nodes)
    for (ClassIx child : problem.children(node))
      if (!llvm::is_contained(inner, child) && !llvm::is_contained(outer, child))
        outer.push_back(child);
  return outer;
}

} // namespace

std::string fault_of(const ExtractionProblem& problem, const FusedPattern& pattern) {
  if (pattern.nodes.empty()) return "a pattern has a node";
  ClassList inner = inner_classes(problem, pattern), needed;
  for (size_t i = 0; i < pattern.nodes.size(); ++i) {
    NodeIx node = pattern.nodes[i];
    ClassIx cls = problem.class_of(node);
    if (!problem.usable(node) || problem.load(node))
      return "a node of the pattern must not be used";
    if (i > 0 && !llvm::is_contained(needed, cls)) return "no earlier node needs an inner class";
    if (llvm::count(inner, cls) > (i > 0 ? 1 : 0)) return "two nodes of the pattern share a class";
    llvm::append_range(needed, problem.children(node));
  }
  return "";
}

FusedProblem with_patterns(const ExtractionProblem& problem, std::vector<FusedPattern> patterns) {
  FusedProblem out;
  out.original_nodes = problem.node_count();
  for (uint32_t c = 0; c < problem.class_count(); ++c)
    out.problem.set_stored_bytes(out.problem.add_class(), problem.stored_bytes({c}));
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    NodeIx added =
        out.problem.add_node(problem.class_of({n}), problem.cost({n}), problem.children({n}));
    if (!problem.usable({n})) out.problem.forbid(added);
    if (problem.load({n})) out.problem.set_load(added);
  }
  for (const FusedPattern& pattern : patterns) {
    assert(fault_of(problem, pattern).empty() && "fused patterns are valid");
    out.problem.add_node(problem.class_of(pattern.nodes.front()), pattern.cost,
                         outer_children(problem, pattern));
  }
  for (ClassIx root : problem.roots()) out.problem.add_root(root);
  out.problem.set_byte_limit(problem.byte_limit());
  out.problem.seal();
  out.patterns = std::move(patterns);
  return out;
}

} // namespace tg
