#include "lang/core/sizes/fit.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace tg::sizes {

namespace {

// --- points -------------------------------------------------------------------------------------

/// Sizes up to this are also numbers of axes, heads and kernels, and tables of so many elements are
/// folded when a model is read.
constexpr int64_t kSmall = 16;
constexpr int64_t kSpan = 160; // of the sizes at all points
/// Along each size. Over about 1,000 numbers, divisions by 31 and by 32 differ.
constexpr int64_t kSteps[] = {1, 7, 32, 61, 131, 509, 1021};
constexpr int64_t kMoreSteps[] = {2, 19, 45, 83, 203, 353, 702, 867};
constexpr size_t kCheckPoints = 8;
constexpr int64_t kWhole = 96;         // ranges up to this are tried as a whole
constexpr int64_t kMostOfSum = 8;      // divisor of a sum of sizes
constexpr size_t kMostDivisions = 256; // that are tried for a size

class PointChooser {
public:
  PointChooser(llvm::ArrayRef<Interval> ranges, llvm::ArrayRef<int64_t> defaults)
      : ranges_(ranges) {
    for (size_t i = 0; i < ranges.size(); ++i) windows_.push_back(window(ranges[i], defaults[i]));
  }

  std::vector<Point> run() {
    if (add_box()) return std::move(points_);
    Point base(windows_.size(), -1);
    for (size_t i = 0; i < base.size(); ++i)
      base[i] = unlike(base, i, windows_[i].middle() + 5 * static_cast<int64_t>(i));
    add(base);
    add_lines(base, kSteps);
    for (size_t k = 0; k < kCheckPoints; ++k) {
      Point point(windows_.size(), -1);
      for (size_t i = 0; i < point.size(); ++i)
        point[i] = unlike(point, i, windows_[i].least + below(kSpan));
      add(point);
    }
    add_lines(base, kMoreSteps);
    add_remainders();
    if (windows_.size() > 1) add_remainders(); // where a factor of a division is 0 in the first
    return std::move(points_);
  }

private:
  struct Window {
    int64_t least = 0, most = 0;
    int64_t count() const { return most - least + 1; }
    int64_t middle() const { return least + (most - least) / 2; }
  };

  static Window window(const Interval& range, int64_t sample) {
    int64_t last = range.most.value_or(INT64_MAX / 2);
    int64_t first = std::min(std::max(sample, kSmall + 1), last - kSpan);
    first = std::max(first, std::min(kSmall + 1, last - kMostFitted + 1));
    // A model at 0 and 1 has other operators.
    first = std::max(first, last >= 4 ? std::max<int64_t>(range.least, 2) : range.least);
    return {first, std::min(last, first + kSpan)};
  }

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  /// Returns the size, moved into the window to a number that no other size of the point has.
  int64_t unlike(const Point& point, size_t size, int64_t wanted) const {
    const Window& window = windows_[size];
    for (int64_t step = 0; step < window.count(); ++step) {
      int64_t n = window.least + (wanted - window.least + step) % window.count();
      bool taken = false;
      for (size_t i = 0; i < point.size(); ++i) taken |= i != size && point[i] == n;
      if (!taken) return n;
    }
    return window.least + (wanted - window.least) % window.count();
  }

  void add_lines(const Point& base, llvm::ArrayRef<int64_t> steps) {
    for (size_t i = 0; i < base.size(); ++i)
      for (int64_t step : steps) {
        Point point = base;
        bool fits = !ranges_[i].most || base[i] + step <= *ranges_[i].most;
        int64_t n = fits ? base[i] + step : std::max(base[i] - step, windows_[i].least);
        point[i] = llvm::is_contained(base, n) ? unlike(base, i, n) : n;
        add(point);
      }
  }

  /// Adds all points of small windows. Returns false if there are too many.
  bool add_box() {
    int64_t count = 1;
    for (size_t i = 0; i < windows_.size(); ++i)
      if (windows_[i].most != ranges_[i].most || (count *= windows_[i].count()) > kWhole)
        return false;
    for (int64_t k = 0; k < count; ++k) {
      Point& point = points_.emplace_back();
      int64_t rest = k;
      for (const Window& window : windows_) {
        point.push_back(window.least + rest % window.count());
        rest /= window.count();
      }
    }
    return true;
  }

  /// Adds points at which each size takes the first kMostFitted numbers of its window, or all of a
  /// small range, in an order of its own.
  void add_remainders() {
    int64_t count = kMostFitted;
    for (const Window& window : windows_)
      if (window.count() <= kWhole) count = std::max(count, window.count());
    std::vector<Point> points(static_cast<size_t>(count), Point(windows_.size(), -1));
    for (size_t i = 0; i < windows_.size(); ++i) {
      std::vector<int64_t> numbers;
      for (int64_t k = 0; k < count; ++k)
        numbers.push_back(windows_[i].least + k % windows_[i].count());
      for (size_t k = numbers.size(); k > 1; --k)
        std::swap(numbers[k - 1], numbers[below(static_cast<int64_t>(k))]);
      for (size_t k = 0; k < numbers.size(); ++k) {
        for (size_t other = k + 1; llvm::is_contained(points[k], numbers[k]); ++other) {
          if (other == numbers.size()) break;
          std::swap(numbers[k], numbers[other]);
        }
        points[k][i] = numbers[k];
      }
    }
    for (const Point& point : points) add(point);
  }

  void add(const Point& point) {
    if (!llvm::is_contained(points_, point)) points_.push_back(point);
  }

  llvm::ArrayRef<Interval> ranges_;
  std::vector<Window> windows_;
  std::mt19937_64 random_{1};
  std::vector<Point> points_;
};

// --- linear systems -----------------------------------------------------------------------------

using Column = std::vector<int64_t>; // a function, by its values at the points

__extension__ using Wide = __int128;

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

uint64_t times(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % kPrime);
}
uint64_t residue(int64_t n) {
  int64_t r = n % static_cast<int64_t>(kPrime);
  return static_cast<uint64_t>(r < 0 ? r + static_cast<int64_t>(kPrime) : r);
}
uint64_t inverse(uint64_t a) {
  uint64_t power = 1;
  for (uint64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1, a = times(a, a))
    if (exponent & 1) power = times(power, a);
  return power;
}

bool have_sum(llvm::ArrayRef<const Column*> columns, llvm::ArrayRef<int64_t> factors,
              llvm::ArrayRef<int64_t> values) {
  for (size_t row = 0; row < values.size(); ++row) {
    int64_t sum = 0, product = 0;
    for (size_t c = 0; c < columns.size(); ++c)
      if (__builtin_mul_overflow(factors[c], (*columns[c])[row], &product) ||
          __builtin_add_overflow(sum, product, &sum))
        return false;
    if (sum != values[row]) return false;
  }
  return true;
}

/// Returns integers with which the columns sum to the values; columns that depend on earlier ones
/// get 0. Eliminates modulo a prime, and checks the result.
std::optional<std::vector<int64_t>> solve(llvm::ArrayRef<const Column*> columns,
                                          llvm::ArrayRef<int64_t> values) {
  size_t width = columns.size();
  std::vector<std::vector<uint64_t>> rows; // reduced, each with its pivot
  std::vector<size_t> pivots;
  for (size_t r = 0; r < values.size(); ++r) {
    std::vector<uint64_t> row(width + 1);
    for (size_t c = 0; c < width; ++c) row[c] = residue((*columns[c])[r]);
    row[width] = residue(values[r]);
    for (size_t k = 0; k < rows.size(); ++k) {
      uint64_t factor = row[pivots[k]];
      if (factor == 0) continue;
      for (size_t c = pivots[k]; c <= width; ++c)
        row[c] = (row[c] + times(kPrime - factor, rows[k][c])) % kPrime;
    }
    size_t pivot = 0;
    while (pivot <= width && row[pivot] == 0) ++pivot;
    if (pivot > width) continue;
    if (pivot == width) return std::nullopt; // contradicts the rows before it
    uint64_t by = inverse(row[pivot]);
    for (size_t c = pivot; c <= width; ++c) row[c] = times(row[c], by);
    size_t at = static_cast<size_t>(llvm::lower_bound(pivots, pivot) - pivots.begin());
    pivots.insert(pivots.begin() + static_cast<ptrdiff_t>(at), pivot);
    rows.insert(rows.begin() + static_cast<ptrdiff_t>(at), std::move(row));
  }
  std::vector<uint64_t> found(width, 0);
  for (size_t k = rows.size(); k-- > 0;) {
    uint64_t sum = rows[k][width];
    for (size_t c = pivots[k] + 1; c < width; ++c)
      sum = (sum + times(kPrime - rows[k][c], found[c])) % kPrime;
    found[pivots[k]] = sum;
  }
  std::vector<int64_t> factors;
  for (uint64_t f : found)
    factors.push_back(f > kPrime / 2 ? -static_cast<int64_t>(kPrime - f) : static_cast<int64_t>(f));
  return have_sum(columns, factors, values) ? std::optional(std::move(factors)) : std::nullopt;
}

// --- forms --------------------------------------------------------------------------------------

/// (factors . sizes + offset) // by
struct Floor {
  std::vector<int64_t> factors;
  int64_t offset = 0, by = 1;
};

class Fitter {
public:
  Fitter(Algebra& algebra, llvm::ArrayRef<Point> points, llvm::ArrayRef<int64_t> values)
      : algebra_(algebra), points_(points),
        values_(values), one_{Column(points.size(), 1), algebra.number(1)} {
    for (size_t i = 0; i < algebra.size_count(); ++i) {
      Function size{{}, algebra.size(i)};
      for (const Point& point : points) size.values.push_back(point[i]);
      sizes_.push_back(std::move(size));
    }
  }

  std::optional<Expr> run() {
    if (std::optional<Expr> e = combination({&one_})) return e;
    if (std::optional<Expr> e = polynomial()) return e;
    find_known();
    if (std::optional<Expr> e = pair_of_known()) return e;
    if (std::optional<Expr> e = divisions()) return e;
    return products(pointers(known_), 2);
  }

private:
  /// A function of the sizes; the expression is made when it is needed.
  struct Function {
    Column values;
    Expr expr = {};
    Floor floor = {};
  };
  using Functions = llvm::SmallVector<const Function*, 8>;

  static Functions pointers(llvm::ArrayRef<Function> all) {
    Functions out;
    for (const Function& one : all) out.push_back(&one);
    return out;
  }

  Expr expr(const Function& function) {
    if (function.expr.known()) return function.expr;
    Expr sum = algebra_.number(function.floor.offset);
    for (size_t i = 0; i < function.floor.factors.size(); ++i)
      sum = algebra_.add(sum, algebra_.scale(algebra_.size(i), function.floor.factors[i]));
    return algebra_.floor_divide(sum, function.floor.by);
  }

  Function floor(Floor of) const {
    Function out;
    for (const Point& point : points_) {
      int64_t sum = of.offset;
      for (size_t i = 0; i < point.size(); ++i) sum += of.factors[i] * point[i];
      out.values.push_back((sum - ((sum % of.by) + of.by) % of.by) / of.by);
    }
    out.floor = std::move(of);
    return out;
  }

  /// Returns a sum of the functions, each with a factor, if it has the values.
  std::optional<Expr> combination(llvm::ArrayRef<const Function*> functions) {
    llvm::SmallVector<Functions, 8> terms;
    for (const Function* function : functions) terms.push_back({function});
    return combination_of_products(terms);
  }

  std::optional<Expr> combination_of_products(llvm::ArrayRef<Functions> terms) {
    std::vector<Column> columns;
    for (const Functions& term : terms) {
      Column& product = columns.emplace_back(one_.values);
      for (const Function* factor : term)
        for (size_t i = 0; i < product.size(); ++i)
          if (__builtin_mul_overflow(product[i], factor->values[i], &product[i]))
            return std::nullopt;
    }
    llvm::SmallVector<const Column*, 8> all;
    for (const Column& column : columns) all.push_back(&column);
    std::optional<std::vector<int64_t>> factors = solve(all, values_);
    if (!factors) return std::nullopt;
    Expr sum = algebra_.number(0);
    for (size_t t = 0; t < terms.size(); ++t) {
      if ((*factors)[t] == 0) continue;
      Expr product = algebra_.number((*factors)[t]);
      for (const Function* factor : terms[t]) product = algebra_.multiply(product, expr(*factor));
      sum = algebra_.add(sum, product);
    }
    return sum.known() ? std::optional(sum) : std::nullopt;
  }

  /// Tries all products of up to `degree` different functions.
  std::optional<Expr> products(const Functions& functions, size_t degree, bool powers = false) {
    std::vector<Functions> terms = {{}};
    std::vector<size_t> last = {0}; // of each term, the first function that may follow
    for (size_t at = 0; at < terms.size(); ++at)
      for (size_t f = last[at]; f < functions.size() && terms[at].size() < degree; ++f) {
        Functions longer = terms[at];
        longer.push_back(functions[f]);
        terms.push_back(std::move(longer));
        last.push_back(powers ? f : f + 1);
      }
    // Fewer points are all of small ranges but 0 and 1.
    bool is_whole = points_.size() < points_for_polynomials(sizes_.size());
    size_t spare = is_whole ? 1 : kCheckPoints;
    bool is_checked = terms.size() + spare <= points_.size() || terms.size() <= 2;
    return is_checked ? combination_of_products(terms) : std::nullopt;
  }

  std::optional<Expr> polynomial() {
    Functions sizes = pointers(sizes_);
    for (size_t degree = 1; degree <= 3; ++degree)
      for (bool powers : {false, true})
        if (std::optional<Expr> e = products(sizes, degree, powers)) return e;
    return std::nullopt;
  }

  void find_known() {
    for (auto atom = static_cast<uint32_t>(algebra_.size_count()); atom < algebra_.atom_count();
         ++atom) {
      Function function{{}, algebra_.atom(atom)};
      for (const Point& point : points_)
        if (std::optional<int64_t> value = algebra_.value(function.expr, point))
          function.values.push_back(*value);
      if (function.values.size() == points_.size()) known_.push_back(std::move(function));
    }
  }

  std::optional<Expr> pair_of_known() {
    Functions all = pointers(known_), sizes = pointers(sizes_);
    all.append(sizes.begin(), sizes.end());
    for (size_t i = 0; i < known_.size(); ++i)
      for (size_t j = i + 1; j < all.size(); ++j)
        if (std::optional<Expr> e = products({all[i], all[j]}, 2)) return e;
    return std::nullopt;
  }

  /// The points that differ from the first one at most in this size.
  std::vector<size_t> line(size_t size) const {
    std::vector<size_t> out;
    for (size_t p = 0; p < points_.size(); ++p) {
      bool differs = false;
      for (size_t i = 0; i < sizes_.size(); ++i)
        differs |= i != size && points_[p][i] != points_[0][i];
      if (!differs) out.push_back(p);
    }
    return out;
  }

  Column at(llvm::ArrayRef<size_t> points, llvm::ArrayRef<int64_t> values) const {
    Column out;
    for (size_t p : points) out.push_back(values[p]);
    return out;
  }

  /// Returns fractions below 1. Small divisors come first, and those whose primes are small:
  /// strides of layers are products of 2 and 3.
  static std::vector<std::pair<int64_t, int64_t>> slopes() {
    auto rank = [](std::pair<int64_t, int64_t> slope) {
      int64_t prime = 1;
      for (int64_t n = slope.second; n > 1;)
        if (++prime; n % prime == 0) n /= prime--;
      return slope.first * slope.second * (prime + 1);
    };
    std::vector<std::pair<int64_t, int64_t>> all;
    for (int64_t by = 2; by <= kMostFitted; ++by)
      for (int64_t factor = 1; factor < by; ++factor)
        if (std::gcd(factor, by) == 1) all.push_back({factor, by});
    llvm::stable_sort(all, [&](auto a, auto b) { return rank(a) < rank(b); });
    return all;
  }

  /// Quickly refuses most divisions: for four points, the differences of the values must be a
  /// combination of those of the division and of the size.
  static bool may_fit(llvm::ArrayRef<int64_t> n, llvm::ArrayRef<int64_t> values, int64_t factor,
                      int64_t offset, int64_t by) {
    if (n.size() < 4) return true;
    std::array<std::array<Wide, 3>, 3> d; // differences to the first point
    for (size_t k = 0; k < 3; ++k) {
      size_t at = (k + 1) * (n.size() - 1) / 3;
      d[k] = {(factor * n[at] + offset) / by - (factor * n[0] + offset) / by, n[at] - n[0],
              values[at] - values[0]};
    }
    auto minor = [&](size_t i, size_t j) { return d[i][0] * d[j][1] - d[j][0] * d[i][1]; };
    return d[0][2] * minor(1, 2) - d[1][2] * minor(0, 2) + d[2][2] * minor(0, 1) == 0;
  }

  /// Returns the divisions of a size that, with the size itself, have the values along its line.
  std::vector<Function> divisions_of(size_t size, const std::vector<size_t>& line) const {
    Column one(line.size(), 1), values = at(line, values_), n = at(line, sizes_[size].values);
    std::vector<Function> found;
    for (auto [factor, by] : slopes())
      for (int64_t offset = 0; offset < by && found.size() < kMostDivisions; ++offset) {
        if (!may_fit(n, values, factor, offset, by)) continue;
        Column q;
        for (int64_t i : n) q.push_back((factor * i + offset) / by);
        auto factors = solve({&one, &q, &n}, values);
        if (!factors || (*factors)[1] == 0) continue;
        Floor of{std::vector<int64_t>(sizes_.size(), 0), offset, by};
        of.factors[size] = factor;
        if ((*factors)[2] % (*factors)[1] == 0) // the size is a multiple of the division's
          of.factors[size] += (*factors)[2] / (*factors)[1] * by;
        found.push_back(floor(std::move(of)));
        if (sizes_.size() == 1) return found;
      }
    return found;
  }

  /// Tries divisions that the algebra does not have yet.
  std::optional<Expr> divisions() {
    std::vector<bool> linear;
    divisions_.resize(sizes_.size());
    for (size_t i = 0; i < sizes_.size(); ++i) {
      std::vector<size_t> line = this->line(i);
      Column one(line.size(), 1), n = at(line, sizes_[i].values);
      linear.push_back(solve({&one, &n}, at(line, values_)).has_value());
      if (linear[i]) continue;
      divisions_[i] = divisions_of(i, line);
      if (divisions_[i].empty()) return std::nullopt;
    }
    if (std::optional<Expr> e = floor_of_sum()) return e;
    Functions chosen;
    size_t tried = 0;
    return with_divisions(linear, chosen, tried);
  }

  /// Chooses a division for each size that is not linear.
  std::optional<Expr> with_divisions(const std::vector<bool>& linear, Functions& chosen,
                                     size_t& tried) {
    constexpr size_t kMostTried = 1 << 12;
    size_t size = chosen.size();
    if (size == sizes_.size()) {
      if (++tried > kMostTried) return std::nullopt;
      Functions used = chosen;
      if (std::optional<Expr> e = products(used, used.size())) return e;
      if (sizes_.size() > 1 && llvm::count(linear, false) > 1) return std::nullopt;
      for (size_t i = 0; i < sizes_.size(); ++i)
        if (!linear[i]) used.push_back(&sizes_[i]);
      return products(used, 2);
    }
    if (linear[size]) {
      chosen.push_back(&sizes_[size]);
      std::optional<Expr> e = with_divisions(linear, chosen, tried);
      chosen.pop_back();
      return e;
    }
    for (const Function& division : divisions_[size]) {
      chosen.push_back(&division);
      std::optional<Expr> e = with_divisions(linear, chosen, tried);
      chosen.pop_back();
      if (e) return e;
    }
    return std::nullopt;
  }

  /// Tries (n + m + .. + c) // d, for the divisors of each size.
  std::optional<Expr> floor_of_sum() {
    for (uint32_t subset = 3; subset < (uint32_t{1} << sizes_.size()); ++subset) {
      if ((subset & (subset - 1)) == 0) continue; // a single size
      for (int64_t by = 2; by <= kMostOfSum; ++by)
        if (std::optional<Expr> e = floor_of_sum(subset, by)) return e;
    }
    return std::nullopt;
  }

  std::optional<Expr> floor_of_sum(uint32_t subset, int64_t by) {
    Floor of{std::vector<int64_t>(sizes_.size(), 0), 0, by};
    for (size_t i = 0; i < sizes_.size(); ++i) {
      of.factors[i] = subset >> i & 1;
      bool divides = llvm::any_of(divisions_[i], [&](const Function& one) {
        return one.floor.by == by && one.floor.factors[i] == 1;
      });
      if (of.factors[i] != 0 && !divides && !divisions_[i].empty()) return std::nullopt;
    }
    for (of.offset = 0; of.offset < by; ++of.offset) {
      Function division = floor(of);
      Functions used = pointers(sizes_);
      used.push_back(&division);
      if (std::optional<Expr> e = products(used, 2)) return e;
    }
    return std::nullopt;
  }

  Algebra& algebra_;
  llvm::ArrayRef<Point> points_;
  llvm::ArrayRef<int64_t> values_;
  Function one_;
  std::vector<Function> sizes_, known_;
  std::vector<std::vector<Function>> divisions_; // by size
};

} // namespace

std::vector<Point> fit_points(llvm::ArrayRef<Interval> ranges, llvm::ArrayRef<int64_t> defaults) {
  return PointChooser(ranges, defaults).run();
}

size_t points_for_polynomials(size_t sizes) { return 1 + sizes * std::size(kSteps) + kCheckPoints; }

std::optional<Expr> fit(Algebra& algebra, llvm::ArrayRef<Point> points,
                        llvm::ArrayRef<int64_t> values) {
  return Fitter(algebra, points, values).run();
}

} // namespace tg::sizes
