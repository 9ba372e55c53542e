// Builds rules from text and small graphs, for tests.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg::test {

/// Returns the rules of a text, which must not have errors.
inline std::vector<Rule> rules_of(llvm::StringRef text) {
  static SourceManager sources; // rules name their files
  DiagnosticSink sink;
  FileId file = sources.add("test.tg", text.str());
  std::vector<Rule> rules = rules_from_ast(parse(sources, file, sink), sources, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  EXPECT_FALSE(sink.failed());
  return rules;
}

/// A graph under construction. Operators are given by name, attributes as values.
struct Builder {
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  Graph graph{symbols, "test"};

  NodeId x(llvm::StringRef name, std::initializer_list<int64_t> shape) {
    return graph.input(name, f32(shape));
  }
  NodeId w(llvm::StringRef name, std::initializer_list<int64_t> shape) {
    return graph.weight(name, f32(shape));
  }
  NodeId op(OpKind kind, llvm::ArrayRef<NodeId> operands, llvm::ArrayRef<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& value : attrs) ids.push_back(symbols->value(value));
    std::string why;
    NodeId id = graph.add(kind, ids, operands, &why);
    EXPECT_TRUE(id.valid()) << why;
    return id;
  }
  NodeId matmul(NodeId a, NodeId b) {
    NodeId none = graph.none();
    return op(OpKind::Matmul, {a, b, none, none}, {Value::of_enum("none")});
  }
  void output(NodeId id) { graph.add_output("y" + std::to_string(graph.outputs().size()), id); }
};

} // namespace tg::test
