// Divisors by trial division, factorizations by backtracking over the extents: at most six.
#include "runtime/tune/factors.h"

#include <algorithm>
#include <cmath>

namespace tg::tune {

namespace {

class Factorizations {
public:
  Factorizations(llvm::ArrayRef<int64_t> extents, llvm::function_ref<bool(const Extents&)> visit)
      : visit_(visit), factors_(extents.size(), 1) {
    for (int64_t extent : extents) choices_.push_back(divisors(extent));
  }

  bool from(size_t axis, int64_t left) {
    if (axis == factors_.size()) return left != 1 || visit_(factors_);
    for (int64_t factor : choices_[axis]) {
      if (factor > left) break;
      if (left % factor != 0) continue;
      factors_[axis] = factor;
      if (!from(axis + 1, left / factor)) return false;
    }
    return true;
  }

private:
  llvm::function_ref<bool(const Extents&)> visit_;
  Extents factors_;
  std::vector<Extents> choices_;
};

} // namespace

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d != number / d) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

void for_factorizations(int64_t number, llvm::ArrayRef<int64_t> extents,
                        llvm::function_ref<bool(const Extents&)> visit) {
  Factorizations(extents, visit).from(0, number);
}

void for_divisors(llvm::ArrayRef<int64_t> extents, llvm::function_ref<void(const Extents&)> visit) {
  std::vector<Extents> choices;
  for (int64_t extent : extents) choices.push_back(divisors(extent));
  std::vector<size_t> at(extents.size(), 0);
  Extents chosen(extents.size(), 1);
  for (;;) {
    for (size_t i = 0; i < at.size(); ++i) chosen[i] = choices[i][at[i]];
    visit(chosen);
    size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == choices[axis - 1].size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<int64_t> dividers(double low, double high, int64_t total) {
  constexpr double kRounding = 1e-6;
  bool down = high < low;
  std::vector<int64_t> all = divisors(total), inside;
  if (down) std::reverse(all.begin(), all.end());
  double step = down ? -1 : 1;
  auto before = [&](double a, double b) { return down ? a > b : a < b; };
  for (int64_t d : all) {
    auto value = static_cast<double>(d);
    if (!before(low - step, value)) continue;
    if (before(value, high + step)) {
      inside.push_back(d);
      continue;
    }
    auto distance = [&](double x) { return down ? high / x : x / high; };
    double last = inside.empty() ? 1 : static_cast<double>(inside.back());
    if (inside.empty() || distance(value) <= 1 / distance(last) + kRounding) inside.push_back(d);
    break;
  }
  return inside;
}

} // namespace tg::tune
