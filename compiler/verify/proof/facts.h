// The assumptions of one case of a proof, and its outcome. If a question is open (are two sizes
// equal? which piece of a concat has this index?), the case takes one answer, and the other answers
// are other cases: `Choices` replays a case from its start with the next answer, until all were
// taken. Anything that the engine would reject (an ill-typed side, a failed condition, sides of
// different types) ends a case as impossible.
//
// A case that has ended is `halted`: functions then return as soon as they can, with any value.
#pragma once

#include "compiler/verify/proof/symbolic/arith.h"
#include "lang/core/op.h"

namespace tg::proof {

class Choices {
public:
  /// Returns a number below `count`; successive tries return each number once, in order.
  size_t choose(size_t count) {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  /// Advances to the next case; returns false if there is none.
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
  /// Ends the case; only the first call has an effect.
  void stop(Outcome outcome, std::string why = "");
  void beyond(std::string why) { stop(Outcome::Beyond, std::move(why)); }
  void beyond(OpKind op);

  size_t choose(size_t count) { return choices_.choose(count); }
  /// Returns whether the fact holds in this case. If it does not follow, a choice is made
  /// and assumed.
  bool decide(const Fact& fact);
  /// Assumes a requirement of the engine; a case in which it fails is impossible.
  void must(const Fact& fact);
  void must_equal(const Poly& a, const Poly& b) { must(proof::equal(a, b)); }
  bool is(const Poly& a, const Poly& b) { return arith_.follows_equal(a, b); }

  /// Returns a symbol for the index of a sum; cases never depend on its value.
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
