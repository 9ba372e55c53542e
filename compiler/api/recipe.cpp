#include "compiler/api/recipe.h"

#include "compiler/api/optimize_model.h"
#include "compiler/api/public_models.h"
#include "compiler/api/public_types.h"
#include "compiler/egraph/explain/instantiate.h"
#include "compiler/ir/retype.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/verify/replay.h"

#include <llvm/ADT/StringExtras.h>

#include <mutex>

struct tangram::Recipe::Impl {
  tg::Derivation chain; // with symbols of its own
  std::vector<tg::Rule> rules;
  std::vector<std::string> inputs, outputs; // names
  OptimizeOptions options;
  mutable std::mutex mutex; // a repetition adds to the symbols of `chain`
};

namespace tangram {

namespace {

std::vector<std::string> input_names(const tg::Graph& graph) {
  std::vector<std::string> names;
  for (tg::NodeId input : graph.inputs()) names.push_back(graph.attr(input, 0).text);
  return names;
}

std::vector<std::string> output_names(const tg::Graph& graph) {
  std::vector<std::string> names;
  for (const tg::GraphOutput& output : graph.outputs()) names.push_back(output.name);
  return names;
}

/// Returns prices that need no runs on this machine, for a graph in the type in which it runs.
tg::Result<std::unique_ptr<tg::CostModel>> prices_of(OptimizeOptions options,
                                                     const tg::Graph& as_run) {
  if (tg::is_measured(options.cost))
    options.cost =
        CostSpec::analytic(tg::profile_of_backend(word(tg::backend_of_costs(options.cost))));
  return tg::cost_model(as_run, options, {});
}

/// Sets the costs of source and result.
tg::Result<void> price(const OptimizeOptions& options, const tg::Graph& source,
                       tg::RepeatedGraph& out) {
  tg::DType dtype = tg::to_internal(options.dtype);
  TG_TRY(tg::Graph as_run, tg::retype(source, dtype));
  TG_TRY(std::unique_ptr<tg::CostModel> costs, prices_of(options, as_run));
  std::optional<tg::RetypedCost> narrow;
  tg::PriceCache prices(source.symbols(), tg::in_dtype(dtype, *costs, narrow));
  out.source_us = tg::price_graph(source, prices);
  out.result_us = tg::price_graph(out.graph, prices);
  return {};
}

tg::Diagnostic other_model(const tg::Graph& source, const Recipe::Impl& recipe) {
  return tg::error(tg::Code::models_differ,
                   "`{0}` is not the model of the recipe at other sizes: the recipe has the inputs "
                   "{1} and the outputs {2}",
                   source.name(), llvm::join(recipe.inputs, ", "),
                   llvm::join(recipe.outputs, ", "));
}

} // namespace

Recipe to_recipe(const tg::Derivation& chain, std::vector<tg::Rule> rules, const tg::Graph& source,
                 OptimizeOptions options) {
  options.progress = {}, options.judge = {}, options.interrupt = {}; // of the finished search
  tg::Derivation own(std::make_shared<tg::Symbols>());
  tg::Translation into(chain.terms, own.terms);
  for (tg::NodeId node : chain.start) own.start.push_back(into(node));
  own.end = own.start;
  tg::append(own, chain);
  return Recipe(std::shared_ptr<const Recipe::Impl>(new Recipe::Impl{std::move(own),
                                                                     std::move(rules),
                                                                     input_names(source),
                                                                     output_names(source),
                                                                     std::move(options),
                                                                     {}}));
}

Expected<Repeated> repeat(const Recipe& recipe, const Model& model) {
  tg::Graph source = own_graph(model);
  tg::Result<tg::RepeatedGraph> found = tg::repeat(recipe, source);
  if (!found) return to_error(found.error());
  bool kept = found->source_is_better();
  return Repeated{rewritten(model, kept ? source : found->graph),
                  found->steps,
                  found->skipped,
                  found->source_us,
                  found->cost_us(),
                  kept};
}

} // namespace tangram

namespace tg {

Result<RepeatedGraph> repeat(const tangram::Recipe& recipe, const Graph& source) {
  const tangram::Recipe::Impl& known = recipe.impl();
  if (tangram::input_names(source) != known.inputs ||
      tangram::output_names(source) != known.outputs)
    return tangram::other_model(source, known);
  std::unique_lock lock(known.mutex);
  Instantiated found = instantiate(known.chain, known.rules, source);
  lock.unlock();
  RepeatedGraph out{graph_of(found.chain, found.chain.end, source), found.chain.steps.size(),
                    found.skipped.size()};
  if (std::string fault = replay(found.chain, known.rules, source, out.graph); !fault.empty())
    return error(Code::internal, "the recipe of `{0}` is wrong at these sizes: {1}", source.name(),
                 fault);
  TG_CHECK(tangram::price(known.options, source, out));
  return out;
}

std::vector<Rule> rules_of(const tangram::Recipe& recipe) {
  const tangram::Recipe::Impl& known = recipe.impl();
  std::vector<bool> used(known.rules.size());
  for (const DerivationStep& step : known.chain.steps) used[step.rule] = true;
  for (const DerivationStep& step : known.chain.makers) used[step.rule] = true;
  std::vector<Rule> rules;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) rules.push_back(known.rules[i]);
  return rules;
}

size_t steps_of(const tangram::Recipe& recipe) { return recipe.impl().chain.steps.size(); }

} // namespace tg
