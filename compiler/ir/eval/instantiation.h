// Implements from_ast: runs a model's body at compile time, which builds its graph. The components,
// each based on the previous ones: `value` (results of evaluation), `report` (diagnostics, limits),
// `nodes` (operators and literals), `types`, `arguments`, `statements`, `brackets`, `calls`, and
// `evaluator` (expressions), which the others use through `Expressions`.
#pragma once

#include "compiler/ir/eval/evaluator.h"
#include "compiler/ir/from_ast.h"

namespace tg::eval {

class Instantiation {
public:
  /// `run`, if given, has the open sizes of the model, whose samples the settings contain.
  Instantiation(const Program& program, Graph& graph, DiagnosticSink& sink, SizeRun* run = nullptr)
      : program_(program), graph_(graph), report_(program, graph, sink),
        nodes_(graph, report_, run), evaluator_(program, nodes_, report_) {}

  /// See Calls::pass_over.
  void pass_over(std::function<bool(FnRef)> damaged) {
    evaluator_.calls().pass_over(std::move(damaged));
  }
  /// Instantiates a model into the graph. Returns false after an error.
  bool model(FnRef fn, const ModelSettings& settings, ModelValue* value = nullptr);

private:
  bool apply_settings(Frame& frame, const ModelSettings& settings);
  bool parameters_bound(Frame& frame);
  bool ranges(Frame& frame);
  bool names_bound(Frame& frame);
  bool inputs(Frame& frame);
  Val input(Frame& frame, ast::TypeRef ref, const std::string& name);
  void outputs(Frame& frame, const Val& val);
  void updates(Frame& frame);
  bool output(Frame& frame, const Val& val, const std::string& name);

  const Program& program_;
  Graph& graph_;
  Report report_;
  Nodes nodes_;
  Evaluator evaluator_;
};

} // namespace tg::eval
