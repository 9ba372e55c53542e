// Reshape by factors: an axis that is taken apart or joined keeps its elements in row-major order,
// so that an index into the whole is a number of mixed radix of the indices into its parts. Which
// parts an index has is remembered; that of a result or of a sum that has none is given some: each
// number below a product has just one form.
#include "compiler/equiv/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

/// The parts of an index that is one whose parts are known, or lies so many times the product of
/// all radices but the first behind one: all parts but the first are the same. Of the first radix
/// nothing depends, for indices are in range.
std::optional<std::vector<Poly>> Case::known_parts(const Poly& whole,
                                                   const std::vector<Poly>& radices) {
  Poly below = 1;
  for (size_t i = 1; i < radices.size(); ++i) below = below * radices[i];
  for (const Mix& mix : mixes_) {
    bool same = mix.radices.size() == radices.size();
    for (size_t i = 1; same && i < radices.size(); ++i) same = is(mix.radices[i], radices[i]);
    if (!same) continue;
    std::optional<Poly> shift = arith_.normal(whole - mix.whole).quotient(arith_.normal(below));
    if (!shift && !is(mix.whole, whole)) continue;
    std::vector<Poly> parts = mix.parts;
    if (shift) parts[0] = arith_.normal(parts[0] + *shift);
    return parts;
  }
  return std::nullopt;
}

/// An index into an axis of size radices[0] * radices[1] * .., taken apart: row-major.
std::vector<Poly> Case::parts(const Poly& index, const std::vector<Poly>& radices) {
  Poly whole = arith_.normal(index);
  if (whole.constant() == 0) return std::vector<Poly>(radices.size(), Poly(0));
  if (radices.size() == 1) return {whole};
  if (std::optional<std::vector<Poly>> known = known_parts(whole, radices)) return *known;
  bool plain = whole.terms().size() == 1 && whole.terms()[0].first.size() == 1 &&
               whole.terms()[0].second == 1;
  if (!plain && has_bound(whole))
    return beyond("an index that does not come apart"), std::vector<Poly>(radices.size());
  if (!plain) return fresh_parts(whole, radices);
  Sym symbol = whole.terms()[0].first[0];
  Scope* scope = nullptr;
  for (Scope& s : scopes_)
    if (llvm::any_of(s.symbols, [&](const auto& entry) { return entry.first == symbol; }))
      scope = &s;
  if (has_bound(whole) && !scope)
    return beyond("a sum that is closed"), std::vector<Poly>(radices.size());
  // Its parts stand for the symbol from now on, everywhere: they have to be all that it can be.
  Poly product = 1;
  for (const Poly& radix : radices) product = product * radix;
  if (scope ? !covers(*scope, symbol, product) : !within_always(whole, product))
    return beyond("an index that is not of the whole axis"), std::vector<Poly>(radices.size());
  Mix mix{0, {}, radices};
  std::vector<std::pair<Sym, Poly>> symbols;
  for (const Poly& radix : radices) {
    Poly part = 0;
    if (!is(radix, 1)) {
      Sym s = scope ? arith_.fresh() : arith_.fresh(0);
      part = Poly::of(s);
      if (scope) {
        bound_.resize(s + 1);
        bound_[s] = true;
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

/// Whether a sum runs over all numbers below the size, and no more.
bool Case::covers(const Scope& scope, Sym symbol, const Poly& size) {
  return llvm::any_of(scope.symbols, [&](const auto& entry) {
    return entry.first == symbol && is(entry.second, size);
  });
}

/// Whether a number lies below the size wherever it is asked for, and not under a guard alone.
bool Case::within_always(const Poly& whole, const Poly& size) {
  return arith_.follows_always(at_least(whole, 0)) && arith_.follows_always(less(whole, size));
}

/// Of a number that is more than a symbol, and of no sum.
std::vector<Poly> Case::fresh_parts(const Poly& whole, const std::vector<Poly>& radices) {
  Poly product = 1;
  for (const Poly& radix : radices) product = product * radix;
  if (!within_always(whole, product))
    return beyond("an index that is not of the whole axis"), std::vector<Poly>(radices.size());
  Mix mix{whole, {}, radices};
  Poly form = 0;
  for (const Poly& radix : radices) {
    Poly part = is(radix, 1) ? Poly(0) : arith_.fresh_poly(0);
    if (!is(radix, 1)) arith_.assume(less(part, radix));
    mix.parts.push_back(part);
    form = form * radix + part;
  }
  arith_.assume(proof::equal(whole, form));
  mixes_.push_back(mix);
  return mix.parts;
}

/// The index into axes `begin` to `end` of one side that are as many elements as the axes of the
/// other at which the index is given.
std::vector<Poly> Case::regrouped(llvm::ArrayRef<Poly> from, llvm::ArrayRef<Poly> to,
                                  llvm::ArrayRef<Poly> index) {
  Mix mix{0, index.vec(), to.vec()};
  for (size_t i = 0; i < to.size(); ++i) mix.whole = mix.whole * to[i] + index[i];
  mixes_.push_back(mix);
  return parts(mix.whole, from.vec());
}

/// Axes of one side are grouped against an axis of the other with as many elements. Where that is
/// not to be, all that lies before the last axes that both have is one number.
Value Case::reshape(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> from = type(x).dims, to = type(id).dims;
  Index inner;
  size_t j = 0;
  while ((inner.size() < from.size() || j < to.size()) && !halted()) {
    size_t i = inner.size();
    if (i < from.size() && j < to.size() && is(from[i], to[j])) {
      inner.push_back(index[j++]);
    } else if (i < from.size() && is(from[i], 1)) {
      inner.push_back(0);
    } else if (j < to.size() && is(to[j], 1)) {
      ++j;
    } else if (i == from.size() || j == to.size()) {
      beyond("a reshape that does not go by factors");
    } else {
      size_t last = 0; // axes that both end with
      auto ends_alike = [&] {
        return last < from.size() - i && last < to.size() - j &&
               is(from[from.size() - 1 - last], to[to.size() - 1 - last]);
      };
      Poly product = 1, whole = 0;
      Mix mix{0, {}, {}};
      size_t end = j;
      for (; end < to.size() && !is(product, from[i]); ++end) {
        mix.parts.push_back(index[end]);
        mix.radices.push_back(to[end]);
        product = product * to[end];
        whole = whole * to[end] + index[end];
      }
      if (is(product, from[i])) { // axes joined
        mix.whole = whole;
        mixes_.push_back(mix);
        inner.push_back(whole);
        j = end;
        continue;
      }
      std::vector<Poly> radices;
      product = 1;
      for (end = i; end < from.size() && !is(product, to[j]); ++end) {
        radices.push_back(from[end]);
        product = product * from[end];
      }
      if (is(product, to[j])) {
        for (const Poly& part : parts(index[j], radices)) inner.push_back(part);
        ++j;
        continue;
      }
      while (ends_alike()) ++last;
      size_t stop = to.size() - last;
      std::vector<Poly> regrouped_index =
          regrouped(llvm::makeArrayRef(from).slice(i).drop_back(last),
                    llvm::makeArrayRef(to).slice(j).drop_back(last),
                    llvm::makeArrayRef(index).slice(j, stop - j));
      inner.insert(inner.end(), regrouped_index.begin(), regrouped_index.end());
      j = stop;
    }
  }
  return halted() ? Value() : at(x, inner);
}

} // namespace tg::proof
