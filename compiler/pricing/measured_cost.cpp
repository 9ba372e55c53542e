#include "compiler/pricing/measured_cost.h"

#include "compiler/api/backends/devices.h"
#include "compiler/emit/plan_from_graph.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tg {

namespace {

/// Microseconds at ten bytes per nanosecond, plus the call.
double extern_price(const Symbols& symbols, const OpInstance& instance) {
  OpWork work = op_work(symbols, instance.op, instance.attrs, instance.operands, instance.result);
  return 1 + work.bytes / 1e4;
}

/// Operands of all sizes are allocated between small long-lived objects. Freed memory is hardly
/// reusable, and thousands of timings would hold gigabytes.
void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace

// A backend describes itself as "processor, instruction set, libraries"; ref only by a phrase.
CostEnvironment environment_of(const Backend& backend, int threads) {
  CostEnvironment environment;
  auto [processor, rest] = llvm::StringRef(environment.library = backend.description()).split(", ");
  auto [instruction_set, library] = rest.split(", ");
  environment.processor = library.empty() ? processor_name() : processor.str();
  environment.instruction_set = library.empty() ? "" : instruction_set.str();
  if (!library.empty()) environment.library = library.str();
  environment.library = backend.name() + ": " + environment.library;
  environment.dtype = "f32"; // fixed, since instance keys include dtypes
  environment.threads = threads;
  return environment;
}

int64_t network_bytes(const Graph& graph) {
  int64_t bytes = 0;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    bool counts = op_info(node.op).has(Trait::Leaf) || !node.weight_only;
    if (needed[i] && counts && !op_info(node.op).has(Trait::View)) bytes += graph.type({i}).bytes();
  }
  return bytes;
}

StepSpec step_spec(const Symbols& symbols, const OpInstance& instance) {
  StepSpec spec;
  spec.op = instance.op;
  for (ValueId value : symbols.attrs(instance.attrs)) spec.attrs.push_back(symbols.value(value));
  for (TypeId type : instance.operands) spec.operands.push_back(symbols.type(type));
  spec.result = symbols.type(instance.result);
  spec.weight_operands = instance.weight_operands;

  Graph graph(std::make_shared<Symbols>());
  llvm::SmallVector<NodeId, 5> operands;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    std::string name = std::to_string(i);
    bool weight = i < 32 && (spec.weight_operands >> i & 1);
    operands.push_back(spec.operands[i].is_none() ? graph.none()
                       : weight                   ? graph.weight(name, spec.operands[i])
                                                  : graph.input(name, spec.operands[i]));
  }
  llvm::SmallVector<ValueId, 4> attrs;
  for (const Value& value : spec.attrs) attrs.push_back(graph.symbols().value(value));
  NodeId node = graph.add(spec.op, attrs, operands);
  spec.in_place = in_place_operand(
      graph, node, [&](NodeId operand) { return !graph.node(operand).weight_only; });
  return spec;
}

MeasuredCost::MeasuredCost(std::unique_ptr<Backend> backend, MeasuredCostOptions options)
    : backend_(std::move(backend)), options_(std::move(options)) {
  measure_.threads = options_.threads;
  measure_.memory_limit_bytes = options_.memory_limit_bytes;
  measure_.repeat_within = options_.repeat_within;
  measure_.cache = options_.cache;
  measure_.network_bytes = options_.network_bytes;
  measure_.allow_tf32 = options_.allow_tf32;
  if (options_.cache != CacheState::Hot)
    measure_.wash_bytes = wash_bytes_for(options_.network_bytes);
  path_ = options_.cost_db.empty() ? default_cost_db_path() : options_.cost_db;
  environment_ = environment_of(*backend_, measure_.threads);
  environment_.layout = measure_conditions(*backend_, measure_);
  database_ = CostDb::open(path_, environment_);
  if (const StepTimer* timer = backend_->step_timer()) groups_.emplace(*timer, measure_);
}

std::unique_ptr<CostDb> MeasuredCost::open_placed(llvm::StringRef kind) const {
  CostEnvironment environment = environment_;
  environment.layout = (kind + environment.layout).str();
  return CostDb::open(path_, environment);
}

std::vector<GroupPrice> MeasuredGroups::price(llvm::ArrayRef<const Graph*> graphs) {
  std::vector<Plan> plans;
  for (const Graph* graph : graphs) plans.push_back(plan_from_graph(*graph));
  std::vector<const Plan*> asked;
  for (const Plan& plan : plans) asked.push_back(&plan);
  std::vector<GroupPrice> prices;
  for (const Result<PlanPrice>& price : timer_.price(asked, measure_))
    prices.push_back(price ? GroupPrice{price->microseconds, price->groups} : GroupPrice());
  return prices;
}

bool MeasuredCost::needs_no_timing(const Symbols& symbols, const OpInstance& instance) const {
  return op_info(instance.op).has(Trait::Leaf) ||
         backend_->is_view(instance.op, symbols.type(instance.result));
}

/// Returns the key of an instance that must be timed; nullopt if its price is known.
std::optional<std::string> MeasuredCost::key_to_time(const Symbols& symbols,
                                                     const OpInstance& instance) const {
  if (!is_timed(symbols, instance)) return std::nullopt;
  std::string key = instance_key(symbols, instance);
  if (failures_.count(key) || database_->find(key)) return std::nullopt;
  return key;
}

std::optional<double> MeasuredCost::known_price(const Symbols& symbols,
                                                const OpInstance& instance) {
  if (instance.op == OpKind::Extern) return extern_price(symbols, instance);
  if (needs_no_timing(symbols, instance)) return 0;
  std::string key = instance_key(symbols, instance);
  if (failures_.count(key)) return std::numeric_limits<double>::infinity();
  return database_->find(key);
}

bool MeasuredCost::known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) {
  return llvm::none_of(instances, [&](const OpInstance& instance) {
    return key_to_time(symbols, instance).has_value();
  });
}

double MeasuredCost::price(const Symbols& symbols, const OpInstance& instance) {
  prepare(symbols, instance);
  return known_price(symbols, instance).value_or(std::numeric_limits<double>::infinity());
}

void MeasuredCost::prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) {
  time(symbols, instances, options_.stop);
}

void MeasuredCost::time(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                        const StopToken& stop) {
  std::vector<std::string> keys;
  std::vector<StepSpec> specs;
  for (const OpInstance& instance : instances) {
    std::optional<std::string> key = key_to_time(symbols, instance);
    if (!key) continue;
    keys.push_back(std::move(*key));
    specs.push_back(step_spec(symbols, instance));
  }
  time_all(keys, specs, stop);
}

void MeasuredCost::time_again(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                              const StopToken& stop) {
  std::vector<std::string> keys;
  std::vector<StepSpec> specs;
  for (const OpInstance& instance : instances) {
    keys.push_back(instance_key(symbols, instance));
    specs.push_back(step_spec(symbols, instance));
  }
  time_all(keys, specs, stop);
}

void MeasuredCost::time_all(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<StepSpec> specs,
                            const StopToken& stop) {
  if (specs.empty()) return;
  watch();
  // In portions, so that times are kept if the program is stopped.
  constexpr size_t kPortion = 8;
  for (size_t done = 0; done < specs.size() && !stop.asked(); done += kPortion) {
    size_t count = std::min(kPortion, specs.size() - done);
    time_portion(llvm::ArrayRef(keys).slice(done, count), llvm::ArrayRef(specs).slice(done, count));
    return_freed_memory();
    if (options_.progress) options_.progress(done + count, specs.size());
  }
  if (options_.watch) database_->store_yardstick(options_.watch->usual_us());
}

/// Starts at the first timing, so that a model that times nothing has no overhead.
void MeasuredCost::watch() {
  // The yardstick's best time comes from earlier processes, since the machine may be busy for the
  // life of this one.
  if (!options_.watch && !backend_->step_timer())
    options_.watch = watch_machine(*backend_, options_.threads, database_->yardstick());
  measure_.watch = options_.watch.get();
}

void MeasuredCost::time_portion(llvm::ArrayRef<std::string> keys, llvm::ArrayRef<StepSpec> specs) {
  std::vector<CostRow> steady, unsettled;
  for (auto [key, time] : llvm::zip(keys, measure_steps(*backend_, specs, measure_))) {
    if (time) {
      std::optional<double> before = database_->find(key); // if it is timed again
      if (before && *before <= time->microseconds) continue;
      if (time->steady)
        unsettled_.erase(key);
      else
        unsettled_.insert(key);
      (time->steady ? steady : unsettled)
          .push_back({key, time->microseconds, time->implementation, time->low_us, time->high_us,
                      time->runs});
      continue;
    }
    first_failures_.push_back(key);
    failures_[key] = time.error().message;
  }
  database_->store(steady);
  database_->remember(unsettled);
  timed_ += specs.size();
}

std::vector<std::string> MeasuredCost::faults() const {
  std::vector<std::string> notes = database_->notes();
  if (!first_failures_.empty())
    notes.push_back(
        llvm::formatv("{0} cannot be timed and {1} not used; the first is {2}: {3}",
                      first_failures_.size() == 1
                          ? std::string("1 operator instance")
                          : llvm::formatv("{0} operator instances", first_failures_.size()).str(),
                      first_failures_.size() == 1 ? "is" : "are", first_failures_.front(),
                      failures_.lookup(first_failures_.front())));
  return notes;
}

std::vector<std::string> MeasuredCost::notes() const {
  std::vector<std::string> notes = faults();
  // A few are not worth a note; if there are many, the machine is busy, and the result may
  // be affected.
  if (10 * unsettled() > timed_)
    notes.push_back(
        llvm::formatv("{0} of {1} prices were measured while other programs ran; they are not "
                      "kept, and a later run measures them again",
                      unsettled(), timed_));
  return notes;
}

} // namespace tg
