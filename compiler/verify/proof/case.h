// One case of a proof: ranks, absent operands and other choices are made, sizes and indices are
// symbols. Types both sides as `infer` would and compares their elements at a symbolic index. The
// parts, each on those before it: `facts` (what is assumed, how the case ends), `variables` (what
// the rule's variables stand for; its conditions), `types` (of terms, with their attributes),
// `values` (their elements).
#pragma once

#include "compiler/verify/proof/values.h"

namespace tg::proof {

/// A rule of operators that go element by element, reshape and transpose, for tensors of any rank:
/// whole indices are mapped, nothing looks into them (whole.cpp). `why`: what it fails on.
bool prove_whole(const Rule& rule, const std::shared_ptr<Solver>& solver, std::string& why);

class Case {
public:
  /// `named`: how many axes of tensors of any rank have names; nullopt: ranks are cases.
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
