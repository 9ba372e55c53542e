// `tg explain`: optimises a model as `tg opt` does and prints how the result follows from the
// source, step by step. The chain is replayed on terms by the rules' own text before it is printed.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/search_files.h"
#include "compiler/driver/cli/table.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/explanation.h"
#include "lang/core/escape.h"

#include <map>

namespace tg::cli {
namespace {

/// A step as it is shown.
struct ShownStep {
  const Rule* rule = nullptr;
  bool forward = true;
  std::string before, after, where;
};

std::vector<ShownStep> shown(const Derivation& chain, llvm::ArrayRef<Rule> rules) {
  std::vector<ShownStep> out;
  for (const DerivationStep& step : chain.steps) {
    const Rule& rule = rules[step.rule];
    out.push_back({&rule, step.forward, to_text(step_fragment(chain, step, rule, true)),
                   to_text(step_fragment(chain, step, rule, false)),
                   step_leaves(chain, step, rule)});
  }
  return out;
}

void write_json(Session& session, const Optimized& result, llvm::ArrayRef<Rule> rules) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("model", result.report.model);
    json.attribute("search", result.report.search);
    write_number(json, "cost_before_us", result.report.cost_before_us);
    write_number(json, "cost_after_us", result.report.cost_after_us);
    json.attribute("confirmed", true);
    write_chain(json, "steps", *result.chain, rules);
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

void print_steps(llvm::raw_ostream& out, llvm::ArrayRef<ShownStep> steps) {
  std::map<std::tuple<const Rule*, bool, llvm::StringRef, llvm::StringRef>, size_t> told;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ShownStep& step = steps[i];
    auto [first, fresh] =
        told.try_emplace({step.rule, step.forward, step.before, step.after}, i + 1);
    out << "\n" << i + 1 << "  " << step.rule->name << (step.forward ? "" : ", backwards");
    if (!fresh)
      out << ", as in step " << first->second;
    else if (step.rule->built_in)
      out << "  (" << step.rule->set << ")";
    else
      out << "  (" << step.rule->file << ":" << step.rule->line << ")";
    out << "\n";
    if (fresh) {
      print_model(out, "  before  ", step.before);
      print_model(out, "  after   ", step.after);
    }
    if (!step.where.empty()) out << "  where   " << step.where << "\n";
  }
}

void print_head(Session& session, const OptimizeReport& report, size_t steps) {
  llvm::raw_ostream& out = session.out;
  out << report.model << ": ";
  if (steps == 0) {
    out << "the result is the source\n";
  } else {
    out << duration_text(report.cost_before_us) << " to " << duration_text(report.cost_after_us)
        << " (" << report.cost_model << "), in " << steps << (steps == 1 ? " step" : " steps")
        << ", confirmed on terms\n";
  }
  for (const std::string& note : report.notes) out << "note: " << printable(note) << "\n";
}

} // namespace

void write_chain(llvm::json::OStream& json, llvm::StringRef name, const Derivation& chain,
                 llvm::ArrayRef<Rule> rules) {
  json.attributeArray(name, [&] {
    for (const ShownStep& step : shown(chain, rules))
      json.object([&] {
        json.attribute("rule", step.rule->name);
        json.attribute("file", step.rule->file);
        json.attribute("line", static_cast<int64_t>(step.rule->line));
        json.attribute("backwards", !step.forward);
        json.attribute("before", step.before);
        json.attribute("after", step.after);
        json.attribute("where", step.where);
      });
  });
}

void print_chain(llvm::raw_ostream& out, const Derivation& chain, llvm::ArrayRef<Rule> rules) {
  print_steps(out, shown(chain, rules));
}

int run_explain(Session& session) {
  const Options& o = session.options;
  std::optional<OptimizedModel> optimized = load_and_optimize(session);
  if (!optimized) return session.fail();
  auto& [source, result, rules] = *optimized;
  StopToken stop = session.stop.with_memory().with_grace(kGraceOfVerification);
  if (auto confirmed = confirm_chain(result, rules, source, stop); !confirmed)
    return session.fail(confirmed.error());
  Verification verified = verify_result(session, source, result, rules);
  if (verified == Verification::Failed) return session.fail();
  session.print_warnings();
  if (o.json) {
    write_json(session, result, rules);
  } else if (!o.quiet) {
    print_head(session, result.report, result.chain->steps.size());
    print_chain(session.out, *result.chain, rules);
  }
  return verified == Verification::Undecided ? kNotDecided : 0;
}

} // namespace tg::cli
