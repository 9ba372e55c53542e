// Tests the cost database: rows persist, environments are separate, and work continues
// with any damaged file.
#include "runtime/measure/cost_db.h"

#include "lang/core/version.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace tg {
namespace {

class CostDbTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-cost-db", folder_));
    path = folder_.str().str() + "/sub/costs.db";
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }

  std::string folder() const { return folder_.str().str(); }
  std::unique_ptr<CostDb> open(int threads = 1) const {
    return CostDb::open(path, {"cpu", "avx9", "lib 1", "native", "f32", threads});
  }
  /// Writes a file with this text at the database's path.
  void put(llvm::StringRef text) const {
    (void)llvm::sys::fs::create_directories(folder() + "/sub");
    std::ofstream(path) << text.str();
  }
  std::string read_file() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string path;

private:
  llvm::SmallString<128> folder_;
};

TEST_F(CostDbTest, RowsComeBackInTheNextProcess) {
  {
    auto db = open();
    EXPECT_TRUE(db->persistent());
    EXPECT_TRUE(db->notes().empty()) << db->notes().front();
    EXPECT_EQ(db->find("relu(f32[8])"), std::nullopt);
    db->store({{"relu(f32[8])", 1.5, "jit"}, {"it's \"odd\"", 2.5, ""}});
    EXPECT_EQ(db->find("relu(f32[8])"), 1.5);
    db->store({{"relu(f32[8])", 1.25, "jit"}});
  }
  auto db = open();
  EXPECT_EQ(db->find("relu(f32[8])"), 1.25) << "the last one counts";
  EXPECT_EQ(db->find("it's \"odd\""), 2.5);
}

TEST_F(CostDbTest, KeepsHowSureATimeIs) {
  open()->store({{"sure", 2, "kernel", 1.9, 2.1, 15}, {"unsure", 3, "kernel"}});
  auto db = open();
  auto sure = db->find_row("sure"), unsure = db->find_row("unsure");
  ASSERT_TRUE(sure && unsure);
  EXPECT_EQ(sure->implementation, "kernel");
  EXPECT_EQ(sure->low_us, 1.9);
  EXPECT_EQ(sure->high_us, 2.1);
  EXPECT_EQ(sure->runs, 15);
  EXPECT_EQ(unsure->runs, 0);
}

TEST_F(CostDbTest, RemembersPricesOnlyInTheProcess) {
  {
    auto db = open();
    db->store({{"kept", 1, "jit"}});
    db->remember({{"passing", 2, "jit"}});
    EXPECT_EQ(db->find("passing"), 2);
  }
  auto db = open();
  EXPECT_EQ(db->find("kept"), 1);
  EXPECT_EQ(db->find("passing"), std::nullopt);
}

TEST_F(CostDbTest, KeepsTheYardstickOfAMachine) {
  EXPECT_EQ(open()->yardstick(), 0);
  open()->store_yardstick(30);
  open()->store_yardstick(31.5);
  open()->store_yardstick(0); // no yardstick: ignored
  EXPECT_EQ(open()->yardstick(), 31.5) << "the last counts: who keeps it knew of the others";
  EXPECT_EQ(CostDb::open(path, {"cpu", "avx9", "lib 1", "washed 64 MiB", "f32", 1})->yardstick(),
            31.5)
      << "however operators lie";
  EXPECT_EQ(open(2)->yardstick(), 0) << "each number of threads has its own";
  EXPECT_EQ(CostDb::open(path, {"cpu", "avx2", "lib 1", "native", "f32", 1})->yardstick(), 0)
      << "and each instruction set";
}

TEST_F(CostDbTest, EnvironmentsAreApart) {
  open(1)->store({{"x", 1, ""}});
  EXPECT_EQ(open(2)->find("x"), std::nullopt);
  EXPECT_EQ(open(1)->find("x"), 1);
}

/// After an upgrade, prices, plans and tuned programs are measured again, and nothing else happens.
TEST_F(CostDbTest, AnotherReleaseFindsNothingAndBeginsAnew) {
  open()->store({{"relu(f32[8])", 1.5, "jit"}});
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &file), SQLITE_OK);
  std::string older =
      llvm::formatv("UPDATE environment SET library = replace(library, 'tangram {0}', "
                    "'tangram 0.0.9')",
                    kProgramVersion);
  ASSERT_EQ(sqlite3_exec(file, older.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_changes(file), 1);
  sqlite3_close(file);
  auto db = open();
  EXPECT_TRUE(db->notes().empty());
  EXPECT_EQ(db->find("relu(f32[8])"), std::nullopt);
  EXPECT_TRUE(db->rows_of_all_layouts().empty());
  db->store({{"relu(f32[8])", 2.5, "jit"}});
  EXPECT_EQ(open()->find("relu(f32[8])"), 2.5);
}

TEST_F(CostDbTest, ADamagedFileIsReportedAndSetAside) {
  put("this file is not a database, but it is as long as the header of one, with this many words.");
  for (int n = 1; n <= 2; ++n) {
    auto db = open();
    ASSERT_EQ(db->notes().size(), 1u);
    EXPECT_NE(db->notes()[0].find("is damaged and was renamed to"), std::string::npos)
        << db->notes()[0];
    EXPECT_TRUE(llvm::sys::fs::exists(path + ".damaged-" + std::to_string(n)));
    EXPECT_TRUE(db->persistent());
    db->store({{"x", 4, ""}});
    db.reset();
    EXPECT_EQ(open()->find("x"), 4);
    put("damaged again, and this text must be longer than the hundred bytes of a header, so: "
        "..........");
  }
}

TEST_F(CostDbTest, NoDamageOfAByteOrAnEndEndsTheProgram) {
  {
    auto db = open();
    std::vector<CostRow> rows;
    for (int i = 0; i < 200; ++i) rows.push_back({"row " + std::to_string(i), double(i), "k"});
    db->store(rows);
  }
  std::string whole = read_file();
  ASSERT_GT(whole.size(), 4096u);
  for (size_t i = 0; i < 120; ++i) {
    std::string bad = whole;
    size_t at = (i * 7919) % bad.size();
    if (i % 3 == 0)
      bad.resize(at);
    else
      for (size_t k = at; k < std::min(at + 64, bad.size()); ++k)
        bad[k] = static_cast<char>(k * 31 + i);
    put(bad);
    auto db = open();
    (void)db->find("row 77");
    db->store({{"new", 1, ""}});
    EXPECT_EQ(db->find("new"), 1) << i;
  }
}

TEST_F(CostDbTest, APlaceThatCannotBeWrittenIsReported) {
  put("");
  path += "/below/a/file.db";
  auto db = open();
  EXPECT_FALSE(db->persistent());
  ASSERT_EQ(db->notes().size(), 1u);
  EXPECT_NE(db->notes()[0].find("cannot create the folder"), std::string::npos) << db->notes()[0];
  db->store({{"x", 1, ""}});
  EXPECT_EQ(db->find("x"), 1) << "in memory";
}

TEST_F(CostDbTest, AFolderInItsPlaceIsReported) {
  (void)llvm::sys::fs::create_directories(path);
  auto db = open();
  EXPECT_FALSE(db->persistent());
  ASSERT_EQ(db->notes().size(), 1u);
  EXPECT_NE(db->notes()[0].find("is not a regular file"), std::string::npos) << db->notes()[0];
}

TEST_F(CostDbTest, OtherVersionsAndOtherProgramsAreLeftAlone) {
  for (const char* sql : {"CREATE TABLE t (x); PRAGMA user_version = 1",
                          "CREATE TABLE t (x); PRAGMA application_id = 1952932708; "
                          "PRAGMA user_version = 99"}) {
    (void)llvm::sys::fs::create_directories(folder() + "/sub");
    (void)llvm::sys::fs::remove(path);
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    auto db = open();
    EXPECT_FALSE(db->persistent());
    ASSERT_EQ(db->notes().size(), 1u);
    EXPECT_NE(db->notes()[0].find("stored in memory only"), std::string::npos);
    EXPECT_FALSE(llvm::sys::fs::exists(path + ".damaged-1"));
  }
}

TEST_F(CostDbTest, TwoProcessesWriteAtOnce) {
  constexpr int kProcesses = 4, kRows = 50;
  open(); // creates the schema first, so that this test has no race for it; a test below has
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto db = open();
      for (int i = 0; i < kRows; ++i)
        db->store({{"p" + std::to_string(p) + "r" + std::to_string(i), 1, ""}, {"common", 2, ""}});
      _exit(db->persistent() && db->notes().empty() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto db = open();
  for (int p = 0; p < kProcesses; ++p)
    for (int i = 0; i < kRows; ++i)
      EXPECT_EQ(db->find("p" + std::to_string(p) + "r" + std::to_string(i)), 1);
  EXPECT_EQ(db->find("common"), 2);
}

TEST_F(CostDbTest, ManyProcessesMakeOrReplaceOneFile) {
  put("rubbish that is not a database at all, and longer than the header, which has a hundred "
      "bytes");
  std::vector<pid_t> children;
  for (int p = 0; p < 6; ++p) {
    pid_t pid = fork();
    if (pid == 0) {
      auto db = open();
      db->store({{"p" + std::to_string(p), 1, ""}});
      _exit(db->persistent() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto db = open();
  for (int p = 0; p < 6; ++p) EXPECT_EQ(db->find("p" + std::to_string(p)), 1) << p;
  EXPECT_FALSE(llvm::sys::fs::exists(path + ".damaged-2")) << "set aside once";
}

TEST(CostDbPath, FollowsTheCacheFolder) {
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  std::string cache = std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "";
  setenv("HOME", "/h", 1);
  setenv("XDG_CACHE_HOME", "/c", 1);
  EXPECT_EQ(default_cost_db_path(), "/c/tangram/costs.db");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cost_db_path(), "/h/.cache/tangram/costs.db");
  unsetenv("HOME");
  EXPECT_EQ(default_cost_db_path(), "");
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
  cache.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", cache.c_str(), 1);
}

TEST(CostDbPath, WithoutOneCostsAreKeptInMemory) {
  auto db = CostDb::open("", {});
  EXPECT_FALSE(db->persistent());
  EXPECT_EQ(db->notes().size(), 1u);
  db->store({{"x", 1, ""}});
  EXPECT_EQ(db->find("x"), 1);
}

} // namespace
} // namespace tg
