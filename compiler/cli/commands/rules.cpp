// `tg rules list` and `tg rules verify`: the rules of a selection, or of the whole library, and
// whether they are correct. In a list, `status` and the members after it are null.
#include "compiler/api/verify/verify_rules.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/rules/rule_form.h"
#include "compiler/rules/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <cmath>
#include <map>
#include <tuple>

namespace tg::cli {
namespace {

using Status = tangram::RuleStatus;

llvm::StringRef shown_status(const RuleVerdict& verdict) {
  return tangram::word(status_of(verdict));
}

void write_verdict(llvm::json::OStream& json, const RuleVerdict& verdict) {
  json.attribute("status", shown_status(verdict));
  if (verdict.proof == RuleVerdict::Proof::NotProved) json.attribute("unproved", verdict.unproved);
  json.attribute("cases", static_cast<int64_t>(verdict.cases));
  json.attribute("in_field", static_cast<int64_t>(verdict.in_field));
  json.attribute("combinations", static_cast<int64_t>(verdict.combinations));
  json.attribute("kinds", static_cast<int64_t>(verdict.kinds));
  json.attribute("kind_pairs", static_cast<int64_t>(verdict.kind_pairs));
  json.attribute("partitions", static_cast<int64_t>(verdict.partitions));
  json.attribute("partition_pairs", static_cast<int64_t>(verdict.partition_pairs));
  if (verdict.in_field > 0 && verdict.in_field == verdict.cases)
    json.attribute("error_bound", std::exp2(verdict.log2_error));
  else
    json.attribute("error_bound", nullptr);
  json.attribute("verified_numerics", numerics_name(verdict.numerics));
  json.attribute("observed_numerics", numerics_name(verdict.observed));
  json.attribute("why", verdict.why);
  if (verdict.counterexample.empty())
    json.attribute("counterexample", nullptr);
  else
    json.attribute("counterexample", verdict.counterexample);
}

bool holds(const RuleVerdict& verdict) { return verdict.status == RuleVerdict::Status::Tested; }

struct Counts {
  size_t proved = 0, tested = 0, untested = 0, refuted = 0, empty = 0, faults = 0, stopped = 0,
         cases = 0;
};

Counts count(llvm::ArrayRef<RuleVerdict> verdicts) {
  Counts counts;
  for (const RuleVerdict& verdict : verdicts) {
    counts.cases += verdict.cases;
    switch (status_of(verdict)) {
    case Status::Proved: ++counts.proved; break;
    case Status::Tested: ++counts.tested; break;
    case Status::Untested: ++counts.untested; break;
    case Status::Refuted: ++counts.refuted; break;
    case Status::Empty: ++counts.empty; break;
    case Status::Fault: ++counts.faults; break;
    case Status::Stopped: ++counts.stopped; break;
    case Status::Unread: break; // the sink has the error; there is no verdict
    }
  }
  return counts;
}

void write_counts(llvm::json::OStream& json, const Counts& counts) {
  json.attributeObject("counts", [&] {
    json.attribute("proved", static_cast<int64_t>(counts.proved));
    json.attribute("tested", static_cast<int64_t>(counts.tested));
    json.attribute("untested", static_cast<int64_t>(counts.untested));
    json.attribute("refuted", static_cast<int64_t>(counts.refuted));
    json.attribute("empty", static_cast<int64_t>(counts.empty));
    json.attribute("faults", static_cast<int64_t>(counts.faults));
    json.attribute("stopped", static_cast<int64_t>(counts.stopped));
    json.attribute("cases", static_cast<int64_t>(counts.cases));
  });
}

/// Writes the declaration that this one repeats: `same_as` if both state the same rules, `part_of`
/// if the other one states more.
void write_repetition(llvm::json::OStream& json, const Rule& rule,
                      llvm::ArrayRef<Repetition> repetitions) {
  const Repetition* found =
      llvm::find_if(repetitions, [&](const Repetition& r) { return r.declared == rule.declared; });
  for (bool whole : {true, false}) {
    const char* name = whole ? "same_as" : "part_of";
    if (found != repetitions.end() && found->whole == whole)
      json.attribute(name, found->of);
    else
      json.attribute(name, nullptr);
  }
}

/// `verdicts` has one entry for each rule, or is empty.
void write_rules(llvm::json::OStream& json, llvm::ArrayRef<Rule> rules,
                 llvm::ArrayRef<RuleVerdict> verdicts) {
  std::vector<Repetition> repeated = repetitions(rules);
  json.attributeArray("rules", [&] {
    for (size_t i = 0; i < rules.size(); ++i)
      json.object([&] {
        const Rule& rule = rules[i];
        json.attribute("name", rule.name);
        json.attribute("declared", rule.declared);
        json.attribute("set", rule.set);
        json.attribute("file", rule.file);
        json.attribute("line", rule.line);
        json.attribute("kind", rule_kind(rule));
        json.attribute("numerics", numerics_name(rule.numerics));
        json.attribute("text", rule_text(rule));
        write_repetition(json, rule, repeated);
        if (!verdicts.empty()) return write_verdict(json, verdicts[i]);
        for (const char* none : {"status", "cases", "error_bound", "counterexample"})
          json.attribute(none, nullptr);
      });
  });
}

/// Prints "taso_118 is taso_092 under other names".
void print_repetitions(llvm::raw_ostream& out, llvm::ArrayRef<Rule> rules) {
  std::vector<Repetition> repeated = repetitions(rules);
  if (!repeated.empty()) out << "\n";
  for (const Repetition& r : repeated)
    out << r.declared << " is " << (r.whole ? "" : "part of ") << r.of
        << " with renamed variables\n";
}

} // namespace

void print_rules(Session& session, llvm::ArrayRef<Rule> rules) {
  llvm::raw_ostream& out = session.out;
  if (session.options.verbose) {
    for (const Rule& rule : rules) out << rule_text(rule) << "\n";
    return;
  }
  // A declaration may give many rules (directions, operators), and gets one line.
  Table table({{"rule"}, {"set"}, {"kind"}, {"numerics"}, {"forms", Align::Right}, {"place"}});
  size_t declarations = 0;
  for (size_t i = 0, next = 0; i < rules.size(); i = next, ++declarations) {
    while (next < rules.size() && rules[next].declared == rules[i].declared &&
           rules[next].file == rules[i].file)
      ++next;
    const Rule& rule = rules[i];
    table.add({rule.declared, rule.set, rule_kind(rule).str(), numerics_name(rule.numerics).str(),
               std::to_string(next - i), rule.file + ":" + std::to_string(rule.line)});
  }
  table.print(out, session.color);
  out << "\n"
      << counted(declarations, "declaration") << ", " << counted(rules.size(), "rule") << "\n";
  print_repetitions(out, rules);
}

namespace {

/// Returns "200 cases, error bound 2^-98", "200 cases, 4 in float64".
std::string evidence(const Rule& rule, const RuleVerdict& verdict) {
  if (rule.native != Native::No) return "built in, see its property tests";
  std::string text = counted(verdict.cases, "case");
  if (status_of(verdict) == Status::Proved) return "for all sizes, and " + text;
  if (status_of(verdict) == Status::Stopped) return verdict.why;
  if (verdict.in_field < verdict.cases)
    text += ", " + count_text(verdict.cases - verdict.in_field) + " of them only in float64";
  else if (verdict.log2_error <= kSameGraph)
    text += ", the same graph each time";
  else if (verdict.log2_error < 0)
    text += ", error bound 2^" + std::to_string(static_cast<int>(std::ceil(verdict.log2_error)));
  if (verdict.proof == RuleVerdict::Proof::NotProved) text += "; not proved: " + verdict.unproved;
  return text;
}

/// Groups, by declaration, the rules that fail in the same way. Each group is a list of indices and
/// is reported with its first rule.
std::vector<std::vector<size_t>> failures(llvm::ArrayRef<Rule> rules,
                                          llvm::ArrayRef<RuleVerdict> verdicts) {
  std::map<std::tuple<std::string, std::string, Status, std::string>, size_t> first;
  std::vector<std::vector<size_t>> alike(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const RuleVerdict& verdict = verdicts[i];
    if (holds(verdict) || status_of(verdict) == Status::Stopped) continue;
    auto key = std::tuple(rules[i].file, rules[i].declared, status_of(verdict), verdict.why);
    alike[first.try_emplace(std::move(key), i).first->second].push_back(i);
  }
  return alike;
}

/// Prints the rule's text, its fault, and `others`, the forms that fail in the same way.
void print_failure(Session& session, const Rule& rule, const RuleVerdict& verdict,
                   llvm::ArrayRef<std::string> others) {
  llvm::raw_ostream& out = session.out;
  const bool overstated = status_of(verdict) == Status::Refuted && verdict.counterexample.empty();
  Diagnostic d = error(Code::rule_refuted, rule.at, "{0}: {1}{2}", shown_status(verdict), rule.name,
                       overstated ? " states a stronger class than it satisfies" : "");
  d.notes.push_back(verdict.why);
  if (!others.empty())
    d.notes.push_back(
        (others.size() == 1 ? "the same holds for its form " : "the same holds for its forms ") +
        llvm::join(others, ", "));
  if (status_of(verdict) == Status::Refuted)
    d.help =
        overstated // no numbers refute the rule itself
            ? "the sides agree at all compared points, but the rule does not satisfy its stated "
              "class: state a weaker class, or omit it to have it derived"
            : "restrict it with `where …` to the cases in which it holds";
  render(d, session.sources, out, session.color);
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(verdict.counterexample).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) out << "    " << line << "\n";
  out << "\n";
}

void print_verdicts(Session& session, llvm::ArrayRef<Rule> rules,
                    llvm::ArrayRef<RuleVerdict> verdicts) {
  llvm::raw_ostream& out = session.out;
  Table table({{"rule"}, {"status"}, {"evidence"}, {"numerics"}, {"seen"}});
  std::vector<std::vector<size_t>> alike = failures(rules, verdicts);
  for (size_t i = 0; i < rules.size(); ++i) {
    const RuleVerdict& verdict = verdicts[i];
    table.add({rules[i].name, shown_status(verdict).str(), evidence(rules[i], verdict),
               numerics_name(rules[i].numerics).str(), numerics_name(verdict.observed).str()});
    std::vector<std::string> others;
    for (size_t other : llvm::ArrayRef<size_t>(alike[i]).drop_front(!alike[i].empty()))
      others.push_back(rules[other].name);
    if (!alike[i].empty()) print_failure(session, rules[i], verdict, others);
  }
  if (session.options.verbose) table.print(out, session.color);
  Counts counts = count(verdicts);
  out << counted(rules.size(), "rule") << ": ";
  // Rules that an earlier run proved remain proved.
  if (session.options.proof || counts.proved > 0) out << count_text(counts.proved) << " proved, ";
  out << count_text(counts.tested) << " tested in " << counted(counts.cases, "case") << ", "
      << count_text(counts.refuted) << " refuted, " << count_text(counts.empty)
      << " without instances";
  if (counts.untested > 0) out << ", " << count_text(counts.untested) << " untested";
  if (counts.faults > 0) out << ", " << count_text(counts.faults) << " with an internal fault";
  if (counts.stopped > 0)
    out << ", " << count_text(counts.stopped) << " not checked before the limit";
  out << "\n";
}

/// Writes one file per counterexample, named after its rule.
Result<void> write_counterexamples(Session& session, llvm::ArrayRef<Rule> rules,
                                   llvm::ArrayRef<RuleVerdict> verdicts) {
  llvm::StringRef folder = session.options.output;
  if (folder.empty()) return {};
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return error(Code::cannot_write, "cannot write `{0}`: {1}", folder, code.message());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (verdicts[i].counterexample.empty()) continue;
    std::string name = rules[i].name;
    for (char& c : name)
      if (!llvm::isAlnum(c)) c = '_';
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name + ".tg");
    TG_CHECK(write_text_file(session, path, verdicts[i].counterexample));
  }
  return {};
}

} // namespace

namespace {

int exit_code(llvm::ArrayRef<RuleVerdict> verdicts) {
  auto is = [](Status status) {
    return [=](const RuleVerdict& verdict) { return status_of(verdict) == status; };
  };
  constexpr int kInternalFault = 70;
  if (llvm::any_of(verdicts, is(Status::Fault))) return kInternalFault;
  if (llvm::all_of(verdicts, holds)) return 0;
  bool open = llvm::all_of(
      verdicts, [&](const RuleVerdict& v) { return holds(v) || is(Status::Stopped)(v); });
  return open ? kNotDecided : 1;
}

} // namespace

int run_rules_verify(Session& session) {
  const Options& o = session.options;
  // Verdicts found so far are worth keeping.
  session.interruptible = std::make_unique<Interruptible>();
  std::optional<RulesVerified> verified =
      verify_rules({.rules = o.files,
                    .instances = o.instances,
                    .proof = o.proof,
                    .seed = o.seed,
                    .threads = static_cast<int>(o.threads),
                    .rule_cache = rule_cache(o),
                    .progress = progress_line(session, "verifying rules")},
                   {.stop = session.stop, .isolated = true}, session.sources, session.sink);
  if (!verified) return session.fail();
  const auto& [rules, verdicts, unread_rules] = *verified;
  auto write_results = [&](llvm::json::OStream& json) {
    write_counts(json, count(verdicts));
    write_rules(json, rules, verdicts);
  };
  // Unreadable rules are reported as errors; the others have verdicts.
  const bool unread = !unread_rules.empty();
  if (unread)
    session.fail(write_results);
  else
    session.print_warnings();
  if (auto written = write_counterexamples(session, rules, verdicts); !written)
    return session.fail(written.error());
  if (o.json && !unread) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] { write_results(json); });
    session.out << "\n";
  } else if (!o.json && !o.quiet) {
    print_verdicts(session, rules, verdicts);
  }
  const int code = exit_code(verdicts);
  return unread && (code == 0 || code == kNotDecided) ? 1 : code;
}

int run_rules_list(Session& session) {
  const Options& o = session.options;
  std::optional<std::vector<Rule>> rules = select_rules(o.files, "", session.sources, session.sink);
  if (!rules) return session.fail();
  session.print_warnings();
  if (!o.json) {
    if (!o.quiet) print_rules(session, *rules);
    return 0;
  }
  llvm::json::OStream json(session.out, 2);
  json.object([&] { write_rules(json, *rules, {}); });
  session.out << "\n";
  return 0;
}

} // namespace tg::cli
