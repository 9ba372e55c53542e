// What one case of a proof takes for granted, and how it ends. Where something is not known (are
// two sizes equal? which piece of a concat is meant?), the case decides, and the choices that it
// did not take are other cases: `Choices` replays a case from its start with the next choice, until
// all were taken. What the engine would refuse (an ill-typed side, a condition that fails, sides of
// different types) ends a case as impossible.
//
// A case that has ended is `halted`: who works on it returns as soon as it can, with anything.
#pragma once

#include "compiler/verify/proof/symbolic/arith.h"
#include "lang/core/op.h"

namespace tg::proof {

class Choices {
public:
  /// A number below `count`: of several tries each once, in order.
  size_t choose(size_t count) {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  /// To the next case; false if there is none.
  bool next() {
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().first == taken_.back().second) taken_.pop_back();
    return !taken_.empty();
  }

private:
  std::vector<std::pair<size_t, size_t>> taken_;
  size_t at_ = 0;
};

enum class Outcome : uint8_t { Proved, Impossible, Unproved, Beyond };

class Facts {
public:
  Facts(Choices& choices, std::shared_ptr<Solver> solver, size_t budget)
      : choices_(choices), arith_(std::move(solver), budget) {}

  bool halted() const { return stop_ != Outcome::Proved; }
  Outcome outcome() const { return stop_; }
  const std::string& why() const { return why_; }
  /// The first that ends the case counts.
  void stop(Outcome outcome, std::string why = "");
  void beyond(std::string why) { stop(Outcome::Beyond, std::move(why)); }
  void beyond(OpKind op);

  size_t choose(size_t count) { return choices_.choose(count); }
  /// Whether it holds in this case. What does not follow is chosen, and assumed.
  bool decide(const Fact& fact);
  /// What the engine asks for: a case where it fails is impossible.
  void must(const Fact& fact);
  void must_equal(const Poly& a, const Poly& b) { must(proof::equal(a, b)); }
  bool is(const Poly& a, const Poly& b) { return arith_.follows_equal(a, b); }

  /// A symbol that a sum runs through: no case depends on what it is.
  Sym fresh_bound();
  bool has_bound(const Poly& p) const;
  Arith& arith() { return arith_; }

private:
  Choices& choices_;
  Arith arith_;
  Outcome stop_ = Outcome::Proved;
  std::string why_;
  std::vector<bool> bound_; // by Sym
};

} // namespace tg::proof
