// Values of a proof in normal form: sums of products over index spaces.
//
//   value  = product + product + ..
//   product = coefficient * (sum over all integers of its bound symbols, where all of its guards
//             hold) of factor * factor * ..
//   factor = an element of a tensor at an index, a function of values, the inverse of a value or of
//            a size, or an unknown number
//
// Ranges of sums are guards, too, and so are the cases of concat, slice and padding. Two
// products are alike if their factors can be paired such that the indices map the bound symbols
// of one to expressions in those of the other, one to one, and under this map factors are equal
// and guards imply each other. Two values are equal if their difference is empty after like
// products were added.
#pragma once

#include "compiler/verify/proof/symbolic/arith.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tg::proof {

/// A reduced fraction of small integers; `valid` is false after an overflow.
struct Ratio {
  int64_t over = 0, under = 1;
  bool valid = true;
  bool zero() const { return over == 0; }
};
Ratio operator+(Ratio a, Ratio b);
Ratio operator*(Ratio a, Ratio b);
/// Returns the rational number of a double's shortest decimal text; not valid if the text
/// is too long.
Ratio ratio_of(double value);

struct Product;
struct Value {
  std::vector<Product> products;
};

struct Factor {
  enum class Kind : uint8_t { Element, Call, Inverse, InverseSize, Unknown };
  Kind kind{};
  std::string name;        // Element: the tensor; Call: the function; Unknown: the number
  std::vector<Poly> index; // Element; InverseSize: the one size
  std::vector<Value> args; // Call, Inverse
  bool commutes = false;   // Call: the order of arguments does not matter
};

struct Product {
  Ratio coefficient{1};
  std::vector<Sym> bound;
  std::vector<Fact> guards;
  std::vector<Factor> factors;
};

class Sums {
public:
  explicit Sums(Arith& arith) : arith_(arith) {}

  static Value number(Ratio r);
  static Value of(Factor factor);
  static Value add(Value a, const Value& b);
  static Value negate(Value a);
  /// The bound symbols of the two must be distinct.
  static Value multiply(const Value& a, const Value& b);
  Value call(const std::string& name, std::vector<Value> args, bool commutes);
  /// Returns max(a, b); nested maxima are merged to one set.
  Value maximum(const Value& a, const Value& b);
  Value inverse(const Value& a);
  /// Returns the value where the guards hold, else 0.
  static Value where(Value a, const std::vector<Fact>& guards);

  bool equal(const Value& a, const Value& b);
  bool overflowed() const { return overflowed_; }

private:
  static constexpr int kMaxDepth = 12; // of nested functions
  struct Pairing;
  Value applied(Factor head, std::vector<Value> args);
  const Fact* loose_guard(llvm::ArrayRef<Value> args) const;
  Value restricted(const Value& a, const Fact& guard);
  void collect(Value& sum, Product product);
  void collect_one(Value& sum, Product product);
  std::optional<Sym> small_range(const Product& product) const;
  void drop_fixed(Product& product);
  void drop_idle(Product& product);
  bool never_negative(const Poly& size, const Product& product, Sym symbol);
  bool alike(const Product& a, const Product& b);
  bool pair(Pairing& pairing, size_t next);
  bool unify(Pairing& pairing, const Factor& a, const Factor& b);
  bool complete(Pairing& pairing);
  bool confirm(Pairing& pairing);
  bool same_factor(const Factor& a, const Factor& b);

  Arith& arith_;
  bool overflowed_ = false;
  int depth_ = 0;
};

/// Replaces a symbol in the value, except where it is bound.
Value replaced(const Value& value, Sym symbol, const Poly& by);
Product replaced(const Product& product, Sym symbol, const Poly& by);

} // namespace tg::proof
