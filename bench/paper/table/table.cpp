// The table of `tg-paper table`: the published columns with our figures and the published ones.
#include "bench/paper/table/paper.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>
#include <cmath>

namespace tg::paper {
namespace {

/// A table with columns as wide as their widest cell, right-aligned figures, and a line below the
/// header.
class Table {
public:
  struct Column {
    std::string head;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  void print(llvm::raw_ostream& out) const {
    std::vector<std::string> head, rule;
    for (const Column& column : columns_) head.push_back(column.head);
    std::vector<int> widths;
    for (size_t i = 0; i < head.size(); ++i) {
      widths.push_back(width_of(head[i]));
      for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i]));
      rule.emplace_back();
      for (int n = 0; n < widths[i]; ++n) rule.back() += "─";
    }
    print_row(out, head, widths);
    print_row(out, rule, widths);
    for (const auto& row : rows_) print_row(out, row, widths);
  }

private:
  static int width_of(llvm::StringRef text) { return llvm::sys::unicode::columnWidthUTF8(text); }

  void print_row(llvm::raw_ostream& out, llvm::ArrayRef<std::string> cells,
                 llvm::ArrayRef<int> widths) const {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string blanks(static_cast<size_t>(widths[i] - width_of(cells[i])), ' ');
      line += columns_[i].right ? blanks + cells[i] : cells[i] + blanks;
      line += "  ";
    }
    out << llvm::StringRef(line).rtrim(' ') << "\n";
  }

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

struct Published {
  llvm::StringRef model, approach;
  int multi; // 0: none
  double original_ms, original_sd, optimised_ms, optimised_sd;
  double saved_pct, saved_sd, seconds, seconds_sd;
};

constexpr Published kPublished[] = {
#define TG_PUBLISHED(...) {__VA_ARGS__},
#include "bench/paper/table/published.def"
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

/// The cells of one network and approach.
struct Row {
  std::vector<double> saved, seconds, processor, costs;
  double source_us = 0;
  size_t capped = 0;
  double limit_s = 0; // the largest limit of a capped cell

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

/// Adds our figures and, if available, the published ones.
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
             approach.search == tangram::Search::Saturate ? std::to_string(network.multi) : "",
             std::to_string(row.costs.size()), with_deviation({row.source_us / 1e3, 0}),
             with_deviation(summary(row.costs), 1e-3), with_deviation(summary(row.saved)),
             with_deviation(summary(row.seconds)), with_deviation(summary(row.processor)),
             published(p.original_ms, p.original_sd), published(p.optimised_ms, p.optimised_sd),
             published(p.saved_pct, p.saved_sd), published(p.seconds, p.seconds_sd), row.mark()});
}

} // namespace

void print_paper_table(llvm::raw_ostream& out, const PaperCells& cells) {
  Table table({{"network"},
               {"approach"},
               {"k_multi", true},
               {"runs", true},
               {"original ms", true},
               {"optimised ms", true},
               {"saved %", true},
               {"seconds", true},
               {"processor s", true},
               {"published: original ms", true},
               {"optimised ms", true},
               {"saved %", true},
               {"seconds", true},
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
  table.print(out);
  out << "\n"
      << cells.setting() << "\n"
      << "saved: share of the original's time, as published; the deviation of one run is 0; "
         "capped: a limit ended the search of the cell, and more time may improve the result\n";
  for (const auto& [approach, sum] : log_seconds)
    out << "geometric mean of seconds, " << approach << ": "
        << llvm::formatv("{0:f3}", std::exp(sum.first / static_cast<double>(sum.second)))
        << " over " << sum.second << " networks\n";
  out << "rules: the verified ones; the published NASNet-A figures may depend on rules that "
         "are wrong for grouped convolutions\n";
}

} // namespace tg::paper
