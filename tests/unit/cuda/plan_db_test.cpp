// Tests plans that are stored across runs: by GPU, driver and library version,
// in one file with costs.
#include "runtime/cuda/tuning/plan_db.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <gtest/gtest.h>

namespace tg::test {
namespace {

using cuda::PlanDb;
using cuda::PlanEnvironment;

const PlanEnvironment kHere = {"GPU, sm_90", "driver 13.0", "cuBLASLt 13.0"};

struct PlanDbTest : testing::Test {
  llvm::SmallString<128> folder;
  std::string path;
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-plans", folder));
    path = (folder + "/costs.db").str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
};

TEST_F(PlanDbTest, OutlivesTheProcess) {
  PlanDb::open(path, kHere)->store("matmul 5x7x3", {"algorithm 4", 2.5, 2.25, 3, 17});
  auto db = PlanDb::open(path, kHere);
  auto found = db->find("matmul 5x7x3");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->plan, "algorithm 4");
  EXPECT_EQ(found->microseconds, 2.5);
  EXPECT_EQ(found->low_us, 2.25);
  EXPECT_EQ(found->high_us, 3);
  EXPECT_EQ(found->runs, 17);
  EXPECT_FALSE(db->find("matmul 5x7x4"));
  EXPECT_EQ(db->hits(), 1u);
}

TEST_F(PlanDbTest, AnotherGpuDriverOrLibraryStartsAnew) {
  PlanDb::open(path, kHere)->store("matmul", {"algorithm 4", 2.5});
  for (PlanEnvironment other : {PlanEnvironment{"GPU 2, sm_90", kHere.driver, kHere.library},
                                PlanEnvironment{kHere.gpu, "driver 12.4", kHere.library},
                                PlanEnvironment{kHere.gpu, kHere.driver, "cuBLASLt 12.4"}})
    EXPECT_FALSE(PlanDb::open(path, other)->find("matmul"));
}

TEST_F(PlanDbTest, CostsOfTheSameFileAreApart) {
  CostEnvironment costs{kHere.gpu, kHere.driver, kHere.library, "native", "", 1};
  CostDb::open(path, costs)->store(CostRow{"matmul", 1, "cublaslt"});
  EXPECT_FALSE(PlanDb::open(path, kHere)->find("matmul"));
  PlanDb::open(path, kHere)->store("matmul", {"algorithm 4", 2.5});
  EXPECT_EQ(CostDb::open(path, costs)->find("matmul"), 1);
}

TEST_F(PlanDbTest, WithoutAFolderPlansLiveInMemory) {
  auto db = PlanDb::open("", kHere);
  db->store("matmul", {"algorithm 4", 2.5});
  EXPECT_TRUE(db->find("matmul"));
  db->reject("matmul", "there is no algorithm 4");
  EXPECT_EQ(db->notes().back(), "the plan for `matmul` is not used: there is no algorithm 4");
  EXPECT_FALSE(db->find("matmul")) << "forgotten";
  db->store("matmul", {"algorithm 5", 2.5});
  EXPECT_TRUE(db->find("matmul"));
}

TEST_F(PlanDbTest, ADamagedFileIsSetAsideWithANote) {
  ASSERT_FALSE(llvm::sys::fs::create_directories(folder));
  std::error_code code;
  { llvm::raw_fd_ostream(path, code) << std::string(4096, 'x'); }
  auto db = PlanDb::open(path, kHere);
  EXPECT_FALSE(db->find("matmul"));
  ASSERT_FALSE(db->notes().empty());
  EXPECT_NE(db->notes().front().find("damaged"), std::string::npos);
  db->store("matmul", {"algorithm 4", 2.5});
  EXPECT_TRUE(PlanDb::open(path, kHere)->find("matmul"));
}

} // namespace
} // namespace tg::test
