// A GPU that records its calls. Its memory is host memory, its kernels are the C++ forms,
// looked up by name when they are "compiled". While a stream is captured, nothing runs.
// A replay runs the recorded commands in order. Device memory is filled with NaN at allocation,
// and optionally before each replay. The clock advances by the durations in the log,
// so that measurements can be tested.
#pragma once

#include "runtime/cuda/device/device.h"
#include "tests/unit/cuda/cpp_target.h"

#include <functional>
#include <set>

namespace tg::test {

/// The "machine code" is the source. The device finds the kernel by its name.
class SourceCompiler final : public cuda::KernelCompiler {
public:
  std::string version() const override { return "none"; }
  llvm::ArrayRef<int> capabilities() const override { return knows; }
  Result<cuda::Cubin> compile(const std::string& source, const std::string&) override {
    return source;
  }
  Result<std::string> assembly(const std::string& source, const std::string&) override {
    return source;
  }
  std::vector<int> knows = {75, 80, 90};
};

/// The state that tests read. It outlives the device.
struct FakeGpuLog {
  std::vector<std::string> calls; // "allocate", "launch", "replay", ...
  size_t live_allocations = 0, live_graphs = 0;
  /// If true, kernels that were not compiled do nothing, which suffices for timing.
  bool stand_ins = false;
  /// Is called with the parameters of each kernel that runs.
  std::function<void(llvm::ArrayRef<cuda::Address> parameters)> on_launch;
  int64_t memory_bytes = int64_t{1} << 40;
  /// Calls after this many fail, as on a lost GPU.
  size_t fails_after = SIZE_MAX;
  /// Returns the microseconds of a command by name ("launch", "library", "fill", "copy_in", ...):
  /// by default 1, and 0 for an event.
  std::function<double(const std::string& call)> takes = [](const std::string& call) {
    return call == "record" ? 0.0 : 1.0;
  };
  /// Makes libraries faster than generated kernels. Kernels that are only timed need not be
  /// compiled.
  void prefer_libraries() {
    stand_ins = true;
    takes = [](const std::string& call) {
      return call == "record" ? 0.0 : call == "launch" ? 9.0 : 1.0;
    };
  }
  size_t count(const std::string& call) const {
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
  }
};

class FakeGpu final : public cuda::GpuDevice {
public:
  FakeGpu(const CppLibrary& library, FakeGpuLog& log) : library_(library), log_(log) {}
  ~FakeGpu() override { log_.live_allocations -= memory_.size() + pinned_.size(); }

  std::string description() const override { return "fake"; }
  std::string architecture() const override { return "sm_90"; }
  int multiprocessors() const override { return 2; }
  int64_t l2_bytes() const override { return 1 << 16; }
  int64_t memory_bytes() const override { return log_.memory_bytes; }

  Result<cuda::Address> allocate(int64_t bytes) override {
    TG_CHECK(note("allocate"));
    memory_.push_back(allocate_aligned(bytes + 256));
    std::memset(memory_.back().get(), 0xff, static_cast<size_t>(bytes));
    ++log_.live_allocations;
    return reinterpret_cast<cuda::Address>(memory_.back().get());
  }
  Result<void> release(cuda::Address memory) override {
    TG_CHECK(note("release"));
    log_.live_allocations -= std::erase_if(memory_, [&](const AlignedBuffer& buffer) {
      return reinterpret_cast<cuda::Address>(buffer.get()) == memory;
    });
    return {};
  }
  Result<std::byte*> allocate_pinned(int64_t bytes) override {
    TG_CHECK(note("allocate_pinned"));
    pinned_.push_back(allocate_aligned(bytes));
    ++log_.live_allocations;
    return pinned_.back().get();
  }
  Result<cuda::Stream> make_stream() override {
    TG_CHECK(note("stream"));
    return cuda::Stream(0);
  }
  Result<cuda::Event> make_event() override {
    TG_CHECK(note("event"));
    times_.push_back(0);
    return static_cast<cuda::Event>(times_.size() - 1);
  }
  Result<cuda::Function> load(const cuda::Cubin& cubin, const std::string& kernel) override {
    TG_CHECK(note("load"));
    EXPECT_NE(cubin.find("void __launch_bounds__"), std::string::npos);
    functions_.push_back(library_.find(kernel));
    if (!functions_.back() && log_.stand_ins) functions_.back() = [](void**, int) {};
    EXPECT_NE(functions_.back(), nullptr) << kernel;
    return static_cast<cuda::Function>(functions_.size() - 1);
  }
  Result<cuda::KernelUse> use(cuda::Function) override {
    TG_CHECK(note("use"));
    return cuda::KernelUse{40, 0, 0};
  }

  Result<void> copy_in(cuda::Address to, const std::byte* from, int64_t bytes,
                       cuda::Stream) override {
    return enqueue("copy_in", [=] {
      std::memcpy(reinterpret_cast<void*>(to), from, static_cast<size_t>(bytes));
    });
  }
  Result<void> copy_out(std::byte* to, cuda::Address from, int64_t bytes, cuda::Stream) override {
    return enqueue("copy_out", [=] {
      std::memcpy(to, reinterpret_cast<const void*>(from), static_cast<size_t>(bytes));
    });
  }
  Result<void> copy(cuda::Address to, cuda::Address from, int64_t bytes, cuda::Stream) override {
    return enqueue("copy", [=] {
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                  static_cast<size_t>(bytes));
    });
  }
  Result<void> fill(cuda::Address at, uint8_t byte, int64_t bytes, cuda::Stream) override {
    return enqueue("fill", [=] {
      std::memset(reinterpret_cast<void*>(at), byte, static_cast<size_t>(bytes));
    });
  }
  Result<void> launch(cuda::Function function, int64_t blocks, int threads,
                      llvm::ArrayRef<cuda::Address> parameters, cuda::Stream) override {
    EXPECT_GT(blocks, 0);
    EXPECT_GT(threads, 0);
    for (cuda::Address parameter : parameters) EXPECT_NE(parameter, 0u);
    std::vector<cuda::Address> held(parameters.begin(), parameters.end());
    return enqueue("launch", [this, held, function, blocks]() mutable {
      if (log_.on_launch) log_.on_launch(held);
      functions_[function](reinterpret_cast<void**>(held.data()), static_cast<int>(blocks));
    });
  }
  /// Like a library, it refuses at the call, also during a capture.
  Result<void> run_library(std::function<Result<void>(void*)> call, cuda::Stream) override {
    if (capturing_) TG_CHECK(call(nullptr));
    if (capturing_) return enqueue("library", [call] { EXPECT_TRUE(call(nullptr).ok()); });
    TG_CHECK(note("library"));
    now_ += log_.takes("library");
    return call(nullptr);
  }
  Result<void> record(cuda::Event event, cuda::Stream) override {
    return enqueue("record", [this, event] { times_[event] = now_; });
  }

  Result<void> begin_capture(cuda::Stream) override {
    TG_CHECK(note("begin_capture"));
    capturing_ = true;
    recorded_.emplace_back();
    return {};
  }
  Result<cuda::Graph> end_capture(cuda::Stream) override {
    capturing_ = false;
    TG_CHECK(note("end_capture"));
    ++log_.live_graphs;
    return static_cast<cuda::Graph>(recorded_.size() - 1);
  }
  Result<void> release_graph(cuda::Graph graph) override {
    released_.insert(graph);
    --log_.live_graphs;
    return note("release_graph");
  }
  Result<void> replay(cuda::Graph graph, cuda::Stream) override {
    TG_CHECK(note("replay"));
    EXPECT_FALSE(released_.count(graph));
    for (auto& command : recorded_[graph]) command();
    return {};
  }
  Result<void> synchronise(cuda::Stream) override {
    EXPECT_FALSE(capturing_) << "a captured stream cannot be waited for";
    return note("synchronise");
  }
  Result<double> microseconds(cuda::Event from, cuda::Event to) override {
    return times_[to] - times_[from];
  }

private:
  Result<void> note(const char* call) {
    if (log_.calls.size() >= log_.fails_after) return error(Code::device, "the GPU is lost");
    log_.calls.push_back(call);
    return {};
  }
  Result<void> enqueue(const char* call, std::function<void()> command) {
    TG_CHECK(note(call));
    auto timed = [this, name = std::string(call), command = std::move(command)]() mutable {
      command();
      now_ += log_.takes(name);
    };
    if (capturing_)
      recorded_.back().push_back(std::move(timed));
    else
      timed();
    return {};
  }

  const CppLibrary& library_;
  FakeGpuLog& log_;
  std::vector<AlignedBuffer> memory_, pinned_;
  std::vector<CppLibrary::Function> functions_;
  std::vector<std::vector<std::function<void()>>> recorded_;
  std::set<cuda::Graph> released_;
  std::vector<double> times_; // of events
  double now_ = 0;            // microseconds
  bool capturing_ = false;
};

} // namespace tg::test
