// Fixtures for tests of the tuner's programs: a device that checks legality and runs nothing, and a
// folder with a database.
#pragma once

#include "runtime/cpu/tuning/operator_programs.h"
#include "runtime/cpu/tuning/tuned_programs.h"
#include "runtime/tune/device.h"

#include <gtest/gtest.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <functional>
#include <set>

namespace tg::cpu {

/// Checks legality and the form of drawn programs. `time` returns a program's time.
/// Without it, each program takes longer than the one before.
class ProgramRules final : public tune::Device {
public:
  explicit ProgramRules(const OperatorPrograms& programs,
                        std::function<double(const tune::Program&)> time = {})
      : programs_(programs), time_(std::move(time)) {}
  std::string name() const override { return "rules"; }
  tune::DeviceLimits limits() const override {
    constexpr int64_t kNone = int64_t{1} << 40;
    return {1 << 20, kNone, kNone, kNone};
  }
  std::string why_not(const tune::Program& program, const tune::Nest&) const override {
    return programs_.why_not(program);
  }
  tune::Program adapted(tune::Program program) const override {
    return programs_.adapted(std::move(program));
  }
  tune::Extents choose_block(const tune::Operator&, const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override {
    return programs_.choose_block(nest, points, cost);
  }
  std::optional<tune::ThreadShape> choose_threads(const tune::Operator&, const tune::Nest&,
                                                  const tune::Extents& block, const tune::Extents&,
                                                  int64_t threads) const override {
    return programs_.choose_threads(block, threads);
  }
  std::optional<double> measure(const tune::Program& program) override {
    tried.insert(tune::text(program));
    return 1 + (time_ ? time_(program) : static_cast<double>(tried.size()));
  }
  std::set<std::string> tried;

private:
  const OperatorPrograms& programs_;
  std::function<double(const tune::Program&)> time_;
};

class TunedFolder : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tangram-tuned", folder_));
    path = folder_.str().str() + "/costs.db";
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder_); }
  std::shared_ptr<TunedPrograms> open() const { return TunedPrograms::open(path, "some cpu"); }
  std::string path;

private:
  llvm::SmallString<128> folder_;
};

} // namespace tg::cpu
