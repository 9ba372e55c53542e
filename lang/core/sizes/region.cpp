#include "lang/core/sizes/region.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::sizes {

using Kind = Condition::Kind;

namespace {

__extension__ using Wide = __int128;
constexpr size_t kPointsTried = 20'000;      // while looking for a member
constexpr size_t kPointsOfProof = 65'536;    // of a proof by cases
constexpr size_t kPointsOfSearch = 1 << 20;  // of a complete search for a member
constexpr int64_t kRemaindersOfProof = 1024; // combinations

/// A bound that may be infinite.
struct Bounds {
  std::optional<Wide> least, most;
};

constexpr Wide kHuge = Wide{1} << 100;

std::optional<Wide> within(Wide x) {
  return x > kHuge || x < -kHuge ? std::nullopt : std::optional<Wide>(x);
}

Bounds sum_of(const Bounds& a, const Bounds& b) {
  Bounds out;
  if (a.least && b.least) out.least = within(*a.least + *b.least);
  if (a.most && b.most) out.most = within(*a.most + *b.most);
  return out;
}

bool narrow_enough(const std::optional<Wide>& x) {
  constexpr Wide kFactor = Wide{1} << 60;
  return x && *x <= kFactor && *x >= -kFactor;
}

/// Bounds of a product: exact for finite factors; otherwise only for factors that are not negative.
Bounds product_of(const Bounds& a, const Bounds& b) {
  auto finite = [](const Bounds& x) { return narrow_enough(x.least) && narrow_enough(x.most); };
  if (finite(a) && finite(b)) {
    Wide corners[] = {*a.least * *b.least, *a.least * *b.most, *a.most * *b.least,
                      *a.most * *b.most};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  bool positive =
      narrow_enough(a.least) && *a.least >= 0 && narrow_enough(b.least) && *b.least >= 0;
  if (!positive) return {};
  return {*a.least * *b.least, std::nullopt};
}

Bounds scaled(const Bounds& a, int64_t factor) {
  auto times = [&](const std::optional<Wide>& x) {
    constexpr Wide kFits = Wide{1} << 62;
    return x && *x <= kFits && *x >= -kFits ? within(*x * factor) : std::nullopt;
  };
  Bounds out{times(a.least), times(a.most)};
  if (factor < 0) std::swap(out.least, out.most);
  return out;
}

Bounds bounds_of(const Algebra& algebra, Expr a, llvm::ArrayRef<Interval> box) {
  Bounds sum{0, 0};
  for (const auto& [monomial, factor] : algebra.polynomial(a)) {
    Bounds product{1, 1};
    for (uint32_t atom : monomial) {
      Bounds by;
      if (std::optional<size_t> size = algebra.size_of_atom(atom)) {
        by = {box[*size].least, std::nullopt};
        if (box[*size].most) by.most = *box[*size].most;
      } else {
        const Algebra::Division& d = algebra.division(atom);
        by = bounds_of(algebra, d.of, box);
        auto divide = [&](std::optional<Wide>& x) {
          if (x) x = *x / d.by - (*x % d.by < 0);
        };
        divide(by.least);
        divide(by.most);
      }
      product = product_of(product, by);
    }
    sum = sum_of(sum, scaled(product, factor));
  }
  return sum;
}

/// Replaces each size by its distance from an end of its interval, and returns true if no
/// coefficient of the polynomial is then negative; negative ones count with the longest distance.
bool not_negative_from_ends(Algebra& algebra, Expr a, llvm::ArrayRef<Interval> box) {
  size_t sizes = box.size();
  constexpr size_t kMostSizes = 6;
  if (sizes > kMostSizes) return false;
  std::vector<bool> used(sizes);
  algebra.sizes_in(a, used);
  for (size_t ends = 0; ends < (size_t{1} << sizes); ++ends) {
    std::vector<std::optional<Expr>> moved(sizes);
    std::vector<Interval> distances(sizes);
    bool possible = true;
    for (size_t i = 0; i < sizes && possible; ++i) {
      bool from_top = (ends >> i) & 1;
      possible = !from_top || (box[i].most && used[i]);
      if (!possible) break;
      moved[i] = from_top ? algebra.subtract(algebra.number(*box[i].most), algebra.size(i))
                          : algebra.add(algebra.number(box[i].least), algebra.size(i));
      if (box[i].most) distances[i].most = *box[i].most - box[i].least;
    }
    if (!possible) continue;
    Expr from_end = algebra.substitute(a, moved);
    if (!from_end.known()) continue;
    if (Bounds b = bounds_of(algebra, from_end, distances); b.least && *b.least >= 0) return true;
  }
  return false;
}

} // namespace

Region::Region(Algebra& algebra, std::vector<Interval> box)
    : algebra_(algebra), box_(std::move(box)), replaced_(box_.size()) {
  for (size_t i = 0; i < box_.size(); ++i)
    if (box_[i].most && *box_[i].most == box_[i].least) replace(i, algebra_.number(box_[i].least));
}

Expr Region::simplified(Expr a) const { return algebra_.substitute(a, replaced_); }

Condition Region::negated(const Condition& c) {
  switch (c.kind) {
  case Kind::Zero: return {c.of, Kind::NotZero};
  case Kind::NotZero: return {c.of, Kind::Zero};
  case Kind::NotNegative: return {algebra_.subtract(algebra_.number(-1), c.of), Kind::NotNegative};
  }
  return c;
}

bool Region::bounded() const {
  return llvm::all_of(box_, [](const Interval& i) { return i.most.has_value(); });
}

/// Replaces a size everywhere. Its interval becomes two conditions on the expression.
void Region::replace(size_t size, Expr by) {
  std::vector<std::optional<Expr>> only(box_.size());
  only[size] = by;
  for (std::optional<Expr>& other : replaced_)
    if (other) other = algebra_.substitute(*other, only);
  replaced_[size] = by;
  std::set<Condition> known = std::move(known_);
  known_.clear();
  known.insert({algebra_.subtract(by, algebra_.number(box_[size].least)), Kind::NotNegative});
  if (box_[size].most)
    known.insert({algebra_.subtract(algebra_.number(*box_[size].most), by), Kind::NotNegative});
  for (const Condition& c : known) assume({algebra_.substitute(c.of, only), c.kind});
}

void Region::assume(const Condition& condition) {
  Condition c{simplified(condition.of), condition.kind};
  std::optional<int64_t> number = algebra_.constant(c.of);
  bool trivial = number && (c.kind == Kind::Zero      ? *number == 0
                            : c.kind == Kind::NotZero ? *number != 0
                                                      : *number >= 0);
  if (trivial || !known_.insert(c).second) return;
  narrow(c);
}

/// Draws consequences for the intervals of single sizes, and solves equations for one.
void Region::narrow(const Condition& c) {
  for (size_t i = box_.size(); i-- > 0;) {
    std::optional<Algebra::Linear> linear = algebra_.linear_in(c.of, i);
    if (!linear) continue;
    int64_t k = linear->coefficient;
    if (c.kind == Kind::Zero && (k == 1 || k == -1))
      return replace(i, algebra_.scale(linear->rest, -k));
    std::optional<int64_t> rest = algebra_.constant(linear->rest);
    if (!rest || *rest == INT64_MIN || k == INT64_MIN) continue;
    Interval& at = box_[i];
    int64_t bound = -*rest; // k * size against it
    bool divides = bound % k == 0;
    int64_t down = bound / k - (!divides && (bound < 0) != (k < 0));
    if (c.kind == Kind::Zero && divides) return replace(i, algebra_.number(bound / k));
    if (c.kind == Kind::NotNegative && k > 0) at.least = std::max(at.least, down + !divides);
    if (c.kind == Kind::NotNegative && k < 0) at.most = at.most ? std::min(*at.most, down) : down;
    if (c.kind == Kind::NotZero && divides && bound / k == at.least) ++at.least;
    if (c.kind == Kind::NotZero && divides && at.most && bound / k == *at.most) --*at.most;
    if (at.most && *at.most == at.least && !replaced_[i]) replace(i, algebra_.number(at.least));
  }
}

bool Region::holds(const Condition& c, llvm::ArrayRef<int64_t> point) const {
  std::optional<int64_t> value = algebra_.value(c.of, point);
  if (!value) return false;
  return c.kind == Kind::Zero ? *value == 0 : c.kind == Kind::NotZero ? *value != 0 : *value >= 0;
}

/// The point has the values of replaced sizes, too.
bool Region::contains(llvm::ArrayRef<int64_t> point) const {
  for (size_t i = 0; i < box_.size(); ++i)
    if (!box_[i].contains(point[i])) return false;
  return llvm::all_of(known_, [&](const Condition& c) { return holds(c, point); });
}

// --- points --------------------------------------------------------------------------------------

/// Returns interesting values of each size that is not replaced, small ones first: the ends, small
/// numbers, primes, and the neighbours of multiples of the divisors in known conditions.
std::vector<std::vector<int64_t>> Region::candidates() const {
  std::set<int64_t> steps;
  for (const Condition& c : known_)
    if (c.of.known())
      for (int64_t period : algebra_.periods(c.of))
        if (period > 1) steps.insert(period);
  std::vector<std::vector<int64_t>> out(box_.size());
  for (size_t i = 0; i < box_.size(); ++i) {
    const Interval& at = box_[i];
    std::set<int64_t> found;
    auto add = [&](int64_t n) {
      if (at.contains(n)) found.insert(n);
    };
    if (replaced_[i]) {
      out[i] = {0};
      continue;
    }
    for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 64, 97, 127, 256, 1009}) {
      add(n);
      add(at.least + n);
      if (at.most) add(*at.most - n);
    }
    for (int64_t step : steps)
      for (int64_t near : {-1, 0, 1}) {
        add((at.least / step + 1) * step + near);
        add(2 * (at.least / step + 1) * step + near);
      }
    out[i].assign(found.begin(), found.end());
  }
  return out;
}

/// Visits points of the product of the values, those with small sums of places first, until `visit`
/// returns true; at most `limit`. Returns true if it did.
bool Region::walk(llvm::ArrayRef<std::vector<int64_t>> values, size_t limit,
                  llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> visit) const {
  size_t most = 0;
  for (const std::vector<int64_t>& list : values) {
    if (list.empty()) return false;
    most += list.size() - 1;
  }
  size_t visited = 0;
  Point point(values.size());
  std::function<bool(size_t, size_t)> place = [&](size_t i, size_t left) -> bool {
    if (i == values.size()) {
      if (left != 0) return false;
      for (size_t r = 0; r < values.size(); ++r)
        if (replaced_[r]) {
          std::optional<int64_t> value = algebra_.value(*replaced_[r], point);
          if (!value) return false;
          point[r] = *value;
        }
      return ++visited <= limit && visit(point);
    }
    size_t last = std::min(left, values[i].size() - 1);
    size_t first = i + 1 == values.size() ? left : 0;
    for (size_t at = first; at <= last && visited < limit; ++at) {
      point[i] = values[i][at];
      if (place(i + 1, left - at)) return true;
    }
    return false;
  };
  for (size_t sum = 0; sum <= most && visited < limit; ++sum)
    if (place(0, sum)) return true;
  return false;
}

std::optional<Point> Region::member() const {
  std::optional<Point> found;
  auto take = [&](llvm::ArrayRef<int64_t> point) {
    if (!contains(point)) return false;
    found = Point(point.begin(), point.end());
    return true;
  };
  if (walk(candidates(), kPointsTried, take)) return found;
  if (auto all = all_values(kPointsOfSearch)) walk(*all, kPointsOfSearch, take);
  return found;
}

/// Returns all values of the sizes that are not replaced, if they have ends and few combinations.
std::optional<std::vector<std::vector<int64_t>>> Region::all_values(size_t limit) const {
  std::vector<std::vector<int64_t>> all(box_.size(), {0});
  size_t count = 1;
  for (size_t i = 0; i < box_.size(); ++i) {
    if (replaced_[i]) continue;
    if (!box_[i].most || *box_[i].most - box_[i].least >= static_cast<int64_t>(limit))
      return std::nullopt;
    all[i].clear();
    for (int64_t n = box_[i].least; n <= *box_[i].most; ++n) all[i].push_back(n);
    count *= std::max<size_t>(all[i].size(), 1);
    if (count > limit) return std::nullopt;
  }
  return all;
}

bool Region::empty() const {
  if (llvm::any_of(box_, [](const Interval& i) { return i.empty(); })) return true;
  bool refuted = llvm::any_of(known_, [&](const Condition& c) {
    std::optional<int64_t> number = algebra_.constant(c.of);
    return number && !holds(c, Point(box_.size()));
  });
  if (refuted) return true;
  auto all = all_values(kPointsOfSearch);
  return all && !walk(*all, kPointsOfSearch,
                      [&](llvm::ArrayRef<int64_t> point) { return contains(point); });
}

// --- proofs --------------------------------------------------------------------------------------

bool Region::refuted_by_points(const Condition& condition) const {
  constexpr size_t kTried = 200;
  return walk(candidates(), kTried, [&](llvm::ArrayRef<int64_t> point) {
    return contains(point) && !holds(condition, point);
  });
}

bool Region::proves(const Condition& condition) {
  Condition c{simplified(condition.of), condition.kind};
  if (!c.of.known()) return false;
  if (std::optional<int64_t> number = algebra_.constant(c.of))
    return c.kind == Kind::Zero      ? *number == 0
           : c.kind == Kind::NotZero ? *number != 0
                                     : *number >= 0;
  if (known_.count(c) || proved_.count(c)) return true;
  if (c.kind != Kind::NotNegative && known_.count({algebra_.scale(c.of, -1), c.kind})) return true;
  if (refuted_by_points(c) || !(proves_simplified(c) || true_at_all_points(c))) return false;
  proved_.insert(c);
  return true;
}

bool Region::proves_simplified(const Condition& c) const {
  switch (c.kind) {
  case Kind::NotNegative: {
    if (never_negative(c.of)) return true;
    return llvm::any_of(known_, [&](const Condition& k) { // a larger expression than a known one
      return k.kind == Kind::NotNegative && never_negative(algebra_.subtract(c.of, k.of));
    });
  }
  case Kind::NotZero: {
    Expr less = algebra_.subtract(c.of, algebra_.number(1));
    return never_negative(less) || never_negative(algebra_.subtract(algebra_.number(-1), c.of));
  }
  case Kind::Zero:
    return for_remainders(c.of, [&](Expr a, llvm::ArrayRef<Interval>) {
      return algebra_.constant(a) == std::optional<int64_t>(0);
    });
  }
  return false;
}

bool Region::never_negative(Expr a) const {
  if (!a.known()) return false;
  if (std::optional<Wide> least = bounds_of(algebra_, a, box_).least; least && *least >= 0)
    return true;
  return for_remainders(a, [&](Expr polynomial, llvm::ArrayRef<Interval> box) {
    return not_negative_from_ends(algebra_, polynomial, box);
  });
}

/// Returns true if `proved` holds for each combination of remainders of the sizes, with the
/// polynomial in the quotients and their intervals. Without divisions, there is one combination.
bool Region::for_remainders(Expr a,
                            llvm::function_ref<bool(Expr, llvm::ArrayRef<Interval>)> proved) const {
  std::vector<int64_t> periods = algebra_.periods(a);
  int64_t combinations = 1;
  for (int64_t period : periods) {
    if (period == 0 || period > kRemaindersOfProof) return false;
    combinations *= period;
    if (combinations > kRemaindersOfProof) return false;
  }
  for (int64_t at = 0; at < combinations; ++at) {
    std::vector<std::optional<Expr>> by(box_.size());
    std::vector<Interval> box = box_;
    int64_t left = at;
    bool any = true;
    for (size_t i = 0; i < box_.size(); ++i) {
      int64_t period = periods[i], remainder = left % period;
      left /= period;
      if (period == 1) continue;
      by[i] = algebra_.add(algebra_.scale(algebra_.size(i), period), algebra_.number(remainder));
      box[i].least = (std::max<int64_t>(box_[i].least - remainder, 0) + period - 1) / period;
      if (box_[i].most) {
        if (*box_[i].most < remainder) any = false;
        box[i].most = (*box_[i].most - remainder) / period;
      }
      any &= !box[i].empty();
    }
    if (!any) continue; // no size has these remainders
    Expr polynomial = algebra_.substitute(a, by);
    if (!polynomial.known() || !proved(polynomial, box)) return false;
  }
  return true;
}

/// Tries all values of the sizes in the condition, if they are few. Conditions on other sizes are
/// not used.
bool Region::true_at_all_points(const Condition& condition) const {
  std::vector<bool> used(box_.size());
  algebra_.sizes_in(condition.of, used);
  std::vector<std::vector<int64_t>> values(box_.size());
  size_t count = 1;
  for (size_t i = 0; i < box_.size(); ++i) {
    if (!used[i]) {
      values[i] = {box_[i].least};
      continue;
    }
    if (!box_[i].most || *box_[i].most - box_[i].least >= static_cast<int64_t>(kPointsOfProof))
      return false;
    for (int64_t n = box_[i].least; n <= *box_[i].most; ++n) values[i].push_back(n);
    count *= values[i].size();
    if (count > kPointsOfProof) return false;
  }
  std::vector<const Condition*> filters;
  for (const Condition& c : known_) {
    std::vector<bool> others(box_.size());
    algebra_.sizes_in(c.of, others);
    bool inside = true;
    for (size_t i = 0; i < used.size(); ++i) inside &= !others[i] || used[i];
    if (inside) filters.push_back(&c);
  }
  bool refuted = false;
  // Replaced sizes do not occur in simplified conditions, so their values do not matter here.
  Point point(box_.size());
  std::function<void(size_t)> place = [&](size_t i) {
    if (refuted) return;
    if (i == box_.size()) {
      bool member = llvm::all_of(filters, [&](const Condition* c) { return holds(*c, point); });
      refuted = member && !holds(condition, point);
      return;
    }
    for (int64_t n : values[i]) {
      point[i] = n;
      place(i + 1);
    }
  };
  place(0);
  return !refuted;
}

} // namespace tg::sizes
