// `tg-paper table`: converts the command line to the options of the table.
#include "bench/paper/program/own_options.h"
#include "compiler/cli/session.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::paper {

namespace {

Options table_options(const cli::Options& o) {
  return {.networks = o.files,
          .approaches = own(o).approaches,
          .rules = o.rules,
          .budget = o.budget,
          .depth = o.depth,
          .seed = o.seed,
          .seeds = own(o).seeds,
          .cost = o.cost,
          .cost_db = o.cost_db,
          .node_limit = o.node_limit,
          .time_limit_s = o.time_limit_s,
          .ilp_limit_s = own(o).ilp_limit_s,
          .total_limit_s = own(o).total_limit_s,
          .memory_limit_mb = o.memory_limit_mb,
          .threads = static_cast<int>(o.threads),
          .search_threads = static_cast<int>(o.search_threads),
          .output = o.output,
          .json = o.json,
          .quiet = o.quiet};
}

} // namespace

int run_table(cli::Session& session) {
  for (const std::string& network : session.options.files)
    if (llvm::none_of(paper_networks(), [&](const PaperNetwork& n) { return n.name == network; }))
      return session.fail(error(Code::usage, "the published table has no network `{0}`", network)
                              .suggest("bench/paper/table/published.def lists its networks"));
  return run(table_options(session.options));
}

} // namespace tg::paper
