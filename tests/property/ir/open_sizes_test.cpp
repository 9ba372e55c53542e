// Checks of models with open sizes against instantiation: random models with random ranges. A model
// that the check accepts instantiates at random sizes of the ranges and at their ends. A model that
// it refuses at sizes that it names does not instantiate there. Generated models are of each family
// of shape rules and of the constructs of the language that read sizes.
#include "compiler/ir/evaluate.h"
#include "compiler/ir/open_check.h"
#include "compiler/ir/open_graph.h"
#include "lang/check/check.h"
#include "lang/check/size_range.h"
#include "lang/core/sizes/fit.h"
#include "tests/property/ir/generic_models.h"
#include "tests/unit/ir/ir_test.h"

#include <random>
#include <regex>

namespace tg {
namespace {

using test::Models, test::Random;

/// Parses "for N = 2, M = 3, within …" of a note.
std::optional<ModelSettings> sizes_of_note(llvm::StringRef note) {
  if (!note.consume_front("for ")) return std::nullopt;
  ModelSettings settings;
  note = note.take_until([](char c) { return c == 'w'; });
  llvm::SmallVector<llvm::StringRef, 4> parts;
  note.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.trim().split(" = ");
    int64_t size = 0;
    if (!name.empty() && !number.getAsInteger(10, size)) settings[name.str()] = Value::of_int(size);
  }
  return settings;
}

struct Checked {
  test::Built built;
  DiagnosticSink sink;
  FnRef model;
  explicit Checked(const std::string& text) : built(text, {{"?", Value::of_int(0)}}) {
    model = *built.program.find_model("");
  }
  bool instantiates(const ModelSettings& settings, std::string& why) {
    DiagnosticSink found;
    bool good =
        instantiate(built.program, "m", settings, std::make_shared<Symbols>(), found).has_value();
    for (const Diagnostic& d : found.all()) why += d.message + "\n";
    return good;
  }
};

TEST(OpenSizes, ChecksAgreeWithInstantiation) {
  bool full = std::getenv("TANGRAM_FULL_TESTS") != nullptr;
  size_t accepted = 0, refused = 0, undecided = 0, rounds = full ? 20'000 : 300;
  Random random(7);
  Models models(11);
  for (size_t round = 0; round < rounds; ++round) {
    std::string text = models.next();
    Checked checked(text);
    const Ast& ast = checked.built.program.module(checked.model).ast;
    if (check_open(checked.built.program, checked.model, checked.sink)) {
      ++accepted;
      for (int i = 0; i < 20; ++i) {
        ModelSettings settings;
        for (const ast::Param& param : ast[checked.built.program.decl(checked.model).params])
          if (std::optional<SizeRange> range = size_range(ast, param)) {
            int64_t most = range->most.value_or(range->least + 60);
            int64_t n = i == 0 ? range->least
                        : i == 1
                            ? most
                            : std::uniform_int_distribution<int64_t>(range->least, most)(random);
            settings[param.name.text.str()] = Value::of_int(n);
          }
        std::string why;
        ASSERT_TRUE(checked.instantiates(settings, why))
            << text << "N = " << settings["N"].number << ", M = " << settings["M"].number << "\n"
            << why;
      }
      continue;
    }
    ASSERT_TRUE(checked.sink.failed()) << text;
    std::optional<ModelSettings> witness;
    for (const Diagnostic& d : checked.sink.all())
      for (const std::string& note : d.notes)
        if (!witness) witness = sizes_of_note(note);
    if (!witness) {
      ++undecided;
      continue;
    }
    ++refused;
    std::string why;
    ASSERT_FALSE(checked.instantiates(*witness, why)) << text << checked.sink.all()[0].message;
  }
  EXPECT_GT(accepted, rounds / 10);
  EXPECT_GT(refused, rounds / 10);
  EXPECT_LT(undecided, rounds / 4);
  std::printf("%zu accepted, %zu refused at sizes, %zu not decided\n", accepted, refused,
              undecided);
}

/// The graph of a model at a point, or nullopt where it has none.
std::optional<Graph> graph_at(const test::Built& built, const std::vector<OpenSize>& sizes,
                              const sizes::Point& point) {
  ModelSettings settings;
  for (size_t i = 0; i < sizes.size(); ++i) settings[sizes[i].name] = Value::of_int(point[i]);
  DiagnosticSink sink;
  std::optional<Graph> graph =
      instantiate(built.program, "m", settings, std::make_shared<Symbols>(), sink);
  return sink.failed() ? std::nullopt : std::move(graph);
}

/// Returns true if both graphs have equal types and compute equal numbers from random inputs.
bool compute_the_same(const Graph& a, const Graph& b) {
  if (a.outputs().size() != b.outputs().size()) return false;
  for (size_t i = 0; i < a.outputs().size(); ++i)
    if (!(a.type(a.outputs()[i].node) == b.type(b.outputs()[i].node))) return false;
  Result<std::vector<NodeValues>> x = evaluate(a, random_leaves(1)),
                                  y = evaluate(b, random_leaves(1));
  if (!x || !y) return false;
  for (size_t i = 0; i < x->size(); ++i)
    if (!((*x)[i] == (*y)[i])) return false;
  return true;
}

std::vector<OpenSize> sizes_of(const test::Built& built, FnRef model) {
  const Ast& ast = built.program.module(model).ast;
  std::vector<OpenSize> sizes;
  for (const ast::Param& param : ast[built.program.decl(model).params])
    if (std::optional<SizeRange> range = size_range(ast, param))
      sizes.push_back({param.name.text.str(), *range, range->least});
  return sizes;
}

/// Models are fitted from their graphs at points, and written as generic text. The text computes
/// the same as the source at random sizes. Models whose structure or integers are not those of a
/// fit are refused.
TEST(OpenGraph, TextComputesTheSameAtAllSizes) {
  bool full = std::getenv("TANGRAM_FULL_TESTS") != nullptr;
  size_t fitted = 0, refused = 0, compared = 0, missing = 0, rounds = full ? 5'000 : 200;
  Random random(3);
  Models models(17);
  for (size_t round = 0; round < rounds; ++round) {
    // Points for a fit are typical sizes, so the ranges have no end here.
    std::string text = std::regex_replace(models.next(), std::regex(R"(\.\.\d+ =)"), ".. =");
    // Points show one case of what depends on a size by cases.
    if (std::regex_search(text, std::regex(R"(\b(if |min\(|max\(|abs\())"))) continue;
    Checked checked(text);
    std::vector<OpenSize> open = sizes_of(checked.built, checked.model);
    std::vector<sizes::Interval> ranges;
    std::vector<int64_t> samples;
    for (const OpenSize& size : open) {
      ranges.push_back({size.range.least, size.range.most});
      samples.push_back(size.sample);
    }
    std::vector<sizes::Point> points = sizes::fit_points(ranges, samples);
    std::vector<Graph> graphs;
    for (const sizes::Point& point : points)
      if (std::optional<Graph> graph = graph_at(checked.built, open, point))
        graphs.push_back(std::move(*graph));
    if (graphs.size() != points.size()) continue;
    Result<OpenGraph> graph = fit_graph(open, points, graphs);
    if (!graph) {
      ++refused;
      continue;
    }
    ++fitted;
    std::string written = to_text(*graph);
    test::Built read(written, {{"?", Value::of_int(0)}});
    for (int i = 0; i < 10; ++i) {
      sizes::Point point;
      for (const OpenSize& size : open)
        point.push_back(i == 0 ? size.range.least
                               : std::uniform_int_distribution<int64_t>(size.range.least,
                                                                        i < 6 ? 12 : 60)(random));
      std::optional<Graph> source = graph_at(checked.built, open, point);
      if (!source || !check_at(*graph, point, *source)) continue; // found where a file is imported
      std::optional<Graph> generic = graph_at(read, open, point);
      if (!generic) { // an operator of the text, which the source omits here, has no elements
        ++missing;
        continue;
      }
      ++compared;
      ASSERT_TRUE(compute_the_same(*source, *generic)) << text << written << text_of(open, point);
    }
  }
  EXPECT_GT(fitted, rounds / 12);
  EXPECT_GT(compared, fitted * 3);
  EXPECT_LT(missing, compared / 8);
  std::printf("%zu fitted, %zu refused, %zu sizes compared, %zu without a graph\n", fitted, refused,
              compared, missing);
}

} // namespace
} // namespace tg
