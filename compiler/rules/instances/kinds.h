// The kinds of an instance of a rule: of its tensors (rank, sizes, dtype), of its attributes
// (strides above 1, asymmetric padding, the last axis), and of the operators of both sides at it
// (groups, even windows, broadcast operands, regrouping reshapes). A rule that was tested at all
// kinds of instances that it admits, and at pairs of them, is unlikely to be wrong elsewhere.
#pragma once

#include "compiler/rules/instances/instance.h"

namespace tg {

class RuleKinds {
public:
  /// Both arguments must outlive the object.
  RuleKinds(const Symbols& symbols, const Rule& rule);

  /// A bit for each kind. Each subject (a tensor, an attribute, an operator, a pair of tensors) has
  /// a separate word.
  using Set = std::vector<uint64_t>;

  /// Returns the kinds of an instance; `types` are those of the terms of both sides.
  Set of(const RuleInstance& instance, llvm::ArrayRef<TypeId> types) const;

  size_t subjects() const { return 2 * count_ + rule_.value_vars + rule_.terms.size() + pairs_; }

private:
  const Symbols& symbols_;
  const Rule& rule_;
  size_t count_, pairs_;
  std::vector<std::optional<AttrKind>> attr_kinds_; // by value variable
};

/// Returns the attribute kinds of a rule's value variables; nullopt for variables of no slot.
std::vector<std::optional<AttrKind>> attribute_kinds(const Rule& rule);

} // namespace tg
