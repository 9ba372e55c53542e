// What was found by asking, for each operator of a plan, whose kernel is the faster one here: the
// program's own, or a library's.
#pragma once

#include "lang/core/support/repeated_times.h"

#include <optional>
#include <string>
#include <vector>

namespace tg::tune {

struct KernelLine {
  std::string name; // of the operator, for people
  int64_t occurrences = 1;
  bool ours_by_rule = false;
  Comparison times;       // of all of them together: by rule, and otherwise
  bool otherwise = false; // from now on
};

struct KernelReport {
  std::vector<KernelLine> lines; // of what was measured now
  size_t known = 0;              // operators whose answer was known
  /// The whole plan by rule and with what is otherwise, where anything is.
  std::optional<Comparison> whole = {};
  double seconds = 0;
  std::vector<std::string> notes = {};

  size_t changes() const {
    size_t count = 0;
    for (const KernelLine& line : lines) count += line.otherwise;
    return count;
  }
};

} // namespace tg::tune
