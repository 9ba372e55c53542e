#include "compiler/api/verify/rule_trust.h"

#include "compiler/api/backends/devices.h"
#include "compiler/api/verify/in_children.h"
#include "compiler/rules/text.h"
#include "compiler/verify/proof/proof.h"
#include "lang/core/support/data_file.h"
#include "lang/core/support/threads.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace tg {

namespace {

constexpr llvm::StringLiteral kHeader = "tangram verified rules 3";

/// From fingerprint to the other fields of its line: cases, cases in the field, combinations, kinds
/// and pairs of them, partitions and pairs of them, log2 of the error, observed class, class,
/// proof, reason for a missing proof.
using Memory = std::map<std::string, RuleVerdict>;

std::optional<RuleVerdict> parse_verdict(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> fields;
  text.split(fields, ' ', /*MaxSplit=*/11);
  RuleVerdict verdict;
  unsigned observed = 0, numerics = 0, proof = 0;
  constexpr unsigned kLast = static_cast<unsigned>(Numerics::Lossy);
  if (fields.size() != 12 || fields[0].getAsInteger(10, verdict.cases) ||
      fields[1].getAsInteger(10, verdict.in_field) ||
      fields[2].getAsInteger(10, verdict.combinations) ||
      fields[3].getAsInteger(10, verdict.kinds) || fields[4].getAsInteger(10, verdict.kind_pairs) ||
      fields[5].getAsInteger(10, verdict.partitions) ||
      fields[6].getAsInteger(10, verdict.partition_pairs) ||
      fields[7].getAsDouble(verdict.log2_error) || fields[8].getAsInteger(10, observed) ||
      observed > kLast || fields[9].getAsInteger(10, numerics) || numerics > kLast ||
      fields[10].getAsInteger(10, proof) ||
      proof > static_cast<unsigned>(RuleVerdict::Proof::NotProved))
    return std::nullopt;
  verdict.proof = static_cast<RuleVerdict::Proof>(proof);
  verdict.unproved = fields[11].str();
  verdict.observed = static_cast<Numerics>(observed);
  verdict.numerics = static_cast<Numerics>(numerics);
  return verdict;
}

/// Formats a verdict as one line; only `tested` verdicts are stored.
std::string verdict_text(const RuleVerdict& v) {
  return llvm::formatv("{0} {1} {2} {3} {4} {5} {6} {7:f2} {8} {9} {10} {11}", v.cases, v.in_field,
                       v.combinations, v.kinds, v.kind_pairs, v.partitions, v.partition_pairs,
                       v.log2_error, static_cast<unsigned>(v.observed),
                       static_cast<unsigned>(v.numerics), static_cast<unsigned>(v.proof),
                       v.unproved);
}

/// The message from a child to its parent: the status, lengths, then three texts.
std::string message_of(const RuleVerdict& v) {
  std::string line = verdict_text(v);
  return llvm::formatv("{0} {1} {2}\n", static_cast<unsigned>(v.status), line.size(), v.why.size())
             .str() +
         line + v.why + v.counterexample;
}

RuleVerdict verdict_of(llvm::StringRef message) {
  auto [head, rest] = message.split('\n');
  auto [status, sizes] = head.split(' ');
  auto [line, why] = sizes.split(' ');
  unsigned number = 0;
  size_t line_size = 0, why_size = 0;
  bool read = !status.getAsInteger(10, number) && !line.getAsInteger(10, line_size) &&
              !why.getAsInteger(10, why_size);
  std::optional<RuleVerdict> verdict = parse_verdict(rest.take_front(line_size));
  assert(read && verdict && "a child process runs this program");
  (void)read;
  rest = rest.drop_front(line_size);
  verdict->status = static_cast<RuleVerdict::Status>(number);
  verdict->why = rest.take_front(why_size).str();
  verdict->counterexample = rest.drop_front(why_size).str();
  return *verdict;
}

Memory read_memory(llvm::StringRef path) {
  Memory memory;
  if (path.empty()) return memory;
  auto file = read_cache_file(path);
  if (!file) return memory;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty() || lines[0] != kHeader) return memory;
  for (llvm::StringRef line : llvm::makeArrayRef(lines).drop_front()) {
    auto [print, rest] = line.split(' ');
    if (std::optional<RuleVerdict> verdict = parse_verdict(rest)) memory[print.str()] = *verdict;
  }
  return memory;
}

/// Writes the file atomically. Failing to write the cache is not an error.
void write_memory(llvm::StringRef path, const Memory& memory) {
  if (path.empty()) return;
  llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
  (void)write_cache_file(path, [&](llvm::raw_ostream& file) -> Result<void> {
    file << kHeader << "\n";
    for (const auto& [print, v] : memory) file << print << ' ' << verdict_text(v) << '\n';
    return {};
  });
}

/// Computes the missing parts of a verdict: whether the rule holds, and with `proofs` whether it
/// holds for all sizes. Proofs are tried only for rules that hold at their instances, so that a
/// proof is never the only evidence.
void judge(const Rule& rule, const TrustOptions& options, RuleVerdict& verdict) {
  if (verdict.cases < options.check.instances) {
    RuleCheckOptions check = options.check;
    check.stop = options.stop;
    verdict = options.verify(rule, check);
  }
  bool open = verdict.proof == RuleVerdict::Proof::NotTried;
  if (!options.proofs || !open || verdict.status != RuleVerdict::Status::Tested) return;
  Proof proof = prove_rule(rule);
  verdict.proof = proof.proved ? RuleVerdict::Proof::Proved : RuleVerdict::Proof::NotProved;
  verdict.unproved = proof.why;
}

RuleVerdict stopped() {
  RuleVerdict verdict;
  verdict.status = RuleVerdict::Status::Stopped;
  verdict.why = "the check was stopped before it had a result";
  return verdict;
}

/// Describes the death of a child: "signal 8, Floating point exception".
std::string termination_text(const ChildAnswer& answer) {
  if (answer.signal == 0) return "its process ended";
  return llvm::formatv("signal {0}, {1}", answer.signal, strsignal(answer.signal));
}

/// Judges `rules[which]` in child processes; each verdict is stored at its rule's index.
void verify_in_children(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<size_t> which,
                        const TrustOptions& options, std::vector<RuleVerdict>& verdicts) {
  size_t done = 0;
  auto job = [&](size_t i) {
    RuleVerdict verdict = verdicts[which[i]];
    judge(rules[which[i]], options, verdict);
    return message_of(verdict);
  };
  run_in_children(
      which.size(), thread_count(options.threads), job,
      [&](size_t i, ChildAnswer answer) {
        RuleVerdict& verdict = verdicts[which[i]];
        bool ended = answer.signal == SIGINT || answer.signal == SIGTERM;
        if (ended) return; // by the user
        if (answer.no_memory) {
          verdict = stopped();
          verdict.why = "the system has no memory, process or file descriptor left for the check";
        } else if (answer.failed()) {
          verdict = {};
          verdict.status = RuleVerdict::Status::Fault;
          verdict.why = llvm::formatv("internal fault while checking rule `{0}` ({1})",
                                      rules[which[i]].name, termination_text(answer));
        } else {
          verdict = verdict_of(answer.text);
        }
        if (++done; options.progress) options.progress(done, which.size());
      },
      [&] { return options.stop.asked(); });
}

/// The same on threads, each of which takes the next rule.
void verify_on_threads(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<size_t> which,
                       const TrustOptions& options, std::vector<RuleVerdict>& verdicts) {
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex reporting;
  auto work = [&](size_t) {
    for (size_t at; (at = next++) < which.size();) {
      if (options.stop.asked()) return;
      judge(rules[which[at]], options, verdicts[which[at]]);
      std::lock_guard lock(reporting);
      if (++done; options.progress) options.progress(done, which.size());
    }
  };
  auto threads = static_cast<size_t>(thread_count(options.threads));
  in_parts(std::min(threads, which.size()), work);
}

} // namespace

std::string default_rule_cache() { return cache_path("rules.verified"); }

std::vector<RuleVerdict> verify_rules(llvm::ArrayRef<Rule> rules, const TrustOptions& options) {
  Memory memory = read_memory(options.cache);
  std::vector<RuleVerdict> verdicts(rules.size());
  std::vector<std::string> prints;
  std::vector<size_t> open;
  for (size_t i = 0; i < rules.size(); ++i) {
    prints.push_back(rule_fingerprint(rules[i]));
    auto known = memory.find(prints[i]);
    bool enough = known != memory.end() && known->second.cases >= options.check.instances;
    if (enough) verdicts[i] = known->second;
    if (!enough) verdicts[i] = stopped(); // replaced later by a new verdict
    if (!enough || (options.proofs && verdicts[i].proof == RuleVerdict::Proof::NotTried))
      open.push_back(i);
  }
  (options.isolated ? verify_in_children : verify_on_threads)(rules, open, options, verdicts);
  // Keep the verdicts that another process may have written meanwhile.
  if (!open.empty()) memory = read_memory(options.cache);
  for (size_t i : open)
    if (verdicts[i].status == RuleVerdict::Status::Tested && verdicts[i].cases > 0)
      memory[prints[i]] = verdicts[i];
  if (!open.empty()) write_memory(options.cache, memory);
  return verdicts;
}

Result<void> require_trusted(llvm::MutableArrayRef<Rule> rules, const TrustOptions& options) {
  std::vector<Rule> own;
  std::vector<size_t> places;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].with_program) continue;
    own.push_back(rules[i]);
    places.push_back(i);
  }
  if (own.empty()) return {};
  std::vector<RuleVerdict> verdicts = verify_rules(own, options);
  for (size_t i = 0; i < own.size(); ++i) {
    const RuleVerdict& verdict = verdicts[i];
    Rule& rule = rules[places[i]];
    if (verdict.status == RuleVerdict::Status::Stopped)
      return error(Code::limit_no_answer, "the rule `{0}` of {1}:{2}: {3}", rule.name, rule.file,
                   rule.line, verdict.why);
    if (!rule.stated) rule.numerics = std::max(rule.numerics, verdict.numerics);
    if (verdict.status == RuleVerdict::Status::Tested) continue;
    bool refuted = verdict.status == RuleVerdict::Status::Refuted;
    Diagnostic d = error(Code::rule_refuted, rule.at,
                         refuted ? "the rule `{0}` of {1}:{2} is wrong"
                                 : "the rule `{0}` of {1}:{2} could not be verified",
                         rule.name, rule.file, rule.line);
    d.notes.push_back(verdict.why);
    d.help = llvm::formatv("{0}`{1}` shows {2}; `--trust-rules` uses rules without verifying them",
                           refuted ? "restrict it with `where …`; " : "", verify_command(rule),
                           verdict.counterexample.empty() ? "more" : "a counterexample");
    return d;
  }
  return {};
}

} // namespace tg
