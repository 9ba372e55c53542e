// `tg extract`: runs an extractor on an e-graph in the egraph-serialize JSON form. The output has
// the chosen node of each class that the roots reach, so that anyone can recompute the cost.
#include "compiler/api/extract_egraph.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/Path.h>

namespace tg::cli {
namespace {

void write_json(Session& session, const tangram::Extraction& answer, llvm::StringRef instance) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("instance", instance);
    json.attribute("extract", llvm::StringRef(tangram::word(session.options.extract)));
    json.attribute("algorithm", answer.algorithm);
    json.attribute("nodes", static_cast<int64_t>(answer.nodes));
    json.attribute("classes", static_cast<int64_t>(answer.classes));
    write_number(json, "dag_cost", answer.dag_cost);
    write_number(json, "tree_cost", answer.tree_cost);
    write_number(json, "reported_cost", answer.reported_cost);
    json.attribute("optimal", answer.optimal);
    write_number(json, "lower_bound", answer.lower_bound);
    json.attribute("seconds", answer.seconds);
    json.attribute("read_seconds", answer.read_s);
    json.attribute("note", answer.note);
    json.attributeObject("choices", [&] {
      for (const auto& [eclass, node] : answer.choices) json.attribute(eclass, node);
    });
  });
  session.out << "\n";
}

void print_extraction(Session& session, const tangram::Extraction& answer,
                      llvm::StringRef instance) {
  const Options& o = session.options;
  llvm::raw_ostream& out = session.out;
  out << instance << "\n\n";
  out << "  e-graph     " << counted(answer.nodes, "node") << " in "
      << counted(answer.classes, "class") << ", " << counted(answer.roots, "root") << "\n";
  out << "  extracted   " << counted(answer.choices.size(), "node") << " by "
      << tangram::word(o.extract) << " (" << answer.algorithm << "), in "
      << duration_text(answer.seconds * 1e6) << "\n";
  out << llvm::format("  cost        %.10g\n", answer.dag_cost);
  out << llvm::format("  tree cost   %.10g\n", answer.tree_cost);
  if (answer.reported_cost != answer.dag_cost)
    out << llvm::format("  reported    %.10g\n", answer.reported_cost);
  if (answer.optimal)
    out << "  optimal     proven\n";
  else
    out << llvm::format("  bound       %.10g\n", answer.lower_bound);
  if (!answer.note.empty()) out << "  note        " << answer.note << "\n";
  if (o.check) out << "  check       passed\n";
}

} // namespace

int run_extract(Session& session) {
  const Options& o = session.options;
  // Ctrl-C ends the search; the best choice so far is the answer.
  session.interruptible = std::make_unique<Interruptible>();
  Result<tangram::Extraction> answer = extract_egraph_file(o.files.front(),
                                                           {.extract = o.extract,
                                                            .ilp_cycles = o.ilp_cycles,
                                                            .check = o.check,
                                                            .seed = o.seed,
                                                            .time_limit_s = o.time_limit_s,
                                                            .memory_limit_mb = o.memory_limit_mb},
                                                           session.stop);
  if (!answer) return session.fail(answer.error());
  llvm::StringRef instance = llvm::sys::path::stem(o.files.front());
  if (o.json)
    write_json(session, *answer, instance);
  else if (!o.quiet)
    print_extraction(session, *answer, instance);
  return 0;
}

} // namespace tg::cli
