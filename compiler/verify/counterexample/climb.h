// The search for inputs at which two functions part that agree at all inputs that were drawn: from
// some of these it climbs, by changes of single elements, towards a larger difference in float64.
#pragma once

#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"

#include <optional>
#include <string>

namespace tg {

struct Climbed {
  std::vector<std::pair<NodeId, TypedValues>> leaves;
  size_t output = 0, element = 0;
  double a = 0, b = 0;
};

/// What sums in another order may cost in float64, of the largest number that occurs.
inline constexpr double kRounding = 0x1p-36;

/// How far the sides are apart at these inputs, of the largest number that occurs; notes where.
double measure(const Joined& sides, Climbed& at);

/// Inputs whose results differ by more than rounding explains; nullopt if so many evaluations found
/// none. Only ordinary numbers are tried: up to 10^6, and near the graph's own. Deterministic.
std::optional<Climbed> climb(const Joined& sides, uint64_t seed, size_t evaluations);

/// Functions put together of relu, minimum, maximum, clip, abs, comparisons, select, sums and
/// scales, element by element: Z3 decides whether two of them agree for all reals, or says where
/// they do not. A place that no probe hits by chance is found here: relu(x - 40 * relu(y)) and what
/// is added to it where x is above 39.
struct PiecewiseAnswer {
  enum class Status : uint8_t {
    Outside, // not such a function, too large, or built without Z3
    Open,    // no answer within Z3's units of work
    Agree,   // at this shape, for all reals up to 10^6
    Differ,  // at `where`, as float64 shows
  };
  Status status = Status::Outside;
  std::optional<Climbed> where;
};

/// Deterministic: Z3's work is bounded by its own units.
PiecewiseAnswer solve_piecewise(const Joined& sides);

} // namespace tg
