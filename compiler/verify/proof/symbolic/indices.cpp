#include "compiler/verify/proof/symbolic/indices.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

Poly Indices::open_sum(const Poly& size) {
  scopes_.push_back({arith_.mark(), {}});
  if (facts_.is(size, 1)) return 0;
  Sym s = facts_.fresh_bound();
  scopes_.back().symbols.push_back({s, size});
  arith_.push(at_least(Poly::of(s), 0));
  arith_.push(less(Poly::of(s), size));
  return Poly::of(s);
}

Value Indices::close_sum(Value body) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  arith_.restore(scope.mark);
  for (const auto& [s, size] : scope.symbols) {
    for (Product& p : body.products) p.bound.push_back(s);
    body = Sums::where(std::move(body), {at_least(Poly::of(s), 0), less(Poly::of(s), size)});
  }
  return body;
}

// --- parts ------------------------------------------------------------------------------------

/// Returns the parts of an index that equals an index with known parts, up to a multiple of the
/// product of all radices except the first: then all parts except the first are equal. The first
/// radix does not matter, since indices are in range.
std::optional<std::vector<Poly>> Indices::known_parts(const Poly& whole,
                                                      const std::vector<Poly>& radices) {
  Poly below = 1;
  for (size_t i = 1; i < radices.size(); ++i) below = below * radices[i];
  for (const Mix& mix : mixes_) {
    bool same = mix.radices.size() == radices.size();
    for (size_t i = 1; same && i < radices.size(); ++i)
      same = facts_.is(mix.radices[i], radices[i]);
    if (!same) continue;
    std::optional<Poly> shift = arith_.normal(whole - mix.whole).quotient(arith_.normal(below));
    if (!shift && !facts_.is(mix.whole, whole)) continue;
    std::vector<Poly> parts = mix.parts;
    if (shift) parts[0] = arith_.normal(parts[0] + *shift);
    return parts;
  }
  return std::nullopt;
}

/// Returns true if a sum covers exactly the numbers below the size.
bool Indices::covers(const Scope& scope, Sym symbol, const Poly& size) {
  return llvm::any_of(scope.symbols, [&](const auto& entry) {
    return entry.first == symbol && facts_.is(entry.second, size);
  });
}

/// Returns true if a number is below the size without the help of a guard.
bool Indices::within_always(const Poly& whole, const Poly& size) {
  return arith_.follows_always(at_least(whole, 0)) && arith_.follows_always(less(whole, size));
}

/// Gives parts to a number that is not a plain symbol and not the index of a sum.
std::vector<Poly> Indices::fresh_parts(const Poly& whole, const std::vector<Poly>& radices) {
  Poly product = 1;
  for (const Poly& radix : radices) product = product * radix;
  if (!within_always(whole, product))
    return facts_.beyond("an index that does not cover the whole axis"),
           std::vector<Poly>(radices.size());
  Mix mix{whole, {}, radices};
  Poly form = 0;
  for (const Poly& radix : radices) {
    Poly part = facts_.is(radix, 1) ? Poly(0) : arith_.fresh_poly(0);
    if (!facts_.is(radix, 1)) arith_.assume(less(part, radix));
    mix.parts.push_back(part);
    form = form * radix + part;
  }
  arith_.assume(proof::equal(whole, form));
  mixes_.push_back(mix);
  return mix.parts;
}

/// Splits an index into an axis of size radices[0] * radices[1] * .., row-major.
std::vector<Poly> Indices::parts(const Poly& index, const std::vector<Poly>& radices) {
  std::vector<Poly> none(radices.size(), Poly(0));
  Poly whole = arith_.normal(index);
  if (whole.constant() == 0) return none;
  if (radices.size() == 1) return {whole};
  if (std::optional<std::vector<Poly>> known = known_parts(whole, radices)) return *known;
  bool plain = whole.terms().size() == 1 && whole.terms()[0].first.size() == 1 &&
               whole.terms()[0].second == 1;
  bool of_sum = facts_.has_bound(whole);
  if (!plain && of_sum) return facts_.beyond("an index that cannot be split"), none;
  if (!plain) return fresh_parts(whole, radices);
  Sym symbol = whole.terms()[0].first[0];
  Scope* scope = scope_of(symbol);
  if (of_sum && !scope) return facts_.beyond("a sum in closed form"), none;
  // The parts replace the symbol everywhere, so they must cover all of its values.
  Poly product = 1;
  for (const Poly& radix : radices) product = product * radix;
  if (scope ? !covers(*scope, symbol, product) : !within_always(whole, product))
    return facts_.beyond("an index that does not cover the whole axis"), none;
  return parts_of(symbol, scope, radices);
}

/// Gives parts to a symbol; an open sum then runs over these instead.
std::vector<Poly> Indices::parts_of(Sym symbol, Scope* scope, const std::vector<Poly>& radices) {
  Mix mix{0, {}, radices};
  std::vector<std::pair<Sym, Poly>> symbols;
  for (const Poly& radix : radices) {
    Poly part = 0;
    if (!facts_.is(radix, 1)) {
      Sym s = scope ? facts_.fresh_bound() : arith_.fresh(0);
      part = Poly::of(s);
      if (scope) {
        symbols.push_back({s, radix});
        arith_.push(at_least(part, 0));
        arith_.push(less(part, radix));
      } else {
        arith_.assume(less(part, radix));
      }
    }
    mix.parts.push_back(part);
    mix.whole = mix.whole * radix + part;
  }
  arith_.define(symbol, mix.whole);
  if (scope) {
    llvm::erase_if(scope->symbols, [&](const auto& entry) { return entry.first == symbol; });
    scope->symbols.insert(scope->symbols.end(), symbols.begin(), symbols.end());
  }
  mixes_.push_back(mix);
  return mix.parts;
}

/// Returns the open sum over a symbol, or null.
Indices::Scope* Indices::scope_of(Sym symbol) {
  Scope* found = nullptr;
  for (Scope& scope : scopes_)
    if (llvm::any_of(scope.symbols, [&](const auto& entry) { return entry.first == symbol; }))
      found = &scope;
  return found;
}

// --- reshape ----------------------------------------------------------------------------------

/// A walk along the axes of both sides, which are grouped where they have as many elements.
struct Indices::Walk {
  llvm::ArrayRef<Poly> from, to, index;
  Index inner = {}; // into the visited axes of `from`
  size_t at = 0;    // next axis of `to`

  const Poly& next() const { return from[inner.size()]; }
};

/// If axes cannot be grouped, all axes before the last common ones become one number.
Index Indices::reshaped(const Index& from, const Index& to, const Index& index) {
  Walk walk{from, to, index};
  while ((walk.inner.size() < from.size() || walk.at < to.size()) && !facts_.halted()) {
    bool first = walk.inner.size() < from.size(), second = walk.at < to.size();
    if (first && second && facts_.is(walk.next(), to[walk.at])) {
      walk.inner.push_back(index[walk.at++]);
    } else if (first && facts_.is(walk.next(), 1)) {
      walk.inner.push_back(0);
    } else if (second && facts_.is(to[walk.at], 1)) {
      ++walk.at;
    } else if (!first || !second) {
      facts_.beyond("a reshape that does not split by factors");
    } else if (!join_axes(walk) && !split_index(walk)) {
      regroup(walk);
    }
  }
  return std::move(walk.inner);
}

/// Handles axes that the reshape splits: composes one index from those of the parts.
bool Indices::join_axes(Walk& walk) {
  Poly product = 1;
  Mix mix{0, {}, {}};
  size_t end = walk.at;
  for (; end < walk.to.size() && !facts_.is(product, walk.next()); ++end) {
    mix.parts.push_back(walk.index[end]);
    mix.radices.push_back(walk.to[end]);
    product = product * walk.to[end];
    mix.whole = mix.whole * walk.to[end] + walk.index[end];
  }
  if (!facts_.is(product, walk.next())) return false;
  mixes_.push_back(mix);
  walk.inner.push_back(mix.whole);
  walk.at = end;
  return true;
}

/// Handles axes that the reshape joins: splits one index into parts.
bool Indices::split_index(Walk& walk) {
  const Poly& size = walk.to[walk.at];
  std::vector<Poly> radices;
  Poly product = 1;
  for (size_t i = walk.inner.size(); i < walk.from.size() && !facts_.is(product, size); ++i) {
    radices.push_back(walk.from[i]);
    product = product * walk.from[i];
  }
  if (!facts_.is(product, size)) return false;
  for (const Poly& part : parts(walk.index[walk.at], radices)) walk.inner.push_back(part);
  ++walk.at;
  return true;
}

/// Handles all axes except the last common ones: one number, and its parts.
void Indices::regroup(Walk& walk) {
  llvm::ArrayRef<Poly> from = walk.from.drop_front(walk.inner.size());
  llvm::ArrayRef<Poly> to = walk.to.drop_front(walk.at);
  while (!from.empty() && !to.empty() && facts_.is(from.back(), to.back())) {
    from = from.drop_back();
    to = to.drop_back();
  }
  llvm::ArrayRef<Poly> index = walk.index.slice(walk.at, to.size());
  Mix mix{0, index.vec(), to.vec()};
  for (size_t i = 0; i < to.size(); ++i) mix.whole = mix.whole * to[i] + index[i];
  mixes_.push_back(mix);
  for (const Poly& part : parts(mix.whole, from.vec())) walk.inner.push_back(part);
  walk.at += to.size();
}

} // namespace tg::proof
