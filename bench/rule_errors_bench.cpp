// Measures the rounding error that each rule of the library can add, in f32, f16 and bf16.
//
//   rule_errors_bench [--instances N] [--json FILE]
//
// Both sides of a rule are computed as by the backend `ref` at up to 64 random instances, on
// numbers of the dtype in (-1, 1) and in (0, 1). Each operator rounds its result to the dtype, also
// one that depends only on weights. The error of a side is max |a - b| / max |b| with b from
// float64. The output is the largest excess of the right side's error over the left side's at one
// instance: `0` if no instance had a larger error, `same` if both sides gave equal elements at all
// instances. Cancellation makes this quotient large on either side. The last column therefore
// divides the right side's error by a bound of the left side's error with one rounding per number
// (rule_error_bound.h); a rule that only reassociates has a few at most. A chain of elementwise
// operators that the engine fuses by itself (`-`) is rounded once instead of at each operator.
// Rules of one declaration (directions, operators) share a line with the worst of them. Nothing is
// timed.
#include "tests/property/rules/rule_error_bound.h"

#include "compiler/rules/from_ast.h"
#include "compiler/rules/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace {

using namespace tg;

struct Row {
  std::string file, rule;
  Numerics numerics = Numerics::Exact;
  bool native = false;
  size_t forms = 0, instances = 0;
  std::array<RuleError, std::size(kRoundedDTypes)> errors;
  double in_bounds = 0; // largest error of the right side over its bound, of all dtypes
};

void measure(const Rule& rule, const RuleErrorOptions& options, Row& row) {
  row.native |= rule.native != Native::No;
  ++row.forms;
  row.instances += for_each_error_case(rule, options, [&](const RuleErrorCase& at) {
    for (size_t d = 0; d < row.errors.size(); ++d)
      if (kRoundedDTypes[d] == at.dtype) row.errors[d].add(at);
    row.in_bounds = std::max(row.in_bounds, right_error_in_bounds(at).value_or(0));
  });
}

/// Returns a row per declaration, in the order of the library.
std::vector<Row> measure_all(llvm::ArrayRef<Rule> rules, const RuleErrorOptions& options) {
  std::vector<Row> rows;
  for (const Rule& rule : rules) {
    llvm::StringRef file = llvm::StringRef(rule.file).rsplit('/').second;
    bool same = !rows.empty() && rows.back().rule == rule.declared && rows.back().file == file;
    if (!same) rows.push_back({file.str(), rule.declared, rule.numerics, false, 0, 0, {}, 0});
    measure(rule, options, rows.back());
  }
  return rows;
}

std::string shown(const Row& row, const RuleError& error) {
  if (row.native) return "-";
  if (error.same_bits) return "same";
  if (error.added == 0) return "0";
  if (std::isinf(error.added)) return "overflow";
  return llvm::formatv("{0:e1}", error.added);
}

void print(llvm::ArrayRef<Row> rows) {
  const char* line = "{0,-12} {1,-36} {2,-12} {3,5} {4,9}  {5,8} {6,8} {7,8} {8,6}\n";
  llvm::outs() << llvm::formatv(line, "file", "rule", "class", "forms", "instances", "f32", "f16",
                                "bf16", "bounds");
  for (const Row& row : rows)
    llvm::outs() << llvm::formatv(line, row.file, row.rule, numerics_name(row.numerics), row.forms,
                                  row.instances, shown(row, row.errors[0]),
                                  shown(row, row.errors[1]), shown(row, row.errors[2]),
                                  row.native ? "-" : llvm::formatv("{0:f2}", row.in_bounds).str());
}

/// Prints the counts and the largest bound of each class of numerics.
void print_summary(llvm::ArrayRef<Row> rows) {
  llvm::outs() << "\nof each class: rules, rules of which no instance showed a larger error on the "
                  "right, most bounds\n";
  for (Numerics numerics : {Numerics::Exact, Numerics::Reassociates, Numerics::Risky}) {
    size_t declared = 0, none = 0;
    double most = 0;
    for (const Row& row : rows) {
      if (row.numerics != numerics || row.native) continue;
      ++declared;
      none += llvm::all_of(row.errors, [](const RuleError& error) { return error.added == 0; });
      most = std::max(most, row.in_bounds);
    }
    llvm::outs() << llvm::formatv("{0,-12} {1,4} {2,4} {3,6:f2}\n", numerics_name(numerics),
                                  declared, none, most);
  }
}

void write_error(llvm::json::OStream& json, const Row& row, size_t d) {
  const RuleError& error = row.errors[d];
  json.attributeObject(dtype_name(kRoundedDTypes[d]), [&] {
    json.attribute("same_bits", error.same_bits);
    json.attribute("left", error.left);
    json.attribute("right", error.right);
    if (std::isfinite(error.added)) json.attribute("added", error.added);
  });
}

bool write_json(llvm::ArrayRef<Row> rows, const std::string& path) {
  std::error_code failed;
  llvm::raw_fd_ostream file(path, failed);
  if (failed) return false;
  llvm::json::OStream json(file, 1);
  json.array([&] {
    for (const Row& row : rows)
      json.object([&] {
        json.attribute("file", row.file);
        json.attribute("rule", row.rule);
        json.attribute("numerics", numerics_name(row.numerics));
        json.attribute("forms", static_cast<int64_t>(row.forms));
        json.attribute("instances", static_cast<int64_t>(row.instances));
        json.attribute("in_bounds", row.in_bounds);
        for (size_t d = 0; d < row.errors.size() && !row.native; ++d) write_error(json, row, d);
      });
  });
  return true;
}

} // namespace

int main(int argc, char** argv) {
  RuleErrorOptions options;
  options.instances = 64;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (llvm::StringRef(argv[i]) == "--instances")
      options.instances = std::strtoul(argv[i + 1], nullptr, 10);
    if (llvm::StringRef(argv[i]) == "--json") json = argv[i + 1];
  }
  SourceManager sources;
  DiagnosticSink sink;
  EmbeddedLoader loader({}, TG_SOURCE_DIR);
  std::optional<std::vector<Rule>> rules = load_rule_library(sources, loader, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  if (!rules) return 1;
  std::vector<Row> rows = measure_all(*rules, options);
  print(rows);
  print_summary(rows);
  return json.empty() || write_json(rows, json) ? 0 : 1;
}
