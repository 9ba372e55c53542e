#include "bench/paper/learned/policy_models.h"

#include "bench/paper/learned/paper_files.h"
#include "bench/paper/learned/training_notes.h"
#include "compiler/api/files/model.h"
#include "compiler/api/optimize_model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg::paper {

namespace {

constexpr PolicyForm kForms[] = {{"xrlflow", 500, true}, {"xrlflow-scored", 0, false}};
constexpr llvm::StringLiteral kModels = "bench/paper/learned/xrlflow.tg";
constexpr llvm::StringLiteral kVersion = "1";
constexpr size_t kMinibatch = 16;

Tensor scalar(double value) { return Tensor::of_floats({}, {static_cast<float>(value)}); }

/// Returns a view of the tensor, so that a run reads it without a copy: the published form has 33
/// MB of weights.
Tensor borrowed(const std::shared_ptr<Tensor>& tensor) {
  return Tensor::borrowed(tensor->type(), {tensor, std::as_const(*tensor).data()});
}

std::shared_ptr<Tensor> shared(Tensor tensor) {
  return std::make_shared<Tensor>(std::move(tensor));
}

Tensor tensor_of(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::of_floats(shape, values);
}

} // namespace

const PolicyForm* find_policy_form(llvm::StringRef name) {
  const PolicyForm* form = llvm::find_if(kForms, [&](const auto& f) { return f.name == name; });
  return form == std::end(kForms) ? nullptr : form;
}

size_t PolicyModels::most_candidates() const {
  return form_.slots > 0 ? static_cast<size_t>(form_.slots) : 500;
}

std::string operator_names() {
  std::vector<llvm::StringRef> names;
  for (size_t i = 0; i < kOpCount; ++i) names.push_back(op_info(static_cast<OpKind>(i)).name);
  return llvm::join(names, " ");
}

namespace {

/// Adds the location to the message, because the sources no longer exist when it is shown.
Diagnostic placed(Diagnostic d, const SourceManager& sources) {
  if (d.span.valid()) {
    const SourceFile& file = sources.file(d.span.file);
    LineColumn at = file.position(d.span.begin);
    d.message = llvm::formatv("{0}:{1}:{2}: {3}", file.name(), at.line, at.column, d.message);
  }
  d.span = {};
  d.labels.clear();
  return d;
}

/// Returns the default rules of `tg opt`, read once. Errors: those of select_rules().
Result<llvm::ArrayRef<Rule>> usual_rules() {
  static const Result<std::vector<Rule>> rules = []() -> Result<std::vector<Rule>> {
    SourceManager sources;
    DiagnosticSink sink;
    std::optional<std::vector<Rule>> all = select_rules({}, {}, StopToken(), sources, sink);
    if (!all) return placed(sink.all().front(), sources);
    return std::move(*all);
  }();
  if (!rules) return Diagnostic(rules.error());
  return llvm::ArrayRef<Rule>(*rules);
}

/// Optimises the network. Counts rather than time limits end the search, so that the result is
/// always the same.
Result<Graph> optimise(const Graph& network) {
  tangram::OptimizeOptions options;
  options.search = tangram::Search::Saturate;
  options.cost = tangram::CostSpec::analytic("cpu");
  TG_TRY(llvm::ArrayRef<Rule> rules, usual_rules());
  TG_TRY(std::unique_ptr<CostModel> costs, cost_model(network, options, {}, {}));
  TG_TRY(Optimized found, optimize(network, rules, *costs, optimize_options(options), nullptr));
  return std::move(found.graph);
}

/// Builds a model of a `.tg` file of this folder. Errors: those of the text.
Result<Graph> network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings) {
  SourceManager sources;
  DiagnosticSink sink;
  const auto* own =
      llvm::find_if(paper_files(), [&](const EmbeddedFile& f) { return f.name == file; });
  assert(own != paper_files().end() && "the file is embedded");
  FileId text = sources.add(file.str(), own->text.str());
  std::optional<Graph> graph =
      load_model(sources, text, {model.str(), std::move(settings), {}, false}, sink);
  if (!graph) return placed(sink.all().front(), sources);
  return std::move(*graph);
}

} // namespace

Result<Prepared> load_network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings,
                              const NetworkRun& run, uint64_t seed) {
  TG_TRY(Graph graph, network(file, model, std::move(settings)));
  if (run.optimised) {
    TG_TRY(graph, optimise(graph));
  }
  PrepareOptions options = run;
  options.seed = seed;
  return prepare(graph, options);
}

// --- programs -----------------------------------------------------------------------------------

NetworkSettings PolicyModels::with_form(NetworkSettings settings) const {
  settings.emplace_back("layers", std::to_string(options_.layers));
  settings.emplace_back("slots", std::to_string(form_.slots));
  return settings;
}

NetworkSettings PolicyModels::of_fresh() const {
  return with_form({{"features", std::to_string(kNodeFeatures)}});
}

Result<Prepared> PolicyModels::load(llvm::StringRef model, NetworkSettings settings) const {
  NetworkRun run{options_.run, options_.optimised.value_or(form_.optimised)};
  return load_network(kModels, model, std::move(settings), run, options_.seed);
}

Result<Prepared*> PolicyModels::program(llvm::StringRef model, const StateBatch::Sizes& sizes) {
  auto key = std::make_pair(model.str(), sizes);
  auto known = programs_.find(key);
  if (known != programs_.end()) return &known->second;
  NetworkSettings settings = {
      {"B", std::to_string(sizes.states)}, {"C", std::to_string(sizes.candidates)},
      {"U", std::to_string(sizes.nodes)},  {"E", std::to_string(sizes.edges)},
      {"K", std::to_string(sizes.parts)},  {"F", std::to_string(kNodeFeatures)}};
  if (model == "learn") {
    settings.emplace_back("rate", exact_text(options_.rate));
    settings.emplace_back("spreading", exact_text(options_.spreading));
  }
  TG_TRY(Prepared loaded, load(model, with_form(std::move(settings))));
  return &programs_.emplace(std::move(key), std::move(loaded)).first->second;
}

StateBatch PolicyModels::batch_of(llvm::ArrayRef<const EncodedState*> states, size_t least) const {
  StateBatch::Sizes sizes = options_.least;
  sizes.states = std::max(sizes.states, least);
  return {states, sizes, most_candidates()};
}

namespace {

/// Appends the tensors of a batch in the order of the models' parameters.
void add_tensors(const StateBatch& batch, std::vector<Tensor>& out) {
  auto size = [](size_t n) { return static_cast<int64_t>(n); };
  const StateBatch::Sizes& s = batch.sizes;
  out.push_back(tensor_of({size(s.nodes), size(kNodeFeatures)}, batch.features));
  out.push_back(Tensor::of_indices(batch.from));
  out.push_back(Tensor::of_indices(batch.to));
  out.push_back(tensor_of({size(s.edges), 1}, batch.edge_times));
  out.push_back(Tensor::of_indices(batch.part_graph));
  out.push_back(Tensor::of_indices(batch.part_of));
  out.push_back(tensor_of({size(s.parts), 1}, batch.part_times));
  out.push_back(tensor_of({size(s.states), size(s.candidates)}, batch.mask));
}

} // namespace

Result<Decision> PolicyModels::decide(const EncodedState& state) {
  StateBatch batch = batch_of(&state, 1);
  TG_TRY(Prepared * act, program("act", batch.sizes));
  std::vector<Tensor> inputs = {borrowed(theta_)};
  add_tensors(batch, inputs);
  TG_TRY(std::vector<Tensor> outputs, act->executable->run(inputs));
  llvm::ArrayRef<float> log_probs = outputs[0].floats().take_front(state.candidates);
  if (llvm::any_of(log_probs, [](float x) { return std::isnan(x); }))
    return error(Code::not_finite, "the output of the policy is not finite");
  return Decision{{log_probs.begin(), log_probs.end()}, outputs[1].floats()[0]};
}

Result<LearnReport> PolicyModels::learn(llvm::ArrayRef<Sample> minibatch) {
  std::vector<const EncodedState*> states;
  for (const Sample& sample : minibatch) states.push_back(sample.state);
  StateBatch batch = batch_of(states, kMinibatch);
  const StateBatch::Sizes& sizes = batch.sizes;
  TG_TRY(Prepared * program, this->program("learn", sizes));
  std::vector<float> chosen(sizes.states * sizes.candidates), log_prob(sizes.states),
      advantage(sizes.states), target(sizes.states), counts(sizes.states);
  for (size_t i = 0; i < minibatch.size(); ++i) {
    chosen[i * sizes.candidates + minibatch[i].action] = 1;
    log_prob[i] = static_cast<float>(minibatch[i].log_prob);
    advantage[i] = static_cast<float>(minibatch[i].advantage);
    target[i] = static_cast<float>(minibatch[i].target);
    counts[i] = 1;
  }
  std::vector<Tensor> inputs = {borrowed(theta_), borrowed(mean_), borrowed(variance_),
                                scalar(static_cast<double>(++steps_))};
  add_tensors(batch, inputs);
  auto b = static_cast<int64_t>(sizes.states), c = static_cast<int64_t>(sizes.candidates);
  inputs.push_back(tensor_of({b, c}, chosen));
  for (const auto& values : {log_prob, advantage, target, counts})
    inputs.push_back(tensor_of({b}, values));
  TG_TRY(std::vector<Tensor> outputs, program->executable->run(inputs, std::move(spare_)));
  inputs.clear();
  spare_.clear();
  for (auto [state, output] : {std::pair(&theta_, 0), {&mean_, 1}, {&variance_, 2}}) {
    std::shared_ptr<Tensor> last = std::exchange(*state, shared(std::move(outputs[output])));
    if (last.use_count() == 1) spare_.push_back(std::move(*last));
  }
  auto number = [&](size_t i) { return static_cast<double>(outputs[i].floats()[0]); };
  return LearnReport{number(3), number(4), number(5)};
}

// --- files --------------------------------------------------------------------------------------

Result<std::unique_ptr<PolicyModels>> PolicyModels::fresh(const PolicyForm& form,
                                                          PolicyOptions options) {
  std::unique_ptr<PolicyModels> policy(new PolicyModels(form, std::move(options)));
  TG_TRY(Prepared fresh, policy->load("fresh", policy->of_fresh()));
  TG_TRY(std::vector<Tensor> outputs, fresh.executable->run({}));
  policy->theta_ = shared(std::move(outputs[0]));
  policy->keep();
  TG_TRY(Tensor nothing, Tensor::zeros(policy->theta_->type()));
  policy->mean_ = shared(std::move(nothing));
  policy->variance_ = policy->mean_;
  return policy;
}

Result<void> PolicyModels::save(llvm::StringRef path, const PolicyNotes& notes) const {
  if (!all_finite(*theta_)) return not_finite_error();
  const std::pair<llvm::StringRef, const Tensor*> tensors[] = {{"best", best_.get()},
                                                               {"mean", mean_.get()},
                                                               {"theta", theta_.get()},
                                                               {"variance", variance_.get()}};
  std::vector<SafetensorsItem> items;
  for (auto [name, tensor] : tensors) items.push_back({name.str(), tensor->type()});
  std::vector<std::pair<std::string, std::string>> metadata = {
      {"policy", form_.name.str()},
      {"version", kVersion.str()},
      {"operators", operator_names()},
      {"layers", std::to_string(options_.layers)},
      {"steps", std::to_string(steps_)}};
  for (const auto& [key, text] : notes) metadata.emplace_back(key, text);
  return write_safetensors(
      path, items, [&](size_t item) -> Result<Tensor> { return *tensors[item].second; }, metadata);
}

Result<Tensor> read_tensor(const Safetensors& file, llvm::StringRef path, llvm::StringRef name,
                           const TensorType& type) {
  const Safetensors::Entry* entry = file.find(name);
  if (!entry || !(entry->type == type))
    return error(Code::bad_data_file, "`{0}` has no tensor `{1}` of type {2}", path, name,
                 type.text());
  TG_TRY(Tensor tensor, file.read(*entry));
  if (!all_finite(tensor))
    return error(Code::bad_data_file, "`{0}`: tensor `{1}` has values that are not finite", path,
                 name);
  return tensor;
}

bool all_finite(const Tensor& tensor) {
  return llvm::all_of(tensor.floats(), [](float x) { return std::isfinite(x); });
}

Diagnostic not_finite_error() {
  return error(Code::not_finite, "the trained weights are not finite")
      .suggest("use a lower `--learning-rate`");
}

Result<std::unique_ptr<PolicyModels>> PolicyModels::open(llvm::StringRef path,
                                                         PolicyOptions options) {
  auto no_policy = [&](llvm::StringRef what) {
    return error(Code::bad_data_file, "`{0}` contains {1}, not a policy for `--search rl`", path,
                 what)
        .suggest("use `--search mcts` for a guide, gains or motifs");
  };
  if (holds_text(path)) return no_policy("text");
  TG_TRY(Safetensors file, Safetensors::open(path));
  PolicyNotes notes(file.metadata().begin(), file.metadata().end());
  if (notes["policy"] == "guide") return no_policy("a guide");
  const PolicyForm* form = find_policy_form(notes["policy"]);
  const char* how = "train one with `tg-paper train`";
  if (!form || notes["version"] != kVersion)
    return error(Code::bad_data_file, "`{0}` is not a policy of this version", path).suggest(how);
  if (notes["operators"] != operator_names())
    return error(Code::bad_data_file, "the policy in `{0}` was trained for other operators", path)
        .suggest(how);
  if (llvm::StringRef(notes["layers"]).getAsInteger(10, options.layers) || options.layers < 1 ||
      options.layers > kMostLayers)
    return error(Code::bad_data_file, "`{0}` does not contain the number of layers of its policy",
                 path);
  std::unique_ptr<PolicyModels> policy(new PolicyModels(*form, std::move(options)));
  if (llvm::StringRef(notes["steps"]).getAsInteger(10, policy->steps_) || policy->steps_ < 0)
    return error(Code::bad_data_file, "`{0}` does not contain its number of training steps", path);
  // Only the type of the weights is needed: drawing an untrained policy takes half a second.
  TG_TRY(const Graph fresh, network(kModels, "fresh", policy->of_fresh()));
  const TensorType type = fresh.type(fresh.outputs()[0].node);
  for (auto [name, state] : {std::pair("best", &policy->best_),
                             {"mean", &policy->mean_},
                             {"theta", &policy->theta_},
                             {"variance", &policy->variance_}}) {
    TG_TRY(Tensor tensor, read_tensor(file, path, name, type));
    *state = shared(std::move(tensor));
  }
  policy->notes_ = std::move(notes);
  return policy;
}

} // namespace tg::paper
