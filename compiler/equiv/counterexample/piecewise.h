// Functions put together of relu, minimum, maximum, clip, abs, comparisons, select, sums and
// scales, element by element: Z3 decides whether two of them agree for all reals, or says where
// they do not. A place that no probe hits by chance is found here: relu(x - 40 * relu(y)) and what
// is added to it where x is above 39.
#pragma once

#include "compiler/equiv/counterexample/climb.h"

namespace tg {

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
