// A mixed-integer program as plain data, and the result of solving one. Rows are sparse; row and
// column bounds may be infinite. The objective is minimised.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace tg {

struct MipModel {
  struct Entry {
    int32_t column;
    double value;
  };

  // By column.
  std::vector<double> objective, lower, upper;
  std::vector<uint8_t> integer;
  // By row; row r has the entries from row_start[r] to row_start[r + 1].
  std::vector<double> row_lower, row_upper;
  std::vector<uint32_t> row_start = {0};
  std::vector<Entry> entries;
  /// A feasible solution to start from, by column; empty if there is none.
  std::vector<double> start;

  int32_t add_column(double cost, double low, double high, bool is_integer) {
    objective.push_back(cost);
    lower.push_back(low);
    upper.push_back(high);
    integer.push_back(is_integer);
    return static_cast<int32_t>(objective.size()) - 1;
  }
  void add_row(llvm::ArrayRef<Entry> row, double low, double high) {
    entries.insert(entries.end(), row.begin(), row.end());
    row_start.push_back(static_cast<uint32_t>(entries.size()));
    row_lower.push_back(low);
    row_upper.push_back(high);
  }
  size_t columns() const { return objective.size(); }
  size_t rows() const { return row_lower.size(); }
};

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

enum class MipStatus : uint8_t {
  Optimal,    // solved and proven
  Stopped,    // by a limit, with or without a solution
  Infeasible, // proven
  Failed,     // no result: the solver did not start, crashed or gave up
};

/// The reason for a missing proof if the time limit ended the work.
inline constexpr const char* kTimeLimit = "the time limit";

struct MipResult {
  MipStatus status = MipStatus::Failed;
  std::string why; // the reason of Stopped and Failed, for messages
  /// No solution costs less; -infinity if no bound is known.
  double bound = -kNoBound;
  /// Best integer solution, by column; empty if there is none.
  std::vector<double> solution;
  /// The optimum of the linear relaxation, by column; empty if it was not reached.
  std::vector<double> relaxation;
};

struct MipLimits {
  double seconds = 60;
  /// Limit on the solver's address space; 0: no limit.
  uint64_t memory_bytes = uint64_t{4} << 30;
  /// Called with the results so far after each message, and some ten times a second. True ends the
  /// work as the time limit does. May be empty.
  std::function<bool(const MipResult&)> stop = {};
};

} // namespace tg
