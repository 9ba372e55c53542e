// Diagnostics of instantiation. A message has the operands with their types and origins, the chain
// of calls, and a suggestion if there is an obvious one (lang/core/diagnostics/diagnostic.h defines
// the form). One mistake gives one error: errors with the same code at the same place are reported
// once, with the first chain of calls. The limits are checked here as well: after one is reached,
// evaluation stops and nothing else is reported.
#pragma once

#include "compiler/ir/eval/value.h"

#include <set>
#include <tuple>

namespace tg::eval {

class Report {
public:
  Report(const Program& program, const Graph& graph, DiagnosticSink& sink)
      : sources_(*program.sources), graph_(graph), sink_(sink) {}

  /// Reports a diagnostic with the chain of calls, unless it was reported before. Always returns
  /// Poison.
  Val fail(const Frame& frame, Diagnostic d);
  /// Reports the refusal by `infer`.
  Val refused(const Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Operand> operands,
              std::string why);
  size_t errors() const { return sink_.errors(); }

  /// Reports the limit that was reached. From then on every value is Poison.
  Val limit(const Frame& frame, Span span, std::string what);
  /// Counts a step. Returns false at the limit.
  bool step(const Frame& frame, Span span);
  void spend(uint64_t steps) { steps_ += steps; }
  bool stopped() const { return stopped_; }

  void note_operands(const Frame& frame, llvm::ArrayRef<Operand> operands, Diagnostic& d) const;
  /// Adds the values of the names in an expression to the diagnostic.
  void note_values(const Frame& frame, ast::ExprId expr, Diagnostic& d) const;
  std::string describe(const Val& val) const;
  llvm::StringRef text(Span span) const { return sources_.text(span); }
  /// Returns the text of an operand, truncated if long.
  std::string written(const Frame& frame, ast::ExprId expr) const;
  /// Returns the x of `transpose(x)`, and "" for other expressions.
  std::string transposed_operand(const Frame& frame, ast::ExprId expr) const;
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
