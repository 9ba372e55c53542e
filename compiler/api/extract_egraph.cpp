#include "compiler/api/extract_egraph.h"

#include "compiler/api/backends/prepare.h"
#include "compiler/api/public_types.h"
#include "compiler/extract/egraph_json.h"
#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy/greedy.h"
#include "lang/core/support/stop.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {
namespace {

IlpOptions ilp_options(const tangram::ExtractOptions& o, const StopToken& stop) {
  IlpOptions options;
  if (o.time_limit_s >= 0) options.time_limit_s = o.time_limit_s;
  auto memory = static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb));
  options.memory_limit_bytes = std::min(memory, stop.bytes_left());
  options.seed = o.seed;
  options.cycles = to_internal(o.ilp_cycles);
  options.stop = [stop](const ExtractionProgress&) { return stop.cancelled() || stop.full(); };
  return options;
}

/// Names the roots without a solution by their ids; the extractor only knows class numbers.
Diagnostic name_roots(const SerializedEGraph& egraph, Diagnostic fault) {
  constexpr size_t kMostNamed = 5;
  std::vector<ClassIx> without_solution = roots_without_solution(egraph.problem);
  if (without_solution.empty()) return fault;
  std::string names;
  for (size_t i = 0; i < std::min(without_solution.size(), kMostNamed); ++i)
    names += (i > 0 ? ", `" : "`") + egraph.classes[without_solution[i].index].str() + "`";
  if (without_solution.size() > kMostNamed)
    names += llvm::formatv(" and {0} more", without_solution.size() - kMostNamed).str();
  return error(Code::no_solution,
               "{0} cannot be extracted: every derivation is cyclic, forbidden "
               "or of infinite cost",
               (without_solution.size() > 1 ? "the root classes " : "the root class ") + names);
}

/// Checks the answer with a checker that shares no code with the extractors.
Result<void> check_answer(const SerializedEGraph& egraph, const Extraction& answer) {
  CheckedChoice checked = check_choice(egraph.problem, answer.choice);
  if (!checked.ok()) return error(Code::internal, "the result fails the check: {0}", checked.fault);
  if (checked.dag_cost != answer.dag_cost || checked.tree_cost != answer.tree_cost)
    return error(Code::internal, "the result costs {0}, not {1}", checked.dag_cost,
                 answer.dag_cost);
  if (answer.lower_bound > checked.dag_cost)
    return error(Code::internal, "the bound {0} exceeds the cost {1}", answer.lower_bound,
                 checked.dag_cost);
  return {};
}

tangram::Extraction to_public(const SerializedEGraph& egraph, const Extraction& answer) {
  tangram::Extraction out;
  out.nodes = egraph.problem.node_count();
  out.classes = egraph.problem.class_count();
  out.roots = egraph.problem.roots().size();
  for (uint32_t c = 0; c < answer.choice.node.size(); ++c)
    if (NodeIx node = answer.choice.node[c]; node.valid())
      out.choices.emplace_back(egraph.classes[c].str(), egraph.node_ids[node.index].str());
  out.algorithm = answer.algorithm;
  out.dag_cost = answer.dag_cost;
  out.tree_cost = answer.tree_cost;
  out.reported_cost = answer.reported_cost;
  out.lower_bound = answer.lower_bound;
  out.optimal = answer.optimal;
  out.seconds = answer.seconds;
  out.note = answer.note;
  return out;
}

Result<tangram::Extraction> extract(llvm::function_ref<Result<SerializedEGraph>()> read,
                                    const tangram::ExtractOptions& o, const StopToken& stop) {
  Stopwatch watch;
  TG_TRY(SerializedEGraph egraph, read());
  double read_s = watch.seconds();
  Result<Extraction> answer =
      run_extractor(egraph.problem, to_internal(o.extract), ilp_options(o, stop));
  if (!answer) return name_roots(egraph, std::move(answer.error()));
  if (o.check) TG_CHECK(check_answer(egraph, *answer));
  tangram::Extraction out = to_public(egraph, *answer);
  out.read_s = read_s;
  return out;
}

} // namespace

Result<tangram::Extraction> extract_egraph_file(llvm::StringRef path,
                                                const tangram::ExtractOptions& options,
                                                const StopToken& stop) {
  return extract([&] { return read_egraph_json(path); }, options, stop);
}

Result<tangram::Extraction> extract_egraph(llvm::StringRef text, llvm::StringRef name,
                                           const tangram::ExtractOptions& options,
                                           const StopToken& stop) {
  return extract([&] { return parse_egraph_json(text, name); }, options, stop);
}

} // namespace tg
