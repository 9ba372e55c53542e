#include "compiler/driver/rule_trust.h"

#include "compiler/driver/devices.h"
#include "compiler/equiv/proof.h"
#include "lang/core/data_file.h"
#include "runtime/cache_path.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

namespace tg {

namespace {

constexpr llvm::StringLiteral kHeader = "tangram verified rules 2";

/// Fingerprint to the rest of its line: cases, in the field, combinations, log2 of the error,
/// observed class, proof, what stood against it.
using Memory = std::map<std::string, RuleVerdict>;

std::optional<RuleVerdict> parse_verdict(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> fields;
  text.split(fields, ' ', /*MaxSplit=*/6);
  RuleVerdict verdict;
  unsigned observed = 0, proof = 0;
  if (fields.size() != 7 || fields[0].getAsInteger(10, verdict.cases) ||
      fields[1].getAsInteger(10, verdict.in_field) ||
      fields[2].getAsInteger(10, verdict.combinations) ||
      fields[3].getAsDouble(verdict.log2_error) || fields[4].getAsInteger(10, observed) ||
      observed > static_cast<unsigned>(Numerics::Risky) || fields[5].getAsInteger(10, proof) ||
      proof > static_cast<unsigned>(RuleVerdict::Proof::NotProved))
    return std::nullopt;
  verdict.proof = static_cast<RuleVerdict::Proof>(proof);
  verdict.unproved = fields[6].str();
  verdict.observed = static_cast<Numerics>(observed);
  return verdict;
}

Memory read_memory(llvm::StringRef path) {
  Memory memory;
  if (path.empty()) return memory;
  Result<std::string> file = read_text_file(path);
  if (!file) return memory;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(*file).split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty() || lines[0] != kHeader) return memory;
  for (llvm::StringRef line : llvm::makeArrayRef(lines).drop_front()) {
    auto [print, rest] = line.split(' ');
    if (std::optional<RuleVerdict> verdict = parse_verdict(rest)) memory[print.str()] = *verdict;
  }
  return memory;
}

/// Whole or not at all; a cache that cannot be written is no error.
void write_memory(llvm::StringRef path, const Memory& memory) {
  if (path.empty()) return;
  llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
  (void)write_data_file(path, [&](llvm::raw_ostream& file) -> Result<void> {
    file << kHeader << "\n";
    for (const auto& [print, v] : memory)
      file << llvm::formatv("{0} {1} {2} {3} {4:f2} {5} {6} {7}\n", print, v.cases, v.in_field,
                            v.combinations, v.log2_error, static_cast<unsigned>(v.observed),
                            static_cast<unsigned>(v.proof), v.unproved);
    return {};
  });
}

/// What was not known of a rule: whether it holds, and with `proofs` whether for all sizes. Only
/// what holds at its instances may be proved, so that a proof is never the only witness.
void judge(const Rule& rule, const TrustOptions& options, RuleVerdict& verdict) {
  if (verdict.cases < options.check.instances) verdict = verify_rule(rule, options.check);
  bool open = verdict.proof == RuleVerdict::Proof::NotTried;
  if (!options.proofs || !open || verdict.status != RuleVerdict::Status::Tested) return;
  Proof proof = prove_rule(rule);
  verdict.proof = proof.proved ? RuleVerdict::Proof::Proved : RuleVerdict::Proof::NotProved;
  verdict.unproved = proof.why;
}

/// Judges `rules[which]`, each thread taking the next; verdicts land in their places.
void verify_on_threads(llvm::ArrayRef<Rule> rules, llvm::ArrayRef<size_t> which,
                       const TrustOptions& options, std::vector<RuleVerdict>& verdicts) {
  std::atomic<size_t> next = 0;
  size_t done = 0;
  std::mutex reporting;
  auto work = [&] {
    for (size_t at; (at = next++) < which.size();) {
      if (options.stop.asked()) return;
      judge(rules[which[at]], options, verdicts[which[at]]);
      std::lock_guard lock(reporting);
      if (++done; options.progress) options.progress(done, which.size());
    }
  };
  int threads = thread_count(options.threads);
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < which.size(); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
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
    if (!enough || (options.proofs && verdicts[i].proof == RuleVerdict::Proof::NotTried))
      open.push_back(i);
  }
  verify_on_threads(rules, open, options, verdicts);
  // Another process may have written meanwhile: what it found is kept.
  if (!open.empty()) memory = read_memory(options.cache);
  for (size_t i : open)
    if (verdicts[i].status == RuleVerdict::Status::Tested && verdicts[i].cases > 0)
      memory[prints[i]] = verdicts[i];
  if (!open.empty()) write_memory(options.cache, memory);
  return verdicts;
}

bool comes_with_program(const Rule& rule) {
  if (std::getenv("TANGRAM_LIBRARY")) return false; // its files come before those of the program
  return rule.built_in;
}

Result<void> require_trusted(llvm::ArrayRef<Rule> rules, const TrustOptions& options) {
  std::vector<Rule> own;
  for (const Rule& rule : rules)
    if (!comes_with_program(rule)) own.push_back(rule);
  if (own.empty()) return {};
  std::vector<RuleVerdict> verdicts = verify_rules(own, options);
  for (size_t i = 0; i < own.size(); ++i) {
    const RuleVerdict& verdict = verdicts[i];
    if (verdict.status == RuleVerdict::Status::Tested && verdict.cases == 0)
      return error(Code::limit_no_answer,
                   "the time was over before the rule `{0}` of {1}:{2} was verified", own[i].name,
                   own[i].file, own[i].line);
    if (verdict.status == RuleVerdict::Status::Tested) continue;
    bool empty = verdict.status == RuleVerdict::Status::Empty ||
                 verdict.status == RuleVerdict::Status::Untested;
    Diagnostic d = error(Code::rule_refuted,
                         empty ? "the rule `{0}` of {1}:{2} could not be verified"
                               : "the rule `{0}` of {1}:{2} does not hold",
                         own[i].name, own[i].file, own[i].line);
    d.notes.push_back(verdict.why);
    d.help = "`tg rules verify` shows a counterexample; `--trust-rules` uses the rules as they are";
    return d;
  }
  return {};
}

} // namespace tg
