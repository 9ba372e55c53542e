// The cost of an operator. The compiler knows only this interface; `compiler/pricing` fills it with
// the analytic model, a measured one (runtime/measure), or a fixed table.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/kernel_pattern.h"
#include "lang/core/op.h"
#include "lang/core/result.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/DenseMap.h>

#include <cassert>
#include <limits>
#include <string>
#include <vector>

namespace tg {

class GroupPricer;

/// One operator with its types and attributes: all that a price may depend on.
struct OpInstance {
  OpKind op{};
  AttrsId attrs;
  llvm::ArrayRef<TypeId> operands; // none type where absent
  TypeId result;
  /// Bit i: operand i is known at load (weight-only), so the backend may have brought it into its
  /// own layout for free.
  uint32_t weight_operands = 0;
};

/// An instance that owns its list of operands.
struct OwnedInstance {
  OpKind op{};
  AttrsId attrs;
  llvm::SmallVector<TypeId, 5> operands;
  TypeId result;
  uint32_t weight_operands = 0;
  OpInstance instance() const { return {op, attrs, operands, result, weight_operands}; }
};

/// An instance, and how much of its price a decision hangs on: 2 where one graph has it twice and
/// the other not at all.
struct PriceUse {
  OpInstance instance;
  double weight = 1;
};

/// An instance, and what it takes within whole runs of a network, microseconds.
struct PlacedTime {
  OpInstance instance;
  double microseconds = 0;
};

/// What times within whole runs are good for, beyond the search that took them.
enum class TimeTrust : uint8_t {
  Settled,     // nobody else computed: they are kept
  Unconfirmed, // others took a little of the time: they are kept once a second search agrees
  Passing,     // others took more of it, or what was run is no other model's: they are not kept
};

class CostModel {
public:
  virtual ~CostModel() = default;
  /// "analytic:cpu", "measured:cpu", "file:costs.json": printed in reports.
  virtual std::string name() const = 0;
  /// Microseconds of one run, >= 0, infinity if no backend can run it. Deterministic: the same
  /// instance has the same price as long as the model lives and settle() does not say otherwise.
  /// Weight-only operators are not asked.
  virtual double price(const Symbols& symbols, const OpInstance& instance) = 0;
  /// Says which prices will be asked for next, so that a model that measures can take them
  /// together. There may be none: the moment is one at which others may measure.
  virtual void prepare(const Symbols&, llvm::ArrayRef<OpInstance>) {}
  /// Whether all of these can be told without measuring.
  virtual bool known(const Symbols&, llvm::ArrayRef<OpInstance>) { return true; }
  /// Whether it is worth while to say what will be asked: prices are measured.
  virtual bool wants_notice() const { return false; }
  /// Whether prices are guesses that settle() can make better.
  virtual bool guesses() const { return false; }
  /// Finds out what is not known well enough of the prices that a decision between graphs of about
  /// `graph_us` hangs on, until `stop`. By how much prices have moved, microseconds, each by its
  /// weight; infinite where one turned out to be impossible. If not 0, none that was asked for
  /// before counts any more.
  virtual double settle(const Symbols&, llvm::ArrayRef<PriceUse>, double /*graph_us*/,
                        const StopToken& /*stop*/) {
    return 0;
  }
  /// Whether prices of these would be truer for what they take within whole runs.
  virtual bool wants_placed(const Symbols&, llvm::ArrayRef<OpInstance>) { return false; }
  /// Such times, which are prices from now on; none that was asked for before counts any more.
  virtual void learn_placed(const Symbols&, llvm::ArrayRef<PlacedTime>, TimeTrust) {}
  /// What the device behind the prices does in one kernel (a backend's answer, runtime/backend.h);
  /// empty: nothing but single operators.
  virtual llvm::ArrayRef<KernelPattern> patterns() const { return {}; }
  /// Prices of whole graphs by what the device launches at once; null where it launches operators,
  /// and their prices are all there is to know.
  virtual GroupPricer* groups() { return nullptr; }
  /// What a person should know about the prices so far.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Canonical text of an instance, the key of cost tables and databases:
/// `conv2d(f32[1, 64, 56, 56], w f32[64, 64, 3, 3], none, none) {stride = [1, 1], ...}`.
std::string instance_key(const Symbols& symbols, const OpInstance& instance);

/// Prices of one model over one symbol table, each instance asked once. An e-graph has thousands of
/// nodes and a few hundred distinct instances.
class PriceCache {
public:
  PriceCache(const Symbols& symbols, CostModel& model) : symbols_(symbols), model_(model) {}
  double price(const OpInstance& instance);
  /// Passes on to the model those that were not asked before.
  void prepare(llvm::ArrayRef<OpInstance> instances);
  /// All prices, once they do not count any more (CostModel::settle).
  void forget() {
    entries_.clear();
    size_ = 0;
  }
  bool wants_notice() const { return model_.wants_notice(); }
  llvm::ArrayRef<KernelPattern> patterns() const { return model_.patterns(); }
  /// Distinct instances seen.
  size_t size() const { return size_; }

private:
  using Key = llvm::SmallVector<uint32_t, 12>; // ids of everything in the instance
  struct Entry {
    Key key;
    double price;
  };
  static Key key_of(const OpInstance& instance);
  static uint64_t hash_of(const Key& key);
  const Entry* find(const Key& key, uint64_t hash) const;

  const Symbols& symbols_;
  CostModel& model_;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Entry, 1>> entries_; // by hash of the key
  size_t size_ = 0;
};

/// What a whole graph costs by what a device launches at once. A backend that fuses when it loads a
/// graph runs several operators as one group; the sum of the operators' prices then says little of
/// which of two graphs is faster. The compiler knows only this interface; `compiler/pricing` fills
/// it with prices that are measured, or with a roofline over the groups that a backend would make.
struct GroupPrice {
  double microseconds = std::numeric_limits<double>::infinity(); // of one run
  size_t groups = 0;                                             // that are launched
};

class GroupPricer {
public:
  virtual ~GroupPricer() = default;
  /// One for each graph, infinite for what the device does not take. Deterministic as long as the
  /// pricer lives; groups that were priced before cost little to ask for again.
  virtual std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) = 0;
};

} // namespace tg
