// Measured costs that outlive a run: an SQLite database under the user's cache folder, keyed by all
// that a time depends on. It is a cache and nothing more: whatever is wrong with the file, work
// goes on in memory, and notes() says what happened.
//
// Two processes may use one file at once (write-ahead log, a busy timeout, upserts in one
// transaction). A damaged file is renamed to NAME.damaged-N and a new one begun; one of a newer
// version is left alone.
//
// Every row is of the program's version, too: another release finds none of them and measures anew.
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

/// What a time depends on beside the operator instance itself.
struct CostEnvironment {
  std::string processor;       // "AMD EPYC ..."
  std::string instruction_set; // "avx512_core"
  std::string library;         // "oneDNN 2.6.3"
  std::string layout;          // how operands lie and how warm they are: measure.h
  std::string dtype;           // "f32"
  int threads = 1;
};

struct CostRow {
  std::string instance; // instance_key
  double microseconds = 0;
  std::string implementation; // for people
  /// In which the median lies with 95% confidence, and of how many runs; 0 where that is not known.
  double low_us = 0, high_us = 0;
  int runs = 0;
};

/// $XDG_CACHE_HOME/tangram/costs.db or ~/.cache/tangram/costs.db; "" if there is no home.
std::string default_cost_db_path();

class CostDb {
public:
  /// Opens or makes the file and its folder; "" means memory only. Never fails: see notes().
  static std::unique_ptr<CostDb> open(llvm::StringRef path, const CostEnvironment& environment);
  ~CostDb();
  CostDb(const CostDb&) = delete;
  CostDb& operator=(const CostDb&) = delete;

  /// Microseconds, if they are known for this environment.
  std::optional<double> find(llvm::StringRef instance);
  /// The whole row, likewise.
  std::optional<CostRow> find_row(llvm::StringRef instance);
  /// All rows of this processor, library and number of threads, however the operators lay in the
  /// caches, with the environment's `layout`: what a model of prices learns from. In the order of
  /// their keys.
  std::vector<std::pair<std::string, CostRow>> rows_alike();
  /// Keeps rows, in one transaction; later ones replace earlier ones of the same key.
  void store(llvm::ArrayRef<CostRow> rows);
  /// Drops the rows of this processor, of whichever environment, whose instance and implementation
  /// begin so: what ran them has become faster.
  void forget(llvm::StringRef instance, llvm::StringRef implementation);
  /// Finds them as long as this lives, and no longer: prices that are not final.
  void remember(llvm::ArrayRef<CostRow> rows);
  /// What the yardstick (machine_watch.h) usually takes, in microseconds, on this processor with
  /// this library and so many threads, however operators lie. 0: it is not known.
  double yardstick();
  /// Keeps it in the place of what was known.
  void keep_yardstick(double microseconds);

  /// True while rows reach a file.
  bool persistent() const { return db_ != nullptr; }
  const std::string& path() const { return path_; }
  /// What a user should know: "the cost database ... is damaged: ...".
  const std::vector<std::string>& notes() const { return notes_; }

private:
  explicit CostDb(const CostEnvironment& environment);

  enum class Opened { Yes, Damaged, Unusable };
  bool make_folder();
  void open_file();
  Opened try_open();
  Opened prepare_schema();
  bool prepare_statements();
  /// Of the row, which is made if there is none; 0: it cannot be.
  int64_t id_of(const CostEnvironment& environment);
  int64_t yardstick_id();
  bool set_aside();
  std::optional<CostRow> row_found(llvm::StringRef instance);
  bool write(llvm::ArrayRef<CostRow> rows);
  bool write_spread(const CostRow& row);
  bool execute(const char* sql);
  /// Goes on in memory. `what` is what could not be done.
  void give_up(llvm::StringRef what);
  void close();
  std::string error_text() const;

  CostEnvironment environment_; // its library with the program's version
  std::string path_;
  llvm::StringMap<CostRow> known_; // all that was found or stored; lives on without a file
  std::vector<std::string> notes_;
  size_t ignored_ = 0; // rows whose price is none
  sqlite3* db_ = nullptr;
  sqlite3_stmt* find_ = nullptr;
  sqlite3_stmt* store_ = nullptr;
  sqlite3_stmt* store_spread_ = nullptr;
  int64_t environment_id_ = 0, yardstick_id_ = 0;
};

} // namespace tg
