// Searches for inputs at which two functions differ although they agree at all drawn inputs.
// Starting from some of these, it climbs by changes of single elements towards a larger difference
// in float64.
#pragma once

#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"

#include <optional>
#include <string>

namespace tg {

struct ClimbResult {
  std::vector<std::pair<NodeId, TypedValues>> leaves;
  size_t output = 0, element = 0;
  double a = 0, b = 0;
};

/// Bound on the error of reordered sums in float64, relative to the largest number that occurs.
inline constexpr double kRounding = 0x1p-36;

/// Returns the difference of the sides at these inputs, relative to the largest number that occurs,
/// and records its position.
double measure(const Joined& sides, ClimbResult& at);

/// Returns inputs whose results differ by more than rounding explains, or nullopt if none was found
/// within this number of evaluations. Tries only ordinary numbers: up to 10^6, and near the graph's
/// own. Deterministic.
std::optional<ClimbResult> climb(const Joined& sides, uint64_t seed, size_t evaluations);

/// Elementwise functions composed of relu, minimum, maximum, clip, abs, comparisons, select, sums
/// and scales. Z3 decides whether two of them agree for all reals, or finds a point where they
/// differ. This finds points that random probes miss, such as relu(x - 40 * relu(y)) for x above
/// 39.
struct PiecewiseAnswer {
  enum class Status : uint8_t {
    Outside, // not such a function, too large, or built without Z3
    Open,    // no answer within Z3's work limit
    Agree,   // at this shape, for all reals up to 10^6
    Differ,  // at `where`, confirmed in float64
  };
  Status status = Status::Outside;
  std::optional<ClimbResult> where;
};

/// Deterministic: Z3's work is limited in its own units.
PiecewiseAnswer solve_piecewise(const Joined& sides);

} // namespace tg
