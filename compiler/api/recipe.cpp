#include "compiler/api/recipe.h"

#include "compiler/api/optimize_model.h"
#include "compiler/api/public_models.h"
#include "compiler/api/public_types.h"
#include "compiler/egraph/explain/instantiate.h"
#include "compiler/ir/retype.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/verify/replay.h"

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

tg::Result<void> price(const OptimizeOptions& options, const tg::Graph& source,
                       const tg::Graph& result, Repeated& out) {
  tg::DType dtype = tg::to_internal(options.dtype);
  TG_TRY(tg::Graph as_run, tg::retype(source, dtype));
  TG_TRY(std::unique_ptr<tg::CostModel> costs, prices_of(options, as_run));
  std::optional<tg::RetypedCost> narrow;
  tg::PriceCache prices(source.symbols(), tg::in_dtype(dtype, *costs, narrow));
  out.cost_before_us = tg::price_graph(source, prices);
  out.cost_after_us = tg::price_graph(result, prices);
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
  const Recipe::Impl& known = recipe.impl();
  tg::Graph source = own_graph(model);
  if (input_names(source) != known.inputs || output_names(source) != known.outputs)
    return to_error(other_model(source, known));
  std::unique_lock lock(known.mutex);
  tg::Instantiated found = tg::instantiate(known.chain, known.rules, source);
  lock.unlock();
  tg::Graph result = tg::graph_of(found.chain, found.chain.end, source);
  if (std::string fault = tg::replay(found.chain, known.rules, source, result); !fault.empty())
    return to_error(tg::error(tg::Code::internal,
                              "the recipe of `{0}` is wrong at these sizes: {1}", source.name(),
                              fault));
  Repeated out{to_model(source), found.chain.steps.size(), found.skipped.size()};
  if (auto priced = price(known.options, source, result, out); !priced)
    return to_error(priced.error());
  out.source_returned = out.cost_after_us > out.cost_before_us;
  if (out.source_returned) out.cost_after_us = out.cost_before_us;
  out.model = rewritten(model, out.source_returned ? source : result);
  return out;
}

} // namespace tangram
