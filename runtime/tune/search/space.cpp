// Random programs: every prime factor of a loop is assigned to a random level.
#include "runtime/tune/search/space.h"

#include "runtime/tune/factors.h"

namespace tg::tune {

namespace {

constexpr int kDraws = 1000; // until one is legal: of large operators one in a hundred is

template <size_t N>
void move_prime(std::array<int64_t, N>& factors, size_t from, size_t to, size_t which) {
  int64_t left = factors[from];
  std::vector<int64_t> primes;
  while (left > 1) {
    primes.push_back(split_by_least_prime(left)[1]);
    left /= primes.back();
  }
  if (primes.empty()) return;
  int64_t prime = primes[which % primes.size()];
  factors[from] /= prime;
  factors[to] *= prime;
}

template <size_t N, class Random>
std::array<int64_t, N> scatter(int64_t length, size_t first, Random& random) {
  std::array<int64_t, N> factors;
  factors.fill(1);
  while (length > 1) {
    int64_t prime = split_by_least_prime(length)[1];
    factors[first + random() % (N - first)] *= prime;
    length /= prime;
  }
  return factors;
}

int64_t length_of(const Operator& op, Sketch sketch, size_t stage) {
  return sketch == Sketch::CrossThread ? product(op.reduction) : flat_stages(op)[stage].length;
}

} // namespace

ProgramSpace::ProgramSpace(const Operator& op, const DeviceLimits& limits, uint64_t seed)
    : op_(op), nest_(nest_of(op)), limits_(limits), sketches_(sketches_of(op)), random_(seed) {}

ProgramSpace::ProgramSpace(const Operator& op, const Device& device, uint64_t seed)
    : ProgramSpace(op, device.limits(), seed) {
  device_ = &device;
}

int64_t ProgramSpace::random_divisor(int64_t number) {
  std::vector<int64_t> all = divisors(number);
  return all[below(all.size())];
}

Program ProgramSpace::draw() {
  Program program{op_, sketches_[below(sketches_.size())], {}, {}};
  if (program.sketch == Sketch::Tiles || program.sketch == Sketch::TilesAndFlat) {
    Tile& tile = program.tile;
    for (int64_t extent : nest_.space) tile.space.push_back(scatter<5>(extent, 0, random_));
    for (size_t r = 0; r < nest_.reduction.size(); ++r)
      tile.reduction.push_back(
          scatter<3>(nest_.reduction[r], nest_.load_axis == r ? 0 : 1, random_));
    tile.unroll = kUnrollSteps[below(kUnrollSteps.size())];
    for (size_t i = 0; i < nest_.inputs.size(); ++i)
      tile.vectors.push_back(kVectors[below(kVectors.size())]);
  }
  size_t stages = program.sketch == Sketch::Tiles         ? 0
                  : program.sketch == Sketch::CrossThread ? 1
                                                          : flat_stages(op_).size();
  for (size_t stage = 0; stage < stages; ++stage)
    program.threads.push_back(random_divisor(length_of(op_, program.sketch, stage)));
  return program;
}

void ProgramSpace::change(Program& program) {
  Tile& tile = program.tile;
  size_t loops = tile.space.size() + tile.reduction.size();
  size_t choice = below(loops == 0 ? 1 : loops + 2 + program.threads.size());
  if (loops == 0 || choice >= loops + 2) {
    size_t stage = below(program.threads.size());
    program.threads[stage] = random_divisor(length_of(op_, program.sketch, stage));
  } else if (choice < tile.space.size()) {
    move_prime(tile.space[choice], below(5), below(5), random_());
  } else if (choice < loops) {
    size_t r = choice - tile.space.size(), first = nest_.load_axis == r ? 0 : 1;
    move_prime(tile.reduction[r], first + below(3 - first), first + below(3 - first), random_());
  } else if (choice == loops) {
    tile.unroll = kUnrollSteps[below(kUnrollSteps.size())];
  } else {
    tile.vectors[below(tile.vectors.size())] = kVectors[below(kVectors.size())];
  }
}

std::optional<Program> ProgramSpace::random() {
  for (int i = 0; i < kDraws; ++i)
    if (Program program = adapted(draw()); is_legal(program)) return program;
  return {};
}

std::optional<Program> ProgramSpace::mutated(const Program& program) {
  for (int i = 0; i < kDraws; ++i) {
    Program changed = program;
    for (size_t n = 1 + below(3); n-- > 0;) change(changed);
    changed = adapted(std::move(changed));
    if (changed != program && is_legal(changed)) return changed;
  }
  return {};
}

std::optional<Program> ProgramSpace::crossed(const Program& a, const Program& b) {
  if (a.sketch != b.sketch) return {};
  Program child = a;
  auto take = [&](auto& mine, const auto& others) {
    for (size_t i = 0; i < mine.size(); ++i)
      if (below(2)) mine[i] = others[i];
  };
  take(child.tile.space, b.tile.space);
  take(child.tile.reduction, b.tile.reduction);
  take(child.tile.vectors, b.tile.vectors);
  take(child.threads, b.threads);
  if (below(2)) child.tile.unroll = b.tile.unroll;
  child = adapted(std::move(child));
  if (!is_legal(child)) return {};
  return child;
}

} // namespace tg::tune
