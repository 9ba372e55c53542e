// Rows are passed to CLP in batches, just before it solves: adding them one by one would copy the
// matrix each time.
#include "compiler/extract/solver/lp.h"

#include "lang/core/price.h"

#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <climits>
#include <cmath>

namespace tg {

struct LinearProgram::Solver {
  Clp_Simplex* clp = Clp_newModel();
  // Rows that CLP has not received yet.
  std::vector<double> lower, upper, values;
  std::vector<CoinBigIndex> start = {0};
  std::vector<int> columns;
  bool solved = false;
  double unit = 1; // of CLP's objective

  ~Solver() { Clp_deleteModel(clp); }

  void flush() {
    if (lower.empty()) return;
    Clp_addRows(clp, static_cast<int>(lower.size()), lower.data(), upper.data(), start.data(),
                columns.data(), values.data());
    lower.clear();
    upper.clear();
    values.clear();
    columns.clear();
    start.assign(1, 0);
  }
};

/// CLP asserts that coefficients are below 1e25. Costs larger than any file may state are scaled by
/// a power of two, which keeps all digits.
static double unit_of(llvm::ArrayRef<double> objective) {
  double largest = 0;
  for (double cost : objective) largest = std::max(largest, std::abs(cost));
  return largest > kMaxPrice ? std::exp2(std::ilogb(largest)) : 1;
}

LinearProgram::LinearProgram(const MipModel& model) : solver_(std::make_unique<Solver>()) {
  Clp_setLogLevel(solver_->clp, 0);
  Clp_resize(solver_->clp, 0, static_cast<int>(model.columns()));
  std::copy(model.lower.begin(), model.lower.end(), Clp_columnLower(solver_->clp));
  std::copy(model.upper.begin(), model.upper.end(), Clp_columnUpper(solver_->clp));
  solver_->unit = unit_of(model.objective);
  std::transform(model.objective.begin(), model.objective.end(), Clp_objective(solver_->clp),
                 [&](double cost) { return cost / solver_->unit; });
  for (size_t r = 0; r < model.rows(); ++r)
    add_row(llvm::makeArrayRef(model.entries)
                .slice(model.row_start[r], model.row_start[r + 1] - model.row_start[r]),
            model.row_lower[r], model.row_upper[r]);
}

LinearProgram::~LinearProgram() = default;

LinearProgram::Status LinearProgram::solve(double seconds, int64_t iterations) {
  solver_->flush();
  Clp_Simplex* clp = solver_->clp;
  if (seconds <= 0 || iterations <= 0) return Status::Stopped;
  Clp_setMaximumSeconds(clp, seconds);
  Clp_setMaximumIterations(clp, static_cast<int>(std::min<int64_t>(iterations, INT_MAX)));
  // The first time CLP chooses its method, presolve included; then the dual simplex continues.
  solver_->solved ? Clp_dual(clp, 0) : Clp_initialDualSolve(clp);
  solver_->solved = true;
  if (Clp_isProvenOptimal(clp)) return Status::Optimal;
  if (Clp_isProvenPrimalInfeasible(clp)) return Status::Infeasible;
  return Status::Stopped;
}

int64_t LinearProgram::iterations() const { return Clp_numberIterations(solver_->clp); }

double LinearProgram::objective() const { return Clp_objectiveValue(solver_->clp) * solver_->unit; }

llvm::ArrayRef<double> LinearProgram::solution() const {
  return {Clp_primalColumnSolution(solver_->clp),
          static_cast<size_t>(Clp_numberColumns(solver_->clp))};
}

std::vector<double> LinearProgram::reduced_costs() const {
  const double* first = Clp_dualColumnSolution(solver_->clp);
  std::vector<double> costs(first, first + Clp_numberColumns(solver_->clp));
  for (double& cost : costs) cost *= solver_->unit;
  return costs;
}

double LinearProgram::slack(size_t row) const {
  double value = Clp_primalRowSolution(solver_->clp)[row];
  return std::min(value - Clp_rowLower(solver_->clp)[row], Clp_rowUpper(solver_->clp)[row] - value);
}

size_t LinearProgram::rows() const {
  return static_cast<size_t>(Clp_numberRows(solver_->clp)) + solver_->lower.size();
}

void LinearProgram::add_row(llvm::ArrayRef<MipModel::Entry> row, double low, double high) {
  for (const MipModel::Entry& entry : row) {
    solver_->columns.push_back(entry.column);
    solver_->values.push_back(entry.value);
  }
  solver_->start.push_back(static_cast<CoinBigIndex>(solver_->columns.size()));
  solver_->lower.push_back(low);
  solver_->upper.push_back(high);
}

void LinearProgram::delete_rows(llvm::ArrayRef<int> rows) {
  solver_->flush();
  if (!rows.empty()) Clp_deleteRows(solver_->clp, static_cast<int>(rows.size()), rows.data());
}

void LinearProgram::set_bounds(size_t column, double low, double high) {
  Clp_columnLower(solver_->clp)[column] = low;
  Clp_columnUpper(solver_->clp)[column] = high;
}

} // namespace tg
