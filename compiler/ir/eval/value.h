// What a body is evaluated to, and where its names stand. A value is a tensor (a node of the
// graph), a compile-time value, or a list or tuple of such. What could not be evaluated is Poison,
// and everything made from Poison is Poison.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"

#include <llvm/ADT/StringMap.h>

#include <optional>
#include <string>
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
  bool constant(Value::Kind k) const { return is(Kind::Const) && value.is(k); }
  /// A value that is written out, and so takes the dtype of what it meets.
  bool literal() const { return is(Kind::Const) || is(Kind::List) || (is(Kind::Tensor) && weak); }
  /// The word `none`: an operand that is absent.
  bool absent() const { return constant(Value::Kind::Enum) && value.text == "none"; }

  static Val of(NodeId node);
  static Val of(Value value);
  static Val list(std::vector<Val> items, Kind kind = Kind::List);
  static Val unit();
};

/// A list of compile-time integers; nullopt if it holds anything else.
std::optional<llvm::SmallVector<int64_t, 6>> as_ints(const Val& val);
/// A compile-time value, or a list of numbers; nullopt for all else.
std::optional<Value> as_value(const Val& val);

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

/// A word of the language that is written alone (`relu` in `act = relu`) and a tensor of that name:
/// where a word is wanted, and no tensor can stand, the word is meant.
Val word_meant(const Frame& frame, ast::ExprId written, Val val);

/// What evaluates expressions, for those who meet them
/// inside of types, arguments, brackets and statements.
class Expressions {
public:
  virtual Val expression(Frame& frame, ast::ExprId id) = 0;
  /// A compile-time integer; `what` says what must be one.
  virtual bool integer(Frame& frame, ast::ExprId id, llvm::StringRef what, int64_t& out) = 0;

protected:
  ~Expressions() = default;
};

} // namespace tg::eval
