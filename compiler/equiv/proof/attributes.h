// Attributes of the terms of a rule, each in the normal form of its kind, so that who asks for one
// never finds another. A value variable that is nothing yet becomes any value that its slot may
// have. Which attributes were asked for is known in the end (Types::expect_all_read).
#pragma once

#include "compiler/equiv/proof/variables.h"

namespace tg::proof {

class Attributes {
public:
  Attributes(const Rule& rule, const Ranks& ranks, Variables& variables, Facts& facts)
      : rule_(rule), ranks_(ranks), variables_(variables), facts_(facts),
        known_(rule.terms.size()) {}

  /// `first`: the type of the term's first operand, for an attribute that may be anything.
  Attr of(TermId id, size_t slot, llvm::function_ref<Tensor()> first);
  /// What turned out to be meant, for a place that counts from the end.
  void replace(TermId id, size_t slot, Attr attr) {
    known_[id].insert_or_assign(slot, std::move(attr));
  }
  bool was_read(TermId id, size_t slot) const { return known_[id].count(slot) != 0; }

private:
  Attr variable(TermId id, size_t slot, llvm::function_ref<Tensor()> first);
  Attr fresh(const AttrInfo& info, uint32_t v, const Tensor& first);
  std::optional<Attr> some_axes(OpKind op, const Tensor& type);
  Attr some_shape(TermId reshape, uint32_t v);
  std::optional<Attr> in_normal_form(AttrKind kind, Attr attr);

  const Rule& rule_;
  const Ranks& ranks_;
  Variables& variables_;
  Facts& facts_;
  std::vector<std::map<size_t, Attr>> known_; // of terms, by slot
};

} // namespace tg::proof
