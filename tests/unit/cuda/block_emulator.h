// Executes the device form of kernels on the processor. The threads of a block run one
// at a time, each up to a barrier of its block (__syncthreads) or its warp (a shuffle).
// Tests choose the order of the threads that can continue. If a barrier is missing,
// there is an order in which one thread always overwrites a value that another has not read yet.
// The threads of all blocks of a cluster run in the same way; each block has its own shared memory.
//
// The functions have the signatures of those for the processor, so that a HostRun can call them.
// Half types are not supported, because their conversions are PTX.
#pragma once

#include "tests/unit/cuda/cpp_target.h"

namespace tg::test {

/// The next thread: the lowest, the highest, or warps and their threads in a mixed order.
enum class TurnOrder : uint8_t { Ascending, Descending, Mixed };

inline constexpr const char* kBlockEmulator = R"(
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

struct tg_index_of { int x; };
tg_index_of threadIdx, blockIdx, gridDim;

namespace block {
enum Place { kReady, kAtWarp, kAtBlock, kAtCluster, kDone };
constexpr int kWarp = 32, kStack = 1 << 16, kMostBlocks = 8;
struct Thread { ucontext_t context; Place place; std::vector<char> stack; };
std::vector<Thread> threads;
std::vector<int> turns;
ucontext_t scheduler;
void (*body)(void**);
void** parameters;
int order = 0;
int running = 0, block_size = 0, first_block = 0, cluster = 1;

void wait(Place place) {
  Thread& self = threads[running];
  self.place = place;
  swapcontext(&self.context, &scheduler);
}
void start() {
  body(parameters);
  threads[running].place = kDone;
}
/// Where another block of the cluster has what this one has at `place`, in arrays of so many.
const float* of_rank(const float* place, int rank, int count) {
  return place + (rank - blockIdx.x % cluster) * count;
}
int place_of(int turn, int count) {
  if (order == 1) return count - 1 - turn;
  int warps = count / kWarp, lane = turn % kWarp;
  if (order == 0 || count % kWarp != 0) return turn;
  return (turn / kWarp * 7 + 3) % warps * kWarp + (lane * 13 + 5) % kWarp;
}
/// Opens a barrier at which all of these threads are.
void open(Place place, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    if (threads[i].place != place) return;
  for (size_t i = begin; i < end; ++i) threads[i].place = kReady;
}
bool turn() {
  for (int i : turns) {
    if (threads[i].place != kReady) continue;
    running = i;
    threadIdx.x = i % block_size;
    blockIdx.x = first_block + i / block_size;
    swapcontext(&scheduler, &threads[i].context);
    if (size_t warp = i / kWarp * kWarp; threads[i].place == kAtWarp && warp + kWarp <= threads.size())
      open(kAtWarp, warp, warp + kWarp);
    size_t own = i / block_size * block_size;
    if (threads[i].place == kAtBlock) open(kAtBlock, own, own + block_size);
    if (threads[i].place == kAtCluster) open(kAtCluster, 0, threads.size());
    return true;
  }
  return false;
}
void run(int size, int blocks) {
  const int count = size * blocks;
  block_size = size;
  cluster = blocks;
  threads.resize(count);
  turns.clear();
  for (int i = 0; i < count; ++i) {
    turns.push_back(place_of(i, count));
    Thread& t = threads[i];
    t.place = kReady;
    t.stack.resize(kStack);
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack.data();
    t.context.uc_stack.ss_size = kStack;
    t.context.uc_link = &scheduler;
    makecontext(&t.context, start, 0);
  }
  while (turn()) {}
  for (const Thread& t : threads)
    if (t.place != kDone) { std::fputs("threads wait for each other\n", stderr); std::abort(); }
}
} // namespace block

/// Named as every kernel is: by it tests choose the order.
extern "C" void tg_turn_order(void**, int order) { block::order = order; }
#define __syncthreads() block::wait(block::kAtBlock)
template <class T> T __shfl_xor_sync(unsigned, T x, int apart) {
  static T lanes[1024];
  const int own = threadIdx.x;
  lanes[own] = x;
  block::wait(block::kAtWarp);
  T other = lanes[own ^ apart];
  block::wait(block::kAtWarp);
  return other;
}
static float __int_as_float(int bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static unsigned long __cvta_generic_to_shared(const void*) { return 0; }
#define __CUDA_ARCH__ 900
#define __CUDACC_RTC__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(bytes)
#define asm(...)
)";

/// Goes after the prelude: clusters for the emulator.
inline constexpr const char* kClusterEmulator = R"(
#undef TG_CLUSTER
#undef TG_CLUSTER_BARRIER
#undef TG_SHARED
#define TG_CLUSTER(count)
#define TG_CLUSTER_BARRIER block::wait(block::kAtCluster)
#define TG_SHARED(type, name, count)             \
  static type name##_of[block::kMostBlocks][count]; \
  type* const name = name##_of[blockIdx.x % block::kMostBlocks]
#define tg_of_rank(place, rank) \
  *block::of_rank(place, rank, sizeof part_of[0] / sizeof part_of[0][0])
)";

/// Returns the kernel's text with a function that runs the threads of its blocks.
inline std::string emulated_text(const cuda::KernelSource& source) {
  std::string text = cuda::function_text(source);
  size_t name = text.find(source.name);
  text = "static void device_" + text.substr(name) + "static void call_" + source.name +
         "(void** parameters) {\n  device_" + source.name + "(";
  llvm::SmallVector<llvm::StringRef, 16> types;
  llvm::StringRef(source.parameters).split(types, ", ");
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", (" : "(") + types[i].str() + ")parameters[" + std::to_string(i) + "]";
  std::string cluster = std::to_string(source.cluster);
  return text + ");\n}\nextern \"C\" void " + source.name +
         "(void** parameters, int blocks) {\n"
         "  block::body = call_" +
         source.name + ";\n  block::parameters = parameters;\n  gridDim.x = (blocks + " + cluster +
         " - 1) / " + cluster + " * " + cluster +
         ";\n  for (block::first_block = 0; block::first_block < gridDim.x; block::first_block "
         "+= " +
         cluster + ")\n    block::run(" + std::to_string(source.threads) + ", " + cluster +
         ");\n}\n";
}

inline std::string emulated_prelude() {
  return kBlockEmulator + cuda::prelude_text() + kClusterEmulator;
}

} // namespace tg::test
