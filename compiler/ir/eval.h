// Inside of from_ast: the evaluator that runs a model's body at compile time and builds its graph.
// A value is a tensor (a node of the graph), a compile-time value, or a list or tuple of such.
//
// One mistake gives one error: what could not be evaluated is Poison, everything made from Poison
// is Poison, and nothing more is said about it. Errors at one place with one code are reported
// once, with the instantiation chain of the first.
//
// The evaluator recurses along the syntax tree and along calls; `Depth` bounds both together.
// Files: eval_expr (expressions, statements), eval_tensor (signs and brackets on tensors),
// eval_call (calls, results, models), eval_bind (arguments, types), eval_op (operators and
// builtins), eval_literal (literals and their dtypes), eval_report (what a reader is told).
#pragma once

#include "compiler/ir/from_ast.h"
#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/StringMap.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace tg::eval {

inline constexpr uint32_t kMaxListDepth = 16;
inline constexpr uint32_t kMaxListExtent = 1 << 20;

struct Val {
  enum class Kind : uint8_t { Poison, Unit, Const, Tensor, List, Tuple };
  Kind kind = Kind::Poison;
  NodeId node;            // Tensor
  Value value;            // Const; never Ints or Floats: those are Lists
  std::vector<Val> items; // List, Tuple
  /// Tensor: a literal (`zeros([2])`) whose dtype is that of what it meets.
  bool weak = false;
  uint32_t depth = 0;  // of nested items: at most kMaxListDepth, so that a pass may recurse
  uint32_t extent = 1; // values inside, itself included: at most kMaxListExtent

  bool is(Kind k) const { return kind == k; }
  bool poison() const { return kind == Kind::Poison; }
  /// A value that is written out, and so takes the dtype of what it meets.
  bool literal() const { return is(Kind::Const) || is(Kind::List) || (is(Kind::Tensor) && weak); }
  /// The word `none`: an operand that is absent.
  bool absent() const {
    return is(Kind::Const) && value.is(Value::Kind::Enum) && value.text == "none";
  }

  static Val of(NodeId node);
  static Val of(Value value);
  static Val list(std::vector<Val> items, Kind kind = Kind::List);
  static Val unit();
};

enum class Bound : uint8_t { Parameter, Dimension, Let, Var, Weight, Loop };

struct Binding {
  llvm::StringRef name;
  Val val;
  Bound how = Bound::Let;
  Span span; // where the name got its value
};

/// One activation of a function or model.
struct Frame {
  FnRef fn;
  const Module& module;
  const Ast& ast;
  const ast::Decl& decl;
  const Frame* caller = nullptr;
  Span call_site;
  std::string prefix;    // of weight paths: "layer[3].attention."
  std::string arguments; // "width = 256": compile-time arguments as given
  std::vector<Binding> bindings;
  llvm::StringMap<llvm::SmallVector<uint32_t, 1>> by_name; // into bindings, innermost last
  llvm::SmallVector<int64_t, 4> rounds;                    // of the loops around, counted from 0

  Frame(const Program& program, FnRef fn)
      : fn(fn), module(program.module(fn)), ast(module.ast), decl(program.decl(fn)) {}
  Binding* find(llvm::StringRef name);
  const Binding* find(llvm::StringRef name) const { return const_cast<Frame*>(this)->find(name); }
  void bind(llvm::StringRef name, Val val, Bound how, Span span);
  /// Forgets all bindings from `mark` on.
  void unwind(size_t mark);
};

/// An operand of an operator together with what was written for it.
struct Operand {
  NodeId node;
  ast::ExprId expr; // invalid where nothing was written (absent, or made by sugar)
};

/// A list of compile-time integers; nullopt if it holds anything else.
std::optional<llvm::SmallVector<int64_t, 6>> as_ints(const Val& val);

class Evaluator {
public:
  Evaluator(const Program& program, Graph& graph, DiagnosticSink& sink)
      : program_(program), graph_(graph), sink_(sink) {}

  /// Calls of functions for which this holds have no value, and nothing is said about it: they
  /// have errors that are reported. Asked once for each function.
  void pass_over(std::function<bool(FnRef)> damaged) { damaged_ = std::move(damaged); }
  /// Instantiates a model into the graph. False after an error.
  bool model(FnRef fn, const ModelSettings& settings, ModelValue* value = nullptr);

private:
  // --- eval_expr.cpp
  Val expression(Frame& frame, ast::ExprId id);
  Val expression_kind(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val name(Frame& frame, const ast::Expr& e);
  Val items(Frame& frame, const ast::Expr& e);
  Val unary(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val binary(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val logical(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val compare_lists(Frame& frame, const ast::Expr& e, const Val& a, const Val& b);
  Val range(Frame& frame, const ast::Expr& e);
  Val conditional(Frame& frame, const ast::Expr& e);
  Val index(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val list_item(Frame& frame, const ast::Expr& e, const Val& list);
  Val list_slice(Frame& frame, const ast::Slice& slice, const Val& list);
  struct Place;
  Val tensor_places(Frame& frame, ast::ExprId id, const ast::Expr& e, NodeId node);
  bool read_place(Frame& frame, const ast::Slice& slice, int64_t size, Place& out);
  bool read_range(Frame& frame, const ast::Slice& slice, int64_t size, Place& out);
  bool slice_bound(Frame& frame, ast::ExprId bound, int64_t size, int64_t& out);
  Val take(Frame& frame, ast::ExprId id, Operand from, int64_t axis, const Place& place);
  Val tensor_binary(Frame& frame, ast::ExprId id, const ast::Expr& e, const Val& a, const Val& b);
  Val tensor_power(Frame& frame, ast::ExprId id, Operand x, Operand y, const Val& exponent);
  Val tensor_rounded(Frame& frame, ast::ExprId id, ast::Op op, Operand x, Operand y);
  bool bool_operand(Frame& frame, ast::Op op, ast::ExprId side, const Val& v);
  Val block(Frame& frame, ast::BlockId id);
  Val scoped_block(Frame& frame, ast::BlockId id);
  Val statement(Frame& frame, const ast::Stmt& s);
  void destructure(Frame& frame, const ast::Stmt& s, Val value);
  void assign(Frame& frame, const ast::Name& target, Val value);
  void loop(Frame& frame, const ast::Stmt& s);
  void loop_round(Frame& frame, const ast::Stmt& s, Val item, int64_t round);
  void weight(Frame& frame, const ast::Stmt& s);
  std::string weight_path(Frame& frame, const ast::Stmt& s);
  std::string weight_init(Frame& frame, const ast::Stmt& s);
  bool integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out);

  // --- eval_call.cpp
  Val call(Frame& frame, ast::ExprId id, const ast::Expr& e);
  Val call_function(Frame& frame, ast::ExprId id, const ast::Expr& e, FnRef fn);
  bool bind_arguments(Frame& caller, Frame& frame, const ast::Expr& e,
                      std::vector<std::pair<const ast::Arg*, Val>>& given);
  bool bind_constant(Frame& caller, Frame& frame, const ast::Param& param, const ast::Arg& arg,
                     Val val);
  bool bind_tensor(Frame& caller, Frame& frame, const ast::Param& param, const ast::Arg& arg,
                   const Val& val);
  /// Where a value meets a parameter: for messages.
  struct ArgSite {
    Frame& caller;
    const ast::Param& param;
    const ast::Arg& arg;
  };
  bool bind_type(Frame& frame, const ArgSite& site, ast::TypeRef want, Val& val);
  bool bind_rank(Frame& frame, const ArgSite& site, const ast::Type& want, NodeId node);
  bool bind_dimensions(Frame& frame, const ArgSite& site, const ast::Type& want,
                       const TensorType& type);
  bool bind_defaults(Frame& frame);
  bool check_type(Frame& frame, const ArgSite& site, ast::TypeRef want, const Val& val);
  bool needs(Frame& frame, const ArgSite& site, ast::TypeRef want, Code code, std::string label,
             const Val& got);
  bool check_where(Frame& frame, Span call_site);
  bool convert(Val& val, const ParamKind& kind) const;
  Val result(Frame& frame, Val val);
  bool result_matches(Frame& frame, const ast::ResultType& want, ast::TypeRef part, Val& val,
                      Span at);
  Span value_span(const Frame& frame) const;
  std::optional<DType> dtype_of(const Frame& frame, const ast::Type& written) const;
  bool tensor_type(Frame& frame, ast::TypeRef ref, TensorType& out);
  bool declared_shape(Frame& frame, const ast::Type& written, const TensorType& got, Shape& out);
  bool dimension(Frame& frame, ast::ExprId id, int64_t& out);
  bool apply_settings(Frame& frame, const ModelSettings& settings);
  bool model_inputs(Frame& frame);
  bool input_names_bound(Frame& frame);
  Val model_input(Frame& frame, ast::TypeRef ref, const std::string& name);
  void model_outputs(Frame& frame, const Val& val);
  bool model_output(Frame& frame, const Val& val, const std::string& name);
  const std::string& call_segment(const Frame& frame, ast::ExprId call);
  std::string round_suffix(const Frame& frame) const;

  // --- eval_op.cpp, eval_literal.cpp
  Val call_builtin(Frame& frame, ast::ExprId id, const ast::Expr& e, const BuiltinInfo& builtin);
  Val literal_builtin(Frame& frame, ast::ExprId id, Builtin kind, llvm::ArrayRef<Val> args);
  Val whole_full(Frame& frame, const ast::Expr& e, int64_t value, llvm::ArrayRef<int64_t> shape,
                 std::optional<DType> dtype);
  Val positions(Frame& frame, ast::ExprId id, llvm::ArrayRef<Val> args, DType dtype);
  Val series(Frame& frame, const ast::Expr& e, Builtin kind, llvm::ArrayRef<Val> args,
             std::optional<DType> dtype);
  bool dtype_argument(Frame& frame, const ast::Expr& e, const Val& val, std::optional<DType>& out);
  Val question(Frame& frame, const ast::Expr& e, Builtin kind, llvm::ArrayRef<Val> args,
               ast::ExprId tensor);
  Val fold_constants(Frame& frame, const ast::Expr& e, llvm::ArrayRef<Val> args);
  Val split(Frame& frame, ast::ExprId id, const ast::Expr& e, llvm::ArrayRef<Val> args,
            ast::ExprId tensor);
  bool split_sizes(Frame& frame, const ast::Expr& e, llvm::ArrayRef<Val> args, int64_t size,
                   llvm::SmallVectorImpl<int64_t>& sizes);
  struct OpArgs;
  Val call_op(Frame& frame, ast::ExprId id, const ast::Expr& e, OpKind op);
  bool place_arguments(Frame& frame, const ast::Expr& e, const OpInfo& info,
                       llvm::MutableArrayRef<Val> given, OpArgs& out);
  bool place_positional(Frame& frame, const ast::Expr& e, const OpInfo& info, const ast::Arg& arg,
                        Val val, OpArgs& out);
  void place_list(Frame& frame, const ast::Arg& arg, const Val& list, OpArgs& out);
  bool settle(Frame& frame, const OpInfo& info, OpArgs& args, llvm::SmallVectorImpl<Operand>& out);
  bool set_attribute(Frame& frame, const OpInfo& info, size_t slot, const ast::Arg& arg,
                     const Val& val, OpArgs& out);
  bool finish_attributes(Frame& frame, const ast::Expr& e, const OpInfo& info,
                         llvm::ArrayRef<Operand> operands, OpArgs& out);
  Val apply(Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Value> attrs,
            llvm::ArrayRef<Operand> operands);
  Val apply(Frame& frame, ast::ExprId site, llvm::StringRef op, llvm::ArrayRef<Value> attrs,
            llvm::ArrayRef<Operand> operands);
  /// `want`: the dtype that a literal takes; None for its own (f32, or bool).
  bool tensor(Frame& frame, const Val& val, Span span, NodeId& out, DType want = DType::None);
  bool literal(Frame& frame, const Val& val, Span span, NodeId& out, DType want);
  bool weak_tensor(Frame& frame, NodeId node, Span span, NodeId& out, DType want);
  bool fits(Frame& frame, double value, DType dtype, Span span);
  DType dtype_met(llvm::ArrayRef<const Val*> values) const;

  // --- eval_report.cpp
  /// Reports with the instantiation chain, unless the same was said. Always returns Poison.
  Val report(const Frame& frame, Diagnostic d);
  Val report_op(Frame& frame, ast::ExprId site, OpKind op, llvm::ArrayRef<Operand> operands,
                std::string why);
  std::string swap_help(const Frame& frame, ast::ExprId site, OpKind op,
                        llvm::ArrayRef<Operand> operands);
  void note_operands(const Frame& frame, llvm::ArrayRef<Operand> operands, Diagnostic& d);
  void note_values(const Frame& frame, ast::ExprId condition, Diagnostic& d);
  std::string origin(const Frame& frame, ast::ExprId expr, NodeId node) const;
  std::string place(Span span, FileId from) const;
  std::string written(const Frame& frame, ast::ExprId expr) const;
  std::string describe(const Val& val) const;
  void note_chain(const Frame& frame, Diagnostic& d) const;
  std::string call_text(const Frame& frame, FileId from) const;
  Val limit(const Frame& frame, Span span, std::string what);

  const TensorType& type(NodeId node) const { return graph_.type(node); }
  bool step(const Frame& frame, Span span);

  bool passes_over(FnRef fn);
  Val composite(Frame& caller, Frame& frame, ast::ExprId call);
  Val external(Frame& caller, Frame& frame, ast::ExprId call);

  const Program& program_;
  Graph& graph_;
  DiagnosticSink& sink_;
  std::function<bool(FnRef)> damaged_;
  std::map<std::pair<uint32_t, uint32_t>, bool> passed_over_; // (module, function)
  uint32_t eval_depth_ = 0, call_depth_ = 0;
  uint64_t steps_ = 0;
  bool stopped_ = false; // a limit was hit: everything is Poison from here on
  std::set<std::tuple<uint16_t, uint32_t, uint32_t>> reported_; // code, file, offset
  struct Declared {
    Span span;
    std::string chain; // how it came about: "in layer(), called from m at line 8"
  };
  llvm::StringMap<Declared> weights_; // by path
  struct Extern {
    std::string signature;
    Span span; // of its declaration
  };
  llvm::StringMap<Extern> externs_;                               // by name; one type each
  std::map<std::pair<uint32_t, uint32_t>, std::string> segments_; // (module, call): path segment
  std::set<std::pair<uint32_t, uint32_t>> segmented_;             // (module, function) done
};

} // namespace tg::eval
