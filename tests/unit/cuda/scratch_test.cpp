// Tests times of work on scratch memory: hot, cold, and for work that is too slow to be timed on.
#include "runtime/cuda/tuning/scratch.h"

#include "tests/unit/cuda/fake_gpu.h"

namespace tg::test {
namespace {

struct ScratchTest : testing::Test {
  CppLibrary library;
  FakeGpuLog log;
  FakeGpu gpu{library, log};
  std::set<cuda::Address> seen;

  /// A copy within the memory that takes `takes` microseconds.
  cuda::ScratchTimer::Work work(double takes) {
    log.takes = [takes](const std::string& call) {
      return call == "copy_out" ? takes : call == "fill" ? 30.0 : 0.0;
    };
    return [this](cuda::GpuDevice& device, cuda::Address scratch, cuda::Stream stream) {
      seen.insert(scratch);
      return device.copy_out(out, scratch, sizeof out, stream);
    };
  }
  std::byte out[1000];
};

TEST_F(ScratchTest, IsTheTimeOfOneCopy) {
  for (bool cold : {false, true}) {
    cuda::ScratchTimer timer(gpu, 0, cold);
    seen.clear();
    auto time = timer.time(1000, DType::F16, work(2.5));
    ASSERT_TRUE(time.ok());
    EXPECT_DOUBLE_EQ(*time, 2.5);
    EXPECT_EQ(log.count("fill"), cold ? 1u : 0u);
    EXPECT_EQ(seen.size(), cold ? 16u : 1u) << "copies that find nothing in the cache";
    EXPECT_EQ(*std::next(seen.begin(), seen.size() / 2) % 256, *seen.begin() % 256);
  }
  EXPECT_EQ(log.live_allocations, 0u);
}

TEST_F(ScratchTest, StopsTimingCandidatesFarFromTheBest) {
  cuda::ScratchTimer timer(gpu, 0, false);
  auto hopeless = timer.time(1000, DType::F32, work(5000), /*best=*/100);
  ASSERT_TRUE(hopeless.ok());
  EXPECT_DOUBLE_EQ(*hopeless, 5000);
  EXPECT_EQ(log.count("begin_capture"), 0u);
  ASSERT_TRUE(timer.time(1000, DType::F32, work(150), /*best=*/100).ok());
  EXPECT_GT(log.count("begin_capture"), 0u) << "a launch may be what takes long";
}

TEST_F(ScratchTest, MemoryIsFullOfNumbersOfTheType) {
  cuda::ScratchTimer timer(gpu, 0, false);
  constexpr int64_t kBytes = int64_t{3} << 20; // more than a pattern, and not a power of two
  for (DType dtype : {DType::F32, DType::I64}) {
    ASSERT_TRUE(timer
                    .run(kBytes, dtype,
                         [&](cuda::GpuDevice&, cuda::Address at, cuda::Stream) -> Result<void> {
                           for (int64_t i = 0; i < kBytes / dtype_size(dtype); ++i) {
                             double x =
                                 dtype == DType::F32
                                     ? reinterpret_cast<const float*>(at)[i]
                                     : static_cast<double>(reinterpret_cast<const int64_t*>(at)[i]);
                             if (!(x >= -1 && x <= 1)) return error(Code::internal, "{0}", i);
                           }
                           return {};
                         })
                    .ok());
  }
  EXPECT_LE(log.count("copy_in"), 2u) << "the rest is copied on the device";
}

} // namespace
} // namespace tg::test
