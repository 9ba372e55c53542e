// Shared by the parts of `tg-paper table`: its options, the networks and approaches of the
// published table, the completed cells, their file, and the tables made of them.
#pragma once

#include "bench/paper/pact24/strategy.h"
#include "lang/core/result.h"
#include "tangram/tangram.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <map>

namespace tg::paper {

/// The approaches of the table, one per row of approaches.def.
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
  int64_t budget = 0, depth = 0; // 0: the defaults of the searches
  uint64_t seed = 1;
  int64_t seeds = 0;
  tangram::CostSpec cost;
  std::string cost_db;
  int64_t node_limit = 0;
  double time_limit_s = 0, ilp_limit_s = 0, total_limit_s = 0;
  int64_t memory_limit_mb = 0;
  int threads = 0, search_threads = 0; // 0: all cores; 0: as `threads`
  std::string output;
  bool json = false, quiet = false;
};

/// Computes the cells and prints the table. Returns the exit code.
int run(const Options& options);

struct PaperNetwork {
  llvm::StringRef name;
  int multi; // iterations of multi-pattern rules of TENSAT, as published for this network
};
/// Returns the networks in the order of the published table.
llvm::ArrayRef<PaperNetwork> paper_networks();

struct PaperApproach {
  Approach id;
  llvm::StringRef name, text;            // on the command line and in files; in the table
  std::optional<tangram::Search> search; // none: the published tree search
  Reward reward;                         // reward of the published tree search
  bool final_ilp, seeded;

  bool rewards_by_ilp() const { return !search && reward == Reward::Ilp; }
};
/// Returns the approaches in the order of approaches.def.
llvm::ArrayRef<PaperApproach> paper_approaches();

struct PaperCell {
  std::string model, approach;
  uint64_t seed = 0;
  double source_us = 0, cost_us = 0, seconds = 0;
  /// User and system time, including the solver's processes. Other load does not add to it.
  double processor_s = 0;
  double memory_mb = 0; // of the e-graphs and the search, without prices, rules and program
  size_t nodes = 0;
  std::string stopped_by;
  double limit_s = 0;  // its time limit
  bool capped = false; // the time limit ended it

  /// Returns true if the cell is also the result under another time limit: no limit ended it, or
  /// its own limit was at least as large.
  bool holds_under(double limit) const { return !capped || limit_s >= limit; }

  double speedup_pct() const { return (source_us / cost_us - 1) * 100; }
  /// Returns the saving in percent, which the published table calls speed-up.
  double saved_pct() const { return (1 - cost_us / source_us) * 100; }
};

/// Returns the setting that cells depend on in addition to network, approach, seed and time limit.
/// It includes the program, so that two programs never share cells: "program 0.1.0 5f3a9c; cost
/// analytic:a100; rules taso; ...". Values that differ from the defaults follow: hashes of the cost
/// table and of rules from files, the database of measured prices, threads, the memory limit.
/// Errors: `cannot_read`.
Result<std::string> paper_setting(const Options& options, llvm::ArrayRef<tangram::RuleInfo> rules);

/// The cells of one setting. Cells of other settings in the same file are left unchanged.
class PaperCells {
public:
  PaperCells(std::string setting, std::string path)
      : setting_(std::move(setting)), path_(std::move(path)) {}

  const std::string& setting() const { return setting_; }
  llvm::ArrayRef<PaperCell> all() const { return cells_; }
  const PaperCell* find(llvm::StringRef model, llvm::StringRef approach, uint64_t seed) const;
  /// Adds a cell, replacing that of the same network, approach and seed.
  void add(PaperCell cell);

  /// Reads the file; a missing file counts as empty. Errors: `cannot_read`, `bad_cells_file`.
  Result<void> read();
  /// Replaces the file by renaming a temporary one. Errors: `cannot_write`.
  Result<void> write() const;
  /// Writes the cells as the elements of an array.
  void write_json(llvm::json::OStream& json) const;

private:
  Diagnostic bad(std::string why) const;
  Result<void> take(const llvm::json::Array& list);

  std::string setting_, path_;
  std::vector<PaperCell> cells_;
  std::map<std::string, llvm::json::Value> other_; // by setting
};

/// One cell to compute, with its time limit.
struct PaperJob {
  const PaperNetwork* network;
  const PaperApproach* approach;
  uint64_t seed = 1;
  double limit_s = 0;
};

/// The work of a run.
struct PaperPlan {
  /// Ordered by seed; jobs with rewards from integer programs follow all others.
  std::vector<PaperJob> jobs;
  size_t known = 0;  // requested cells that are already done
  size_t by_ilp = 0; // jobs with rewards from integer programs
  double limit_s = 0, ilp_limit_s = 0, total_limit_s = 0;

  /// Returns a one-line description of the plan.
  std::string text() const;
};

/// Plans the requested cells that are not done yet.
PaperPlan plan_paper(const Options& options, const PaperCells& cells);

/// Prints the published table's columns for every network and approach that has cells, next to the
/// published figures, and the geometric mean of the seconds of each approach.
void print_paper_table(llvm::raw_ostream& out, const PaperCells& cells);

/// Writes a JSON number, or null if it is not finite.
void write_number(llvm::json::OStream& json, llvm::StringRef name, double value);

} // namespace tg::paper
