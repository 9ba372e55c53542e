// Measured costs that outlive a run: an SQLite database in the user's cache folder,
// keyed by everything that a time depends on. It is only a cache:
// if the file is unusable, work continues in memory, and notes() describes the problem.
//
// Two processes may use one file at the same time (write-ahead log, a busy timeout,
// upserts in one transaction). A damaged file is renamed to NAME.damaged-N and a new one
// is created. A file of a newer version is left unchanged.
//
// The key of every row includes the program's version, so another release ignores existing rows
// and measures again.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace tg {

/// Everything that a time depends on except the operator instance itself.
struct CostEnvironment {
  std::string processor;       // "AMD EPYC ..."
  std::string instruction_set; // "avx512_core"
  std::string library;         // "oneDNN 2.6.3"
  std::string layout;          // layout of operands and state of the caches: measure.h
  std::string dtype;           // "f32"
  int threads = 1;
};

struct CostRow {
  std::string instance; // instance_key
  double microseconds = 0;
  std::string implementation; // for display
  /// The 95% confidence interval of the median, and its number of runs; 0 if unknown.
  double low_us = 0, high_us = 0;
  int runs = 0;
};

/// Returns $XDG_CACHE_HOME/tangram/costs.db or ~/.cache/tangram/costs.db; "" if there is no home.
std::string default_cost_db_path();

class CostDb {
public:
  /// Opens or creates the file and its folder; "" means memory only. Never fails: see notes().
  static std::unique_ptr<CostDb> open(llvm::StringRef path, const CostEnvironment& environment);
  ~CostDb();
  CostDb(const CostDb&) = delete;
  CostDb& operator=(const CostDb&) = delete;

  /// Returns the microseconds, if known for this environment.
  std::optional<double> find(llvm::StringRef instance);
  /// Returns the whole row, if known for this environment.
  std::optional<CostRow> find_row(llvm::StringRef instance);
  /// Returns all rows of this processor, library and number of threads, for any layout of operands,
  /// with the `layout` of each row's environment, in the order of their keys.
  /// A cost model is trained on them.
  std::vector<std::pair<std::string, CostRow>> rows_of_all_layouts();
  /// Stores rows in one transaction; later rows replace earlier rows with the same key.
  void store(llvm::ArrayRef<CostRow> rows);
  /// Removes the rows of this processor, in any environment, whose instance and implementation
  /// have these prefixes. Used when the kernels that ran them have become faster.
  void forget(llvm::StringRef instance, llvm::StringRef implementation);
  /// Makes rows available to find() while this object lives, without storing them:
  /// for prices that are not final.
  void remember(llvm::ArrayRef<CostRow> rows);
  /// Returns the usual time of the yardstick (machine_watch.h) in microseconds
  /// on this processor with this library and number of threads, for any layout of operands. 0:
  /// unknown.
  double yardstick();
  /// Stores the time, replacing the previous one.
  void store_yardstick(double microseconds);

  /// Returns true while rows are written to a file.
  bool persistent() const { return db_ != nullptr; }
  const std::string& path() const { return path_; }
  /// Messages for the user: "the cost database ... is damaged: ...".
  const std::vector<std::string>& notes() const { return notes_; }

private:
  explicit CostDb(const CostEnvironment& environment);

  enum class Opened { Yes, Damaged, Unusable };
  bool make_folder();
  void open_file();
  Opened try_open();
  Opened prepare_schema();
  bool prepare_statements();
  /// Returns the id of the row, which is created if it does not exist; 0 on failure.
  int64_t id_of(const CostEnvironment& environment);
  int64_t yardstick_id();
  bool set_aside();
  std::optional<CostRow> row_found(llvm::StringRef instance);
  bool write(llvm::ArrayRef<CostRow> rows);
  bool write_spread(const CostRow& row);
  bool execute(const char* sql);
  /// Continues in memory. `what` names the failed action.
  void give_up(llvm::StringRef what);
  void close();
  std::string error_text() const;

  CostEnvironment environment_; // its library includes the program's version
  std::string path_;
  llvm::StringMap<CostRow> known_; // everything found or stored; stays valid without a file
  std::vector<std::string> notes_;
  size_t ignored_ = 0; // rows with an invalid price
  sqlite3* db_ = nullptr;
  sqlite3_stmt* find_ = nullptr;
  sqlite3_stmt* store_ = nullptr;
  sqlite3_stmt* store_spread_ = nullptr;
  int64_t environment_id_ = 0, yardstick_id_ = 0;
};

} // namespace tg
