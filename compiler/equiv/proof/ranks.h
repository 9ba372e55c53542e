// What a rule's text alone says of ranks: conv2d takes tensors of rank 4, a literal permutation has
// so many axes, both sides of a rule have one rank. Without it a proof would try all ranks for each
// tensor, and find most of them impossible.
//
// A rank that stands here is the only one with which both sides are well typed; what stands here
// for nothing may be any.
#pragma once

#include "compiler/rules/rule.h"

#include <optional>
#include <vector>

namespace tg::proof {

struct Ranks {
  std::vector<std::optional<size_t>>
      variables;                              // by class variable; of one that may be absent, none
  std::vector<std::optional<size_t>> terms;   // results, by term
  std::vector<std::optional<size_t>> lengths; // of lists, by value variable: len(s) == 2
  struct Plain {
    TermId term;
    std::vector<uint32_t> values; // of the right side: value variables that must be bound before
  };
  /// Operators whose types follow without a choice of ranks or of what broadcasts, those of the
  /// left side first: a case types these before all others, so that what broadcasts finds its sizes
  /// known.
  std::vector<Plain> plain;
};

Ranks known_ranks(const Rule& rule);

} // namespace tg::proof
