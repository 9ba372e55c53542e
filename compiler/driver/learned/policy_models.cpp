#include "compiler/driver/learned/policy_models.h"

#include "compiler/driver/files/model.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

constexpr PolicyForm kForms[] = {{"xrlflow", 500}, {"xrlflow-scored", 0}};
constexpr llvm::StringLiteral kModels = "compiler/driver/learned/xrlflow.tg";
constexpr llvm::StringLiteral kVersion = "1";
constexpr size_t kMinibatch = 16;

Tensor scalar(double value) { return Tensor::of_floats({}, {static_cast<float>(value)}); }

/// Its elements, which nobody changes from now on: copies share them. Weights as published are 33
/// MB, and go into every run.
Tensor shared(Tensor tensor) {
  auto owner = std::make_shared<const Tensor>(std::move(tensor));
  return Tensor::lent(owner->type(), {owner, owner->data()});
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

/// A model of a `.tg` file of the library. Errors: those of the text.
Result<Graph> network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId text = sources.add(file.str(), *library().read(file));
  std::optional<Graph> graph =
      load_model(sources, text, {model.str(), std::move(settings), {}, false}, sink);
  if (!graph) return sink.all().front();
  return std::move(*graph);
}

} // namespace

Result<Prepared> load_network(llvm::StringRef file, llvm::StringRef model, NetworkSettings settings,
                              PrepareOptions run, uint64_t seed) {
  TG_TRY(Graph graph, network(file, model, std::move(settings)));
  run.seed = seed;
  return prepare(graph, run);
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
  return load_network(kModels, model, std::move(settings), options_.run, options_.seed);
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
    settings.emplace_back("rate", llvm::formatv("{0:f8}", options_.rate));
    settings.emplace_back("spreading", llvm::formatv("{0:f8}", options_.spreading));
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

/// Indices as a tensor of one axis.
Tensor indices_of(llvm::ArrayRef<int32_t> values) {
  auto count = static_cast<int64_t>(values.size());
  Tensor out = *Tensor::zeros({DType::I32, {count}});
  std::memcpy(out.data(), values.data(), values.size() * sizeof(int32_t));
  return out;
}

/// The tensors of a batch, in the order of the models' parameters.
std::vector<Tensor> tensors_of(const StateBatch& batch) {
  auto size = [](size_t n) { return static_cast<int64_t>(n); };
  const StateBatch::Sizes& s = batch.sizes;
  std::vector<Tensor> out;
  out.push_back(tensor_of({size(s.nodes), size(kNodeFeatures)}, batch.features));
  out.push_back(indices_of(batch.from));
  out.push_back(indices_of(batch.to));
  out.push_back(tensor_of({size(s.edges), 1}, batch.edge_times));
  out.push_back(indices_of(batch.part_graph));
  out.push_back(indices_of(batch.part_of));
  out.push_back(tensor_of({size(s.parts), 1}, batch.part_times));
  out.push_back(tensor_of({size(s.states), size(s.candidates)}, batch.mask));
  return out;
}

} // namespace

Result<Decision> PolicyModels::decide(const EncodedState& state) {
  StateBatch batch = batch_of(&state, 1);
  TG_TRY(Prepared * act, program("act", batch.sizes));
  std::vector<Tensor> inputs = {theta_};
  llvm::append_range(inputs, tensors_of(batch));
  TG_TRY(std::vector<Tensor> outputs, act->executable->run(inputs));
  llvm::ArrayRef<float> log_probs = outputs[0].floats().take_front(state.candidates);
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
  std::vector<Tensor> inputs = {theta_, mean_, variance_, scalar(static_cast<double>(++steps_))};
  llvm::append_range(inputs, tensors_of(batch));
  auto b = static_cast<int64_t>(sizes.states), c = static_cast<int64_t>(sizes.candidates);
  inputs.push_back(tensor_of({b, c}, chosen));
  for (const auto& values : {log_prob, advantage, target, counts})
    inputs.push_back(tensor_of({b}, values));
  TG_TRY(std::vector<Tensor> outputs, program->executable->run(inputs));
  theta_ = shared(std::move(outputs[0]));
  mean_ = shared(std::move(outputs[1])), variance_ = shared(std::move(outputs[2]));
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
  TG_TRY(Tensor nothing, Tensor::zeros(policy->theta_.type()));
  policy->mean_ = shared(std::move(nothing));
  policy->variance_ = policy->mean_;
  return policy;
}

Result<void> PolicyModels::save(llvm::StringRef path, const PolicyNotes& notes) const {
  const std::pair<llvm::StringRef, const Tensor*> tensors[] = {
      {"best", &best_}, {"mean", &mean_}, {"theta", &theta_}, {"variance", &variance_}};
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

Result<void> read_tensors(const Safetensors& file, llvm::StringRef path,
                          llvm::ArrayRef<std::pair<llvm::StringRef, Tensor*>> tensors) {
  for (auto [name, tensor] : tensors) {
    const Safetensors::Entry* entry = file.find(name);
    if (!entry || !(entry->type == tensor->type()))
      return error(Code::bad_data_file, "`{0}` has no tensor `{1}` of type {2}", path, name,
                   tensor->type().text());
    TG_TRY(*tensor, file.read(*entry));
  }
  return {};
}

Result<std::unique_ptr<PolicyModels>> PolicyModels::open(llvm::StringRef path,
                                                         PolicyOptions options) {
  TG_TRY(Safetensors file, Safetensors::open(path));
  PolicyNotes notes(file.metadata().begin(), file.metadata().end());
  const PolicyForm* form = find_policy_form(notes["policy"]);
  const char* how = "`tg train` writes policies";
  if (!form || notes["version"] != kVersion)
    return error(Code::bad_data_file, "`{0}` is no policy of this version", path).suggest(how);
  if (notes["operators"] != operator_names())
    return error(Code::bad_data_file, "the policy in `{0}` was trained for other operators", path)
        .suggest(how);
  if (llvm::StringRef(notes["layers"]).getAsInteger(10, options.layers) || options.layers < 1 ||
      options.layers > kMostLayers)
    return error(Code::bad_data_file, "`{0}` does not say how many layers its policy has", path);
  std::unique_ptr<PolicyModels> policy(new PolicyModels(*form, std::move(options)));
  if (llvm::StringRef(notes["steps"]).getAsInteger(10, policy->steps_) || policy->steps_ < 0)
    return error(Code::bad_data_file, "`{0}` does not say how far its policy was trained", path);
  // The types of the tensors, without the weights of an untrained policy, which take half a second.
  TG_TRY(const Graph fresh, network(kModels, "fresh", policy->of_fresh()));
  TG_TRY(Tensor zeros, Tensor::zeros(fresh.type(fresh.outputs()[0].node)));
  const Tensor empty = shared(std::move(zeros));
  const std::pair<llvm::StringRef, Tensor*> tensors[] = {{"best", &policy->best_},
                                                         {"mean", &policy->mean_},
                                                         {"theta", &policy->theta_},
                                                         {"variance", &policy->variance_}};
  for (auto [name, tensor] : tensors) *tensor = empty;
  TG_CHECK(read_tensors(file, path, tensors));
  for (auto [name, tensor] : tensors) *tensor = shared(std::move(*tensor));
  policy->notes_ = std::move(notes);
  return policy;
}

} // namespace tg
