// A GPU that only records, for networks of any size: device memory is ranges of addresses,
// kernels are names, a call of a library does nothing, and a clock advances by the durations
// of commands. Every address that it receives must be in an allocation.
#pragma once

#include "runtime/cuda/codegen/generate.h"
#include "runtime/cuda/device/device.h"
#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tg::test {

/// The "machine code" is the text. Every text is kept once, without its prelude.
class RecordingCompiler final : public cuda::KernelCompiler {
public:
  std::map<std::string, std::string> functions; // by the kernel's name

  std::string version() const override { return "none"; }
  llvm::ArrayRef<int> capabilities() const override {
    static constexpr int kKnown[] = {90};
    return kKnown;
  }
  Result<cuda::Cubin> compile(const std::string& source, const std::string&) override {
    static const std::string kPrelude = cuda::prelude_text();
    EXPECT_EQ(source.compare(0, kPrelude.size(), kPrelude), 0);
    std::string function = source.substr(kPrelude.size());
    size_t name = function.find("tg_"); // generate.h
    functions.try_emplace(function.substr(name, function.find('(', name) - name), function);
    return function;
  }
  Result<std::string> assembly(const std::string& source, const std::string&) override {
    return source;
  }
};

/// The state that tests read. It outlives the device.
struct GpuRecord {
  struct Launch {
    std::string kernel;
    std::vector<cuda::Address> parameters;
  };
  std::map<std::string, size_t> calls; // "allocate", "launch", ...; also in captures
  /// Counts the calls in the last captured graph.
  std::map<std::string, size_t> captured;
  std::vector<Launch> launches;
  size_t live = 0; // allocations
  /// Returns the microseconds of a kernel by its parameters. If empty, all commands take the same
  /// time.
  std::function<double(llvm::ArrayRef<cuda::Address>)> launch_us;
};

class RecordingGpu final : public cuda::GpuDevice {
public:
  explicit RecordingGpu(GpuRecord& record) : record_(record) {}
  ~RecordingGpu() override { record_.live -= memory_.size() + pinned_.size(); }

  std::string description() const override { return "recording"; }
  std::string architecture() const override { return "sm_90"; }
  int multiprocessors() const override { return 132; }
  int64_t l2_bytes() const override { return int64_t{50} << 20; }
  int64_t memory_bytes() const override { return int64_t{1} << 37; }

  Result<cuda::Address> allocate(int64_t bytes) override {
    note("allocate");
    cuda::Address at = next_;
    memory_[at] = bytes;
    next_ += (static_cast<cuda::Address>(bytes) + kGap) / 256 * 256;
    ++record_.live;
    return at;
  }
  Result<void> release(cuda::Address memory) override {
    note("release");
    record_.live -= memory_.erase(memory);
    return {};
  }
  Result<std::byte*> allocate_pinned(int64_t bytes) override {
    note("allocate_pinned");
    pinned_.push_back(allocate_aligned(bytes));
    ++record_.live;
    return pinned_.back().get();
  }
  Result<cuda::Stream> make_stream() override { return cuda::Stream(0); }
  Result<cuda::Event> make_event() override {
    times_.push_back(0);
    return static_cast<cuda::Event>(times_.size() - 1);
  }
  Result<cuda::Function> load(const cuda::Cubin& cubin, const std::string& kernel) override {
    note("load");
    EXPECT_NE(cubin.find(kernel), std::string::npos);
    kernels_.push_back(kernel);
    return static_cast<cuda::Function>(kernels_.size() - 1);
  }
  Result<cuda::KernelUse> use(cuda::Function) override { return cuda::KernelUse{}; }

  Result<void> copy_in(cuda::Address to, const std::byte*, int64_t bytes, cuda::Stream) override {
    return enqueue("copy_in", to, bytes);
  }
  Result<void> copy_out(std::byte*, cuda::Address from, int64_t bytes, cuda::Stream) override {
    return enqueue("copy_out", from, bytes);
  }
  Result<void> copy(cuda::Address to, cuda::Address from, int64_t bytes, cuda::Stream) override {
    EXPECT_TRUE(holds(from, bytes));
    return enqueue("copy", to, bytes);
  }
  Result<void> fill(cuda::Address at, uint8_t, int64_t bytes, cuda::Stream) override {
    return enqueue("fill", at, bytes);
  }
  Result<void> launch(cuda::Function function, int64_t blocks, int threads,
                      llvm::ArrayRef<cuda::Address> parameters, cuda::Stream) override {
    EXPECT_GT(blocks, 0);
    EXPECT_TRUE(threads > 0 && threads <= 1024) << threads;
    for (cuda::Address parameter : parameters) EXPECT_TRUE(holds(parameter, 1));
    if (capturing_) record_.launches.push_back({kernels_[function], parameters.vec()});
    return enqueue("launch", 0, 0,
                   record_.launch_us ? record_.launch_us(parameters) : kMicroseconds);
  }
  Result<void> run_library(std::function<Result<void>(void*)>, cuda::Stream) override {
    return enqueue("library", 0, 0);
  }
  Result<void> record(cuda::Event event, cuda::Stream) override {
    if (capturing_)
      marks_.push_back({event, captured_us_});
    else
      times_[event] = now_;
    return {};
  }

  Result<void> begin_capture(cuda::Stream) override {
    EXPECT_FALSE(std::exchange(capturing_, true));
    record_.captured.clear();
    record_.launches.clear();
    marks_.clear();
    captured_us_ = 0;
    return {};
  }
  Result<cuda::Graph> end_capture(cuda::Stream) override {
    EXPECT_TRUE(std::exchange(capturing_, false));
    graphs_.push_back({captured_us_, std::move(marks_)});
    return static_cast<cuda::Graph>(graphs_.size() - 1);
  }
  Result<void> release_graph(cuda::Graph graph) override {
    note("release_graph");
    graphs_[graph].microseconds = -1;
    return {};
  }
  Result<void> replay(cuda::Graph graph, cuda::Stream) override {
    note("replay");
    EXPECT_GE(graphs_[graph].microseconds, 0) << "given back";
    for (const Mark& mark : graphs_[graph].marks) times_[mark.event] = now_ + mark.at;
    now_ += graphs_[graph].microseconds;
    return {};
  }
  Result<void> synchronise(cuda::Stream) override {
    EXPECT_FALSE(capturing_) << "a captured stream cannot be waited for";
    note("synchronise");
    return {};
  }
  Result<double> microseconds(cuda::Event from, cuda::Event to) override {
    return times_[to] - times_[from];
  }

private:
  /// The gap between allocations, so that an overrun is in none of them.
  static constexpr cuda::Address kGap = 4096;
  /// The time of all other commands: long against the resolution of events,
  /// so that few copies are captured.
  static constexpr double kMicroseconds = 1000;

  struct Mark { // an event in a graph, in microseconds after its start
    cuda::Event event;
    double at;
  };
  struct OwnGraph {
    double microseconds; // -1: released
    std::vector<Mark> marks;
  };

  bool holds(cuda::Address at, int64_t bytes) const {
    auto after = memory_.upper_bound(at);
    if (after == memory_.begin()) return false;
    auto [begin, size] = *std::prev(after);
    return at + static_cast<cuda::Address>(bytes) <= begin + static_cast<cuda::Address>(size);
  }
  void note(const char* call) { ++record_.calls[call]; }
  Result<void> enqueue(const char* call, cuda::Address at, int64_t bytes,
                       double microseconds = kMicroseconds) {
    EXPECT_TRUE(bytes == 0 || holds(at, bytes)) << call;
    note(call);
    if (capturing_) ++record_.captured[call];
    (capturing_ ? captured_us_ : now_) += microseconds;
    return {};
  }

  GpuRecord& record_;
  std::map<cuda::Address, int64_t> memory_;
  cuda::Address next_ = 1 << 20;
  std::vector<AlignedBuffer> pinned_;
  std::vector<std::string> kernels_;
  std::vector<OwnGraph> graphs_;
  // The state of the graph that is being captured.
  std::vector<Mark> marks_;
  double captured_us_ = 0;
  std::vector<double> times_; // of events
  double now_ = 0;
  bool capturing_ = false;
};

} // namespace tg::test
