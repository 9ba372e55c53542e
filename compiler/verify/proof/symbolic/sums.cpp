#include "compiler/verify/proof/symbolic/sums.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace tg::proof {

namespace {

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

/// Returns a guard of an argument that contains none of the argument's own bound symbols.
const Fact* Sums::loose_guard(llvm::ArrayRef<Value> args) const {
  for (const Value& arg : args)
    for (const Product& p : arg.products)
      for (const Fact& guard : p.guards)
        if (llvm::none_of(p.bound, [&](Sym s) { return guard.p.has(s); })) return &guard;
  return nullptr;
}

/// Returns the value under the guard, which is in the context.
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

/// Returns head(args), with cases of the arguments moved out: f([g] a + [not g] b) = [g] f(a) +
/// [not g] f(b).
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
    // The inverse of a product is the product of the inverses.
    const Product& p = a.products[0];
    Product result;
    result.coefficient = reduced(p.coefficient.under, p.coefficient.over);
    for (const Factor& f : p.factors)
      result.factors.push_back({Factor::Kind::Inverse, "", {}, {of(f)}, false});
    return {{std::move(result)}};
  }
  if (a.products.empty()) overflowed_ = true; // division by zero: nothing is known
  return applied({Factor::Kind::Inverse, "", {}, {}, false}, {a});
}

} // namespace tg::proof
