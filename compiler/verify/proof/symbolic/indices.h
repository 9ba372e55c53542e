// Symbolic indices: the open sums, and mixed-radix indices. A reshape that splits or joins axes
// keeps the elements in row-major order, so an index into the whole axis is a mixed-radix number
// whose digits are the indices into its parts. The parts of an index are recorded; a symbol of a
// result or of a sum that has none yet is given some, since each number below a product has exactly
// one such form.
#pragma once

#include "compiler/verify/proof/facts.h"
#include "compiler/verify/proof/symbolic/sums.h"

namespace tg::proof {

using Index = std::vector<Poly>;

class Indices {
public:
  explicit Indices(Facts& facts) : facts_(facts), arith_(facts.arith()) {}

  /// Opens a sum over 0 .. size; returns its symbol, or 0 for a sum of one term.
  Poly open_sum(const Poly& size);
  /// Closes the sum that was opened last.
  Value close_sum(Value body);
  /// Returns the index into the operand of a reshape, from the index into its result.
  Index reshaped(const Index& from, const Index& to, const Index& index);

private:
  struct Scope {
    size_t mark;
    std::vector<std::pair<Sym, Poly>> symbols; // with their sizes
  };
  /// whole = (parts[0] * radices[1] + parts[1]) * radices[2] + ..
  struct Mix {
    Poly whole;
    std::vector<Poly> parts, radices;
  };
  struct Walk;
  bool join_axes(Walk& walk);
  bool split_index(Walk& walk);
  void regroup(Walk& walk);
  std::vector<Poly> parts(const Poly& index, const std::vector<Poly>& radices);
  std::vector<Poly> parts_of(Sym symbol, Scope* scope, const std::vector<Poly>& radices);
  std::optional<std::vector<Poly>> known_parts(const Poly& whole, const std::vector<Poly>& radices);
  std::vector<Poly> fresh_parts(const Poly& whole, const std::vector<Poly>& radices);
  Scope* scope_of(Sym symbol);
  bool covers(const Scope& scope, Sym symbol, const Poly& size);
  bool within_always(const Poly& whole, const Poly& size);

  Facts& facts_;
  Arith& arith_;
  std::vector<Scope> scopes_;
  std::vector<Mix> mixes_;
};

} // namespace tg::proof
