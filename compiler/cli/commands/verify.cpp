// `tg verify A B`: decides whether two models compute the same function; if not, prints where they
// differ and the inputs that show it.
#include "compiler/api/verify/verify_models.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/ir/to_text.h"
#include "compiler/trial/run_model.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

namespace tg::cli {
namespace {

std::string index_text(llvm::ArrayRef<int64_t> index) {
  std::string text;
  for (int64_t i : index) text += (text.empty() ? "[" : ", ") + std::to_string(i);
  return text.empty() ? "" : text + "]";
}

std::string number_text(const ConstNumber& x) { return value_of(x).text_form(); }

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
          write_number(json, "value", element.value);
        });
    });
  });
}

void write_weight(llvm::json::OStream& json, llvm::StringRef name,
                  const std::optional<WeightDifference>& weight) {
  if (!weight) return json.attribute(name, nullptr);
  json.attributeObject(name, [&] {
    json.attribute("path", weight->path);
    json.attributeArray("index", [&] {
      for (int64_t i : weight->index) json.value(i);
    });
    write_number(json, "a", weight->a);
    write_number(json, "b", weight->b);
  });
}

/// Writes the comparison of the weight files: of two files, or of one with a record of
/// folded weights.
void write_weights(llvm::json::OStream& json, const ModelsVerified& sides) {
  write_weight(json, "weight", sides.weight);
  if (!sides.folding) return json.attribute("folded", nullptr);
  json.attributeObject("folded", [&] {
    json.attribute("weights", static_cast<int64_t>(sides.folding->weights));
    write_number(json, "max_rel_diff", sides.folding->max_rel_diff);
    write_weight(json, "wrong", sides.folding->wrong);
  });
}

void write_equivalence(llvm::json::OStream& json, const Equivalence& result) {
  json.attribute("verdict", verdict_name(result.verdict));
  json.attribute("equal", result.equal());
  json.attribute("method", method_name(result.method));
  json.attribute("points", static_cast<int64_t>(result.points));
  bool bounded = !result.different() && result.method != Equivalence::Method::Float64;
  bool exact = result.method == Equivalence::Method::Identical;
  write_number(json, "error_bound",
               bounded ? (exact ? 0 : std::exp2(result.log2_error)) : std::nan(""));
  json.attribute("queries", result.per_point.queries);
  json.attribute("undecided", result.undecided);
  json.attributeArray("caveats", [&] {
    for (const std::string& caveat : result.caveats) json.value(caveat);
  });
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
      "  {0} modulo four random primes above 2^50: error bound 2^{1:f1}\n"
      "  a point misses a difference with probability at most 2^{2:f1}: {3} queries of random\n"
      "  functions, of degree {4:f0}; outputs of degree {5:f0}\n",
      counted(result.points, "point"), result.log2_error, point.log2_miss,
      count_text(static_cast<uint64_t>(point.queries)), point.query_degree, point.output_degree);
}

void print_equal(llvm::raw_ostream& out, const Equivalence& result) {
  switch (result.method) {
  case Equivalence::Method::Identical:
    out << "equal: the same computation, node for node\n";
    return;
  case Equivalence::Method::Field: out << "equal\n"; return print_bound(out, result);
  case Equivalence::Method::Float64:
    out << "equal in float64, at ordinary and adversarial inputs; not proved exactly: `"
        << result.field_difference
        << "` differs\n  if relu, exp and similar functions are treated as uninterpreted\n";
  }
}

void print_undecided(llvm::raw_ostream& out, const Equivalence& result) {
  out << "undecided: " << result.undecided << "\n";
  if (result.method == Equivalence::Method::Field) print_bound(out, result);
  if (!result.help.empty()) out << "  help: " << result.help << "\n";
}

/// Formats a tensor as a nested list: "[[1, 2], [3, 4]]".
std::string tensor_text(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<ConstNumber> values) {
  if (shape.empty()) return number_text(values[0]);
  std::string text;
  size_t step = values.size() / static_cast<size_t>(shape[0]);
  for (size_t i = 0; i < values.size(); i += step)
    text += (i == 0 ? "[" : ", ") + tensor_text(shape.drop_front(), values.slice(i, step));
  return text + "]";
}

void print_whole(llvm::raw_ostream& out, const Counterexample& example) {
  if (example.whole_a.empty()) return;
  out << "  `" << example.output << "` is " << tensor_text(example.shape, example.whole_a)
      << "\n  and " << std::string(example.output.size(), ' ') << " "
      << tensor_text(example.shape, example.whole_b) << "\n";
}

/// Prints a difference; with `inputs`, also the inputs that show it.
void print_difference(llvm::raw_ostream& out, const Counterexample& example, bool inputs) {
  out << "output `" << example.output << "` at " << index_text(example.index) << ": "
      << number_text(example.a) << " and " << number_text(example.b) << "\n";
  if (!inputs) return;
  if (example.complete)
    out << "  where all inputs and weights are zero except\n";
  else
    out << "  where the inputs and weights are " << example.probe << "; the first of them:\n";
  for (const WitnessElement& element : example.elements)
    out << "    " << element.leaf << index_text(element.index) << " = "
        << number_text(element.value) << "\n";
  print_whole(out, example);
}

void print_part(llvm::raw_ostream& out, const Equivalence::Part& part) {
  out << "the models differ here, at the smallest shapes found:\n";
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(part.models).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) out << "  " << line << "\n";
  print_difference(out, part.counterexample, /*inputs=*/true);
}

void print_weight(llvm::raw_ostream& out, llvm::StringRef what, const WeightDifference& weight,
                  llvm::StringRef a, llvm::StringRef b) {
  out << "different: the " << what << " `" << weight.path << "`";
  if (!weight.index.empty()) out << " at " << index_text(weight.index);
  out << ": " << number_text(weight.a) << " " << a << " and " << number_text(weight.b) << " " << b
      << "\n";
}

int exit_code(Equivalence::Verdict verdict) {
  switch (verdict) {
  case Equivalence::Verdict::Equal: return 0;
  case Equivalence::Verdict::Different: return 1;
  case Equivalence::Verdict::Undecided: return kNotDecided;
  }
  return 1;
}

} // namespace

Result<ModelsVerified> compare(Session& session, VerifySide a, VerifySide b,
                               tangram::VerifyOptions options) {
  options.seed = session.options.seed;
  options.threads = static_cast<int>(session.options.threads);
  return verify_models(std::move(a), std::move(b), options, session.stop);
}

void print_equivalence(llvm::raw_ostream& out, const Equivalence& result) {
  if (result.equal()) {
    print_equal(out, result);
    for (const std::string& caveat : result.caveats) out << "  note: " << caveat << "\n";
    return;
  }
  if (!result.different()) return print_undecided(out, result);
  out << "different: ";
  // Thousands of numbers are useless if a small part shows the difference.
  bool inputs = result.counterexample->complete || !result.part;
  print_difference(out, *result.counterexample, inputs);
  if (result.part) print_part(out, *result.part);
}

namespace {

void print_result(llvm::raw_ostream& out, const ModelsVerified& sides, const Equivalence& result) {
  if (sides.weight)
    return print_weight(out, "weight", *sides.weight, "in the file of the first model",
                        "in the file of the second");
  if (result.different() && !result.counterexample)
    return print_weight(out, "folded weight", *sides.folding->wrong,
                        "from the weights of the source", "in the file");
  print_equivalence(out, result);
  if (sides.folding && result.equal())
    out << llvm::formatv("  folded weights: {0}, recomputed from the weights of the source, differ "
                         "by at most {1}\n",
                         sides.folding->weights, difference_text(sides.folding->max_rel_diff));
}

/// A file, and the model in it ("": --model, or the only one).
struct Named {
  std::string file, model;
};

/// Parses `f.tg:left`. A file whose own name has a colon is used as it is.
Named side_of(llvm::StringRef text, const std::string& model) {
  auto [file, name] = text.rsplit(':');
  if (name.empty() || llvm::sys::fs::exists(text)) return {text.str(), model};
  return {file.str(), name.str()};
}

/// Returns the names of the models of a file, in order.
std::vector<std::string> models_of(Session& session, const std::string& path) {
  std::vector<std::string> names;
  if (is_onnx_path(path)) return {""};
  Result<FileId> file = load_file(session.sources, path);
  if (!file) return names;
  DiagnosticSink quiet; // errors are reported later, when the models are built
  Ast tree = parse(session.sources, *file, quiet);
  for (ast::DeclId id : tree.decls())
    if (tree[id].kind == ast::DeclKind::Model) names.push_back(tree[id].name.text.str());
  return names;
}

std::optional<std::pair<Named, Named>> named_sides(Session& session) {
  const Options& o = session.options;
  if (o.files.size() == 2)
    return std::pair(side_of(o.files[0], o.model), side_of(o.files[1], o.model));
  std::vector<std::string> names;
  if (o.files.size() == 1) names = models_of(session, o.files[0]);
  if (names.size() == 2 && !o.model.empty()) {
    session.sink.report(error(Code::usage,
                              "`--model` names one model, but both models of `{0}` are compared",
                              o.files[0])
                            .suggest("omit it, or name two files"));
    return std::nullopt;
  }
  if (names.size() == 2) return std::pair(Named{o.files[0], names[0]}, Named{o.files[0], names[1]});
  session.sink.report(
      error(Code::usage, "`tg verify` requires two models, not {0}",
            o.files.size() == 1 ? names.size() : o.files.size())
          .suggest("give two files, FILE:MODEL twice, or one file with two models"));
  return std::nullopt;
}

/// The state of loading the two sides of a comparison.
struct Loading {
  /// Given names that a side does not have, with the number of such sides.
  std::map<std::string, int> left_out;
  /// True if inputs and outputs have the names of a .tg file, with which an .onnx file is compared.
  bool text_names = false;
  /// Inputs whose sizes one file leaves open and takes from the other.
  std::vector<std::string> resized;
  /// Sizes that have a range in both models, and their values in this comparison.
  std::vector<OpenSize> open;
  sizes::Point at;
};

/// Gives the named inputs the shapes that they have in `other`.
void add_shapes(llvm::ArrayRef<std::string> names, const Graph& other,
                onnx::ImportOptions& options) {
  for (NodeId input : other.inputs()) {
    const std::string& name = other.attr(input, 0).text;
    const Shape& shape = other.type(input).shape;
    if (llvm::is_contained(names, name))
      options.shapes.try_emplace(name, std::vector<int64_t>(shape.begin(), shape.end()));
  }
}

/// Loads one side. `other` has the sizes that this side's file leaves open; if null, the
/// options have them.
std::optional<VerifySide> load(Session& session, const Named& side, Loading& loading,
                               const Graph* other) {
  Result<ModelRequest> request = model_request(session.options);
  if (!request) {
    session.sink.report(std::move(request.error()));
    return std::nullopt;
  }
  if (other) add_shapes(loading.resized, *other, request->onnx_options);
  request->model = side.model;
  request->shared = true;
  for (size_t i = 0; i < loading.at.size(); ++i)
    if (is_onnx_path(side.file))
      request->onnx_options.dims[loading.open[i].name] = loading.at[i];
    else
      request->settings.push_back({loading.open[i].name, std::to_string(loading.at[i])});
  std::optional<LoadedModel> model = load_model(session.sources, side.file, *request, session.sink);
  if (!model) return std::nullopt;
  for (std::string& name : model->left_out) ++loading.left_out[name];
  InputRanges ranges = std::move(model->ranges);
  if (loading.text_names) {
    Graph renamed = with_text_names(model->graph);
    InputRanges by_text;
    for (size_t i = 0; i < renamed.inputs().size(); ++i)
      if (auto range = ranges.find(model->graph.attr(model->graph.inputs()[i], 0).text);
          range != ranges.end())
        by_text[renamed.attr(renamed.inputs()[i], 0).text] = range->second;
    model->graph = std::move(renamed), ranges = std::move(by_text);
  }
  return VerifySide{std::move(model->graph), side.file, std::move(model->weights),
                    std::move(ranges)};
}

/// Loads both sides. Unless the options give sizes, a file with open sizes takes them from
/// the other file.
std::optional<std::pair<VerifySide, VerifySide>> load_sides(Session& session, const Named& first,
                                                            const Named& second, Loading& loading) {
  const Options& o = session.options;
  bool given = !o.shapes.empty() || !o.dims.empty();
  std::vector<std::string> of_a, of_b;
  if (!given) of_a = open_inputs(first.file), of_b = open_inputs(second.file);
  bool from_b = !of_a.empty() && of_b.empty(), from_a = of_a.empty() && !of_b.empty();
  if (from_a || from_b) loading.resized = from_b ? of_a : of_b;
  std::optional<VerifySide> a, b;
  if (from_b) {
    if ((b = load(session, second, loading, nullptr))) a = load(session, first, loading, &b->graph);
  } else if ((a = load(session, first, loading, nullptr))) {
    b = load(session, second, loading, from_a ? &a->graph : nullptr);
  }
  if (!a || !b) return std::nullopt;
  return std::pair(std::move(*a), std::move(*b));
}

/// Reports names that neither side has.
bool report_left_out(Session& session, const std::map<std::string, int>& left_out) {
  for (const auto& [name, count] : left_out)
    if (count == 2) session.sink.report(error(Code::usage, "neither model has {0}", name));
  return !session.sink.failed();
}

// --- open sizes ---------------------------------------------------------------------------------

/// Returns the open sizes of one side. Errors of the file are reported when it is loaded.
std::vector<OpenSize> sizes_of(const Session& session, const Named& side) {
  Result<ModelRequest> request = model_request(session.options);
  if (!request) return {};
  request->model = side.model;
  request->shared = true;
  SourceManager sources;
  DiagnosticSink quiet;
  std::optional<OpenModel> model = OpenModel::open(sources, side.file, std::move(*request), quiet);
  if (!model) return {};
  return {model->sizes().begin(), model->sizes().end()};
}

/// Returns the sizes that both sides leave open, with the sizes that both allow. Errors:
/// `dimension_mismatch` if there is none.
Result<std::vector<OpenSize>> common_sizes(llvm::ArrayRef<OpenSize> a, llvm::ArrayRef<OpenSize> b) {
  std::vector<OpenSize> common;
  for (const OpenSize& size : a) {
    const auto* other = llvm::find_if(b, [&](const OpenSize& o) { return o.name == size.name; });
    if (other == b.end()) continue;
    OpenSize both = size;
    both.range.least = std::max(size.range.least, other->range.least);
    if (other->range.most)
      both.range.most = std::min(size.range.most.value_or(INT64_MAX), *other->range.most);
    if (both.range.most && *both.range.most < both.range.least)
      return error(Code::dimension_mismatch,
                   "no size is allowed by both models: {0} in one, {1} in the other", size.text(),
                   other->text());
    if (!both.range.contains(both.sample))
      both.sample = other->range.contains(other->sample) && both.range.contains(other->sample)
                        ? other->sample
                        : both.range.least;
    common.push_back(std::move(both));
  }
  return common;
}

/// Returns the points at which models are compared: those at which recipes are tried, and two
/// random ones. Small sizes come first.
std::vector<sizes::Point> points_to_compare(llvm::ArrayRef<OpenSize> open, uint64_t seed) {
  std::vector<sizes::Point> points = points_to_try(open);
  sizes::Point most = points.back();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2; ++i) {
    sizes::Point point;
    for (size_t s = 0; s < open.size(); ++s) {
      auto span = static_cast<uint64_t>(most[s] - open[s].range.least + 1);
      point.push_back(open[s].range.least + static_cast<int64_t>(random() % span));
    }
    if (!llvm::is_contained(points, point)) points.push_back(std::move(point));
  }
  auto product = [](const sizes::Point& point) {
    double all = 1;
    for (int64_t n : point) all *= static_cast<double>(n);
    return all;
  };
  llvm::stable_sort(points, [&](const sizes::Point& x, const sizes::Point& y) {
    return product(x) < product(y);
  });
  return points;
}

/// Returns true if `a` says less than `b`: a verdict of difference, then no verdict, then the
/// weaker method, then the larger error bound.
bool is_weaker(const Equivalence& a, const Equivalence& b) {
  auto rank = [](const Equivalence& e) {
    int verdict = e.different() ? 0 : e.equal() ? 2 : 1;
    int method = e.method == Equivalence::Method::Float64 ? 0
                 : e.method == Equivalence::Method::Field ? 1
                                                          : 2;
    return std::tuple(verdict, method, -e.log2_error);
  };
  return rank(a) < rank(b);
}

struct AtSizes {
  std::vector<std::string> compared; // "S = 7"
  std::string weakest_at;
  std::optional<ModelsVerified> weakest;
};

/// Compares the models at sizes in the ranges of both, up to the first difference. nullopt: the
/// session's sink has errors.
std::optional<AtSizes> compare_at_sizes(Session& session, const Named& first, const Named& second,
                                        Loading& loading) {
  AtSizes out;
  for (const sizes::Point& point : points_to_compare(loading.open, session.options.seed)) {
    loading.at = point;
    std::string text = text_of(loading.open, point);
    auto sides = load_sides(session, first, second, loading);
    if (!sides) {
      session.sink.report(error(Code::models_differ, "the models are not compared at {0}", text)
                              .note("the errors above are for these sizes"));
      return std::nullopt;
    }
    if (out.compared.empty() && !report_left_out(session, loading.left_out)) return std::nullopt;
    Result<ModelsVerified> verified = compare(
        session, std::move(sides->first), std::move(sides->second),
        {.weights_file_a = session.options.weights, .weights_file_b = session.options.weights_b});
    if (!verified) {
      session.sink.report(std::move(verified.error()).note("at " + text));
      return std::nullopt;
    }
    out.compared.push_back(text);
    if (out.weakest && !is_weaker(verified->result, out.weakest->result)) continue;
    out.weakest_at = std::move(text);
    out.weakest = std::move(*verified);
    if (out.weakest->result.different()) break;
  }
  return out;
}

void print_sizes(llvm::raw_ostream& out, const AtSizes& sizes, llvm::ArrayRef<OpenSize> open) {
  if (!sizes.weakest->result.equal()) {
    out << "at " << sizes.weakest_at << ": ";
    return print_result(out, *sizes.weakest, sizes.weakest->result);
  }
  if (sizes.compared.size() == 1)
    out << "at " << sizes.compared[0] << ": ";
  else
    out << "at each of " << counted(sizes.compared.size(), "point") << ": ";
  print_result(out, *sizes.weakest, sizes.weakest->result);
  if (sizes.compared.size() > 1)
    out << "  compared at " << llvm::join(sizes.compared, open.size() == 1 ? ", " : "; ") << "\n";
  out << "  not proved for the other sizes of " << text_of(open) << "\n";
}

int verify_sizes(Session& session, const Named& first, const Named& second, Loading& loading) {
  std::optional<AtSizes> sizes = compare_at_sizes(session, first, second, loading);
  if (!sizes) return session.fail();
  session.print_warnings();
  const Equivalence& result = sizes->weakest->result;
  if (session.options.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      write_equivalence(json, result);
      write_weights(json, *sizes->weakest);
      json.attributeArray("sizes", [&] {
        for (const std::string& at : sizes->compared) json.value(at);
      });
      json.attribute("weakest_at", sizes->weakest_at);
    });
    session.out << "\n";
  } else if (!session.options.quiet) {
    print_sizes(session.out, *sizes, loading.open);
  }
  return exit_code(result.verdict);
}

} // namespace

int run_verify(Session& session) {
  const Options& o = session.options;
  auto named = named_sides(session);
  if (!named) return session.fail();
  Loading loading;
  loading.text_names = is_onnx_path(named->first.file) != is_onnx_path(named->second.file);
  Result<std::vector<OpenSize>> common =
      common_sizes(sizes_of(session, named->first), sizes_of(session, named->second));
  if (!common) return session.fail(common.error());
  loading.open = std::move(*common);
  if (!loading.open.empty()) return verify_sizes(session, named->first, named->second, loading);
  auto sides = load_sides(session, named->first, named->second, loading);
  if (!sides || !report_left_out(session, loading.left_out)) return session.fail();
  Result<ModelsVerified> verified =
      compare(session, std::move(sides->first), std::move(sides->second),
              {.weights_file_a = o.weights, .weights_file_b = o.weights_b});
  if (!verified) return session.fail(verified.error());
  if (!loading.resized.empty())
    verified->result.caveats.push_back("one file leaves sizes of `" +
                                       llvm::join(loading.resized, "`, `") +
                                       "` open: the sizes of the other file were used");
  session.print_warnings();
  const Equivalence& result = verified->result;
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      write_equivalence(json, result);
      write_weights(json, *verified);
    });
    session.out << "\n";
  } else if (!o.quiet) {
    print_result(session.out, *verified, result);
  }
  return exit_code(result.verdict);
}

} // namespace tg::cli
