// The steps of a plan, and records of their results.
#include "runtime/tune/session.h"

#include "runtime/tune/scanner.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::tune {

namespace {

constexpr llvm::StringLiteral kRecordsBegin = "tuned programs 1, ";

TunedOperator tune_step(const Operator& op, const TuneStep& step, const Measured* reused,
                        Device& device, const SessionOptions& options) {
  TunedOperator tuned{step, {}, 0, ""};
  if (reused) {
    ReuseResult result = tune_by_reuse(op, reused->program, device, options.reuse);
    tuned.best = std::move(result.best);
    tuned.trials = result.trials;
    if (tuned.best) return tuned;
    tuned.note = llvm::formatv("none of {0} programs ran, {1} exceed the device's limits",
                               result.trials, result.filtered)
                     .str();
  } else if (step.reused) {
    tuned.note = "the operator to reuse has no program";
  }
  FullSearchResult result = search_fully(op, device, options.full);
  tuned.best = std::move(result.best);
  tuned.trials += result.trials;
  return tuned;
}

Result<Measured> read_record(llvm::StringRef line) {
  Scanner scan(line);
  Measured record;
  TG_TRY(record.microseconds, scan.real());
  if (record.microseconds <= 0) return error(Code::bad_data_file, "a time must be more than 0");
  TG_CHECK(scan.expect("us"));
  TG_CHECK(scan.expect(":"));
  TG_TRY(record.program, read_program(scan.rest()));
  return record;
}

} // namespace

const Measured* TuneReport::best_of(size_t op) const {
  for (const TunedOperator& tuned : operators)
    if (tuned.step.op == op) return tuned.best ? &*tuned.best : nullptr;
  return nullptr;
}

TuneReport tune(const OperatorGraph& graph, const ReusePlan& plan, Device& device,
                const SessionOptions& options) {
  TuneReport report;
  for (const TuneStep& step : plan.steps) {
    const Measured* reused = step.reused ? report.best_of(*step.reused) : nullptr;
    report.operators.push_back(tune_step(graph.operators[step.op], step, reused, device, options));
    report.trials += report.operators.back().trials;
  }
  return report;
}

std::string records_text(llvm::StringRef device, llvm::ArrayRef<Measured> records) {
  std::string all = kRecordsBegin.str() + device.str() + "\n";
  for (const Measured& record : records)
    all += llvm::formatv("{0:f3} us: {1}\n", record.microseconds, text(record.program)).str();
  return all;
}

Result<Records> read_records(llvm::StringRef text) {
  auto [first, rest] = text.split('\n');
  if (!first.consume_front(kRecordsBegin))
    return error(Code::bad_data_file, "expected `{0}` and a device", kRecordsBegin.rtrim());
  Records found{first.str(), {}};
  for (int line = 2; !rest.empty(); ++line) {
    std::tie(first, rest) = rest.split('\n');
    if (first.empty()) continue;
    Result<Measured> record = read_record(first);
    if (!record) return error(Code::bad_data_file, "line {0}: {1}", line, record.error().message);
    found.programs.push_back(std::move(*record));
  }
  return found;
}

} // namespace tg::tune
