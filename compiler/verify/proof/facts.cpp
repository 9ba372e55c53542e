#include "compiler/verify/proof/facts.h"

namespace tg::proof {

void Facts::stop(Outcome outcome, std::string why) {
  if (halted()) return;
  stop_ = outcome;
  why_ = std::move(why);
}

void Facts::beyond(OpKind op) {
  const OpInfo& info = op_info(op);
  beyond("the operator " + std::string(info.name) +
         (info.has(Trait::Rational) ? ", which proofs do not support"
                                    : ", which is not a sum of products"));
}

bool Facts::decide(const Fact& fact) {
  if (halted()) return true;
  if (arith_.follows(fact)) return true;
  if (arith_.follows(negated(fact))) return false;
  if (has_bound(fact.p)) return beyond("a case that depends on the terms of a sum"), true;
  bool yes = choices_.choose(2) == 0;
  arith_.assume(yes ? fact : negated(fact));
  return yes;
}

void Facts::must(const Fact& fact) {
  if (halted()) return;
  if (arith_.follows(negated(fact))) return stop(Outcome::Impossible);
  arith_.assume(fact);
}

Sym Facts::fresh_bound() {
  Sym s = arith_.fresh();
  bound_.resize(s + 1);
  bound_[s] = true;
  return s;
}

bool Facts::has_bound(const Poly& p) const {
  Poly known = arith_.normal(p);
  for (const auto& term : known.terms())
    for (Sym s : term.first)
      if (s < bound_.size() && bound_[s]) return true;
  return false;
}

} // namespace tg::proof
