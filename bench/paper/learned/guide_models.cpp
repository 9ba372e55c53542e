#include "bench/paper/learned/guide_models.h"

#include "bench/paper/learned/training_notes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/bit.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/xxhash.h>

namespace tg::paper {

namespace {

constexpr llvm::StringLiteral kGuide = "guide", kGuideModels = "bench/paper/learned/guide.tg",
                              kGuideVersion = "1";
constexpr size_t kFeatures = kOpCount + kNodeTraits;
/// Graphs for assess() are padded to this number of nodes times a power of two. Each size needs its
/// own program, whose compilation takes as long as about ten evaluations of a small graph.
constexpr size_t kLookedAt = 96;
constexpr size_t kMostAnswers = 8 << 20; // in bytes

std::vector<int64_t> shape_of(std::initializer_list<size_t> sizes) {
  return {sizes.begin(), sizes.end()};
}

/// Returns a view of the tensor, for a run that ends before the tensor is destroyed.
Tensor borrowed(const Tensor& tensor) {
  return Tensor::borrowed(tensor.type(), {std::shared_ptr<const std::byte>(), tensor.data()});
}

/// Graphs as inputs of the network (guide.tg): padded to a number of nodes and graphs, and the
/// edges of all graphs to a multiple of twice the nodes.
struct GraphBatch {
  std::vector<float> nodes, present, of_givers, of_takers;
  std::vector<int32_t> givers, takers;
  size_t graphs, most;

  GraphBatch(llvm::ArrayRef<const GraphFeatures*> batch, size_t graphs, size_t most)
      : nodes(graphs * most * kFeatures), present(graphs * most), graphs(graphs), most(most) {
    for (size_t g = 0; g < batch.size(); ++g) put(*batch[g], g);
    weigh_edges();
    // Nodes have one or two operands that are not leaves.
    size_t twice = 2 * graphs * most;
    size_t edges = std::max<size_t>(1, llvm::divideCeil(givers.size(), twice)) * twice;
    givers.resize(edges), takers.resize(edges), of_givers.resize(edges), of_takers.resize(edges);
  }
  size_t edges() const { return givers.size(); }
  /// Appends the tensors in the order of the models' parameters.
  void add_to(std::vector<Tensor>& inputs) const {
    inputs.push_back(Tensor::of_floats(shape_of({graphs, most, kFeatures}), nodes));
    inputs.push_back(Tensor::of_floats(shape_of({graphs, most}), present));
    inputs.push_back(Tensor::of_indices(givers));
    inputs.push_back(Tensor::of_indices(takers));
    inputs.push_back(Tensor::of_floats(shape_of({edges(), 1}), of_givers));
    inputs.push_back(Tensor::of_floats(shape_of({edges(), 1}), of_takers));
  }

private:
  void put(const GraphFeatures& graph, size_t at) {
    for (size_t n = 0; n < graph.operators.size(); ++n) {
      float* row = &nodes[(at * most + n) * kFeatures];
      row[static_cast<size_t>(graph.operators[n])] = 1;
      std::copy(graph.traits[n].begin(), graph.traits[n].end(), row + kOpCount);
      present[at * most + n] = 1;
    }
    // A node that uses a result twice has one edge.
    std::vector<std::pair<uint32_t, uint32_t>> edges(graph.edges);
    llvm::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (auto [from, to] : edges) {
      givers.push_back(static_cast<int32_t>(at * most + from));
      takers.push_back(static_cast<int32_t>(at * most + to));
    }
  }
  void weigh_edges() {
    std::vector<float> gifts(graphs * most), uses(graphs * most);
    for (int32_t taker : takers) gifts[static_cast<size_t>(taker)] += 1;
    for (int32_t giver : givers) uses[static_cast<size_t>(giver)] += 1;
    for (int32_t taker : takers) of_givers.push_back(1 / gifts[static_cast<size_t>(taker)]);
    for (int32_t giver : givers) of_takers.push_back(1 / uses[static_cast<size_t>(giver)]);
  }
};

uint64_t digest_of(const GraphFeatures& graph) {
  std::vector<uint32_t> words = {static_cast<uint32_t>(graph.operators.size())};
  for (OpKind op : graph.operators) words.push_back(static_cast<uint32_t>(op));
  for (const auto& row : graph.traits)
    for (float trait : row) words.push_back(llvm::bit_cast<uint32_t>(trait));
  for (auto [from, to] : graph.edges) words.insert(words.end(), {from, to});
  return llvm::xxHash64(llvm::StringRef(reinterpret_cast<const char*>(words.data()),
                                        words.size() * sizeof(uint32_t)));
}

std::vector<float> traits_of(llvm::ArrayRef<Rule> rules) {
  std::vector<float> all;
  for (const Rule& rule : rules) {
    std::vector<float> row = rule_traits(rule);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

} // namespace

// --- programs -----------------------------------------------------------------------------------

Result<Prepared> GuideModels::load(llvm::StringRef model, NetworkSettings settings) const {
  NetworkRun run = options_.run;
  // Optimising saves 2 to 4% of a training step. It does not speed up assess(), which runs about a
  // hundred times.
  run.optimised &= model == "study";
  return load_network(kGuideModels, model, std::move(settings), run, options_.seed);
}

Result<Prepared*> GuideModels::program(llvm::StringRef model, size_t rules, const Sizes& sizes) {
  auto key = std::make_tuple(model.str(), rules, sizes);
  auto known = programs_.find(key);
  if (known != programs_.end()) return &known->second;
  NetworkSettings settings = {{"R", std::to_string(rules)},
                              {"F", std::to_string(kFeatures)},
                              {"G", std::to_string(kRuleTraits)}};
  if (sizes.graphs > 0)
    settings.insert(settings.end(), {{"B", std::to_string(sizes.graphs)},
                                     {"N", std::to_string(sizes.nodes)},
                                     {"E", std::to_string(sizes.edges)}});
  if (model == "study") settings.emplace_back("rate", exact_text(options_.rate));
  TG_TRY(Prepared loaded, load(model, std::move(settings)));
  return &programs_.emplace(std::move(key), std::move(loaded)).first->second;
}

bool GuideModels::note_traits(llvm::ArrayRef<Rule> rules) {
  auto same_name = [](const Rule& rule, const std::string& name) { return rule.name == name; };
  if (rules.data() == rules_ &&
      std::equal(rules.begin(), rules.end(), names_.begin(), names_.end(), same_name))
    return false;
  rules_ = rules.data();
  names_.clear();
  for (const Rule& rule : rules) names_.push_back(rule.name);
  traits_ = traits_of(rules);
  return true;
}

Result<void> GuideModels::read(llvm::ArrayRef<Rule> rules) {
  if (!note_traits(rules) && !read_.empty()) return {};
  answers_.clear(), read_.clear();
  TG_TRY(Prepared * program, this->program("read_rules", rules.size(), {}));
  TG_TRY(std::vector<Tensor> outputs,
         program->executable->run(
             {theta_, Tensor::of_floats(shape_of({rules.size(), kRuleTraits}), traits_)}));
  read_ = std::move(outputs);
  return {};
}

Result<GuideRunner::Answer> GuideModels::assess(const GraphFeatures& graph,
                                                llvm::ArrayRef<Rule> rules) {
  TG_CHECK(read(rules));
  uint64_t digest = digest_of(graph);
  if (auto known = answers_.find(digest); known != answers_.end()) return known->second;
  size_t nodes = std::max(graph.operators.size(), options_.least_nodes);
  size_t most = kLookedAt * llvm::PowerOf2Ceil(llvm::divideCeil(nodes, kLookedAt));
  GraphBatch batch(&graph, 1, most);
  TG_TRY(Prepared * program, this->program("look", rules.size(), {1, most, batch.edges()}));
  std::vector<Tensor> inputs = {borrowed(theta_), borrowed(read_[0]), borrowed(read_[1])};
  batch.add_to(inputs);
  TG_TRY(std::vector<Tensor> outputs, program->executable->run(inputs));
  llvm::ArrayRef<float> logits = outputs[0].floats();
  if (answers_.size() * logits.size() * sizeof(float) >= kMostAnswers) answers_.clear();
  return answers_[digest] = {{logits.begin(), logits.end()}, outputs[1].floats()[0]};
}

Result<double> GuideModels::train_step(llvm::ArrayRef<const GuideSample*> minibatch,
                                       llvm::ArrayRef<Rule> rules) {
  size_t most = options_.least_nodes, actions = rules.size() * kGrains;
  std::vector<const GraphFeatures*> seen;
  for (const GuideSample* sample : minibatch) {
    seen.push_back(sample->graph.get());
    most = std::max(most, sample->graph->operators.size());
  }
  size_t batch = std::max(options_.least_samples, minibatch.size());
  GraphBatch graphs(seen, batch, bucket_of(most));
  TG_TRY(Prepared * program,
         this->program("study", rules.size(), {batch, graphs.most, graphs.edges()}));
  std::vector<float> tried(batch * actions), shares(batch * actions), gained(batch), counts(batch);
  for (size_t i = 0; i < minibatch.size(); ++i) {
    const GuideSample& sample = *minibatch[i];
    std::copy(sample.tried.begin(), sample.tried.end(), &tried[i * actions]);
    std::copy(sample.shares.begin(), sample.shares.end(), &shares[i * actions]);
    gained[i] = sample.gain, counts[i] = 1;
  }
  note_traits(rules);
  std::vector<Tensor> inputs = {theta_, mean_, variance_,
                                Tensor::of_floats({}, {static_cast<float>(++steps_)}),
                                Tensor::of_floats(shape_of({rules.size(), kRuleTraits}), traits_)};
  graphs.add_to(inputs);
  for (const auto* values : {&tried, &shares})
    inputs.push_back(Tensor::of_floats(shape_of({batch, rules.size(), kGrains}), *values));
  for (const auto* values : {&gained, &counts})
    inputs.push_back(Tensor::of_floats(shape_of({batch}), *values));
  TG_TRY(std::vector<Tensor> outputs, program->executable->run(inputs));
  theta_ = std::move(outputs[0]), mean_ = std::move(outputs[1]), variance_ = std::move(outputs[2]);
  read_.clear();
  return static_cast<double>(outputs[3].floats()[0]);
}

// --- files --------------------------------------------------------------------------------------

Result<std::unique_ptr<GuideModels>> GuideModels::fresh(GuideModelOptions options) {
  std::unique_ptr<GuideModels> guide(new GuideModels(std::move(options)));
  TG_TRY(Prepared fresh, guide->load("fresh", {{"features", std::to_string(kFeatures)},
                                               {"traits", std::to_string(kRuleTraits)}}));
  TG_TRY(std::vector<Tensor> outputs, fresh.executable->run({}));
  guide->theta_ = std::move(outputs[0]);
  TG_TRY(guide->mean_, Tensor::zeros(guide->theta_.type()));
  guide->variance_ = guide->mean_;
  return guide;
}

Result<void> GuideModels::save(llvm::StringRef path, const PolicyNotes& notes) const {
  if (!all_finite(theta_)) return not_finite_error();
  const std::pair<llvm::StringRef, const Tensor*> tensors[] = {
      {"mean", &mean_}, {"theta", &theta_}, {"variance", &variance_}};
  std::vector<SafetensorsItem> items;
  for (auto [name, tensor] : tensors) items.push_back({name.str(), tensor->type()});
  std::vector<std::pair<std::string, std::string>> metadata = {{"policy", kGuide.str()},
                                                               {"version", kGuideVersion.str()},
                                                               {"operators", operator_names()},
                                                               {"steps", std::to_string(steps_)}};
  for (const auto& [key, text] : notes) metadata.emplace_back(key, text);
  return write_safetensors(
      path, items, [&](size_t item) -> Result<Tensor> { return *tensors[item].second; }, metadata);
}

Result<std::unique_ptr<GuideModels>> GuideModels::open(llvm::StringRef path,
                                                       GuideModelOptions options) {
  TG_TRY(Safetensors file, Safetensors::open(path));
  PolicyNotes notes(file.metadata().begin(), file.metadata().end());
  const char* how = "train one with `tg-paper train --policy guide`";
  if (find_policy_form(notes["policy"]))
    return error(Code::bad_data_file, "`{0}` contains a policy for `--search rl`, not a guide",
                 path)
        .suggest("use `--search rl`");
  if (notes["policy"] != kGuide || notes["version"] != kGuideVersion)
    return error(Code::bad_data_file, "`{0}` is not a guide of this version", path).suggest(how);
  if (notes["operators"] != operator_names())
    return error(Code::bad_data_file, "the guide in `{0}` was trained for other operators", path)
        .suggest(how);
  TG_TRY(std::unique_ptr<GuideModels> guide, fresh(std::move(options)));
  if (llvm::StringRef(notes["steps"]).getAsInteger(10, guide->steps_) || guide->steps_ < 0)
    return error(Code::bad_data_file, "`{0}` does not contain its number of training steps", path);
  TensorType type = guide->theta_.type();
  for (auto [name, tensor] : {std::pair("mean", &guide->mean_),
                              {"theta", &guide->theta_},
                              {"variance", &guide->variance_}}) {
    TG_TRY(*tensor, read_tensor(file, path, name, type));
  }
  guide->notes_ = std::move(notes);
  return guide;
}

} // namespace tg::paper
