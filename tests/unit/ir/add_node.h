// Adds operators to graphs that a test builds by hand.
#pragma once

#include "compiler/ir/graph.h"

#include <gtest/gtest.h>

namespace tg::test {

/// Adds an operator. If it is not well typed, the test fails with the reason.
inline NodeId add_node(Graph& graph, OpKind op, llvm::ArrayRef<NodeId> operands,
                       llvm::ArrayRef<Value> attrs = {}) {
  llvm::SmallVector<ValueId, 4> ids;
  for (const Value& value : attrs) ids.push_back(graph.symbols().value(value));
  std::string why;
  NodeId id = graph.add(op, ids, operands, &why);
  EXPECT_TRUE(id.valid()) << why;
  return id;
}

} // namespace tg::test
