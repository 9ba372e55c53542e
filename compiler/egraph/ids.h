// Indices of the e-graph as types of their own,
// so that mixing a node with a class does not compile.
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

/// Why a node or a merge exists: the rule, and the root of what its left side matched.
struct Origin {
  RuleId rule = kSourceRule;
  ENodeId node;
};

} // namespace tg
