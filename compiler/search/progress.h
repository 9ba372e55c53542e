// What a search tells, while it goes on, to whoever watches it. Told from any thread, never from
// two at once; where nobody watches, nothing is told, and nothing that is told changes a result.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tg {

struct SearchProgress {
  double seconds = 0, time_limit_s = 0;
  double source_us = 0, best_us = 0, bound_us = 0; // bound 0: none yet
  size_t nodes = 0, simulations = 0;
  std::string where = {};
  std::vector<std::pair<std::string, size_t>> rules = {}; // that paid, most often first
};

using TellProgress = std::function<void(const SearchProgress&)>;

/// Between two times that a search which finds nothing says that it is still there.
inline constexpr double kBetweenTellsS = 0.1;

} // namespace tg
