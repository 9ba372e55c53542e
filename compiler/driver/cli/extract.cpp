// `tg extract`: extraction alone, on an e-graph in the egraph-serialize JSON form. What it writes
// lets anyone recompute the cost: for each class that the roots reach, the node chosen.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/public_types.h"
#include "compiler/extract/egraph_json.h"
#include "compiler/extract/extractors.h"
#include "compiler/extract/greedy.h"
#include "lang/core/stopwatch.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

IlpOptions options_of(const Options& o) {
  IlpOptions options;
  if (o.time_limit_s >= 0) options.time_limit_s = o.time_limit_s;
  options.memory_limit_bytes = static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb));
  options.seed = o.seed;
  options.cycles = part_of(o.ilp_cycles);
  return options;
}

/// Which roots have no solution, by their ids; the extractor speaks of classes by number.
Diagnostic name_roots(const SerializedEGraph& egraph, Diagnostic fault) {
  constexpr size_t kMostNamed = 5;
  std::vector<ClassIx> hopeless = roots_without_solution(egraph.problem);
  if (hopeless.empty()) return fault;
  std::string names;
  for (size_t i = 0; i < std::min(hopeless.size(), kMostNamed); ++i)
    names += (i > 0 ? ", `" : "`") + egraph.classes[hopeless[i].index].str() + "`";
  if (hopeless.size() > kMostNamed)
    names += llvm::formatv(" and {0} more", hopeless.size() - kMostNamed).str();
  return error(Code::no_solution,
               "{0} cannot be extracted: every derivation is cyclic, forbidden "
               "or of infinite cost",
               (hopeless.size() > 1 ? "the root classes " : "the root class ") + names);
}

void write_json(Session& session, const SerializedEGraph& egraph, const Extraction& answer,
                llvm::StringRef instance, double read_s) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("instance", instance);
    json.attribute("extract", llvm::StringRef(tangram::word(session.options.extract)));
    json.attribute("algorithm", answer.algorithm);
    json.attribute("nodes", static_cast<int64_t>(egraph.problem.node_count()));
    json.attribute("classes", static_cast<int64_t>(egraph.problem.class_count()));
    write_number(json, "dag_cost", answer.dag_cost);
    write_number(json, "tree_cost", answer.tree_cost);
    write_number(json, "reported_cost", answer.reported_cost);
    json.attribute("optimal", answer.optimal);
    write_number(json, "lower_bound", answer.lower_bound);
    json.attribute("seconds", answer.seconds);
    json.attribute("read_seconds", read_s);
    json.attribute("note", answer.note);
    json.attributeObject("choices", [&] {
      for (uint32_t c = 0; c < answer.choice.node.size(); ++c)
        if (NodeIx node = answer.choice.node[c]; node.valid())
          json.attribute(egraph.classes[c], egraph.node_ids[node.index]);
    });
  });
  session.out << "\n";
}

void print_report(Session& session, const SerializedEGraph& egraph, const Extraction& answer,
                  llvm::StringRef instance) {
  const Options& o = session.options;
  llvm::raw_ostream& out = session.out;
  out << instance << "\n\n";
  out << "  e-graph     " << count_text(egraph.problem.node_count()) << " nodes in "
      << count_text(egraph.problem.class_count()) << " classes, "
      << count_text(egraph.problem.roots().size()) << " roots\n";
  size_t chosen = 0;
  for (NodeIx node : answer.choice.node) chosen += node.valid();
  out << "  extracted   " << count_text(chosen) << " nodes by " << tangram::word(o.extract) << " ("
      << answer.algorithm << "), in " << duration_text(answer.seconds * 1e6) << "\n";
  out << llvm::format("  cost        %.10g\n", answer.dag_cost);
  out << llvm::format("  tree cost   %.10g\n", answer.tree_cost);
  if (answer.reported_cost != answer.dag_cost)
    out << llvm::format("  reported    %.10g\n", answer.reported_cost);
  if (answer.optimal)
    out << "  optimal     proven\n";
  else
    out << llvm::format("  bound       %.10g\n", answer.lower_bound);
  if (!answer.note.empty()) out << "  note        " << answer.note << "\n";
}

/// A second opinion on the answer, from the checker that shares nothing with the extractors.
Result<void> check_answer(const SerializedEGraph& egraph, const Extraction& answer) {
  CheckedChoice checked = check_choice(egraph.problem, answer.choice);
  if (!checked.ok())
    return error(Code::internal, "the answer does not pass the check: {0}", checked.fault);
  if (checked.dag_cost != answer.dag_cost || checked.tree_cost != answer.tree_cost)
    return error(Code::internal, "the answer costs {0}, not {1}", checked.dag_cost,
                 answer.dag_cost);
  if (answer.lower_bound > checked.dag_cost)
    return error(Code::internal, "the bound {0} lies above the cost {1}", answer.lower_bound,
                 checked.dag_cost);
  return {};
}

} // namespace

int run_extract(Session& session) {
  const Options& o = session.options;
  Stopwatch watch;
  Result<SerializedEGraph> egraph = read_egraph_json(o.files.front());
  double read_s = watch.seconds();
  if (!egraph) return session.fail(egraph.error());
  IlpOptions options = options_of(o);
  // Ctrl-C ends the search, and the best choice so far is the answer.
  session.interruptible = std::make_unique<Interruptible>();
  options.memory_limit_bytes = std::min(options.memory_limit_bytes, session.stop.bytes_left());
  options.stop = [stop = session.stop](const ExtractionProgress&) {
    return stop.cancelled() || stop.full();
  };
  Result<Extraction> answer = run_extractor(egraph->problem, part_of(o.extract), options);
  if (!answer) return session.fail(name_roots(*egraph, answer.error()));
  if (o.check)
    if (auto checked = check_answer(*egraph, *answer); !checked)
      return session.fail(checked.error());
  llvm::StringRef instance = llvm::sys::path::stem(o.files.front());
  if (o.json) {
    write_json(session, *egraph, *answer, instance, read_s);
  } else if (!o.quiet) {
    print_report(session, *egraph, *answer, instance);
    if (o.check) session.out << "  check       passed\n";
  }
  return 0;
}

} // namespace tg::cli
