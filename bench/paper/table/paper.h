// Shared by the parts of `tg-paper table`: its options, the networks and approaches of the
// published table, the cells that are done, the file that keeps them, and the tables made of them.
#pragma once

#include "bench/paper/pact24/strategy.h"
#include "lang/core/result.h"
#include "tangram/tangram.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <map>

namespace tg::paper {

/// Of the table, each a row of approaches.def.
enum class Approach : uint8_t {
#define TG_APPROACH(id, ...) id,
#include "bench/paper/table/approaches.def"
};

} // namespace tg::paper

template <> struct tangram::Words<tg::paper::Approach> {
  static constexpr std::string_view kRows[] = {
#define TG_APPROACH(id, name, ...) name,
#include "bench/paper/table/approaches.def"
  };
};

namespace tg::paper {

/// The cells that a run computes. Defaults are those of the command line
/// (bench/paper/program/options.def).
struct Options {
  std::vector<std::string> networks; // none: all
  std::vector<Approach> approaches;  // none: all
  std::vector<std::string> rules;
  int64_t budget = 0, depth = 0; // 0: as the searches have them
  uint64_t seed = 1;
  int64_t seeds = 0;
  tangram::CostSpec cost;
  std::string cost_db;
  int64_t node_limit = 0;
  double time_limit_s = 0, ilp_limit_s = 0, total_limit_s = 0;
  int64_t memory_limit_mb = 0;
  int threads = 0, search_threads = 0; // 0: all cores; as `threads`
  std::string output;
  bool json = false, quiet = false;
};

/// Computes the cells and prints the table. Returns the exit code.
int run(const Options& options);

struct PaperNetwork {
  llvm::StringRef name;
  int multi; // iterations of multi-pattern rules of TENSAT, as published for this network
};
/// In the order of the published table.
llvm::ArrayRef<PaperNetwork> paper_networks();

struct PaperApproach {
  Approach id;
  llvm::StringRef name, text;            // on the command line and in files; in the table
  std::optional<tangram::Search> search; // none: the published tree search
  Reward reward;                         // of that
  bool final_ilp, seeded;

  bool rewards_by_ilp() const { return !search && reward == Reward::Ilp; }
};
/// In the order of their rows.
llvm::ArrayRef<PaperApproach> paper_approaches();

struct PaperCell {
  std::string model, approach;
  uint64_t seed = 0;
  double source_us = 0, cost_us = 0, seconds = 0;
  /// User and system, the solver's processes included: what a loaded machine does not add to.
  double processor_s = 0;
  double memory_mb = 0; // of the e-graphs and the search, without prices, rules and program
  size_t nodes = 0;
  std::string stopped_by;
  double limit_s = 0;  // that it had
  bool capped = false; // the time limit ended it

  /// What no limit ended is what any larger limit gives, too; so is what it gave, under a smaller.
  bool holds_under(double limit) const { return !capped || limit_s >= limit; }

  double speedup_pct() const { return (source_us / cost_us - 1) * 100; }
  /// What the published table calls the speed-up.
  double saved_pct() const { return (1 - cost_us / source_us) * 100; }
};

/// What cells depend on beside network, approach, seed and limit of time, the program included: two
/// programs never share cells. "program 0.1.0 5f3a9c; cost analytic:a100; rules taso; ..."; then,
/// where that is not as always, hashes of the table of costs and of the rules that do not come with
/// the program, the database of measured prices, threads, a limit of memory. Errors: `cannot_read`.
Result<std::string> paper_setting(const Options& options, llvm::ArrayRef<tangram::RuleInfo> rules);

/// The cells of one setting. Those of other settings in the same file are kept as they are.
class PaperCells {
public:
  PaperCells(std::string setting, std::string path)
      : setting_(std::move(setting)), path_(std::move(path)) {}

  const std::string& setting() const { return setting_; }
  llvm::ArrayRef<PaperCell> all() const { return cells_; }
  const PaperCell* find(llvm::StringRef model, llvm::StringRef approach, uint64_t seed) const;
  /// In place of the one of that network, approach and seed.
  void add(PaperCell cell);

  /// A missing file is an empty one. Errors: `cannot_read`, `bad_cells_file`.
  Result<void> read();
  /// The whole file anew, through a temporary name. Errors: `cannot_write`.
  Result<void> write() const;
  /// The elements of an array.
  void write_json(llvm::json::OStream& json) const;

private:
  Diagnostic bad(std::string why) const;
  Result<void> take(const llvm::json::Array& list);

  std::string setting_, path_;
  std::vector<PaperCell> cells_;
  std::map<std::string, llvm::json::Value> other_; // by setting
};

/// One cell to compute, and the time that it may take.
struct PaperJob {
  const PaperNetwork* network;
  const PaperApproach* approach;
  uint64_t seed = 1;
  double limit_s = 0;
};

/// What a run has to do.
struct PaperPlan {
  /// Seed after seed, and those with rewards from integer programs after all others.
  std::vector<PaperJob> jobs;
  size_t known = 0;  // cells that are asked for and done already
  size_t by_ilp = 0; // of jobs: those with rewards from integer programs
  double limit_s = 0, ilp_limit_s = 0, total_limit_s = 0;

  /// For people, in a line.
  std::string text() const;
};

/// The cells that the options ask for, but for those that are done.
PaperPlan plan_paper(const Options& options, const PaperCells& cells);

/// The published table's columns for every network and approach that has cells, the published
/// figures beside, and the geometric mean of the seconds of each approach.
void print_paper_table(llvm::raw_ostream& out, const PaperCells& cells);

/// A JSON number; null for what JSON cannot say.
void write_number(llvm::json::OStream& json, llvm::StringRef name, double value);

} // namespace tg::paper
