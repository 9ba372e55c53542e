// Values of evaluation, and scopes of names. A value is a tensor (a node of the graph), a
// compile-time value, or a list or tuple of values. A number that depends on open sizes
// (lang/core/sizes/open_size.h) is a kind of its own, so that code for other kinds cannot read it
// as the number that it is at the sample. Poison is the value of an expression with an error, and
// everything computed from Poison is Poison.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"
#include "lang/core/sizes/open_size.h"

#include <llvm/ADT/StringMap.h>

#include <optional>
#include <string>
#include <vector>

namespace tg::eval {

inline constexpr uint32_t kMaxListDepth = 16;
inline constexpr uint32_t kMaxListExtent = 1 << 20;

struct Val {
  enum class Kind : uint8_t { Poison, Unit, Const, Open, Tensor, List, Tuple };
  Kind kind = Kind::Poison;
  NodeId node; // Tensor
  Value value; // Const; never Ints or Floats: those are Lists. Open: at the sample
  /// Open integer: the size. Open float: a size that is positive exactly where the float is, or a
  /// number if none is known.
  Size size;
  SizeRun* run = nullptr; // Open
  std::vector<Val> items; // List, Tuple
  /// Tensor: a literal (`zeros([2])`), which takes the dtype of its context.
  bool weak = false;
  uint32_t depth = 0;  // of nested items: at most kMaxListDepth, so that recursion is safe
  uint32_t extent = 1; // number of values inside, including itself: at most kMaxListExtent

  bool is(Kind k) const { return kind == k; }
  bool poison() const { return kind == Kind::Poison; }
  bool constant(Value::Kind k) const { return is(Kind::Const) && value.is(k); }
  /// True for a written value, which takes the dtype of its context.
  bool literal() const {
    return is(Kind::Const) || is(Kind::Open) || is(Kind::List) || (is(Kind::Tensor) && weak);
  }
  /// True for a compile-time integer.
  bool integer() const { return (is(Kind::Const) || is(Kind::Open)) && value.is(Value::Kind::Int); }
  /// The integer. Requires integer().
  Size as_size() const { return is(Kind::Open) ? size : Size(value.number); }
  /// True for the word `none`: an absent operand.
  bool absent() const { return constant(Value::Kind::Enum) && value.text == "none"; }

  static Val of(NodeId node);
  static Val of(Value value);
  /// An integer: open, or Const.
  static Val of(const Size& size);
  static Val of(llvm::ArrayRef<Size> sizes);
  /// A float that depends on open sizes.
  static Val open_float(double real, SizeRun* run, const Size& positive_with);
  static Val list(std::vector<Val> items, Kind kind = Kind::List);
  static Val unit();
};

/// Returns a list of compile-time integers, or nullopt for other values.
std::optional<llvm::SmallVector<Size, 6>> as_sizes(const Val& val);
/// Returns the value with numbers in the place of open ones, which the run of the sizes notes.
Val settled(Val val);
/// Returns a compile-time value or a list of numbers, or nullopt for other values. Open numbers are
/// settled.
std::optional<Value> as_value(const Val& val);

enum class Bound : uint8_t { Parameter, Dimension, Let, Var, Weight, Loop };

struct Binding {
  llvm::StringRef name;
  Val val;
  Bound how = Bound::Let;
  Span span; // of the definition
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
  llvm::StringMap<llvm::SmallVector<uint32_t, 1>> by_name; // indices into bindings, innermost last
  llvm::SmallVector<int64_t, 4> rounds;                    // of the enclosing loops, counted from 0

  Frame(const Program& program, FnRef fn)
      : fn(fn), module(program.module(fn)), ast(module.ast), decl(program.decl(fn)) {}
  Binding* find(llvm::StringRef name);
  const Binding* find(llvm::StringRef name) const { return const_cast<Frame*>(this)->find(name); }
  void bind(llvm::StringRef name, Val val, Bound how, Span span);
  /// Removes all bindings from `mark` on.
  void unwind(size_t mark);
};

/// An operand of an operator, with its expression.
struct Operand {
  NodeId node;
  ast::ExprId expr; // invalid if implicit (absent, or made by the syntax)
};

// --- open_numbers.cpp
// Arithmetic on compile-time numbers, of which one at least is open. `folded` is the result at the
// sample, so the operation is defined there; the run of the sizes
// notes the conditions for that.
// Integers stay expressions under + - * / // % and min, max, abs, sum and prod. Floats are only
// values: a decision about one fixes the sizes.
Val open_unary(const Val& a, const Value& folded);
Val open_binary(ast::Op op, const Val& a, const Val& b, const Value& folded);
Val open_function(llvm::StringRef name, llvm::ArrayRef<Val> args, const Value& folded);
/// Returns the value at the sample, without a note; nullopt for tensors.
std::optional<Value> at_sample(const Val& val);

/// Resolves a bare word of the language (`relu` in `act = relu`) that is also the name of a tensor.
/// If a word is expected and a tensor is not allowed, the word is meant.
Val resolve_word(const Frame& frame, ast::ExprId written, Val val);

/// The interface of the expression evaluator, for types, arguments, brackets and statements.
class Expressions {
public:
  virtual Val expression(Frame& frame, ast::ExprId id) = 0;
  /// Evaluates a compile-time integer; `what` names it in messages.
  virtual bool integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out) = 0;
  /// The same for an integer that may be open.
  virtual bool size(Frame& frame, ast::ExprId id, llvm::StringRef what, Size& out) = 0;

protected:
  ~Expressions() = default;
};

} // namespace tg::eval
