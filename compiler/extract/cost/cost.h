// The cost of an operator. The compiler knows only this interface. `compiler/pricing` implements it
// by the analytic model, a measured model (runtime/measure), or a fixed table.
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
  llvm::ArrayRef<TypeId> operands; // the none type if absent
  TypeId result;
  /// Bit i is set if operand i is computed at load (weight-only), so that the backend may have
  /// brought it into its own layout for free.
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

/// An instance and the weight of its price in a decision: 2 if one graph has it twice and the
/// other not at all.
struct PriceUse {
  OpInstance instance;
  double weight = 1;
};

/// An instance and its time within whole runs of a network, in microseconds.
struct PlacedTime {
  OpInstance instance;
  double microseconds = 0;
};

/// How far times within whole runs can be reused after the search that measured them.
enum class TimeTrust : uint8_t {
  Steady,      // the machine was idle: kept
  Unconfirmed, // some load on the machine: kept once a second search agrees
  Passing,     // more load, or a run that no other model shares: not kept
};

class CostModel {
public:
  virtual ~CostModel() = default;
  /// Returns the name in reports: "analytic:cpu", "measured:cpu", "file:costs.json".
  virtual std::string name() const = 0;
  /// Returns the microseconds of one run: >= 0, infinite if no backend can run it. Deterministic:
  /// the same instance has the same price for the life of the model, unless refine_prices() or
  /// learn_placed() changes it. Not called for weight-only operators.
  virtual double price(const Symbols& symbols, const OpInstance& instance) = 0;
  /// Notifies the model of the next prices to be requested, so that a model that measures can
  /// measure them together. The list may be empty: the call is also the moment at which other
  /// processes may measure.
  virtual void prepare(const Symbols&, llvm::ArrayRef<OpInstance>) {}
  /// Returns true if all these prices are known without measuring.
  virtual bool known(const Symbols&, llvm::ArrayRef<OpInstance>) { return true; }
  /// Returns true if prepare() is useful because prices are measured.
  virtual bool needs_preparation() const { return false; }
  /// Returns true if prices are estimates that refine_prices() can improve.
  virtual bool guesses() const { return false; }
  /// Measures, until `stop`, the uncertain prices on which a decision between graphs of about
  /// `graph_us` microseconds depends. Returns the sum of the changes of prices in microseconds,
  /// each times its weight; infinite if an operator turned out to be impossible. If it is not 0,
  /// all prices requested before are invalid.
  virtual double refine_prices(const Symbols&, llvm::ArrayRef<PriceUse>, double /*graph_us*/,
                               const StopToken& /*stop*/) {
    return 0;
  }
  /// Returns true if times within whole runs would make these prices more accurate.
  virtual bool needs_placed_times(const Symbols&, llvm::ArrayRef<OpInstance>) { return false; }
  /// Replaces prices by times within whole runs. All prices requested before are invalid.
  virtual void learn_placed(const Symbols&, llvm::ArrayRef<PlacedTime>, TimeTrust) {}
  /// Returns the multi-operator kernels of the device (the backend's list, runtime/backend.h);
  /// empty if it runs single operators only.
  virtual llvm::ArrayRef<KernelPattern> patterns() const { return {}; }
  /// Returns the pricer of whole graphs by the groups that the device launches; null if it launches
  /// single operators.
  virtual GroupPricer* groups() { return nullptr; }
  /// Returns remarks on the prices so far, for the user.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Returns the canonical text of an instance, the key of cost tables and databases:
/// `conv2d(f32[1, 64, 56, 56], w f32[64, 64, 3, 3], none, none) {stride = [1, 1], ...}`.
std::string instance_key(const Symbols& symbols, const OpInstance& instance);

/// Caches the prices of one model over one symbol table: each instance is requested once. An
/// e-graph has thousands of nodes but a few hundred distinct instances.
class PriceCache {
public:
  PriceCache(const Symbols& symbols, CostModel& model) : symbols_(symbols), model_(model) {}
  double price(const OpInstance& instance);
  /// Passes the instances that were not requested before to the model.
  void prepare(llvm::ArrayRef<OpInstance> instances);
  /// Clears all prices, after they have become invalid (CostModel::refine_prices).
  void forget() {
    entries_.clear();
    size_ = 0;
  }
  bool needs_preparation() const { return model_.needs_preparation(); }
  llvm::ArrayRef<KernelPattern> patterns() const { return model_.patterns(); }
  /// Number of distinct instances requested.
  size_t size() const { return size_; }

private:
  using Key = llvm::SmallVector<uint32_t, 12>; // ids of all parts of the instance
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

/// The price of a whole graph by the groups that a device launches. A backend that fuses when it
/// loads a graph runs several operators as one group, so the sum of the operators' prices does not
/// tell which of two graphs is faster. The compiler knows only this interface. `compiler/pricing`
/// implements it by measured prices, or by a roofline over the groups that a backend would make.
struct GroupPrice {
  double microseconds = std::numeric_limits<double>::infinity(); // of one run
  size_t groups = 0;                                             // number of launches
};

class GroupPricer {
public:
  virtual ~GroupPricer() = default;
  /// Returns one price for each graph, infinite if the device does not support the graph.
  /// Deterministic for the life of the pricer. Groups that were priced before are cheap to
  /// price again.
  virtual std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) = 0;
};

} // namespace tg
