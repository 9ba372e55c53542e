// Symbolic indices: the sums that are open, and indices by factors. An axis that is taken apart or
// joined by a reshape keeps its elements in row-major order, so that an index into the whole is a
// number of mixed radix of the indices into its parts. Which parts an index has is remembered; that
// of a result or of a sum that has none is given some: each number below a product has just one
// form.
#pragma once

#include "compiler/verify/proof/facts.h"
#include "compiler/verify/proof/symbolic/sums.h"

namespace tg::proof {

using Index = std::vector<Poly>;

class Indices {
public:
  explicit Indices(Facts& facts) : facts_(facts), arith_(facts.arith()) {}

  /// Opens a sum over 0 .. size; its symbol, or 0 for a sum of one term.
  Poly open_sum(const Poly& size);
  /// The sum that was opened last.
  Value close_sum(Value body);
  /// The index into what a reshape takes, from that into what it gives.
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
  bool take_apart(Walk& walk);
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
