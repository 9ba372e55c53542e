// A linear program that grows and is solved repeatedly: columns are fixed at the start, rows are
// added, bounds move. CLP's dual simplex continues from the last basis, so the time of a solve
// depends on the changes.
#pragma once

#include "compiler/extract/solver/mip.h"

#include <cstdint>
#include <memory>

namespace tg {

class LinearProgram {
public:
  enum class Status : uint8_t { Optimal, Infeasible, Stopped };

  /// Takes columns, bounds, objective and rows of the model; its integer marks are ignored.
  explicit LinearProgram(const MipModel& model);
  ~LinearProgram();
  LinearProgram(LinearProgram&&) = default;

  /// Solves with at most that many simplex iterations. Stopped means a limit or a numerical
  /// failure; then the results below are undefined.
  Status solve(double seconds, int64_t iterations = INT64_MAX);
  /// Results of the last solve().
  int64_t iterations() const;
  double objective() const;
  llvm::ArrayRef<double> solution() const;   // by column
  std::vector<double> reduced_costs() const; // by column
  /// Returns the distance of a row from its nearer bound.
  double slack(size_t row) const;

  size_t rows() const;
  void add_row(llvm::ArrayRef<MipModel::Entry> row, double low, double high);
  void delete_rows(llvm::ArrayRef<int> rows);
  void set_bounds(size_t column, double low, double high);

private:
  struct Solver; // CLP's, which has no self-contained C++ header
  std::unique_ptr<Solver> solver_;
};

} // namespace tg
