// Times undo and redo of one search step. In an e-graph of 100,000 live e-nodes, a step adds 100
// e-nodes and makes 10 merges, whose absorbed classes have 50 users each, and rebuilds; then the
// step is undone and redone. Prints medians over many steps at random places, with warm caches and
// with caches flushed in between.
//
//   undo_bench [--steps N] [--json FILE]
#include "compiler/egraph/egraph.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace {

using namespace tg;

constexpr uint32_t kNodes = 100'000, kNewNodes = 100, kMerges = 10, kUsers = 50;

/// An e-graph of blocks: a hub input that 50 nodes use, each with a second input of its own.
/// Merging two hubs renames 50 nodes and makes no two of them equal.
class World {
public:
  explicit World(std::shared_ptr<Symbols> symbols) : egraph(std::move(symbols)) {
    egraph.reserve(kNodes + 10'000);
    uint32_t leaves = 0;
    while (node_count(egraph) < kNodes) {
      ClassId hub = leaf("h", leaves++);
      hubs.push_back(hub);
      for (uint32_t i = 0; i < kUsers && node_count(egraph) < kNodes; ++i)
        users.push_back(
            add_node(egraph, i % 2 ? OpKind::Sub : OpKind::Mul, {}, {hub, leaf("x", leaves++)}));
    }
    egraph.rebuild();
  }

  ClassId leaf(const char* name, uint32_t number) {
    Symbols& symbols = egraph.symbols();
    return add_node(egraph, OpKind::Input,
                    {symbols.value(Value::of_string(name + std::to_string(number))),
                     symbols.value(Value::of_type(f32({64})))},
                    {});
  }

  EGraph egraph;
  std::vector<ClassId> hubs, users;
};

struct Change {
  uint32_t renamed = 0; // users of absorbed classes
};

Change step(World& world, std::mt19937_64& rng) {
  EGraph& egraph = world.egraph;
  auto any = [&] { return world.users[rng() % world.users.size()]; };
  for (uint32_t nodes = egraph.node_bound() + kNewNodes; egraph.node_bound() < nodes;)
    add_node(egraph, OpKind::Maximum, {}, {any(), any()});
  Change change;
  for (uint32_t i = 0; i < kMerges; ++i) {
    ClassId a = world.hubs[rng() % world.hubs.size()], b = world.hubs[rng() % world.hubs.size()];
    a = egraph.find(a), b = egraph.find(b);
    if (a == b || !canonical(egraph, a)) {
      --i;
      continue;
    }
    change.renamed += std::min(egraph.eclass(a).edge_count, egraph.eclass(b).edge_count);
    egraph.merge(a, b, {0, {0}});
  }
  egraph.rebuild();
  return change;
}

using Clock = std::chrono::steady_clock;

template <class Work> double microseconds(Work work) {
  Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Times {
  std::vector<double> apply, undo, undo_kept, redo;
};

/// Reads 64 MiB to evict the e-graph from the caches.
void flush(std::vector<uint64_t>& junk) {
  junk.resize(size_t{8} << 20);
  for (uint64_t& word : junk) word = word * 3 + 1;
}

void measure(World& world, int steps, bool cold, Times& times, double& renamed) {
  std::mt19937_64 rng(1);
  std::vector<uint64_t> junk;
  Checkpoint start = world.egraph.checkpoint();
  Delta delta;
  for (int i = 0; i < steps; ++i) {
    Change change;
    times.apply.push_back(microseconds([&] { change = step(world, rng); }));
    renamed += change.renamed / static_cast<double>(steps);
    if (cold) flush(junk);
    times.undo_kept.push_back(microseconds([&] { delta = world.egraph.take_back(start); }));
    if (cold) flush(junk);
    bool done = false;
    times.redo.push_back(microseconds([&] { done = world.egraph.redo(delta); }));
    if (!done) llvm::report_fatal_error("a change cannot be redone");
    if (cold) flush(junk);
    times.undo.push_back(microseconds([&] { world.egraph.rollback(start); }));
  }
  world.egraph.release(start);
}

double quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Line {
  const char* what;
  const char* caches;
  double median, p10, p90, goal; // microseconds; goal 0: none
};

Line line(const char* what, std::vector<double>& times, bool cold, double goal) {
  return {what,
          cold ? "cold" : "warm",
          quantile(times, 0.5),
          quantile(times, 0.1),
          quantile(times, 0.9),
          goal};
}

void print(llvm::raw_ostream& out, const Line& l) {
  out << llvm::format("%-24s %s  median %7.1f us  p10 %7.1f  p90 %7.1f", l.what, l.caches, l.median,
                      l.p10, l.p90);
  if (l.goal > 0) out << llvm::format("  goal < %.0f", l.goal);
  out << '\n';
}

void print_json(llvm::raw_ostream& out, llvm::ArrayRef<Line> lines, int steps) {
  out << "[\n";
  for (const Line& l : lines)
    out << llvm::format("  {\"what\": \"%s\", \"caches\": \"%s\", \"steps\": %d, \"median_us\": "
                        "%.2f, \"p10_us\": %.2f, \"p90_us\": %.2f}%s\n",
                        l.what, l.caches, steps, l.median, l.p10, l.p90,
                        static_cast<const char*>(&l == &lines.back() ? "" : ","));
  out << "]\n";
}

} // namespace

int main(int argc, char** argv) {
  int steps = 300;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (llvm::StringRef(argv[i]) == "--steps") steps = std::max(1, std::atoi(argv[i + 1]));
    if (llvm::StringRef(argv[i]) == "--json") json = argv[i + 1];
  }
  World world(std::make_shared<Symbols>());
  llvm::outs() << "e-graph: " << node_count(world.egraph) << " nodes, " << class_count(world.egraph)
               << " classes, " << world.egraph.memory_bytes() / node_count(world.egraph)
               << " bytes/node\n";
  std::vector<Line> lines;
  for (bool cold : {false, true}) {
    Times times;
    double renamed = 0;
    measure(world, steps, cold, times, renamed);
    if (!cold)
      llvm::outs() << llvm::format("a step: %u new nodes, %u merges, %.0f nodes renamed\n",
                                   kNewNodes, kMerges, renamed);
    lines.push_back(line("apply and rebuild", times.apply, cold, 0));
    lines.push_back(line("undo (rollback)", times.undo, cold, 50));
    lines.push_back(line("undo, kept (take_back)", times.undo_kept, cold, 0));
    lines.push_back(line("redo", times.redo, cold, 100));
  }
  for (const Line& l : lines) print(llvm::outs(), l);
  if (json.empty()) return 0;
  std::error_code failed;
  llvm::raw_fd_ostream out(json, failed);
  if (failed) return 1;
  print_json(out, lines, steps);
  return 0;
}
