// Indices of the e-graph as distinct types, so that confusing a node with a class does not compile.
#pragma once

#include "compiler/rules/rule.h"

#include <cstdint>

namespace tg {

struct ClassId {
  uint32_t index = UINT32_MAX;
  bool operator==(const ClassId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

struct ENodeId {
  uint32_t index = UINT32_MAX;
  bool operator==(const ENodeId&) const = default;
  bool valid() const { return index != UINT32_MAX; }
};

/// The cause of a node or a merge: the rule, and the root of its left side's match.
struct Origin {
  RuleId rule = kSourceRule;
  ENodeId node;
};

} // namespace tg
