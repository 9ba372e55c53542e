#include "compiler/verify/field/degree.h"

#include "compiler/verify/field/field.h"
#include "lang/core/semantics/impl.h"

namespace tg {

namespace {

constexpr size_t kMostDivisors = 32; // limit of separate divisors of one value
constexpr uint64_t kTen = 10;

uint64_t origin_of(uint64_t kind, uint64_t a, uint64_t b) {
  return scramble(scramble(scramble(kind) + a) ^ b);
}

Size size_of(const DivisorUse& use) { return use.each * (use.elements * use.power); }

enum class Combine : uint8_t { Largest, Add };

/// Combines the divisors of two values: for a sum the larger powers, for a product their sums.
void combine(Degree& into, const Degree& other, Combine how) {
  llvm::SmallVector<DivisorUse, 2> all;
  auto a = into.divisors.begin(), a_end = into.divisors.end();
  for (const DivisorUse& b : other.divisors) {
    for (; a != a_end && a->origin < b.origin; ++a) all.push_back(*a);
    if (a == a_end || a->origin != b.origin) {
      all.push_back(b);
      continue;
    }
    DivisorUse both = *a++;
    both.each = both.each.at_least(b.each);
    both.at_most = std::min(both.at_most, b.at_most);
    both.fresh &= b.fresh;
    both.elements = std::min(both.at_most, both.elements + b.elements);
    both.power = how == Combine::Add ? both.power + b.power : std::max(both.power, b.power);
    all.push_back(both);
  }
  all.append(a, a_end);
  into.divisors = std::move(all);
  if (into.divisors.size() <= kMostDivisors) return;
  DivisorUse product{0, into.below()}; // all of them, merged
  for (const DivisorUse& use : into.divisors)
    product.origin = origin_of(0, product.origin, use.origin);
  into.divisors.assign({product});
}

void use_divisor(Degree& value, DivisorUse use) {
  Degree quotient;
  quotient.divisors.push_back(use);
  combine(value, quotient, Combine::Add);
}

} // namespace

Size Degree::below() const {
  Size all;
  for (const DivisorUse& use : divisors) all = all + size_of(use);
  return all;
}

Degree Degree::number(double value) {
  Degree x;
  x.elements = 1;
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  x.origin = origin_of(1, bits, 0);
  if (!std::isfinite(value)) return variable().with(x); // treated as a random value
  Decimal decimal = decimal_of(value);
  if (decimal.digits == 0) {
    x.unit = false;
    return x;
  }
  x.excess.bits = std::log2(static_cast<double>(decimal.digits)) + decimal.exponent * std::log2(10);
  if (decimal.exponent < 0)
    use_divisor(x, {kTen, {0, std::log2(10)}, 1, 1, static_cast<double>(-decimal.exponent), false});
  return x;
}

Degree Degree::asked(uint64_t kind, const Degree& x, double count) {
  Degree y = variable().with(x);
  y.origin = origin_of(kind, x.origin, 0);
  y.elements = x.elements;
  y.queries += count;
  y.query = y.query.at_least(x.total());
  return y;
}

Degree& Degree::with(const Degree& x) {
  queries += x.queries;
  query = query.at_least(x.query);
  divided += x.divided;
  largest_divisor = largest_divisor.at_least(x.largest_divisor);
  return *this;
}

Degree operator+(const Degree& a, const Degree& b) {
  Degree sum = a;
  sum.excess = a.excess.at_least(b.excess);
  sum.excess.bits += 1;
  sum.unit = false;
  combine(sum, b, Combine::Largest);
  sum.origin = origin_of(2, a.origin, b.origin);
  sum.elements = a.elements * b.elements;
  return sum.with(b);
}

Degree operator*(const Degree& a, const Degree& b) {
  Degree product = a;
  product.excess = a.excess + b.excess;
  product.unit = a.unit && b.unit;
  combine(product, b, Combine::Add);
  product.origin = origin_of(3, a.origin, b.origin);
  product.elements = a.elements * b.elements;
  return product.with(b);
}

// Division by 0 is a query of the dividend; the test for 0 is a query of the divisor.
Degree operator/(const Degree& a, const Degree& b) {
  Degree inverse;
  inverse.excess = -b.excess;
  DivisorUse use{b.origin, b.total(), 1, b.elements, 1, /*fresh=*/true};
  if (b.unit) {
    inverse.excess.degree = b.excess.degree;
    use.each.degree = 0;
  }
  inverse.unit = b.unit;
  inverse.divisors.push_back(use);
  Degree quotient = a * inverse;
  quotient.excess = quotient.excess.at_least({1, 0});
  quotient.origin = origin_of(4, a.origin, b.origin);
  quotient.elements = a.elements * b.elements;
  quotient.with(b);
  quotient.queries += 2;
  quotient.query = quotient.query.at_least(a.total()).at_least(b.total());
  quotient.divided += 1;
  quotient.largest_divisor = quotient.largest_divisor.at_least(use.each);
  return quotient;
}

Degree larger(const Degree& a, const Degree& b) {
  Degree x = a;
  x.excess = a.excess.at_least(b.excess);
  x.unit = a.unit && b.unit;
  combine(x, b, Combine::Largest);
  x.origin = origin_of(5, a.origin, b.origin);
  x.elements = a.elements * b.elements;
  return x.with(b);
}

Degree sum_of(Degree term, double count) {
  term.excess.bits += std::log2(std::max(count, 1.0));
  term.unit &= count <= 1;
  for (DivisorUse& use : term.divisors) use.elements = std::min(use.at_most, use.elements * count);
  return term;
}

Degree product_of(const Degree& factor, double count) {
  Degree product = factor;
  product.excess = factor.excess * count;
  product.unit = factor.unit;
  for (DivisorUse& use : product.divisors) { // the elements of each factor may be distinct
    use.elements = std::min(use.at_most, use.elements * count);
    use.power *= count;
  }
  product.origin = origin_of(6, factor.origin, static_cast<uint64_t>(count));
  product.elements = HUGE_VAL;
  return product;
}

template Degree pointwise<Degree>(OpKind, const Degree*);
template void evaluate_op<Degree>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Degree>>,
                                  View<Degree>, llvm::MutableArrayRef<Degree>);

} // namespace tg
