// Integers of a proof: polynomials over symbols (sizes, indices, attributes) and the facts about
// them. Z3 answers whether a fact follows from the known ones.
//
// The solver sees a product of symbols as a single unknown (with the sign given by its factors). So
// every query is linear and ends soon, and a fact that follows in this abstraction follows for the
// integers. Queries are counted against a budget and each has a resource limit, so that an answer
// does not depend on the machine. A fact that is not shown to follow counts as not following.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tg::proof {

using Sym = uint32_t;

/// A polynomial with integer coefficients: a sorted list of products of symbols; the empty product
/// is the constant. There are no zero coefficients, so equal polynomials are equal lists.
class Poly {
public:
  Poly(int64_t n = 0) { // NOLINT(google-explicit-constructor): numbers are polynomials
    if (n) terms_.push_back({{}, n});
    valid_ = n != INT64_MIN;
  }
  static Poly of(Sym s) {
    Poly p;
    p.terms_.push_back({{s}, 1});
    return p;
  }
  Poly operator+(const Poly& other) const { return plus(other, 1); }
  Poly operator-(const Poly& other) const { return plus(other, -1); }
  Poly operator*(const Poly& other) const;
  bool operator==(const Poly& other) const {
    return terms_ == other.terms_ && valid_ && other.valid_;
  }
  bool operator<(const Poly& other) const { return terms_ < other.terms_; }

  using Term = std::pair<std::vector<Sym>, int64_t>; // symbols are sorted, and repeated for powers
  llvm::ArrayRef<Term> terms() const& { return terms_; }
  void terms() && = delete;
  std::optional<int64_t> constant() const;
  /// False after an overflow: then nothing is known about the number.
  bool valid() const { return valid_; }
  bool has(Sym s) const;
  /// Returns the polynomial with `s` replaced.
  Poly replaced(Sym s, const Poly& by) const;
  /// Divides by a symbol that is in every product.
  Poly divided(Sym s) const;
  /// Divides by a number that divides all coefficients.
  Poly over(int64_t n) const;
  /// Divides by a polynomial; nullopt if there is a remainder.
  std::optional<Poly> quotient(const Poly& divisor) const;
  /// Returns the coefficient of `s` if it occurs alone and in no product; otherwise 0.
  int64_t lone_coefficient(Sym s) const;

private:
  Poly plus(const Poly& other, int64_t factor) const;
  std::vector<Term> terms_;
  bool valid_ = true;
};

struct Fact {
  enum class Kind : uint8_t { Ge, Eq, Ne }; // compared with 0
  Kind kind{};
  Poly p;
  bool operator==(const Fact&) const = default;
};
inline Fact at_least(const Poly& a, const Poly& b) { return {Fact::Kind::Ge, a - b}; }
inline Fact less(const Poly& a, const Poly& b) { return {Fact::Kind::Ge, b - a - 1}; }
inline Fact equal(const Poly& a, const Poly& b) { return {Fact::Kind::Eq, a - b}; }
Fact negated(const Fact& fact);

/// Returns true if the program was built with a solver. Without one only plain facts follow.
bool have_solver();

class Solver;
std::shared_ptr<Solver> make_solver();

class Arith {
public:
  /// A solver may serve several objects, one after the other.
  Arith(std::shared_ptr<Solver> solver, size_t budget);
  ~Arith();

  /// Returns a new unknown, with a lower bound if given.
  Sym fresh(std::optional<int64_t> least = std::nullopt);
  Poly fresh_poly(std::optional<int64_t> least) { return Poly::of(fresh(least)); }

  void assume(const Fact& fact);
  /// Adds a fact until it is popped: the context of a sum's body or of a guard.
  void push(const Fact& fact) { context_.push_back(fact); }
  void pop(size_t count = 1) { context_.resize(context_.size() - count); }
  size_t mark() const { return context_.size(); }
  void restore(size_t mark) { context_.resize(mark); }
  /// Defines the symbol as this value from now on.
  void define(Sym symbol, const Poly& value);

  bool follows(const Fact& fact);
  /// The same from the known facts alone, without the context.
  bool follows_always(const Fact& fact);
  bool follows_equal(const Poly& a, const Poly& b) { return follows(equal(a, b)); }
  /// Returns false only if the facts contradict each other.
  bool consistent();
  /// Substitutes known symbols: those that an equality defines.
  Poly normal(const Poly& p) const;
  /// Queries that an earlier case already made count a tenth.
  bool exhausted() const { return asked_ + looked_up_ / 10 >= budget_; }
  size_t asked() const { return asked_; }

private:
  using Model = std::map<Sym, int64_t>;
  bool follows_from_bounds(const Fact& fact) const;
  Poly cancelled(Poly p) const;
  std::vector<Sym> factors_of_one(const Poly& p) const;
  void take_equalities(std::vector<Fact>& open);
  void add_products(std::vector<Fact>& facts) const;
  enum class Answer : uint8_t { Contradictory, Satisfiable, Open };
  bool query(llvm::ArrayRef<Fact> more);
  Answer judge(const std::vector<Fact>& facts);
  std::vector<Fact> splits(llvm::ArrayRef<Fact> facts) const;
  std::vector<Fact> everything(llvm::ArrayRef<Fact> more) const;
  bool satisfied(const Model& model, llvm::ArrayRef<Fact> facts) const;

  std::vector<std::optional<int64_t>> least_;
  std::vector<Fact> facts_;   // in normal form
  std::vector<Fact> context_; // as given
  std::map<Sym, Poly> known_; // right sides are in normal form
  /// Assignments that satisfied earlier queries. They refute most facts that do not follow.
  std::vector<Model> models_;
  size_t budget_, asked_ = 0, looked_up_ = 0;
  std::shared_ptr<Solver> solver_;
};

} // namespace tg::proof
