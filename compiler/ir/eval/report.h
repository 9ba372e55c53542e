// What diagnostics say when instantiation fails: the operands with their types and where they come
// from, the chain of calls, and a suggestion where one is plain (lang/core/diagnostics/diagnostic.h
// has the form). One mistake gives one error: errors at one place with one code are reported once,
// with the chain of the first. The limits are kept here, too: at one, everything stops and nothing
// more is said.
#pragma once

#include "compiler/ir/eval/value.h"

#include <set>
#include <tuple>

namespace tg::eval {

class Report {
public:
  Report(const Program& program, const Graph& graph, DiagnosticSink& sink)
      : sources_(*program.sources), graph_(graph), sink_(sink) {}

  /// Reports with the chain of calls, unless the same was said. Always returns Poison.
  Val fail(const Frame& frame, Diagnostic d);
  /// What `infer` refuses.
  Val refused(const Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Operand> operands,
              std::string why);
  size_t errors() const { return sink_.errors(); }

  /// Says which limit was hit; from then on everything is Poison.
  Val limit(const Frame& frame, Span span, std::string what);
  /// One more step; false at the limit of steps.
  bool step(const Frame& frame, Span span);
  void spend(uint64_t steps) { steps_ += steps; }
  bool stopped() const { return stopped_; }

  void note_operands(const Frame& frame, llvm::ArrayRef<Operand> operands, Diagnostic& d) const;
  /// The values of the names in an expression.
  void note_values(const Frame& frame, ast::ExprId expr, Diagnostic& d) const;
  std::string describe(const Val& val) const;
  llvm::StringRef text(Span span) const { return sources_.text(span); }
  /// The text of an operand, cut where it is long.
  std::string written(const Frame& frame, ast::ExprId expr) const;
  /// The x of `transpose(x)`; "" of all else.
  std::string turned_back(const Frame& frame, ast::ExprId expr) const;
  /// "in cell(width = 256), called from rnn at line 23"
  std::string call_text(const Frame& frame, FileId from) const;

private:
  const TensorType& type(NodeId node) const { return graph_.type(node); }
  std::string swap_help(const Frame& frame, ast::ExprId site, OpKind op,
                        llvm::ArrayRef<Operand> operands) const;
  std::string origin(const Frame& frame, ast::ExprId expr, NodeId node) const;
  std::string place(Span span, FileId from) const;
  void note_chain(const Frame& frame, Diagnostic& d) const;

  const SourceManager& sources_;
  const Graph& graph_;
  DiagnosticSink& sink_;
  uint64_t steps_ = 0;
  bool stopped_ = false;
  std::set<std::tuple<uint16_t, uint32_t, uint32_t>> reported_; // code, file, offset
};

} // namespace tg::eval
