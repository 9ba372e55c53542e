// Takes the spec apart; the models themselves are in compiler/extract and measured_cost.h.
#include "compiler/driver/cost_model.h"

#include "compiler/extract/analytic.h"
#include "compiler/extract/cost_table.h"

namespace tg {

bool is_measured(llvm::StringRef spec) { return spec.split(':').first == "measured"; }

Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options) {
  auto [kind, detail] = llvm::StringRef(options.spec).split(':');
  if (kind == "analytic") return make_analytic_cost(detail);
  if (kind == "file" && !detail.empty()) {
    TG_TRY(std::unique_ptr<TableCost> table, make_table_cost(detail));
    return std::unique_ptr<CostModel>(std::move(table));
  }
  return error(Code::usage, "no cost model `{0}`", options.spec)
      .suggest("there are analytic[:PROFILE], measured[:cpu] and file:TABLE");
}

std::vector<std::string> cost_model_notes(const CostModel&) { return {}; }

} // namespace tg
