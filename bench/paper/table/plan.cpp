// The plan of `tg-paper table`: the cells to compute, their order, and their time limits. A search
// with rewards from integer programs solves hundreds of them per decision, so on most networks it
// uses all the time that it gets (in the published table 20 minutes on bert, 46 on nasrnn). Its
// cells have a separate, lower limit.
#include "bench/paper/table/paper.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg::paper {
namespace {

template <class Asked, class T> bool is_selected(const std::vector<Asked>& asked, const T& one) {
  return asked.empty() || llvm::is_contained(asked, one);
}

} // namespace

PaperPlan plan_paper(const Options& options, const PaperCells& cells) {
  PaperPlan plan;
  plan.limit_s = options.time_limit_s;
  plan.ilp_limit_s = std::min(options.ilp_limit_s, options.time_limit_s);
  plan.total_limit_s = options.total_limit_s;
  for (const PaperNetwork& network : paper_networks())
    for (const PaperApproach& approach : paper_approaches()) {
      if (!is_selected(options.networks, network.name) ||
          !is_selected(options.approaches, approach.id))
        continue;
      for (int64_t i = 0; i < (approach.seeded ? options.seeds : 1); ++i) {
        uint64_t seed = approach.seeded ? options.seed + static_cast<uint64_t>(i) : 1;
        bool by_ilp = approach.rewards_by_ilp();
        double limit_s = by_ilp ? plan.ilp_limit_s : plan.limit_s;
        const PaperCell* cell = cells.find(network.name, approach.name, seed);
        if (cell && cell->holds_under(limit_s)) {
          ++plan.known;
          continue;
        }
        plan.by_ilp += by_ilp;
        plan.jobs.push_back({&network, &approach, seed, limit_s});
      }
    }
  llvm::stable_sort(plan.jobs, [](const PaperJob& a, const PaperJob& b) {
    return std::pair(a.approach->rewards_by_ilp(), a.seed) <
           std::pair(b.approach->rewards_by_ilp(), b.seed);
  });
  return plan;
}

std::string PaperPlan::text() const {
  return llvm::formatv(
      "{0} cells to compute, {1} known: {2} with rewards from integer programs, at "
      "most {3:f0} s each, {4} others, at most {5:f0} s each; at most {6:f0} s in "
      "this run",
      jobs.size(), known, by_ilp, ilp_limit_s, jobs.size() - by_ilp, limit_s, total_limit_s);
}

} // namespace tg::paper
