// One case of a proof: ranks, absent operands and other choices are fixed, sizes and indices are
// symbols. It types both sides as `infer` would and compares their elements at a symbolic index.
// Its layers, each built on the previous ones: `facts` (the assumptions, the outcome), `variables`
// (bindings of the rule's variables; its conditions), `types` (of terms, with their attributes),
// `values` (their elements).
#pragma once

#include "compiler/verify/proof/values.h"

namespace tg::proof {

/// Proves a rule whose operators are element-by-element, reshape and transpose, for tensors of
/// any rank: whole indices are mapped without being split (whole.cpp). `why` receives the reason
/// of a failure.
bool prove_whole(const Rule& rule, const std::shared_ptr<Solver>& solver, std::string& why);

class Case {
public:
  /// `named`: the number of named axes of tensors of any rank; nullopt: ranks are cases.
  Case(const Rule& rule, const Ranks& ranks, Choices& choices, std::optional<size_t> named,
       std::shared_ptr<Solver> solver, size_t budget);
  Outcome run();
  const std::string& why() const { return facts_.why(); }
  size_t questions() { return facts_.arith().asked(); }

private:
  void type_plain();
  void type_sides();
  void compare(size_t result);

  const Rule& rule_;
  const Ranks& ranks_;
  Facts facts_;
  Variables variables_;
  Types types_;
  Elements elements_;
};

} // namespace tg::proof
