// Types of terms over symbolic sizes, following lang/core/shapes/. Requirements of infer() are
// assumed (`must`): a case in which one fails is one that the engine rejects.
#pragma once

#include "compiler/verify/proof/variables.h"
#include "compiler/verify/proof/windows.h"

namespace tg::proof {

/// Attributes of the terms of a rule, each in the normal form of its kind, so that repeated reads
/// agree. An unbound value variable gets an arbitrary value that its slot may have. Reads are
/// recorded (Types::expect_all_read).
class Attributes {
public:
  Attributes(const Rule& rule, const Ranks& ranks, Variables& variables, Facts& facts)
      : rule_(rule), ranks_(ranks), variables_(variables), facts_(facts),
        known_(rule.terms.size()) {}

  /// `first` returns the type of the term's first operand, for an attribute that may have any
  /// value.
  Attr of(TermId id, size_t slot, llvm::function_ref<Tensor()> first);
  /// Replaces an attribute by its resolved value, for a position that counts from the end.
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
  std::vector<std::map<size_t, Attr>> known_; // by term and slot
};

class Types {
public:
  Types(const Rule& rule, const Ranks& ranks, Variables& variables, Facts& facts)
      : rule_(rule), variables_(variables), facts_(facts),
        attributes_(rule, ranks, variables, facts), windows_(facts), types_(rule.terms.size()) {}

  const Tensor& type(TermId id);
  Attr attribute(TermId id, size_t slot);
  const Window& conv_window(TermId id, size_t axis);
  const Window& pool_window(TermId id, size_t axis);
  Windows& windows() { return windows_; }
  /// Ends the proof at an operator if one of its attributes or operands was not used for its type
  /// and its elements.
  void expect_all_read(TermId id);

private:
  Tensor type_of(TermId id);
  const Tensor& with_rank(TermId id, size_t rank);
  const Tensor& of_rank(TermId id, size_t rank);
  void fill(TermId id, const Tensor& wanted);
  Tensor broadcast(const Tensor& a, const Tensor& b);
  Poly broadcast(const Poly& a, const Poly& b);
  // `Tensor conv2d(TermId id);` and so on, of the shape rules that proofs know.
#define TG_OP(...)
#define TG_SHAPE(shape, ...) Tensor shape(TermId id);
#include "lang/core/ops.def"

  const Rule& rule_;
  Variables& variables_;
  Facts& facts_;
  Attributes attributes_;
  Windows windows_;
  std::vector<std::optional<Tensor>> types_;
};

} // namespace tg::proof
