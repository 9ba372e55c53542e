// Rules, small graphs and queries of an e-graph, for tests of the e-graph and of searches.
#pragma once

#include "compiler/egraph/egraph.h"
#include "tests/unit/rules/rule_fixture.h"

namespace tg::test {

/// Returns the number of live nodes with this operator in a root's class.
inline size_t count_op(const EGraph& egraph, ClassId id, OpKind op) {
  size_t count = 0;
  for (ENodeId member : egraph.nodes(egraph.find(id))) count += egraph.node(member).op == op;
  return count;
}

} // namespace tg::test
