// The command line of `paper`: one row an option,
// which says what its value may be and where it goes.
#include "bench/paper/paper.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::paper {
namespace {

using llvm::StringRef;

/// What a value should be; empty where it is.
using Expected = std::string;

template <class T> Expected take_whole(T& field, StringRef text, int64_t low, int64_t high) {
  int64_t number = 0;
  if (text.getAsInteger(10, number) || number < low || number > high)
    return llvm::formatv("a whole number from {0} to {1}", low, high);
  field = static_cast<T>(number);
  return "";
}

Expected take_seconds(double& field, StringRef text) {
  double number = 0; // what is no number fails the comparison, too
  if (text.getAsDouble(number) || !(number >= 0 && number <= 1e9))
    return "a number from 0 to 1000000000";
  field = number;
  return "";
}

Expected take_seed(uint64_t& field, StringRef text) {
  return text.getAsInteger(10, field) ? "a whole number that is not negative" : "";
}

Expected take_cost(tangram::CostSpec& field, StringRef text) {
  std::optional<tangram::CostSpec> spec = tangram::CostSpec::from_text(text);
  if (!spec) return "calibrated[:BACKEND], analytic[:PROFILE], measured[:BACKEND] or file:TABLE";
  field = std::move(*spec);
  return "";
}

Expected take_approaches(std::vector<Approach>& field, StringRef text) {
  for (StringRef name : llvm::split(text, ",")) {
    const PaperApproach* row =
        llvm::find_if(paper_approaches(), [&](const PaperApproach& a) { return a.name == name; });
    if (row == paper_approaches().end()) {
      std::vector<StringRef> names;
      for (const PaperApproach& approach : paper_approaches()) names.push_back(approach.name);
      return "some of " + llvm::join(names, ", ");
    }
    field.push_back(row->id);
  }
  return "";
}

Expected take_words(std::vector<std::string>& field, StringRef text) {
  for (StringRef word : llvm::split(text, ",")) field.push_back(word.str());
  return "";
}

Expected take_text(std::string& field, StringRef text) {
  field = text.str();
  return "";
}

struct Row {
  llvm::StringLiteral flag, value, help; // value "": the option takes none
  Expected (*take)(Options& options, StringRef text);
};

constexpr int64_t kMost = 1'000'000;

// clang-format off
constexpr Row kRows[] = {
    {"--approach", "NAME,...", "approaches of the table, by default all",
     [](Options& o, StringRef t) { return take_approaches(o.approaches, t); }},
    {"--rules", "NAME,...", "files, rule sets or rules; default: all built in",
     [](Options& o, StringRef t) { return take_words(o.rules, t); }},
    {"--budget", "N", "simulations for a decision (128)",
     [](Options& o, StringRef t) { return take_whole(o.budget, t, 1, 1000 * kMost); }},
    {"--depth", "N", "random steps of a simulation (10)",
     [](Options& o, StringRef t) { return take_whole(o.depth, t, 1, kMost); }},
    {"--seed", "N", "the first of the seeds (1)",
     [](Options& o, StringRef t) { return take_seed(o.seed, t); }},
    {"--seeds", "N", "runs of each cell that draws at random (5)",
     [](Options& o, StringRef t) { return take_whole(o.seeds, t, 1, 1000); }},
    {"--cost", "MODEL", "prices, as `tg opt --cost` (analytic:a100)",
     [](Options& o, StringRef t) { return take_cost(o.cost, t); }},
    {"--cost-db", "FILE", "database of measured costs",
     [](Options& o, StringRef t) { return take_text(o.cost_db, t); }},
    {"--node-limit", "N", "e-nodes of an e-graph (2000)",
     [](Options& o, StringRef t) { return take_whole(o.node_limit, t, 1, int64_t{1} << 31); }},
    {"--time-limit", "S", "seconds for a cell (600)",
     [](Options& o, StringRef t) { return take_seconds(o.time_limit_s, t); }},
    {"--ilp-limit", "S", "those of a cell of ilp+ilp, at most --time-limit (40)",
     [](Options& o, StringRef t) { return take_seconds(o.ilp_limit_s, t); }},
    {"--total-limit", "S", "seconds; cells beyond are left for the next run (1800)",
     [](Options& o, StringRef t) { return take_seconds(o.total_limit_s, t); }},
    {"--memory-limit", "MIB", "most memory of the process; default: 80%",
     [](Options& o, StringRef t) { return take_whole(o.memory_limit_mb, t, 1, kMost * kMost); }},
    {"--threads", "N", "cores to use; default: all",
     [](Options& o, StringRef t) { return take_whole(o.threads, t, 1, 1024); }},
    {"--search-threads", "N", "those of a search; default: --threads",
     [](Options& o, StringRef t) { return take_whole(o.search_threads, t, 1, 1024); }},
    {"--output", "FILE", "cells done, read and written (paper_cells.json)",
     [](Options& o, StringRef t) { return take_text(o.output, t); }},
    {"--json", "", "one JSON object on standard output, nothing else",
     [](Options& o, StringRef) { o.json = true; return Expected(); }},
    {"--quiet", "", "no report, only diagnostics",
     [](Options& o, StringRef) { o.quiet = true; return Expected(); }},
    {"--help", "", "this text",
     [](Options& o, StringRef) { o.help = true; return Expected(); }},
};
// clang-format on

} // namespace

Result<Options> read_options(llvm::ArrayRef<StringRef> words) {
  Options options;
  while (!words.empty()) {
    auto [flag, text] = words.front().split('=');
    bool joined = words.front().contains('=');
    words = words.drop_front();
    if (!flag.startswith("-")) {
      if (llvm::none_of(paper_networks(), [&](const PaperNetwork& n) { return n.name == flag; }))
        return error(Code::usage, "no network `{0}` in the published table", flag);
      options.networks.push_back(flag.str());
      continue;
    }
    const Row* row = llvm::find_if(kRows, [&](const Row& r) { return r.flag == flag; });
    if (row == std::end(kRows))
      return error(Code::usage, "`paper` does not take `{0}`", flag)
          .suggest("`paper --help` lists its options");
    if (row->value.empty() && joined) return error(Code::usage, "`{0}` takes no value", flag);
    if (!row->value.empty() && !joined) {
      if (words.empty()) return error(Code::usage, "`{0}` needs a value", flag);
      text = words.front();
      words = words.drop_front();
    }
    if (Expected expected = row->take(options, text); !expected.empty())
      return error(Code::usage, "`{0}` takes {1}, not `{2}`", flag, expected, text);
  }
  return options;
}

std::string help_text() {
  std::string text = "the table of the published tree search, computed here\n\n"
                     "usage: paper [OPTIONS] [NETWORK...]   (in the root of the repository)\n\n";
  for (const Row& row : kRows)
    text += llvm::formatv("  {0,-24}{1}\n", (row.flag + " " + row.value).str(), row.help);
  return text;
}

} // namespace tg::paper
