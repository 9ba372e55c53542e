// Builds programs from text for tests of instantiation: with modules in memory, the real library,
// and errors as codes and messages.
#pragma once

#include "compiler/ir/from_ast.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/to_text.h"

#include <gtest/gtest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace tg::test {

inline std::string read_source(const std::string& name) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(TG_SOURCE_DIR) + "/" + name);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Returns the sorted names of the .tg files in a folder of the source tree.
inline std::vector<std::string> tg_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ec;
  std::string path = std::string(TG_SOURCE_DIR) + "/" + folder;
  for (llvm::sys::fs::directory_iterator it(path, ec), end; it != end && !ec; it.increment(ec))
    if (llvm::sys::path::extension(it->path()) == ".tg")
      names.push_back(folder + "/" + llvm::sys::path::filename(it->path()).str());
  std::sort(names.begin(), names.end());
  return names;
}

/// Loads the given files first, then those of the library in the source tree.
struct TestLoader : ModuleLoader {
  std::map<std::string, std::string> files;
  std::optional<std::string> read(llvm::StringRef name) const override {
    if (auto it = files.find(name.str()); it != files.end()) return it->second;
    std::string text = read_source(name.str());
    return text.empty() ? std::nullopt : std::optional(text);
  }
  std::vector<std::string> list(llvm::StringRef folder) const override {
    return tg_files(folder.str());
  }
};

/// A program and the result of its instantiation.
struct Built {
  SourceManager sources;
  TestLoader loader;
  DiagnosticSink sink;
  Program program;
  std::optional<Graph> graph;

  explicit Built(std::string text, const ModelSettings& settings = {}, std::string model = "",
                 std::string name = "test.tg") {
    program = load_program(sources, loader, sources.add(std::move(name), std::move(text)), sink);
    if (!sink.failed())
      graph = instantiate(program, model, settings, std::make_shared<Symbols>(), sink);
  }

  /// Returns the errors, one per line, as "E0213: cannot multiply …".
  std::string errors() const {
    std::string text;
    for (const Diagnostic& d : sink.all()) text += code_text(d.code) + ": " + d.message + "\n";
    return text;
  }
  std::string rendered() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    for (const Diagnostic& d : sink.all()) render(d, sources, out);
    return out.str();
  }
  /// Returns the operators that the outputs need, sorted by name: "2 conv2d, 1 relu".
  std::string census() const {
    std::map<std::string, int> counts;
    std::vector<bool> needed = graph->reachable();
    for (uint32_t i = 0; i < graph->size(); ++i) {
      const OpInfo& info = op_info(graph->node({i}).op);
      if (needed[i] && !info.has(Trait::Leaf)) ++counts[std::string(info.name)];
    }
    std::string text;
    for (const auto& [name, count] : counts)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    return text;
  }
  std::vector<std::string> weight_paths() const {
    std::vector<std::string> paths;
    for (uint32_t i = 0; i < graph->size(); ++i)
      if (graph->node({i}).op == OpKind::Weight) paths.push_back(graph->attr({i}, 0).text);
    return paths;
  }
  std::string output_type(size_t i = 0) const {
    return graph->type(graph->outputs()[i].node).text();
  }
};

} // namespace tg::test
