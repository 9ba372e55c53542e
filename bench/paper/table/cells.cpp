// The file of cells of `tg-paper table`: one JSON object that maps settings to arrays of cells. It
// is rewritten after every cell, so that a run can be interrupted at any time.
#include "bench/paper/table/paper.h"
#include "lang/core/support/data_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <cmath>

#include <sched.h>

namespace tg::paper {
namespace {

std::string hash_text(llvm::StringRef bytes) {
  return llvm::utohexstr(llvm::xxHash64(bytes), /*LowerCase=*/true);
}

/// Returns the version and a hash of the executable, so that any change of search, rules or prices
/// gives another name. If the executable cannot be read, it returns the version alone.
std::string program_name() {
  auto self = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  std::string version = tangram::version();
  return self ? version + " " + hash_text((*self)->getBuffer()) : version;
}

/// Returns the hash of the table of --cost file:TABLE, or "" for other costs.
Result<std::string> cost_table_part(const tangram::CostSpec& cost) {
  if (cost.source != tangram::CostSpec::Source::Table) return std::string();
  TG_TRY(std::string table, read_text_file(cost.name));
  return "; cost_table " + hash_text(table);
}

/// Returns the hash of the rules that come from files, or "" if all are built in.
std::string rule_files_part(llvm::ArrayRef<tangram::RuleInfo> rules) {
  std::string prints;
  for (const tangram::RuleInfo& rule : rules)
    if (!rule.with_program) prints += rule.fingerprint + "\n";
  return prints.empty() ? "" : "; rule_files " + hash_text(prints);
}

/// Returns the requested number of threads, or for 0 the number that this process may use.
int thread_count(int asked) {
  cpu_set_t set;
  if (asked > 0) return asked;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// For measured costs, returns the number of threads and the database of prices.
std::string measured_part(const Options& o) {
  if (o.cost.source != tangram::CostSpec::Source::Measured) return "";
  std::string part;
  if (int threads = thread_count(o.threads); threads != 1)
    part = llvm::formatv("; threads {0}", threads);
  if (o.cost_db.empty()) return part;
  llvm::SmallString<128> path(o.cost_db);
  llvm::sys::fs::make_absolute(path);
  return part + "; cost_db " + path.str().str();
}

/// Reads the fields of a cell and records the first invalid one.
class CellReader {
public:
  explicit CellReader(const llvm::json::Object& cell) : cell_(cell) {}

  PaperCell read() {
    PaperCell cell;
    cell.model = name("model", paper_networks()),
    cell.approach = name("approach", paper_approaches());
    cell.seed = static_cast<uint64_t>(integer("seed"));
    cell.source_us = cost("source_us"), cell.cost_us = cost("cost_us");
    cell.seconds = amount("seconds"), cell.processor_s = amount("processor_s");
    cell.memory_mb = amount("memory_mb");
    cell.nodes = static_cast<size_t>(amount("nodes"));
    cell.stopped_by = taken(cell_.getString("stopped_by"), "stopped_by", "a string").str();
    cell.limit_s = amount("limit_s");
    cell.capped = taken(cell_.getBoolean("capped"), "capped", "true or false");
    return cell;
  }
  const std::string& fault() const { return fault_; } // "" for none

private:
  void expect(bool good, llvm::StringRef field, llvm::StringRef what) {
    if (!good && fault_.empty()) fault_ = llvm::formatv("`{0}` must be {1}", field, what);
  }
  template <class T> T taken(llvm::Optional<T> value, llvm::StringRef field, llvm::StringRef what) {
    expect(value.hasValue(), field, what);
    return value.getValueOr(T());
  }
  int64_t integer(llvm::StringRef field) {
    return taken(cell_.getInteger(field), field, "an integer");
  }
  double amount(llvm::StringRef field) {
    double value = taken(cell_.getNumber(field), field, "a number");
    expect(std::isfinite(value) && value >= 0, field, "a number that is not negative");
    return value;
  }
  double cost(llvm::StringRef field) {
    double value = taken(cell_.getNumber(field), field, "a number");
    expect(std::isfinite(value) && value > 0, field, "a positive number");
    return value;
  }
  template <class T> std::string name(llvm::StringRef field, llvm::ArrayRef<T> known) {
    llvm::StringRef value = taken(cell_.getString(field), field, "a string");
    expect(llvm::any_of(known, [&](const T& row) { return row.name == value; }), field,
           "a name of the published table");
    return value.str();
  }

  const llvm::json::Object& cell_;
  std::string fault_;
};

} // namespace

void write_number(llvm::json::OStream& json, llvm::StringRef name, double value) {
  if (std::isfinite(value))
    json.attribute(name, value);
  else
    json.attribute(name, nullptr);
}

Result<std::string> paper_setting(const Options& o, llvm::ArrayRef<tangram::RuleInfo> rules) {
  TG_TRY(std::string table, cost_table_part(o.cost));
  std::string setting = llvm::formatv(
      "program {0}; cost {1}; rules {2}; nodes {3}; budget {4}; depth {5}; numerics {6}",
      program_name(), o.cost.text(), o.rules.empty() ? "default" : llvm::join(o.rules, ","),
      o.node_limit, o.budget > 0 ? o.budget : 128, o.depth > 0 ? o.depth : 10,
      tangram::word(tangram::OptimizeOptions().numerics));
  setting += table + rule_files_part(rules);
  if (o.memory_limit_mb > 0) setting += llvm::formatv("; memory_limit {0}", o.memory_limit_mb);
  int threads = thread_count(o.search_threads > 0 ? o.search_threads : o.threads);
  if (threads != 1) setting += llvm::formatv("; search_threads {0}", threads);
  return setting + measured_part(o);
}

const PaperCell* PaperCells::find(llvm::StringRef model, llvm::StringRef approach,
                                  uint64_t seed) const {
  for (const PaperCell& cell : cells_)
    if (cell.model == model && cell.approach == approach && cell.seed == seed) return &cell;
  return nullptr;
}

void PaperCells::add(PaperCell cell) {
  auto same = llvm::find_if(cells_, [&](const PaperCell& c) {
    return c.model == cell.model && c.approach == cell.approach && c.seed == cell.seed;
  });
  if (same == cells_.end())
    cells_.push_back(std::move(cell));
  else
    *same = std::move(cell);
}

Diagnostic PaperCells::bad(std::string why) const {
  return error(Code::bad_cells_file, "`{0}` is not a file of cells: {1}", path_, why)
      .suggest("move it away, or pass another file with `--output`; nothing was written");
}

Result<void> PaperCells::take(const llvm::json::Array& list) {
  for (const llvm::json::Value& entry : list) {
    auto faulty = [&](llvm::StringRef why) {
      return bad(llvm::formatv("cell {0} under `{1}`: {2}", cells_.size() + 1, setting_, why));
    };
    const llvm::json::Object* object = entry.getAsObject();
    if (!object) return faulty("it is not an object");
    CellReader reader(*object);
    PaperCell cell = reader.read();
    if (!reader.fault().empty()) return faulty(reader.fault());
    if (find(cell.model, cell.approach, cell.seed))
      return faulty(llvm::formatv("an earlier cell also has {0} by {1} with seed {2}", cell.model,
                                  cell.approach, cell.seed)
                        .str());
    cells_.push_back(std::move(cell));
  }
  return {};
}

Result<void> PaperCells::read() {
  TG_TRY(std::optional<std::string> file, read_text_if_there(path_));
  if (!file) return {};
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(*file);
  if (!value) return bad(llvm::toString(value.takeError()));
  const llvm::json::Object* settings = value->getAsObject();
  if (!settings) return bad("it does not contain an object");
  for (const auto& [setting, list] : *settings) {
    if (llvm::StringRef(setting) != setting_) {
      other_.emplace(llvm::StringRef(setting).str(), list);
      continue;
    }
    const llvm::json::Array* cells = list.getAsArray();
    if (!cells) return bad(llvm::formatv("`{0}` does not contain an array", setting_));
    TG_CHECK(take(*cells));
  }
  return {};
}

void PaperCells::write_json(llvm::json::OStream& json) const {
  for (const PaperCell& cell : cells_)
    json.object([&] {
      json.attribute("model", cell.model);
      json.attribute("approach", cell.approach);
      json.attribute("seed", static_cast<int64_t>(cell.seed));
      write_number(json, "source_us", cell.source_us);
      write_number(json, "cost_us", cell.cost_us);
      write_number(json, "speedup_pct", cell.speedup_pct());
      write_number(json, "saved_pct", cell.saved_pct());
      write_number(json, "seconds", cell.seconds);
      write_number(json, "processor_s", cell.processor_s);
      write_number(json, "memory_mb", cell.memory_mb);
      json.attribute("nodes", static_cast<int64_t>(cell.nodes));
      json.attribute("stopped_by", cell.stopped_by);
      write_number(json, "limit_s", cell.limit_s);
      json.attribute("capped", cell.capped);
    });
}

Result<void> PaperCells::write() const {
  return write_data_file(path_, [&](llvm::raw_ostream& out) -> Result<void> {
    llvm::json::OStream json(out, 1);
    json.object([&] {
      for (const auto& [setting, list] : other_) json.attribute(setting, list);
      json.attributeArray(setting_, [&] { write_json(json); });
    });
    out << "\n";
    return {};
  });
}

} // namespace tg::paper
