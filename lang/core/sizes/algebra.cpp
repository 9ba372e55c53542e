#include "lang/core/sizes/algebra.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <numeric>

namespace tg::sizes {

namespace {

int64_t floor_of(int64_t a, int64_t by) {
  int64_t quotient = a / by;
  return quotient - (a % by < 0);
}

/// Adds to the coefficient of a monomial. Returns false on overflow.
bool add_term(Algebra::Polynomial& to, const Algebra::Monomial& monomial, int64_t factor) {
  auto [at, fresh] = to.try_emplace(monomial, 0);
  if (__builtin_add_overflow(at->second, factor, &at->second)) return false;
  if (at->second == 0) to.erase(at);
  return true;
}

Algebra::Monomial product_of(const Algebra::Monomial& a, const Algebra::Monomial& b) {
  Algebra::Monomial out(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
  return out;
}

} // namespace

Algebra::Algebra(std::vector<std::string> names) : names_(std::move(names)) {
  (void)intern({});
  for (uint32_t i = 0; i < names_.size(); ++i) {
    atoms_.emplace_back();
    atoms_[i].expr = intern({{Monomial{i}, 1}}).index;
  }
}

Expr Algebra::intern(Polynomial polynomial) {
  if (polynomial.size() > kMaxTerms) return {};
  auto [at, fresh] =
      index_.try_emplace(std::move(polynomial), static_cast<uint32_t>(polynomials_.size()));
  if (fresh) polynomials_.push_back(&at->first);
  return {at->second};
}

Expr Algebra::number(int64_t value) {
  Polynomial p;
  if (value != 0) p[{}] = value;
  return intern(std::move(p));
}

Expr Algebra::add(Expr a, Expr b) {
  if (!a.known() || !b.known()) return {};
  Polynomial sum = polynomial(a);
  for (const auto& [monomial, factor] : polynomial(b))
    if (!add_term(sum, monomial, factor)) return {};
  return intern(std::move(sum));
}

Expr Algebra::scale(Expr a, int64_t factor) {
  if (!a.known()) return {};
  Polynomial out;
  if (factor == 0) return number(0);
  for (const auto& [monomial, old] : polynomial(a))
    if (__builtin_mul_overflow(old, factor, &out[monomial])) return {};
  return intern(std::move(out));
}

Expr Algebra::multiply(Expr a, Expr b) {
  if (!a.known() || !b.known()) return {};
  Polynomial out;
  for (const auto& [left, x] : polynomial(a))
    for (const auto& [right, y] : polynomial(b)) {
      int64_t factor = 0;
      if (left.size() + right.size() > kMaxDegree || __builtin_mul_overflow(x, y, &factor) ||
          !add_term(out, product_of(left, right), factor))
        return {};
    }
  return intern(std::move(out));
}

Expr Algebra::floor_divide(Expr a, int64_t by) {
  if (!a.known() || by == 1) return a;
  Polynomial whole, remainder; // a == by * whole + remainder, with coefficients from 0 to by - 1
  for (const auto& [monomial, factor] : polynomial(a)) {
    int64_t quotient = floor_of(factor, by);
    if (quotient != 0) whole[monomial] = quotient;
    if (factor - quotient * by != 0) remainder[monomial] = factor - quotient * by;
  }
  return add(intern(std::move(whole)), divide_remainder(intern(std::move(remainder)), by));
}

/// Divides an expression whose coefficients are from 0 to by - 1. A common factor is cancelled, and
/// (a // b + k) // c becomes (a + k * b) // (b * c).
Expr Algebra::divide_remainder(Expr a, int64_t by) {
  if (!a.known()) return {};
  const Polynomial& p = polynomial(a);
  bool no_terms = p.empty() || (p.size() == 1 && p.begin()->first.empty());
  if (no_terms) return number(0);
  int64_t common = by, offset = 0;
  for (const auto& [monomial, factor] : p) {
    if (monomial.empty())
      offset = factor;
    else
      common = std::gcd(common, factor);
  }
  if (common > 1) {
    Polynomial less;
    for (const auto& [monomial, factor] : p)
      if (int64_t quotient = factor / common; quotient != 0) less[monomial] = quotient;
    return floor_divide(intern(std::move(less)), by / common);
  }
  const auto& [last, factor] = *p.rbegin();
  bool nested = last.size() == 1 && factor == 1 && !size_of_atom(last[0]) &&
                p.size() == (offset != 0 ? 2 : 1);
  if (nested) {
    Division inner = division(last[0]);
    int64_t both = 0, moved = 0;
    if (__builtin_mul_overflow(inner.by, by, &both) ||
        __builtin_mul_overflow(inner.by, offset, &moved))
      return {};
    return floor_divide(add(inner.of, number(moved)), both);
  }
  return atom_of({a, by});
}

Expr Algebra::atom_of(Division division) {
  auto [at, fresh] = divisions_.try_emplace({division.of, division.by}, 0);
  if (fresh) {
    at->second = static_cast<uint32_t>(atoms_.size());
    atoms_.push_back({0, division});
    atoms_.back().expr = intern({{Monomial{at->second}, 1}}).index;
  }
  return {atoms_[at->second].expr};
}

/// Long division by the largest monomial of `b`.
std::optional<Expr> Algebra::divide_exactly(Expr a, Expr b) {
  if (!a.known() || !b.known() || polynomial(b).empty()) return std::nullopt;
  const auto lead = *polynomial(b).rbegin();
  Expr quotient = number(0);
  for (size_t round = 0; round < kMaxTerms && !polynomial(a).empty(); ++round) {
    const auto [top, factor] = *polynomial(a).rbegin();
    bool divides = std::includes(top.begin(), top.end(), lead.first.begin(), lead.first.end());
    if (!divides || factor % lead.second != 0) return std::nullopt;
    Monomial left;
    std::set_difference(top.begin(), top.end(), lead.first.begin(), lead.first.end(),
                        std::back_inserter(left));
    Expr part = intern({{left, factor / lead.second}});
    quotient = add(quotient, part);
    a = subtract(a, multiply(part, b));
    if (!a.known() || !quotient.known()) return std::nullopt;
  }
  return polynomial(a).empty() ? std::optional(quotient) : std::nullopt;
}

Expr Algebra::substitute(Expr a, llvm::ArrayRef<std::optional<Expr>> sizes) {
  if (!a.known()) return {};
  Expr sum = number(0);
  Polynomial terms = polynomial(a); // a copy: interning may move the table's vector
  for (const auto& [monomial, factor] : terms) {
    Expr product = number(factor);
    for (uint32_t atom : monomial) {
      Expr by;
      if (std::optional<size_t> size = size_of_atom(atom)) {
        by = *size < sizes.size() && sizes[*size] ? *sizes[*size] : this->size(*size);
      } else {
        Division inner = division(atom);
        by = floor_divide(substitute(inner.of, sizes), inner.by);
      }
      product = multiply(product, by);
    }
    sum = add(sum, product);
  }
  return sum;
}

std::optional<int64_t> Algebra::constant(Expr a) const {
  if (!a.known()) return std::nullopt;
  const Polynomial& p = polynomial(a);
  if (p.empty()) return 0;
  return p.size() == 1 && p.begin()->first.empty() ? std::optional(p.begin()->second)
                                                   : std::nullopt;
}

std::optional<int64_t> Algebra::value(Expr a, llvm::ArrayRef<int64_t> point) const {
  if (!a.known()) return std::nullopt;
  int64_t sum = 0;
  for (const auto& [monomial, factor] : polynomial(a)) {
    int64_t product = factor;
    for (uint32_t atom : monomial) {
      std::optional<int64_t> by;
      if (std::optional<size_t> size = size_of_atom(atom))
        by = point[*size];
      else if (std::optional<int64_t> inner = value(division(atom).of, point))
        by = floor_of(*inner, division(atom).by);
      if (!by || __builtin_mul_overflow(product, *by, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

std::optional<size_t> Algebra::size_of_atom(uint32_t atom) const {
  return atom < names_.size() ? std::optional<size_t>(atom) : std::nullopt;
}

void Algebra::sizes_in(Expr a, std::vector<bool>& found) const {
  if (!a.known()) {
    found.assign(found.size(), true);
    return;
  }
  for (const auto& [monomial, factor] : polynomial(a))
    for (uint32_t atom : monomial) {
      if (std::optional<size_t> size = size_of_atom(atom))
        found[*size] = true;
      else
        sizes_in(division(atom).of, found);
    }
}

std::vector<int64_t> Algebra::periods(Expr a) const {
  constexpr int64_t kLargest = int64_t{1} << 31;
  std::vector<int64_t> out(size_count(), 1);
  for (const auto& [monomial, factor] : polynomial(a))
    for (uint32_t atom : monomial) {
      if (size_of_atom(atom)) continue;
      const Division& outer = division(atom);
      std::vector<int64_t> inner = periods(outer.of);
      std::vector<bool> found(size_count());
      sizes_in(outer.of, found);
      for (size_t i = 0; i < out.size(); ++i) {
        if (!found[i]) continue;
        if (inner[i] == 0 || out[i] == 0 || outer.by > kLargest || inner[i] > kLargest) {
          out[i] = 0;
          continue;
        }
        int64_t period = inner[i] * outer.by, common = std::gcd(out[i], period);
        int64_t joined = out[i] / common;
        bool fits = !__builtin_mul_overflow(joined, period, &joined) && joined <= kLargest;
        out[i] = fits ? joined : 0;
      }
    }
  return out;
}

std::optional<Algebra::Linear> Algebra::linear_in(Expr a, size_t size) {
  if (!a.known()) return std::nullopt;
  const Polynomial& p = polynomial(a);
  auto at = p.find(Monomial{static_cast<uint32_t>(size)});
  if (at == p.end()) return std::nullopt;
  Polynomial others = p;
  others.erase(at->first);
  Linear out{at->second, intern(std::move(others))};
  std::vector<bool> found(size_count());
  sizes_in(out.rest, found);
  return found[size] ? std::nullopt : std::optional(out);
}

std::string Algebra::term_text(const Monomial& monomial, int64_t factor) const {
  std::string out;
  bool divides = monomial.size() == 1 && !size_of_atom(monomial[0]);
  if (factor == -1 && !monomial.empty() && !divides)
    out = "-"; // of a size; -N // 2 is another number than -1 * (N // 2)
  else if (monomial.empty() || factor != 1)
    out = std::to_string(factor);
  for (uint32_t atom : monomial) {
    if (!out.empty() && out != "-") out += " * ";
    if (std::optional<size_t> size = size_of_atom(atom)) {
      out += names_[*size];
      continue;
    }
    const Division& d = division(atom);
    bool single = polynomial(d.of).size() == 1 && polynomial(d.of).begin()->second == 1;
    std::string of = text(d.of), quotient = single ? of : "(" + of + ")";
    quotient += " // " + std::to_string(d.by);
    out += monomial.size() == 1 && factor == 1 ? quotient : "(" + quotient + ")";
  }
  return out;
}

std::string Algebra::text(Expr a) const {
  if (!a.known()) return "?";
  std::string out;
  for (bool negative : {false, true}) // N - 2, not -2 + N
    for (const auto& [monomial, factor] : llvm::reverse(polynomial(a))) {
      if ((factor < 0) != negative) continue;
      bool minus = negative && factor != INT64_MIN && !out.empty();
      if (!out.empty()) out += minus ? " - " : " + ";
      out += term_text(monomial, minus ? -factor : factor);
    }
  return out.empty() ? "0" : out;
}

} // namespace tg::sizes
