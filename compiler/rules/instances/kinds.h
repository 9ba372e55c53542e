// What an instance of a rule is like: kinds of its tensors (rank, sizes, dtype), of its attributes
// (strides above 1, padding of unlike sides, an axis that is the last), and of what the operators
// of both sides make of them (groups, even windows, operands that broadcast, reshapes that
// regroup). A rule that was tried at every kind of instance that it admits, and at pairs of them
// where they fit, has few places left to be wrong at.
#pragma once

#include "compiler/rules/instances/instance.h"

namespace tg {

class RuleKinds {
public:
  /// Both outlive it.
  RuleKinds(const Symbols& symbols, const Rule& rule);

  /// A bit for each kind. A subject (a tensor, an attribute, an operator, a pair of tensors) has a
  /// word of its own.
  using Set = std::vector<uint64_t>;

  /// The kinds of an instance; `types` are those of the terms of both sides.
  Set of(const RuleInstance& instance, llvm::ArrayRef<TypeId> types) const;

  size_t subjects() const { return 2 * count_ + rule_.value_vars + rule_.terms.size() + pairs_; }

private:
  const Symbols& symbols_;
  const Rule& rule_;
  size_t count_, pairs_;
  std::vector<std::optional<AttrKind>> attr_kinds_; // of value variables
};

/// The attribute kinds that a rule's value variables fill; nullopt for those of no slot.
std::vector<std::optional<AttrKind>> attribute_kinds(const Rule& rule);

} // namespace tg
