// Indices of the e-graph as types of their own, so that mixing a node with a class does not
// compile.
#pragma once

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

/// Position of a rule in the list that the search was given.
using RuleId = uint16_t;
/// Not made by a rule: part of the graph that was given.
inline constexpr RuleId kSourceRule = UINT16_MAX;
/// A merge that follows from others: equal operators over operands that became equal.
inline constexpr RuleId kCongruence = UINT16_MAX - 1;

/// Why a node or a merge exists: the rule, and the root of what its left side matched.
struct Origin {
  RuleId rule = kSourceRule;
  ENodeId node;
};

} // namespace tg
