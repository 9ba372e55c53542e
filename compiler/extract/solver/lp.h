// A linear program that grows and is solved again and again: columns are fixed at the start, rows
// are added, bounds move. CLP's dual simplex goes on from the last basis, so a solve costs what has
// changed.
#pragma once

#include "compiler/extract/solver/mip.h"

#include <cstdint>
#include <memory>

namespace tg {

class LinearProgram {
public:
  enum class Status : uint8_t { Optimal, Infeasible, Stopped };

  /// Columns, bounds, objective and rows of the model; what it says of integers is not used.
  explicit LinearProgram(const MipModel& model);
  ~LinearProgram();
  LinearProgram(LinearProgram&&) = default;

  /// `iterations`: of the simplex, at most. Stopped: by a limit, or because the numbers went wrong;
  /// then the rest means nothing.
  Status solve(double seconds, int64_t iterations = INT64_MAX);
  /// Of the last solve().
  int64_t iterations() const;
  double objective() const;
  llvm::ArrayRef<double> solution() const;   // by column
  std::vector<double> reduced_costs() const; // by column
  /// How much a row differs from its nearer bound.
  double slack(size_t row) const;

  size_t rows() const;
  void add_row(llvm::ArrayRef<MipModel::Entry> row, double low, double high);
  void delete_rows(llvm::ArrayRef<int> rows);
  void set_bounds(size_t column, double low, double high);

private:
  struct Solver; // CLP's, which has no C++ header that stands alone
  std::unique_ptr<Solver> solver_;
};

} // namespace tg
