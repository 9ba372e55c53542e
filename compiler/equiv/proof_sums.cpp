#include "compiler/equiv/proof_sums.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace tg::proof {

namespace {

constexpr int kMaxDepth = 12;       // of functions within functions
constexpr size_t kMaxProducts = 64; // of one value; what is larger is not proved

Ratio reduced(int64_t over, int64_t under) {
  if (under == 0 || over == INT64_MIN || under == INT64_MIN) return {0, 1, false};
  if (under < 0) return reduced(-over, -under);
  int64_t divisor = std::gcd(over, under);
  return divisor ? Ratio{over / divisor, under / divisor} : Ratio{};
}

} // namespace

Ratio operator*(Ratio a, Ratio b) {
  int64_t over = 0, under = 0;
  bool lost = __builtin_mul_overflow(a.over, b.over, &over) ||
              __builtin_mul_overflow(a.under, b.under, &under);
  if (lost || !a.valid || !b.valid) return {0, 1, false};
  return reduced(over, under);
}

Ratio operator+(Ratio a, Ratio b) {
  int64_t left = 0, right = 0, over = 0, under = 0;
  bool lost = __builtin_mul_overflow(a.over, b.under, &left) ||
              __builtin_mul_overflow(b.over, a.under, &right) ||
              __builtin_add_overflow(left, right, &over) ||
              __builtin_mul_overflow(a.under, b.under, &under);
  if (lost || !a.valid || !b.valid) return {0, 1, false};
  return reduced(over, under);
}

Ratio ratio_of(double value) {
  char text[64];
  auto [end, code] = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  if (code != std::errc() || end - text > 16 || !std::isfinite(value)) return {0, 1, false};
  int64_t over = 0, under = 1;
  bool fraction = false;
  for (const char* c = text; c != end; ++c) {
    if (*c == '-') continue;
    if (*c == '.') {
      fraction = true;
      continue;
    }
    over = over * 10 + (*c - '0');
    if (fraction) under *= 10;
  }
  return reduced(text[0] == '-' ? -over : over, under);
}

namespace {

Fact replaced_in(const Fact& fact, Sym symbol, const Poly& by) {
  return {fact.kind, fact.p.replaced(symbol, by)};
}

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

} // namespace

Value replaced(const Value& value, Sym symbol, const Poly& by) {
  Value result;
  for (const Product& p : value.products) result.products.push_back(replaced(p, symbol, by));
  return result;
}

Product replaced(const Product& product, Sym symbol, const Poly& by) {
  Product result = product;
  for (Fact& guard : result.guards) guard = replaced_in(guard, symbol, by);
  for (Factor& factor : result.factors) {
    for (Poly& index : factor.index) index = index.replaced(symbol, by);
    for (Value& arg : factor.args) arg = replaced(arg, symbol, by);
  }
  return result;
}

// --- building --------------------------------------------------------------------------------

Value Sums::number(Ratio r) {
  Value value;
  if (!r.valid || !r.zero()) value.products.push_back({r, {}, {}, {}});
  return value;
}

Value Sums::of(Factor factor) {
  Value value;
  value.products.push_back({Ratio{1}, {}, {}, {std::move(factor)}});
  return value;
}

Value Sums::add(Value a, const Value& b) {
  a.products.insert(a.products.end(), b.products.begin(), b.products.end());
  return a;
}

Value Sums::negate(Value a) {
  for (Product& p : a.products) p.coefficient = p.coefficient * Ratio{-1};
  return a;
}

Value Sums::multiply(const Value& a, const Value& b) {
  Value result;
  for (const Product& x : a.products)
    for (const Product& y : b.products) {
      Product p = x;
      p.coefficient = x.coefficient * y.coefficient;
      p.bound.insert(p.bound.end(), y.bound.begin(), y.bound.end());
      p.guards.insert(p.guards.end(), y.guards.begin(), y.guards.end());
      p.factors.insert(p.factors.end(), y.factors.begin(), y.factors.end());
      result.products.push_back(std::move(p));
    }
  return result;
}

Value Sums::where(Value a, const std::vector<Fact>& guards) {
  for (Product& p : a.products) p.guards.insert(p.guards.end(), guards.begin(), guards.end());
  return a;
}

/// A guard of an argument that mentions none of the argument's own bound symbols.
const Fact* Sums::loose_guard(llvm::ArrayRef<Value> args) const {
  for (const Value& arg : args)
    for (const Product& p : arg.products)
      for (const Fact& guard : p.guards)
        if (llvm::none_of(p.bound, [&](Sym s) { return guard.p.has(s); })) return &guard;
  return nullptr;
}

/// The value where the guard, which is in the context, holds.
Value Sums::restricted(const Value& a, const Fact& guard) {
  Value result;
  for (const Product& p : a.products) {
    Product q = p;
    llvm::erase_if(q.guards, [&](const Fact& g) { return g == guard || arith_.follows(g); });
    bool never = llvm::any_of(q.guards, [&](const Fact& g) { return arith_.follows(negated(g)); });
    if (!never) result.products.push_back(std::move(q));
  }
  return result;
}

/// head(args), cases of the arguments drawn out: f([g] a + [not g] b) = [g] f(a) + [not g] f(b).
Value Sums::applied(Factor head, std::vector<Value> args) {
  const Fact* loose = loose_guard(args);
  if (!loose) {
    head.args = std::move(args);
    return of(std::move(head));
  }
  if (++depth_ > kMaxDepth) overflowed_ = true;
  Value result;
  Fact guard = *loose;
  for (const Fact& side : {guard, negated(guard)}) {
    if (overflowed_ || arith_.follows(negated(side))) continue;
    arith_.push(side);
    std::vector<Value> here;
    for (const Value& arg : args) here.push_back(restricted(arg, side));
    Value value = applied(head, std::move(here));
    arith_.pop();
    result = add(std::move(result), where(std::move(value), {side}));
  }
  --depth_;
  return result;
}

Value Sums::call(const std::string& name, std::vector<Value> args, bool commutes) {
  return applied({Factor::Kind::Call, name, {}, {}, commutes}, std::move(args));
}

Value Sums::maximum(const Value& a, const Value& b) {
  std::vector<Value> members;
  for (const Value* side : {&a, &b}) {
    bool nested = side->products.size() == 1 && side->products[0].factors.size() == 1 &&
                  side->products[0].bound.empty() && side->products[0].guards.empty() &&
                  side->products[0].coefficient.over == 1 &&
                  side->products[0].coefficient.under == 1 &&
                  side->products[0].factors[0].kind == Factor::Kind::Call &&
                  side->products[0].factors[0].name == "max";
    std::vector<Value> parts = {*side};
    if (nested) parts = side->products[0].factors[0].args;
    for (Value& part : parts)
      if (llvm::none_of(members, [&](const Value& known) { return equal(known, part); }))
        members.push_back(std::move(part));
  }
  if (members.size() == 1) return members[0];
  return call("max", std::move(members), true);
}

Value Sums::inverse(const Value& a) {
  if (a.products.size() == 1 && a.products[0].bound.empty() && a.products[0].guards.empty() &&
      a.products[0].coefficient.valid) {
    // Of a product, the product of the inverses.
    const Product& p = a.products[0];
    Product result;
    result.coefficient = reduced(p.coefficient.under, p.coefficient.over);
    for (const Factor& f : p.factors)
      result.factors.push_back({Factor::Kind::Inverse, "", {}, {of(f)}, false});
    return {{std::move(result)}};
  }
  if (a.products.empty()) overflowed_ = true; // by zero: nothing is known
  return applied({Factor::Kind::Inverse, "", {}, {}, false}, {a});
}

// --- comparing -------------------------------------------------------------------------------

/// How two products are matched: factors of b for those of a, symbols of b in terms of a's.
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

/// A sum over symbols that no factor depends on is a product with its size, against which the
/// inverse of that size cancels.
void Sums::drop_idle(Product& product) {
  for (size_t i = product.bound.size(); i-- > 0;) {
    Sym s = product.bound[i];
    Value factors;
    factors.products.push_back({Ratio{1}, {}, {}, product.factors});
    if (mentions(factors, s)) continue;
    std::optional<Poly> size;
    // Its guards say 0 <= s < size, and no more.
    bool range = llvm::is_contained(product.guards, at_least(Poly::of(s), 0));
    for (const Fact& g : product.guards) {
      if (!g.p.has(s) || g == at_least(Poly::of(s), 0)) continue;
      Poly bound = g.p + Poly::of(s) + 1;
      range &= g.kind == Fact::Kind::Ge && !size && !bound.has(s);
      size = bound;
    }
    if (!range || !size) continue;
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

/// Adds a product to one that is alike, or keeps it.
void Sums::collect(Value& sum, Product product) {
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
  // One that is nowhere is nothing.
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

/// Backtracks over partners for the factors of a, from the given one on.
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

/// Finds images of bound symbols from indices that have to agree; false if two cannot.
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
        int64_t n = rest.lone_coefficient(open[0]);
        if (n != 1 && n != -1) break;
        Poly others = rest - Poly(n) * Poly::of(open[0]);
        pairing.images.emplace(open[0], arith_.normal((a.index[axis] - others) * Poly(n)));
      }
    }
  }
  return true;
}

/// Bound symbols that no index has told of are tried against those of a that are left.
bool Sums::complete(Pairing& pairing) {
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

/// That the images are one to one, and factors and guards the same under them.
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
  for (const Fact& guard : b.guards) // a's are in the context
    if (!arith_.follows(guard)) return false;
  // The other way round, with b's guards alone.
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
