// Polynomials over symbols: sorted lists of products without zero coefficients.
#include "compiler/verify/proof/symbolic/arith.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::proof {

namespace {

/// Orders products by the powers of smaller symbols first; multiplication preserves this order.
bool above(const std::vector<Sym>& a, const std::vector<Sym>& b) {
  auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return x != a.end() && (y == b.end() || *x < *y);
}

} // namespace

Poly Poly::plus(const Poly& other, int64_t factor) const {
  Poly sum;
  sum.valid_ = valid_ && other.valid_;
  auto a = terms_.begin(), b = other.terms_.begin();
  while (a != terms_.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != terms_.end() && a->first < b->first)) {
      sum.terms_.push_back(*a++);
    } else if (a == terms_.end() || b->first < a->first) {
      sum.terms_.push_back({b->first, factor * b->second}); // 1 or -1, and never with INT64_MIN
      ++b;
    } else {
      int64_t n = 0;
      if (__builtin_add_overflow(a->second, factor * b->second, &n) || n == INT64_MIN)
        sum.valid_ = false, n = 1;
      if (n) sum.terms_.push_back({a->first, n});
      ++a, ++b;
    }
  }
  return sum;
}

Poly Poly::operator*(const Poly& other) const {
  Poly sum;
  sum.valid_ = valid_ && other.valid_;
  for (const auto& [a, n] : terms_)
    for (const auto& [b, m] : other.terms_) {
      Poly product;
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(n, m, &coefficient) || coefficient == INT64_MIN)
        product.valid_ = false, coefficient = 1;
      product.terms_.push_back({a, coefficient});
      std::vector<Sym>& both = product.terms_[0].first;
      both.insert(both.end(), b.begin(), b.end());
      llvm::sort(both);
      sum = sum + product;
    }
  return sum;
}

std::optional<int64_t> Poly::constant() const {
  if (!valid_) return std::nullopt;
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].first.empty()) return terms_[0].second;
  return std::nullopt;
}

bool Poly::has(Sym s) const {
  return llvm::any_of(terms_, [s](const auto& term) { return llvm::is_contained(term.first, s); });
}

Poly Poly::replaced(Sym s, const Poly& by) const {
  Poly result;
  result.valid_ = valid_;
  for (const auto& [symbols, n] : terms_) {
    Poly term = n;
    for (Sym other : symbols) term = term * (other == s ? by : Poly::of(other));
    result = result + term;
  }
  return result;
}

Poly Poly::divided(Sym s) const {
  Poly result;
  result.valid_ = valid_;
  for (const auto& [symbols, n] : terms_) {
    Poly term;
    term.terms_.push_back({symbols, n});
    std::vector<Sym>& rest = term.terms_[0].first;
    rest.erase(llvm::find(rest, s));
    result = result + term;
  }
  return result;
}

Poly Poly::over(int64_t n) const {
  Poly result = *this;
  for (Term& term : result.terms_) term.second /= n;
  return result;
}

/// Long division: leading terms decrease, or a remainder is left.
std::optional<Poly> Poly::quotient(const Poly& divisor) const {
  auto leading = [](const Poly& p) {
    return *std::max_element(p.terms_.begin(), p.terms_.end(),
                             [](const Term& a, const Term& b) { return above(b.first, a.first); });
  };
  if (divisor.terms_.empty() || !valid_ || !divisor.valid_) return std::nullopt;
  const Term by = leading(divisor);
  Poly rest = *this, result;
  while (!rest.terms_.empty()) {
    Term top = leading(rest);
    if (top.second % by.second != 0 ||
        !std::includes(top.first.begin(), top.first.end(), by.first.begin(), by.first.end()))
      return std::nullopt;
    Poly part;
    part.terms_.push_back({{}, top.second / by.second});
    std::set_difference(top.first.begin(), top.first.end(), by.first.begin(), by.first.end(),
                        std::back_inserter(part.terms_[0].first));
    result = result + part;
    rest = rest - part * divisor;
    if (!rest.valid_) return std::nullopt;
  }
  return result;
}

int64_t Poly::lone_coefficient(Sym s) const {
  int64_t found = 0;
  for (const auto& [symbols, n] : terms_) {
    if (!llvm::is_contained(symbols, s)) continue;
    if (symbols.size() > 1) return 0;
    found = n;
  }
  return found;
}

Fact negated(const Fact& fact) {
  switch (fact.kind) {
  case Fact::Kind::Ge: return {Fact::Kind::Ge, Poly(-1) - fact.p};
  case Fact::Kind::Eq: return {Fact::Kind::Ne, fact.p};
  case Fact::Kind::Ne: return {Fact::Kind::Eq, fact.p};
  }
  return fact;
}

} // namespace tg::proof
