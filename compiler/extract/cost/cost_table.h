// A fixed table of prices in a file. It makes a run reproducible, and lets costs measured on one
// machine be used on another (`--cost file:TABLE`). The file is JSON with one price per line:
//
//   { "tangram_costs": 1, "source": "measured:cpu, ...", "microseconds": { "relu(f32[8])": 1.25 } }
//
// Keys are instance_key() texts, each once; prices are finite, >= 0 and at most kMaxPrice.
#pragma once

#include "compiler/extract/cost/cost.h"

#include <map>
#include <memory>

namespace tg {

struct CostTable {
  std::string source; // origin of the prices, shown to the user
  std::map<std::string, double> microseconds;
};

/// Parses a table; `name` is used in messages. Errors: `bad_cost_table`, with the line.
Result<CostTable> parse_cost_table(llvm::StringRef text, llvm::StringRef name);
/// Reads and parses a file. Errors: `cannot_read`, `empty_file`, `bad_cost_table`.
Result<CostTable> load_cost_table(llvm::StringRef path);
/// Writes a table, sorted by key, with prices that round-trip. It writes a temporary file next to
/// the target and renames it. Errors: `cannot_write`.
Result<void> save_cost_table(const CostTable& table, llvm::StringRef path);

/// Prices from a table. An instance that the table lacks has an infinite price, so that it is never
/// chosen, and is listed in missing().
class TableCost : public CostModel {
public:
  TableCost(CostTable table, std::string name) : table_(std::move(table)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  /// Returns one line that names the missing instances.
  std::vector<std::string> notes() const override;
  /// Returns the keys that were requested but missing, each once, in order of their first request.
  const std::vector<std::string>& missing() const { return missing_; }

private:
  CostTable table_;
  std::string name_;
  std::vector<std::string> missing_;
};

/// Makes the model of `--cost file:PATH`. Errors: as load_cost_table.
Result<std::unique_ptr<TableCost>> make_table_cost(llvm::StringRef path);

/// Passes another model's prices through and keeps them, for save_cost_table.
class RecordingCost : public CostModel {
public:
  explicit RecordingCost(CostModel& inner) : inner_(inner) { table_.source = inner.name(); }
  std::string name() const override { return inner_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    inner_.prepare(symbols, instances);
  }
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    return inner_.known(symbols, instances);
  }
  bool guesses() const override { return inner_.guesses(); }
  double refine_prices(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                       const StopToken& stop) override {
    double moved_us = inner_.refine_prices(symbols, uses, graph_us, stop);
    if (moved_us > 0) table_.microseconds.clear(); // all valid prices are requested again
    return moved_us;
  }
  bool needs_placed_times(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    return inner_.needs_placed_times(symbols, instances);
  }
  void learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times,
                    TimeTrust trust) override {
    inner_.learn_placed(symbols, times, trust);
    table_.microseconds.clear();
  }
  bool needs_preparation() const override { return inner_.needs_preparation(); }
  llvm::ArrayRef<KernelPattern> patterns() const override { return inner_.patterns(); }
  GroupPricer* groups() override { return inner_.groups(); }
  std::vector<std::string> notes() const override { return inner_.notes(); }
  const CostTable& table() const { return table_; }

private:
  CostModel& inner_;
  CostTable table_;
};

} // namespace tg
