// The table that `paper` prints: the published columns, our figures and the published ones.
#include "compiler/driver/cli/terminal/table.h"
#include "bench/paper/paper.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg::paper {
namespace {

using cli::Align;
using cli::Table;

struct Published {
  llvm::StringRef model, approach;
  int multi; // 0: none
  double original_ms, original_sd, optimised_ms, optimised_sd;
  double saved_pct, saved_sd, seconds, seconds_sd;
};

constexpr Published kPublished[] = {
#define TG_PUBLISHED(...) {__VA_ARGS__},
#include "bench/paper/published.def"
};

struct Summary {
  double mean = 0, sd = 0;
};

Summary summary(llvm::ArrayRef<double> values) {
  Summary s;
  for (double v : values) s.mean += v / static_cast<double>(values.size());
  for (double v : values) s.sd += (v - s.mean) * (v - s.mean);
  s.sd = values.size() > 1 ? std::sqrt(s.sd / static_cast<double>(values.size() - 1)) : 0;
  return s;
}

std::string with_deviation(Summary s, double unit = 1) {
  return llvm::formatv("{0:f2} ± {1:f2}", s.mean * unit, s.sd * unit);
}

/// The cells of one network by one approach.
struct Row {
  std::vector<double> saved, seconds, processor, costs;
  double source_us = 0;
  size_t capped = 0;
  double limit_s = 0; // the largest of the capped

  Row(const PaperCells& cells, llvm::StringRef model, llvm::StringRef approach) {
    for (const PaperCell& cell : cells.all()) {
      if (cell.model != model || cell.approach != approach) continue;
      source_us = cell.source_us;
      saved.push_back(cell.saved_pct());
      seconds.push_back(cell.seconds);
      processor.push_back(cell.processor_s);
      costs.push_back(cell.cost_us);
      capped += cell.capped;
      if (cell.capped) limit_s = std::max(limit_s, cell.limit_s);
    }
  }
  bool empty() const { return costs.empty(); }
  std::string mark() const {
    if (capped == 0) return "";
    return llvm::formatv("capped {0} of {1} at {2:f0} s", capped, costs.size(), limit_s);
  }
};

/// Ours and, where the table has it, what was published.
void add_row(Table& table, const PaperNetwork& network, const PaperApproach& approach,
             const Row& row) {
  const Published* paper = llvm::find_if(kPublished, [&](const Published& p) {
    return p.model == network.name && p.approach == approach.name;
  });
  auto published = [&](double value, double deviation) {
    return paper == std::end(kPublished) ? std::string() : with_deviation({value, deviation});
  };
  static constexpr Published kNone = {};
  const Published& p = paper == std::end(kPublished) ? kNone : *paper;
  table.add({network.name.str(), approach.text.str(),
             approach.search == Search::Saturate ? std::to_string(network.multi) : "",
             std::to_string(row.costs.size()), with_deviation({row.source_us / 1e3, 0}),
             with_deviation(summary(row.costs), 1e-3), with_deviation(summary(row.saved)),
             with_deviation(summary(row.seconds)), with_deviation(summary(row.processor)),
             published(p.original_ms, p.original_sd), published(p.optimised_ms, p.optimised_sd),
             published(p.saved_pct, p.saved_sd), published(p.seconds, p.seconds_sd), row.mark()});
}

} // namespace

void print_paper_table(Session& session, const PaperCells& cells) {
  Table table({{"network"},
               {"approach"},
               {"k_multi", Align::Right},
               {"runs", Align::Right},
               {"original ms", Align::Right},
               {"optimised ms", Align::Right},
               {"saved %", Align::Right},
               {"seconds", Align::Right},
               {"processor s", Align::Right},
               {"published: original ms", Align::Right},
               {"optimised ms", Align::Right},
               {"saved %", Align::Right},
               {"seconds", Align::Right},
               {""}});
  std::map<std::string, std::pair<double, size_t>> log_seconds; // by approach
  for (const PaperNetwork& network : paper_networks())
    for (const PaperApproach& approach : paper_approaches()) {
      Row row(cells, network.name, approach.name);
      if (row.empty()) continue;
      auto& sum = log_seconds[approach.text.str()];
      sum.first += std::log(summary(row.seconds).mean), ++sum.second;
      add_row(table, network, approach, row);
    }
  table.print(session.out, session.color);
  session.out << "\n"
              << cells.setting() << "\n"
              << "saved: of the original's time, as published; deviations of one run are 0; "
                 "capped: a limit ended the cell, and with more time it "
                 "may be better\n";
  for (const auto& [approach, sum] : log_seconds)
    session.out << "geometric mean of seconds, " << approach << ": "
                << llvm::formatv("{0:f3}", std::exp(sum.first / static_cast<double>(sum.second)))
                << " over " << sum.second << " networks\n";
  session.out
      << "rules are the verified ones; the published NASNet-A figures may rest on rules that "
         "are wrong for grouped convolutions\n";
}

} // namespace tg::paper
