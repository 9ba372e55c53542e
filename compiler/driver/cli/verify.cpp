// `tg verify A B`: whether two models compute the same function; if not, where they differ and with
// which inputs.
#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/table.h"
#include "compiler/driver/devices.h"
#include "compiler/equiv/equivalent.h"
#include "lang/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>

#include <cmath>

namespace tg::cli {
namespace {

/// One side: a file and the model in it ("" = --model, or the only one).
struct Side {
  std::string file, model;
};

/// `f.tg:left`; a file whose own name has a colon is taken as it is.
Side side_of(llvm::StringRef text, const std::string& model) {
  auto [file, name] = text.rsplit(':');
  if (name.empty() || llvm::sys::fs::exists(text)) return {text.str(), model};
  return {file.str(), name.str()};
}

/// The names of the models of a file, in order.
std::vector<std::string> models_of(Session& session, const std::string& path) {
  std::vector<std::string> names;
  Result<FileId> file = load_file(session.sources, path);
  if (!file) return names;
  DiagnosticSink quiet; // what is wrong is reported when the models are built
  Ast tree = parse(session.sources, *file, quiet);
  for (ast::DeclId id : tree.decls())
    if (tree[id].kind == ast::DeclKind::Model) names.push_back(tree[id].name.text.str());
  return names;
}

/// nullopt, with the reason in the sink, if the arguments do not name two models.
std::optional<std::pair<Side, Side>> sides(Session& session) {
  const Options& o = session.options;
  if (o.files.size() == 2)
    return std::pair(side_of(o.files[0], o.model), side_of(o.files[1], o.model));
  std::vector<std::string> names;
  if (o.files.size() == 1) names = models_of(session, o.files[0]);
  if (names.size() == 2) return std::pair(Side{o.files[0], names[0]}, Side{o.files[0], names[1]});
  session.sink.report(error(Code::usage, "`tg verify` compares two models, not {0}",
                            o.files.size() == 1 ? names.size() : o.files.size())
                          .suggest("two files, FILE:MODEL twice, or one file with two models"));
  return std::nullopt;
}

std::string index_text(llvm::ArrayRef<int64_t> index) {
  std::string text;
  for (int64_t i : index) text += (text.empty() ? "[" : ", ") + std::to_string(i);
  return text.empty() ? "" : text + "]";
}

std::string number_text(double x) { return Value::of_float(x).text_form(); }

void write_counterexample(llvm::json::OStream& json, const Counterexample& example) {
  auto index = [&](llvm::ArrayRef<int64_t> at) {
    json.attributeArray("index", [&] {
      for (int64_t i : at) json.value(i);
    });
  };
  json.attributeObject("counterexample", [&] {
    json.attribute("output", example.output);
    index(example.index);
    write_number(json, "a", example.a);
    write_number(json, "b", example.b);
    json.attribute("inputs", example.probe);
    json.attribute("complete", example.complete);
    json.attributeArray("elements", [&] {
      for (const WitnessElement& element : example.elements)
        json.object([&] {
          json.attribute("leaf", element.leaf);
          index(element.index);
          json.attribute("value", element.value);
        });
    });
  });
}

void write_equivalence(llvm::json::OStream& json, const Equivalence& result) {
  json.attribute("equal", result.equal());
  if (result.verdict == Equivalence::Verdict::Undecided)
    json.attribute("undecided", result.undecided);
  json.attribute("method", method_name(result.method));
  json.attribute("points", static_cast<int64_t>(result.points));
  bool bounded = result.equal() && result.method != Equivalence::Method::Float64;
  bool exact = result.method == Equivalence::Method::Identical;
  write_number(json, "error_bound",
               bounded ? (exact ? 0 : std::exp2(result.log2_error)) : std::nan(""));
  json.attribute("queries", result.per_point.queries);
  if (result.counterexample)
    write_counterexample(json, *result.counterexample);
  else
    json.attribute("counterexample", nullptr);
  if (result.part)
    json.attributeObject("part", [&] {
      json.attribute("models", result.part->models);
      write_counterexample(json, result.part->counterexample);
    });
  else
    json.attribute("part", nullptr);
}

void print_bound(llvm::raw_ostream& out, const Equivalence& result) {
  const PointBound& point = result.per_point;
  out << llvm::formatv(
      "  {0} point{6} modulo four random primes above 2^50: error bound 2^{1:f1}\n"
      "  a point misses a difference with chance 2^{2:f1} at most: {3} queries of random\n"
      "  functions, of degree {4:f0}; outputs of degree {5:f0}\n",
      result.points, result.log2_error, point.log2_miss,
      count_text(static_cast<uint64_t>(point.queries)), point.query_degree, point.output_degree,
      result.points == 1 ? "" : "s");
}

void print_equal(llvm::raw_ostream& out, const Equivalence& result) {
  switch (result.method) {
  case Equivalence::Method::Identical:
    out << "equal: the same computation, node for node\n";
    return;
  case Equivalence::Method::Field: out << "equal\n"; return print_bound(out, result);
  case Equivalence::Method::Float64:
    out << "equal in float64, at ordinary and adversarial inputs; not shown exactly: `"
        << result.field_difference
        << "` differs\n  where relu, exp and their like are taken for arbitrary functions\n";
  }
}

/// With the inputs that show it, if `inputs`.
void print_difference(llvm::raw_ostream& out, const Counterexample& example, bool inputs) {
  out << "output `" << example.output << "` at " << index_text(example.index) << ": "
      << number_text(example.a) << " and " << number_text(example.b) << "\n";
  if (!inputs) return;
  if (example.complete)
    out << "  where all inputs and weights are zero but for\n";
  else
    out << "  where the inputs and weights are " << example.probe << "; the first of them\n";
  for (const WitnessElement& element : example.elements)
    out << "    " << element.leaf << index_text(element.index) << " = "
        << number_text(element.value) << "\n";
}

void print_part(llvm::raw_ostream& out, const Equivalence::Part& part) {
  out << "the models part here, at the smallest shapes found:\n";
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(part.models).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) out << "  " << line << "\n";
  print_difference(out, part.counterexample, /*inputs=*/true);
}

} // namespace

Result<Equivalence> compare(Session& session, const Graph& a, const Graph& b) {
  EquivalenceOptions options;
  options.seed = session.options.seed;
  options.threads = thread_count(session.options.threads);
  options.stop = [stop = session.stop] { return stop.asked(); };
  return check_equivalence(a, b, options);
}

void print_equivalence(llvm::raw_ostream& out, const Equivalence& result) {
  if (result.equal()) return print_equal(out, result);
  if (!result.different()) {
    out << "not decided: " << result.undecided << "\n";
    return;
  }
  out << "different: ";
  // Thousands of numbers say nothing where a small part says it all.
  bool inputs = result.counterexample->complete || !result.part;
  print_difference(out, *result.counterexample, inputs);
  if (result.part) print_part(out, *result.part);
}

int run_verify(Session& session) {
  const Options& o = session.options;
  auto pair = sides(session);
  if (!pair) return session.fail();
  std::optional<Graph> graphs[2];
  for (const Side& side : {pair->first, pair->second}) {
    std::optional<Graph>& graph = graphs[graphs[0].has_value()];
    graph = load_model(session.sources, side.file, {side.model, o.set}, session.sink);
    if (!graph) return session.fail();
  }
  session.print_warnings();
  Result<Equivalence> result = compare(session, *graphs[0], *graphs[1]);
  if (!result) return session.fail(result.error());
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] { write_equivalence(json, *result); });
    session.out << "\n";
  } else if (!o.quiet) {
    print_equivalence(session.out, *result);
  }
  return result->equal() ? 0 : result->different() ? 1 : kNotDecided;
}

} // namespace tg::cli
