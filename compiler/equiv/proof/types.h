// Types of terms over symbolic sizes, after lang/core/shape_rules.cpp. What infer() demands is
// assumed (`must`): a case where it fails is one that the engine refuses.
#pragma once

#include "compiler/equiv/proof/attributes.h"
#include "compiler/equiv/proof/windows.h"

namespace tg::proof {

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
  /// Ends the proof at an operator of which something had no part in its type and its elements.
  void expect_all_read(TermId id);

private:
  Tensor type_of(TermId id);
  const Tensor& with_rank(TermId id, size_t rank);
  const Tensor& of_rank(TermId id, size_t rank);
  void fill(TermId id, const Tensor& wanted);
  Tensor broadcast(const Tensor& a, const Tensor& b);
  Poly broadcast(const Poly& a, const Poly& b);
  Tensor leaf(TermId id);
  Tensor matmul(TermId id);
  Tensor conv(TermId id);
  Tensor pool(TermId id);
  Tensor concat(TermId id);
  Tensor slice(TermId id);
  Tensor reshape(TermId id);
  Tensor broadcast_to(TermId id);
  Tensor transpose(TermId id);
  Tensor pad(TermId id);
  Tensor enlarge(TermId id);
  Tensor reduce(TermId id);
  Tensor batch_norm(TermId id);

  const Rule& rule_;
  Variables& variables_;
  Facts& facts_;
  Attributes attributes_;
  Windows windows_;
  std::vector<std::optional<Tensor>> types_;
};

} // namespace tg::proof
