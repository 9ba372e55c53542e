// The result of comparing, for each operator of a plan, the program's own kernel
// with a library's on this machine.
#pragma once

#include "lang/core/support/repeated_times.h"

#include <optional>
#include <string>
#include <vector>

namespace tg::tune {

struct KernelLine {
  std::string name; // of the operator, for display
  int64_t occurrences = 1;
  bool ours_by_rule = false;
  Comparison times;       // of all occurrences together: the rule's choice, and the other kernel
  bool otherwise = false; // the other kernel is used from now on
};

struct KernelReport {
  std::vector<KernelLine> lines; // operators measured in this run
  size_t known = 0;              // operators whose result was known before
  /// The whole plan with the rule's choices and with the changed choices, if any changed.
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
