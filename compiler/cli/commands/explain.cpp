// `tg explain`: optimises a model as `tg opt` does and prints, step by step, how the result follows
// from the source. The library has replayed the chain on terms by the text of the rules.
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/report/report_json.h"
#include "lang/core/diagnostics/escape.h"

#include <map>

namespace tg::cli {
namespace {

void write_json(Session& session, const OptimizeReport& report,
                llvm::ArrayRef<tangram::Step> steps) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("model", report.model);
    json.attribute("search", report.search);
    write_number(json, "cost_before_us", report.cost_before_us);
    write_number(json, "cost_after_us", report.cost_after_us);
    json.attribute("confirmed", true);
    write_chain(json, "steps", steps);
  });
  session.out << "\n";
}

void print_model(llvm::raw_ostream& out, const char* head, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 16> lines;
  text.rtrim().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    out << (head ? head : "          ") << line << "\n";
    head = nullptr;
  }
}

void print_head(Session& session, const OptimizeReport& report, size_t steps) {
  llvm::raw_ostream& out = session.out;
  out << report.model << ": ";
  if (steps == 0) {
    out << "the result is the source\n";
  } else {
    out << duration_text(report.cost_before_us) << " to " << duration_text(report.cost_after_us)
        << " (" << report.cost_model << "), in " << counted(steps, "step")
        << ", checked on terms\n";
  }
  for (const std::string& note : report.notes) out << "note: " << printable(note) << "\n";
}

/// Prints at which other sizes the steps apply.
void print_sizes(llvm::raw_ostream& out, const OptimizeReport& report) {
  if (report.tried.size() < 2) return;
  out << "\nsizes\n";
  for (size_t i = 0; i < report.recipes.size(); ++i)
    out << "  recipe of " << report.recipes[i].searched_at << ", for " << report.recipes[i].sizes
        << ": " << counted(report.recipes[i].steps, "step") << "\n";
  for (const SizeTrial& trial : report.tried) {
    out << "  " << trial.at << ": "
        << (trial.skipped == 0   ? "all steps apply"
            : trial.skipped == 1 ? "1 rewrite does not apply"
                                 : count_text(trial.skipped) + " rewrites do not apply");
    if (report.recipes.size() > 1) out << ", recipe for " << report.recipes[trial.recipe].sizes;
    out << (trial.source_returned ? "; the source is cheaper there\n" : "\n");
  }
  if (report.proved_for) out << "  proved for " << *report.proved_for << "\n";
}

} // namespace

void print_chain(llvm::raw_ostream& out, llvm::ArrayRef<tangram::Step> steps) {
  std::map<std::tuple<llvm::StringRef, bool, llvm::StringRef, llvm::StringRef>, size_t> told;
  for (size_t i = 0; i < steps.size(); ++i) {
    const tangram::Step& step = steps[i];
    auto [first, fresh] =
        told.try_emplace({step.rule, step.backwards, step.before, step.after}, i + 1);
    out << "\n" << i + 1 << "  " << step.rule << (step.backwards ? ", backwards" : "");
    if (!fresh)
      out << ", as in step " << first->second;
    else if (step.built_in)
      out << "  (" << step.set << ")";
    else
      out << "  (" << step.file << ":" << step.line << ")";
    out << "\n";
    if (fresh) {
      print_model(out, "  before  ", step.before);
      print_model(out, "  after   ", step.after);
    }
    if (!step.where.empty()) out << "  where   " << step.where << "\n";
  }
}

int run_explain(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedAndOptimized> optimized = load_and_optimize(session);
  if (!optimized) return session.fail();
  const OptimizedModel& best = optimized->best;
  const OptimizeReport& report = best.result.report;
  session.print_warnings();
  std::vector<tangram::Step> steps = steps_of(*best.result.chain, best.rules);
  if (o.json) {
    write_json(session, report, steps);
  } else if (!o.quiet) {
    print_head(session, report, steps.size());
    print_chain(session.out, steps);
    print_sizes(session.out, report);
  }
  return best.verified == Verified::Undecided ? kNotDecided : 0;
}

} // namespace tg::cli
