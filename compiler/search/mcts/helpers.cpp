#include "compiler/search/mcts/board.h"
#include "lang/core/support/threads.h"

#include <atomic>
#include <cassert>
#include <optional>

namespace tg {

class Helpers::Helper {
public:
  Helper(const EGraph& original, llvm::ArrayRef<Rule> rules, SharedCost& costs,
         const BoardOptions& options, const ActionPool::Groups& refused, double source_cost)
      : map_(original.symbols(), *symbols_), egraph_(original.replica(symbols_, map_)),
        prices_(*symbols_, costs), board_(egraph_, rules, prices_, options, refused, &map_) {
    board_.source_cost = source_cost;
    set_root();
  }

  void play(const SearchTree& tree, Simulation& simulation, const Policy& policy,
            llvm::function_ref<bool()> stop) {
    go_to(tree, simulation);
    board_.roll_out(
        tree[simulation.path.back()].depth, policy, simulation, [](double) {}, stop);
    most_bytes_ = std::max(most_bytes_, board_.memory_bytes() + map_.memory_bytes());
    board_.incumbent.prices().forget(egraph_.changes_since(root_mark_));
    egraph_.rollback(root_);
    board_.explorer.moved();
  }

  void follow(const Delta& change) {
    feed(change);
    egraph_.release(root_);
    board_.explorer.moved();
    set_root();
  }

  size_t memory_bytes() const { return most_bytes_; }

private:
  void set_root() {
    root_ = egraph_.checkpoint();
    root_mark_ = egraph_.change_mark();
  }

  void feed(const Delta& change) {
    [[maybe_unused]] bool fed = egraph_.feed(change, map_);
    assert(fed && "the replica must be in the state of the parent");
  }

  void go_to(const SearchTree& tree, const Simulation& simulation) {
    board_.pool.clear();
    for (int32_t at : simulation.path) {
      const SearchTree::Node& node = tree[at];
      if (at != 0) feed(node.change);
      board_.pool.add(node.found);
      for (uint32_t number : node.spent) board_.pool.spend(number);
    }
    for (uint32_t number : simulation.spent) board_.pool.spend(number);
    for (uint64_t group : simulation.refused) board_.pool.refuse(group);
    board_.explorer.moved();
    const SearchTree::Node& leaf = tree[simulation.path.back()];
    board_.incumbent.restore(leaf.incumbent);
    board_.last = leaf.rule;
    board_.assessment = leaf.assessment.get();
  }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  SymbolMap map_;
  EGraph egraph_;
  PriceCache prices_;
  Board board_;
  Checkpoint root_;
  uint32_t root_mark_ = 0;
  size_t most_bytes_ = 0;
};

Helpers::Helpers(int threads, const EGraph& original, llvm::ArrayRef<Rule> rules, SharedCost& costs,
                 const BoardOptions& options, const ActionPool::Groups& refused, double source_cost)
    : costs_(costs) {
  for (int i = 0; i < threads; ++i)
    helpers_.push_back(
        std::make_unique<Helper>(original, rules, costs, options, refused, source_cost));
}

Helpers::~Helpers() = default;

void Helpers::play(const SearchTree& tree, llvm::MutableArrayRef<Simulation> simulations,
                   const Policy& policy, llvm::function_ref<bool()> stop) {
  std::atomic<size_t> next = 0;
  auto loop = [&](Helper& helper) {
    for (size_t i; (i = next++) < simulations.size();)
      helper.play(tree, simulations[i], policy, stop);
  };
  auto part = [&](size_t i) {
    std::optional<SharedCost::BusyThread> busy;
    if (i > 0) busy.emplace(costs_);
    loop(*helpers_[i]);
  };
  in_parts(helpers_.size(), part, [&](llvm::function_ref<void()> wait) {
    SharedCost::IdleThread idle(costs_);
    wait();
  });
}

void Helpers::follow(const Delta& change) {
  for (auto& helper : helpers_) helper->follow(change);
}

size_t Helpers::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& helper : helpers_) bytes += helper->memory_bytes();
  return bytes;
}

} // namespace tg
