// Checks the examples of the documents: each ```tg block is read, its functions, models and rules
// are checked, and models with known sizes are instantiated and run on the reference backend.
// A block that shows only a part of a file is fenced without `tg`.
#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <cmath>

namespace tg {
namespace {

/// Runs a model of a block. Returns the error, or "" if the model runs and gives finite values.
/// Returns "" also if the model has sizes from outside or calls operators of other libraries.
std::string run(const Program& program, FnRef model) {
  DiagnosticSink sink;
  std::optional<Graph> graph =
      build_graph(program, {program.decl(model).name.text.str(), {}}, sink);
  if (!graph) return "";
  for (uint32_t i = 0; i < graph->size(); ++i)
    if (graph->node({i}).op == OpKind::Extern) return "";
  PrepareOptions options;
  options.backend = "ref";
  Result<Prepared> prepared = prepare_with_inputs(*graph, options);
  if (!prepared) return prepared.error().message;
  if (Result<void> ran = prepared->executable->run_once(); !ran) return ran.error().message;
  Result<std::vector<Tensor>> outputs = prepared->executable->outputs();
  if (!outputs) return outputs.error().message;
  for (const Tensor& output : *outputs)
    for (double value : output.doubles())
      if (!std::isfinite(value)) return graph->name() + " gives values that are not finite";
  return "";
}

/// Checks and runs a block. Returns the error, or "".
std::string faults(const std::string& name, llvm::StringRef text) {
  SourceManager sources;
  DiagnosticSink sink;
  Program program = load_program(sources, library(), sources.add(name, text.str()), sink);
  if (!sink.failed() && check(program, sink))
    (void)rules_from_ast(program.modules[0].ast, sources, sink);
  std::string out;
  llvm::raw_string_ostream stream(out);
  for (const Diagnostic& d : sink.all()) render(d, sources, stream);
  if (!sink.failed())
    for (FnRef model : program.models()) stream << run(program, model);
  return stream.str();
}

/// Checks the blocks of a document. Returns their number.
size_t check_blocks(const std::string& path) {
  SourceManager sources;
  auto document = load_file(sources, TG_SOURCE_DIR "/" + path);
  if (!document) return 0;
  llvm::StringRef text = sources.file(*document).text();
  size_t blocks = 0;
  for (size_t at = text.find("```tg\n"); at != llvm::StringRef::npos;
       at = text.find("```tg\n", at)) {
    size_t begin = at + 6, end = text.find("```", begin);
    if (end == llvm::StringRef::npos) break;
    EXPECT_EQ(faults(path, text.slice(begin, end)), "") << text.slice(begin, end).str();
    ++blocks;
    at = end + 3;
  }
  return blocks;
}

TEST(Documents, ExamplesOfTheReferenceAreChecked) {
  EXPECT_GE(check_blocks("docs/language.md"), 9u);
}

TEST(Documents, ExamplesElsewhereAreChecked) {
  for (const char* path : {"README.md", "stdlib/README.md", "docs/rules.md", "examples/README.md",
                           "docs/how-it-works.md", "docs/training.md"})
    check_blocks(path);
}

TEST(Documents, AWrongBlockIsFound) {
  EXPECT_NE(faults("x", "fn f(x: f32[N]) { rellu(x) }\n"), "");
}

} // namespace
} // namespace tg
