// Decides whether two values are equal: collects the products of both and adds those that are
// alike. Two products are matched by a backtracking search for partners of their factors. Indices
// that must be equal give the bound symbols of one in terms of the other's.
#include "compiler/verify/proof/symbolic/sums.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::proof {

namespace {

constexpr size_t kMaxProducts = 64; // of one value; larger values are not proved

bool mentions(const Value& value, Sym symbol) {
  for (const Product& p : value.products) {
    for (const Fact& g : p.guards)
      if (g.p.has(symbol)) return true;
    for (const Factor& f : p.factors) {
      for (const Poly& i : f.index)
        if (i.has(symbol)) return true;
      for (const Value& arg : f.args)
        if (mentions(arg, symbol)) return true;
    }
  }
  return false;
}

/// Evaluates a guard over a number.
bool holds(const Fact& guard) {
  int64_t n = guard.p.constant().value_or(-1);
  return guard.kind == Fact::Kind::Ge ? n >= 0 : (n == 0) == (guard.kind == Fact::Kind::Eq);
}

/// Returns a symbol in products that the guards restrict to one end of its range, and that end: for
/// example the group of a result that can only be the first or the last.
std::optional<std::pair<Sym, Poly>> symbol_fixed_at_end(Arith& arith, const Product& product) {
  for (Sym s : product.bound) {
    std::optional<Poly> last; // of 0 <= s <= last
    bool multiplied = false;
    for (const Fact& g : product.guards) {
      int64_t n = g.p.lone_coefficient(s);
      multiplied |= n == 0 && g.p.has(s);
      if (g.kind == Fact::Kind::Ge && n == -1 && !last) last = g.p + Poly::of(s);
    }
    if (!multiplied || !last || !llvm::is_contained(product.guards, at_least(Poly::of(s), 0)) ||
        llvm::any_of(product.bound, [&](Sym other) { return last->has(other); }))
      continue;
    for (const Fact& guard : product.guards) arith.push(guard);
    std::optional<Poly> end;
    if (arith.follows(at_least(0, Poly::of(s))))
      end = 0;
    else if (arith.follows(at_least(Poly::of(s), *last)))
      end = last;
    arith.pop(product.guards.size());
    if (end) return std::pair(s, *end);
  }
  return std::nullopt;
}

} // namespace

/// A partial match of two products: factors of b for those of a, symbols of b in terms of a's.
struct Sums::Pairing {
  const Product &a, &b;
  std::vector<size_t> partner; // of a's factors
  std::vector<bool> used;      // b's factors
  std::map<Sym, Poly> images;  // of b's bound symbols

  Poly image(Poly p) const {
    for (const auto& [symbol, by] : images) p = p.replaced(symbol, by);
    return p;
  }
  bool open(Sym s) const { return llvm::is_contained(b.bound, s) && !images.count(s); }
};

bool Sums::equal(const Value& a, const Value& b) {
  if (++depth_ > kMaxDepth || a.products.size() + b.products.size() > kMaxProducts)
    overflowed_ = true;
  Value sum;
  if (!overflowed_)
    for (const Product& p : a.products) collect(sum, p);
  if (!overflowed_)
    for (Product p : b.products) {
      p.coefficient = p.coefficient * Ratio{-1};
      collect(sum, p);
    }
  --depth_;
  return !overflowed_ && sum.products.empty();
}

/// Replaces a symbol for which the guards admit only one value.
void Sums::drop_fixed(Product& product) {
  for (Fact& g : product.guards) g.p = arith_.normal(g.p);
  for (size_t i = product.bound.size(); i-- > 0;) {
    Sym s = product.bound[i];
    std::optional<Poly> value;
    for (const Fact& g : product.guards) {
      int64_t n = g.p.lone_coefficient(s);
      if (g.kind == Fact::Kind::Ne || (n != 1 && n != -1)) continue;
      Fact opposite{Fact::Kind::Ge, Poly(0) - g.p};
      if (g.kind == Fact::Kind::Ge && !llvm::is_contained(product.guards, opposite)) continue;
      value = (g.p - Poly(n) * Poly::of(s)) * Poly(-n);
      break;
    }
    if (!value) continue;
    product = replaced(product, s, *value);
    product.bound.erase(product.bound.begin() + static_cast<std::ptrdiff_t>(i));
    llvm::erase_if(product.guards, [](const Fact& g) { return g.p.constant() && holds(g); });
  }
}

/// Returns true if the other guards imply that a range is not negative.
bool Sums::never_negative(const Poly& size, const Product& product, Sym symbol) {
  Fact goal = at_least(size, 0);
  size_t mark = arith_.mark();
  for (const Fact& g : product.guards)
    if (!g.p.has(symbol)) arith_.push(g);
  bool answer = arith_.follows(goal);
  arith_.restore(mark);
  return answer;
}

/// Replaces a sum over symbols that no factor uses by a product with its size, which may cancel the
/// inverse of that size.
void Sums::drop_idle(Product& product) {
  for (size_t i = product.bound.size(); i-- > 0;) {
    Sym s = product.bound[i];
    Value factors;
    factors.products.push_back({Ratio{1}, {}, {}, product.factors});
    if (mentions(factors, s)) continue;
    std::optional<Poly> size;
    // Its guards are exactly 0 <= s < size.
    bool range = llvm::is_contained(product.guards, at_least(Poly::of(s), 0));
    for (const Fact& g : product.guards) {
      if (!g.p.has(s) || g == at_least(Poly::of(s), 0)) continue;
      Poly bound = g.p + Poly::of(s) + 1;
      range &= g.kind == Fact::Kind::Ge && !size && !bound.has(s);
      size = bound;
    }
    if (!range || !size || !never_negative(*size, product, s)) continue;
    llvm::erase_if(product.guards, [s](const Fact& g) { return g.p.has(s); });
    product.bound.erase(product.bound.begin() + static_cast<std::ptrdiff_t>(i));
    auto inverse = llvm::find_if(product.factors, [&](const Factor& f) {
      return f.kind == Factor::Kind::InverseSize && arith_.follows_equal(f.index[0], *size);
    });
    if (inverse != product.factors.end())
      product.factors.erase(inverse);
    else
      product.factors.push_back({Factor::Kind::Element, "#size", {*size}, {}, false});
  }
}

/// Returns a symbol that the guards restrict to 0 and 1, if there is one: a sum of two terms (such
/// as the groups of two merged convolutions).
std::optional<Sym> Sums::small_range(const Product& product) const {
  for (Sym s : product.bound) {
    Poly p = Poly::of(s);
    if (llvm::is_contained(product.guards, at_least(p, 0)) &&
        llvm::is_contained(product.guards, at_least(1, p)))
      return s;
  }
  return std::nullopt;
}

/// Adds a product to one that is alike, or keeps it; a sum of two terms is split.
void Sums::collect(Value& sum, Product product) {
  std::vector<Product> open = {std::move(product)};
  while (!open.empty() && !overflowed_) {
    Product next = std::move(open.back());
    open.pop_back();
    drop_fixed(next);
    while (auto kept = symbol_fixed_at_end(arith_, next)) {
      next.bound.erase(llvm::find(next.bound, kept->first));
      next = replaced(next, kept->first, kept->second);
    }
    std::optional<Sym> s = small_range(next);
    if (!s) {
      collect_one(sum, std::move(next));
      continue;
    }
    next.bound.erase(llvm::find(next.bound, *s));
    for (int64_t n : {1, 0}) open.push_back(replaced(next, *s, n));
  }
}

void Sums::collect_one(Value& sum, Product product) {
  drop_idle(product);
  for (const Fact& guard : product.guards)
    if (arith_.normal(guard.p).constant() && arith_.follows(negated(guard))) return;
  for (size_t i = 0; i < sum.products.size(); ++i) {
    Product& known = sum.products[i];
    if (!alike(known, product)) continue;
    known.coefficient = known.coefficient + product.coefficient;
    if (!known.coefficient.valid) overflowed_ = true;
    if (known.coefficient.valid && known.coefficient.zero())
      sum.products.erase(sum.products.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  // A product with contradictory guards is 0.
  for (const Fact& guard : product.guards) arith_.push(guard);
  bool never = !arith_.consistent();
  arith_.pop(product.guards.size());
  if (!never) sum.products.push_back(product);
}

bool Sums::alike(const Product& a, const Product& b) {
  if (a.bound.size() != b.bound.size() || a.factors.size() != b.factors.size()) return false;
  if (!a.coefficient.valid || !b.coefficient.valid) return false;
  Pairing pairing{
      a, b, std::vector<size_t>(a.factors.size()), std::vector<bool>(b.factors.size()), {}};
  for (const Fact& guard : a.guards) arith_.push(guard);
  bool same = pair(pairing, 0);
  arith_.pop(a.guards.size());
  return same;
}

/// Backtracks over partners for the factors of a, starting with factor `next`.
bool Sums::pair(Pairing& pairing, size_t next) {
  if (arith_.exhausted()) return false;
  if (next == pairing.a.factors.size()) return complete(pairing);
  const Factor& f = pairing.a.factors[next];
  for (size_t i = 0; i < pairing.b.factors.size(); ++i) {
    const Factor& g = pairing.b.factors[i];
    if (pairing.used[i] || f.kind != g.kind || f.name != g.name ||
        f.index.size() != g.index.size() || f.args.size() != g.args.size())
      continue;
    std::map<Sym, Poly> before = pairing.images;
    pairing.used[i] = true;
    pairing.partner[next] = i;
    if (unify(pairing, f, g) && pair(pairing, next + 1)) return true;
    pairing.used[i] = false;
    pairing.images = std::move(before);
  }
  return false;
}

/// Finds images of bound symbols from indices that must be equal; returns false if two cannot be.
bool Sums::unify(Pairing& pairing, const Factor& a, const Factor& b) {
  for (size_t axis = 0; axis < a.index.size(); ++axis) {
    Poly there = arith_.normal(b.index[axis]);
    for (bool found = true; found;) {
      found = false;
      Poly rest = pairing.image(there);
      std::vector<Sym> open;
      for (const auto& term : rest.terms())
        for (Sym s : term.first)
          if (pairing.open(s) && !llvm::is_contained(open, s)) open.push_back(s);
      if (open.empty()) {
        if (!arith_.follows_equal(a.index[axis], rest)) return false;
      } else if (open.size() == 1) {
        // rest = factor * symbol + others
        Poly others = rest.replaced(open[0], 0), factor = rest.replaced(open[0], 1) - others;
        if (!(factor * Poly::of(open[0]) + others == rest)) break;
        std::optional<Poly> image = arith_.normal(a.index[axis] - others).quotient(factor);
        if (!image) break;
        pairing.images.emplace(open[0], arith_.normal(*image));
      }
    }
  }
  return true;
}

/// Tries the remaining bound symbols of a as images of bound symbols that no index determined.
bool Sums::complete(Pairing& pairing) {
  for (size_t i = 0; i < pairing.partner.size(); ++i) // other images may be known by now
    if (!unify(pairing, pairing.a.factors[i], pairing.b.factors[pairing.partner[i]])) return false;
  std::vector<Sym> open, left;
  for (Sym s : pairing.b.bound)
    if (pairing.open(s)) open.push_back(s);
  for (Sym s : pairing.a.bound)
    if (llvm::none_of(pairing.images, [s](const auto& image) { return image.second.has(s); }))
      left.push_back(s);
  if (open.size() != left.size() || open.size() > 4) return false;
  std::map<Sym, Poly> before = pairing.images;
  llvm::sort(left);
  do {
    for (size_t i = 0; i < open.size(); ++i) pairing.images.emplace(open[i], Poly::of(left[i]));
    if (confirm(pairing)) return true;
    pairing.images = before;
  } while (std::next_permutation(left.begin(), left.end()));
  return false;
}

/// Checks that the images are one to one, and that factors and guards are the same under them.
bool Sums::confirm(Pairing& pairing) {
  std::vector<Sym> taken;
  for (Sym s : pairing.b.bound) {
    const Poly& image = pairing.images.at(s);
    size_t mentioned = 0;
    for (Sym t : pairing.a.bound) {
      if (!image.has(t)) continue;
      int64_t n = image.lone_coefficient(t);
      if ((n != 1 && n != -1) || llvm::is_contained(taken, t)) return false;
      taken.push_back(t);
      ++mentioned;
    }
    if (mentioned != 1) return false;
  }
  Product b = pairing.b;
  for (const auto& [symbol, by] : pairing.images) b = replaced(b, symbol, by);
  for (size_t i = 0; i < pairing.a.factors.size(); ++i)
    if (!same_factor(pairing.a.factors[i], b.factors[pairing.partner[i]])) return false;
  for (const Fact& guard : b.guards) // a's guards are in the context
    if (!arith_.follows(guard)) return false;
  // The reverse direction, with b's guards alone.
  arith_.pop(pairing.a.guards.size());
  for (const Fact& guard : b.guards) arith_.push(guard);
  bool same = llvm::all_of(pairing.a.guards, [&](const Fact& g) { return arith_.follows(g); });
  arith_.pop(b.guards.size());
  for (const Fact& guard : pairing.a.guards) arith_.push(guard);
  return same;
}

bool Sums::same_factor(const Factor& a, const Factor& b) {
  for (size_t i = 0; i < a.index.size(); ++i)
    if (!arith_.follows_equal(a.index[i], b.index[i])) return false;
  if (!a.commutes) {
    for (size_t i = 0; i < a.args.size(); ++i)
      if (!equal(a.args[i], b.args[i])) return false;
    return true;
  }
  std::vector<bool> used(b.args.size());
  for (const Value& arg : a.args) {
    size_t i = 0;
    while (i < used.size() && (used[i] || !equal(arg, b.args[i]))) ++i;
    if (i == used.size()) return false;
    used[i] = true;
  }
  return true;
}

} // namespace tg::proof
