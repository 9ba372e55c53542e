// The SQLite part of the cost cache. Errors of sqlite3 calls are handled in one of two ways:
// a damaged file (corrupt, or not a database) is set aside; any other error ends the use
// of the file.
#include "runtime/measure/cost_db.h"

#include "lang/core/price.h"
#include "lang/core/support/data_file.h"
#include "lang/core/version.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

namespace tg {

namespace {

constexpr int kSchemaVersion = 1;
/// "tgcd": identifies the file as ours.
constexpr int kApplicationId = 0x74676364;
/// How long to wait for another process, at each statement and for the lock beside the file.
/// Our own accesses take a hundredth of that; a file that is busy for longer is not used.
constexpr int kBusyMilliseconds = 2'000;

constexpr const char* kSchema = R"sql(
CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  processor TEXT NOT NULL, instruction_set TEXT NOT NULL, library TEXT NOT NULL,
  layout TEXT NOT NULL, dtype TEXT NOT NULL, threads INTEGER NOT NULL,
  UNIQUE (processor, instruction_set, library, layout, dtype, threads));
CREATE TABLE cost (
  environment INTEGER NOT NULL REFERENCES environment (id),
  instance TEXT NOT NULL,
  microseconds REAL NOT NULL,
  implementation TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  PRIMARY KEY (environment, instance)) WITHOUT ROWID;
)sql";

/// The precision of each time, in a table of its own: older files do not have it.
constexpr const char* kSpread =
    "CREATE TABLE IF NOT EXISTS spread (environment INTEGER NOT NULL, instance TEXT NOT NULL, "
    "low REAL NOT NULL, high REAL NOT NULL, runs INTEGER NOT NULL, "
    "PRIMARY KEY (environment, instance)) WITHOUT ROWID";

/// Older files do not have this table either.
constexpr const char* kYardstick =
    "CREATE TABLE IF NOT EXISTS usual_yardstick (environment INTEGER PRIMARY KEY, "
    "microseconds REAL NOT NULL)";
/// The environment of the yardstick, whose layout never varies.
constexpr const char* kYardstickLayout = "yardstick";

constexpr const char* kFind =
    "SELECT microseconds, implementation, low, high, runs FROM cost LEFT JOIN spread USING "
    "(environment, instance) WHERE environment = ?1 AND instance = ?2";
constexpr const char* kStoreSpread =
    "INSERT INTO spread VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET low = excluded.low, "
    "high = excluded.high, runs = excluded.runs";
constexpr const char* kStore =
    "INSERT INTO cost VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) "
    "ON CONFLICT DO UPDATE SET microseconds = excluded.microseconds, "
    "implementation = excluded.implementation, measured_at = excluded.measured_at";
constexpr const char* kAddEnvironment =
    "INSERT OR IGNORE INTO environment (processor, instruction_set, library, layout, dtype, "
    "threads) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* kFindEnvironment =
    "SELECT id FROM environment WHERE processor = ?1 AND instruction_set = ?2 AND library = ?3 "
    "AND layout = ?4 AND dtype = ?5 AND threads = ?6";

constexpr const char* kFindAlike =
    "SELECT other.layout, instance, microseconds FROM environment AS own JOIN environment AS other "
    "USING (processor, instruction_set, library, dtype, threads) JOIN cost ON cost.environment = "
    "other.id WHERE own.id = ?1 ORDER BY other.layout, instance";

bool is_damage(int code) {
  int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

bool is_busy(int code) {
  int primary = code & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

void bind_text(sqlite3_stmt* statement, int at, llvm::StringRef text) {
  sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

/// Held while a file is opened or set aside, so that of two processes that find it damaged one
/// moves it and the other opens the new one. Not held if another process keeps it.
class OpenLock {
public:
  explicit OpenLock(const std::string& path)
      : fd_(::open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NONBLOCK, 0600)) {
    constexpr int kStepMilliseconds = 20;
    for (int waited = 0; fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0;
         waited += kStepMilliseconds) {
      foreign_ = errno == EWOULDBLOCK && waited >= kBusyMilliseconds;
      if (foreign_ || (errno != EWOULDBLOCK && errno != EINTR)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(kStepMilliseconds));
    }
  }
  ~OpenLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenLock(const OpenLock&) = delete;
  OpenLock& operator=(const OpenLock&) = delete;

  /// Returns true if another process held the lock for the whole waiting time.
  bool foreign() const { return foreign_; }

private:
  int fd_;
  bool foreign_ = false;
};

/// Returns a column of the statement's current row; "" if it is null.
std::string column_text(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement, column));
  return text ? std::string(reinterpret_cast<const char*>(text), bytes) : "";
}

/// Returns the first column of the first row as a number.
std::optional<int64_t> query_number(sqlite3* db, const char* sql, int& code) {
  sqlite3_stmt* statement = nullptr;
  code = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return std::nullopt;
  code = sqlite3_step(statement);
  std::optional<int64_t> number;
  if (code == SQLITE_ROW) number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

} // namespace

std::string default_cost_db_path() { return cache_path("costs.db"); }

std::unique_ptr<CostDb> CostDb::open(llvm::StringRef path, const CostEnvironment& environment) {
  std::unique_ptr<CostDb> db(new CostDb(environment));
  db->path_ = path.str();
  if (path.empty()) {
    db->notes_.push_back("measured costs are not stored: there is no cache folder");
  } else if (db->make_folder()) {
    db->open_file();
  }
  return db;
}

CostDb::CostDb(const CostEnvironment& environment) : environment_(environment) {
  environment_.library += llvm::formatv(", tangram {0}", kProgramVersion);
}

CostDb::~CostDb() { close(); }

void CostDb::close() {
  sqlite3_finalize(find_);
  sqlite3_finalize(store_);
  sqlite3_finalize(store_spread_);
  sqlite3_close(db_);
  db_ = nullptr;
  find_ = store_ = store_spread_ = nullptr;
}

std::string CostDb::error_text() const {
  return db_ ? sqlite3_errmsg(db_) : "the database library is out of memory";
}

void CostDb::give_up(llvm::StringRef what) {
  notes_.push_back(llvm::formatv("{0} the cost database `{1}`: {2}; measured costs are stored in "
                                 "memory only",
                                 what, path_, error_text()));
  close();
}

bool CostDb::make_folder() {
  llvm::StringRef folder = llvm::sys::path::parent_path(path_);
  if (folder.empty()) return true;
  std::error_code why =
      llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all);
  if (!why) return true;
  notes_.push_back(
      llvm::formatv("cannot create the folder of the cost database `{0}`: {1}; measured "
                    "costs are stored in memory only",
                    path_, why.message()));
  return false;
}

void CostDb::open_file() {
  if (!is_usable_cache(path_)) {
    notes_.push_back(llvm::formatv("the cost database `{0}` is not a regular file; measured costs "
                                   "are stored in memory only",
                                   path_));
    return;
  }
  OpenLock lock(path_);
  if (lock.foreign()) {
    notes_.push_back(llvm::formatv("another process holds the lock `{0}.lock`; measured costs are "
                                   "stored in memory only",
                                   path_));
    return;
  }
  Opened opened = try_open();
  if (opened == Opened::Damaged) {
    std::string damage = error_text();
    close();
    if (!set_aside()) return;
    notes_.back() += llvm::formatv(" ({0})", damage);
    opened = try_open();
    if (opened == Opened::Damaged) give_up("cannot use");
  }
}

CostDb::Opened CostDb::try_open() {
  int code =
      sqlite3_open_v2(path_.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return give_up("cannot open"), Opened::Unusable;
  sqlite3_busy_timeout(db_, kBusyMilliseconds);
  Opened schema = prepare_schema();
  if (schema != Opened::Yes) return schema;
  if (!prepare_statements() || (environment_id_ = id_of(environment_)) == 0) {
    if (is_damage(sqlite3_extended_errcode(db_))) return Opened::Damaged;
    return give_up("cannot use"), Opened::Unusable;
  }
  return Opened::Yes;
}

CostDb::Opened CostDb::prepare_schema() {
  execute("PRAGMA journal_mode = WAL"); // unchanged if the file system has no shared memory
  if (is_busy(sqlite3_errcode(db_))) return give_up("cannot use"), Opened::Unusable;
  execute("PRAGMA synchronous = NORMAL");
  int code = SQLITE_OK;
  sqlite3_stmt* check = nullptr;
  bool intact =
      sqlite3_prepare_v2(db_, "PRAGMA quick_check(1)", -1, &check, nullptr) == SQLITE_OK &&
      (code = sqlite3_step(check)) == SQLITE_ROW && column_text(check, 0) == "ok";
  sqlite3_finalize(check);
  if (!intact && (code == SQLITE_ROW || is_damage(sqlite3_extended_errcode(db_))))
    return Opened::Damaged;
  if (!intact) return give_up("cannot read"), Opened::Unusable;

  std::optional<int64_t> version = query_number(db_, "PRAGMA user_version", code);
  std::optional<int64_t> owner = query_number(db_, "PRAGMA application_id", code);
  if (!version || !owner) return give_up("cannot read"), Opened::Unusable;
  if (*owner == kApplicationId && *version == kSchemaVersion) return Opened::Yes;
  std::optional<int64_t> tables = query_number(db_, "SELECT count(*) FROM sqlite_master", code);
  if (tables != 0) {
    notes_.push_back(llvm::formatv(
        "the cost database `{0}` is {1}; measured costs are stored in memory only", path_,
        *owner != kApplicationId
            ? std::string("a database of another program")
            : llvm::formatv("of version {0}, not {1}", *version, kSchemaVersion).str()));
    close();
    return Opened::Unusable;
  }
  std::string create = llvm::formatv("BEGIN IMMEDIATE; {0} PRAGMA application_id = {1}; "
                                     "PRAGMA user_version = {2}; COMMIT",
                                     kSchema, kApplicationId, kSchemaVersion);
  if (!execute(create.c_str())) return give_up("cannot write"), Opened::Unusable;
  return Opened::Yes;
}

bool CostDb::prepare_statements() {
  return execute(kSpread) && execute(kYardstick) &&
         sqlite3_prepare_v2(db_, kStoreSpread, -1, &store_spread_, nullptr) == SQLITE_OK &&
         sqlite3_prepare_v2(db_, kFind, -1, &find_, nullptr) == SQLITE_OK &&
         sqlite3_prepare_v2(db_, kStore, -1, &store_, nullptr) == SQLITE_OK;
}

int64_t CostDb::yardstick_id() {
  CostEnvironment yardstick = environment_;
  yardstick.layout = kYardstickLayout;
  if (yardstick_id_ == 0) yardstick_id_ = id_of(yardstick);
  return yardstick_id_;
}

int64_t CostDb::id_of(const CostEnvironment& environment) {
  int64_t id = 0;
  for (const char* sql : {kAddEnvironment, kFindEnvironment}) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) return 0;
    int at = 1;
    for (llvm::StringRef text :
         {llvm::StringRef(environment.processor), llvm::StringRef(environment.instruction_set),
          llvm::StringRef(environment.library), llvm::StringRef(environment.layout),
          llvm::StringRef(environment.dtype)})
      bind_text(statement, at++, text);
    sqlite3_bind_int(statement, at, environment.threads);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) id = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return 0;
  }
  return id;
}

bool CostDb::set_aside() {
  std::string aside;
  for (int n = 1; n == 1 || llvm::sys::fs::exists(aside); ++n)
    aside = llvm::formatv("{0}.damaged-{1}", path_, n);
  if (std::error_code why = llvm::sys::fs::rename(path_, aside)) {
    notes_.push_back(llvm::formatv("the cost database `{0}` is damaged and cannot be renamed: {1}; "
                                   "measured costs are stored in memory only",
                                   path_, why.message()));
    return false;
  }
  for (const char* suffix : {"-wal", "-shm"}) (void)llvm::sys::fs::remove(path_ + suffix);
  notes_.push_back(
      llvm::formatv("the cost database `{0}` is damaged and was renamed to `{1}`", path_, aside));
  return true;
}

bool CostDb::execute(const char* sql) {
  return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::optional<double> CostDb::find(llvm::StringRef instance) {
  std::optional<CostRow> row = find_row(instance);
  return row ? std::optional<double>(row->microseconds) : std::nullopt;
}

std::optional<CostRow> CostDb::find_row(llvm::StringRef instance) {
  if (auto known = known_.find(instance); known != known_.end()) return known->second;
  if (!db_) return std::nullopt;
  sqlite3_bind_int64(find_, 1, environment_id_);
  bind_text(find_, 2, instance);
  int code = sqlite3_step(find_);
  std::optional<CostRow> row;
  if (code == SQLITE_ROW) row = row_found(instance);
  sqlite3_reset(find_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) give_up("cannot read");
  if (row) known_[instance] = *row;
  return row;
}

/// Returns the current row of find_; nullopt if its price is invalid,
/// because a cache may hold anything.
std::optional<CostRow> CostDb::row_found(llvm::StringRef instance) {
  int type = sqlite3_column_type(find_, 0);
  double price = sqlite3_column_double(find_, 0);
  if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(price >= 0 && price <= kMaxPrice)) {
    if (ignored_++ == 0)
      notes_.push_back(
          llvm::formatv("the cost database `{0}` has a price for {1} that is not a number "
                        "from 0 to 1e15; it is not used",
                        path_, instance));
    return std::nullopt;
  }
  CostRow row{instance.str(), price, column_text(find_, 1)};
  double low = sqlite3_column_double(find_, 2), high = sqlite3_column_double(find_, 3);
  if (!(low >= 0 && low <= high && high <= kMaxPrice)) return row; // no interval, or an invalid one
  row.low_us = low;
  row.high_us = high;
  row.runs = sqlite3_column_int(find_, 4);
  return row;
}

double CostDb::yardstick() {
  if (!db_) return 0;
  constexpr const char* kSql = "SELECT microseconds FROM usual_yardstick WHERE environment = ?1";
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db_, kSql, -1, &statement, nullptr) != SQLITE_OK) return 0;
  sqlite3_bind_int64(statement, 1, yardstick_id());
  double usual = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_double(statement, 0) : 0;
  sqlite3_finalize(statement);
  return usual > 0 && usual <= kMaxPrice ? usual : 0;
}

void CostDb::store_yardstick(double microseconds) {
  if (!db_ || !(microseconds > 0)) return;
  constexpr const char* kSql = "INSERT OR REPLACE INTO usual_yardstick VALUES (?1, ?2)";
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, kSql, -1, &statement, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_bind_int64(statement, 1, yardstick_id());
    sqlite3_bind_double(statement, 2, microseconds);
    code = sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  if (code != SQLITE_DONE) give_up("cannot write");
}

std::vector<std::pair<std::string, CostRow>> CostDb::rows_of_all_layouts() {
  std::vector<std::pair<std::string, CostRow>> rows;
  sqlite3_stmt* statement = nullptr;
  if (!db_ || sqlite3_prepare_v2(db_, kFindAlike, -1, &statement, nullptr) != SQLITE_OK)
    return rows;
  sqlite3_bind_int64(statement, 1, environment_id_);
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    double price = sqlite3_column_double(statement, 2);
    if (price >= 0 && price <= kMaxPrice)
      rows.push_back({column_text(statement, 0), {column_text(statement, 1), price, ""}});
  }
  sqlite3_finalize(statement);
  if (code != SQLITE_DONE) give_up("cannot read");
  return rows;
}

void CostDb::forget(llvm::StringRef instance, llvm::StringRef implementation) {
  if (!db_) return;
  constexpr const char* kSql =
      "DELETE FROM cost WHERE substr(instance, 1, length(?2)) = ?2 AND substr(implementation, 1, "
      "length(?3)) = ?3 AND environment IN (SELECT id FROM environment WHERE processor = ?1)";
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, kSql, -1, &statement, nullptr);
  if (code == SQLITE_OK) {
    bind_text(statement, 1, environment_.processor);
    bind_text(statement, 2, instance);
    bind_text(statement, 3, implementation);
    code = sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  constexpr const char* kOrphans = "DELETE FROM spread WHERE NOT EXISTS (SELECT 1 FROM cost WHERE "
                                   "cost.environment = spread.environment AND cost.instance = "
                                   "spread.instance)";
  if (code != SQLITE_DONE || !execute(kOrphans)) return give_up("cannot write");
  known_.clear();
}

void CostDb::remember(llvm::ArrayRef<CostRow> rows) {
  for (const CostRow& row : rows) known_[row.instance] = row;
}

void CostDb::store(llvm::ArrayRef<CostRow> rows) {
  remember(rows);
  if (!db_ || rows.empty() || write(rows)) return;
  give_up("cannot write");
}

bool CostDb::write(llvm::ArrayRef<CostRow> rows) {
  if (!execute("BEGIN IMMEDIATE")) return false;
  for (const CostRow& row : rows) {
    sqlite3_bind_int64(store_, 1, environment_id_);
    bind_text(store_, 2, row.instance);
    sqlite3_bind_double(store_, 3, row.microseconds);
    bind_text(store_, 4, row.implementation);
    int code = sqlite3_step(store_);
    sqlite3_reset(store_);
    if (code != SQLITE_DONE || !write_spread(row)) return false;
  }
  return execute("COMMIT");
}

bool CostDb::write_spread(const CostRow& row) {
  if (row.runs == 0) return true;
  sqlite3_bind_int64(store_spread_, 1, environment_id_);
  bind_text(store_spread_, 2, row.instance);
  sqlite3_bind_double(store_spread_, 3, row.low_us);
  sqlite3_bind_double(store_spread_, 4, row.high_us);
  sqlite3_bind_int(store_spread_, 5, row.runs);
  int code = sqlite3_step(store_spread_);
  sqlite3_reset(store_spread_);
  return code == SQLITE_DONE;
}

} // namespace tg
