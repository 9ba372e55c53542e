// Expressions of open sizes in normal form: polynomials with integer coefficients over the sizes
// and over floor divisions by positive constants. Expressions are interned, so equal ids are equal
// expressions; a remainder is written with a division. Two spellings of one function mostly have
// one normal form ((N - 1) // 2 + 1 and (N + 1) // 2), but not always: proof.h decides the other
// cases.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tg::sizes {

/// An expression of one Algebra. Unknown is the result of an operation whose coefficients do not
/// fit 64 bits or whose degree is above the limit, and of every operation on it.
struct Expr {
  uint32_t index = UINT32_MAX;
  bool known() const { return index != UINT32_MAX; }
  auto operator<=>(const Expr&) const = default;
};

/// The value of each size, by its number.
using Point = std::vector<int64_t>;

class Algebra {
public:
  /// Creates the sizes 0, 1, … with these names.
  explicit Algebra(std::vector<std::string> names);

  size_t size_count() const { return names_.size(); }
  const std::string& name(size_t size) const { return names_[size]; }
  Expr size(size_t number) const { return {atoms_[number].expr}; }

  Expr number(int64_t value);
  Expr add(Expr a, Expr b);
  Expr scale(Expr a, int64_t factor);
  Expr subtract(Expr a, Expr b) { return add(a, scale(b, -1)); }
  Expr multiply(Expr a, Expr b);
  /// Requires `by` > 0.
  Expr floor_divide(Expr a, int64_t by);
  /// Returns q with a == q * b for all sizes, or nullopt.
  std::optional<Expr> divide_exactly(Expr a, Expr b);
  /// Replaces sizes by expressions; sizes beyond the list stay.
  Expr substitute(Expr a, llvm::ArrayRef<std::optional<Expr>> sizes);

  std::optional<int64_t> constant(Expr a) const;
  /// Returns nullopt if the value does not fit 64 bits.
  std::optional<int64_t> value(Expr a, llvm::ArrayRef<int64_t> point) const;
  /// Adds the numbers of the sizes in the expression.
  void sizes_in(Expr a, std::vector<bool>& found) const;
  /// Returns, for each size, a number L such that all divisions disappear when L * n + r replaces
  /// the size: 1 without divisions. 0 if it does not fit 32 bits.
  std::vector<int64_t> periods(Expr a) const;
  /// Returns the coefficient and the exponent-free rest of a size that occurs once, as in
  /// a == coefficient * size + rest; nullopt for other expressions.
  struct Linear {
    int64_t coefficient = 0;
    Expr rest;
  };
  std::optional<Linear> linear_in(Expr a, size_t size);

  /// A product of atoms, ascending; empty for 1.
  using Monomial = std::vector<uint32_t>;
  using Polynomial = std::map<Monomial, int64_t>;
  const Polynomial& polynomial(Expr a) const { return *polynomials_[a.index]; }
  /// Sizes come first; divisions follow, in the order in which they were made.
  size_t atom_count() const { return atoms_.size(); }
  Expr atom(uint32_t number) const { return {atoms_[number].expr}; }
  /// The size that the atom is, or nullopt for a division.
  std::optional<size_t> size_of_atom(uint32_t atom) const;
  struct Division {
    Expr of;
    int64_t by = 1;
  };
  /// The division that the atom is.
  const Division& division(uint32_t atom) const { return atoms_[atom].division; }

  /// Returns the expression as in a program: `2 * N * S + (S + 1) // 2`.
  std::string text(Expr a) const;

private:
  struct Atom {
    uint32_t expr = 0; // the expression that is this atom alone
    Division division;
  };
  Expr intern(Polynomial polynomial);
  Expr atom_of(Division division);
  Expr divide_remainder(Expr a, int64_t by);
  std::string term_text(const Monomial& monomial, int64_t factor) const;

  static constexpr size_t kMaxDegree = 24;
  static constexpr size_t kMaxTerms = 256;
  std::vector<std::string> names_;
  std::vector<Atom> atoms_;
  std::map<Polynomial, uint32_t> index_;
  std::vector<const Polynomial*> polynomials_; // keys of index_
  std::map<std::pair<Expr, int64_t>, uint32_t> divisions_;
};

} // namespace tg::sizes
