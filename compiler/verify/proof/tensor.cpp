#include "compiler/verify/proof/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

void must_be_as_many(Facts& facts, const Tensor& a, const Tensor& b) {
  size_t m = a.dims.size(), n = b.dims.size();
  if (m == n) return;
  bool made_up = (a.packed && m < n) || (b.packed && n < m);
  if (made_up) return facts.beyond("a mix of named and unnamed axes");
  facts.stop(Outcome::Impossible);
}

Tensor fresh_tensor(Arith& arith, size_t rank) {
  Tensor type;
  for (size_t i = 0; i < rank; ++i) type.dims.push_back(arith.fresh_poly(1));
  return type;
}

std::optional<size_t> axis(Facts& facts, const Poly& number, const Tensor& type) {
  if (facts.halted()) return std::nullopt; // computing the axis number may have ended the case
  Poly place = facts.arith().normal(number);
  if (std::optional<int64_t> n = place.constant(); n && *n < 0) place = place + type.rank();
  std::optional<int64_t> n = facts.arith().normal(place - type.extra).constant();
  if (!n) return facts.beyond("an unknown axis"), std::nullopt;
  if (*n < 0 && type.packed) return facts.beyond("an unnamed axis"), std::nullopt;
  if (*n < 0 || *n >= static_cast<int64_t>(type.dims.size()))
    return facts.stop(Outcome::Impossible), std::nullopt;
  return static_cast<size_t>(*n);
}

std::vector<size_t> axes(Facts& facts, const Attr& list, const Tensor& type) {
  std::vector<size_t> all;
  for (const Poly& n : list.ns) {
    std::optional<size_t> place = axis(facts, n, type);
    if (place && llvm::is_contained(all, *place)) facts.stop(Outcome::Impossible);
    if (facts.halted()) return {};
    all.push_back(*place);
  }
  return all;
}

} // namespace tg::proof
