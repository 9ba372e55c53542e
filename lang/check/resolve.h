// Resolves the name of a callee, and assigns arguments to its parameters.
// The checker and instantiation share this code, so they cannot disagree.
//
// A callee is, in this order: a function of the program (own or imported),
// a builtin of the language (zeros, dim, len …), or an operator of the table.
// Functions cannot have the name of an operator or builtin (check.h reports it),
// so the order does not matter.
#pragma once

#include "lang/check/modules.h"
#include "lang/core/op.h"
#include "lang/syntax/builtins.h"

namespace tg {

struct Callee {
  enum class Kind : uint8_t { Unknown, Fn, Builtin, Op };
  Kind kind = Kind::Unknown;
  FnRef fn;
  const BuiltinInfo* builtin = nullptr;
  OpKind op{};
};

Callee resolve_callee(const Module& module, llvm::StringRef name);
/// Returns all names that `resolve_callee` knows, for suggestions.
std::vector<llvm::StringRef> callable_names(const Module& module);

/// The argument names of a callee, in the order of positional arguments.
struct Signature {
  struct Slot {
    llvm::StringRef name;
    bool required = true;
    bool operand = false; // of an operator: a tensor (operands come first)
  };
  llvm::SmallVector<Slot, 8> slots;
  bool variadic = false; // takes any number of positional arguments, or one list
  int find(llvm::StringRef name) const;
};
Signature signature(const Program& program, const Callee& callee);

/// Returns the argument of each slot, or null. Surplus positional arguments and unknown
/// or repeated names are skipped here (the checker reports them).
llvm::SmallVector<const ast::Arg*, 8> match_arguments(const Signature& signature, const Ast& ast,
                                                      ast::List<ast::Arg> args);

/// Returns true for names that are values everywhere: members of the enumerations, dtypes, `inf`,
/// `nan`.
bool is_constant_name(llvm::StringRef name);
std::optional<Value> constant_of_name(llvm::StringRef name);

/// Kinds of compile-time parameters.
struct ParamKind {
  enum class Base : uint8_t { Tensor, Tuple, Int, Float, Bool, Pad, Act, Pair, DType, Unknown };
  Base base = Base::Unknown;
  uint8_t lists = 0; // list[int]: 1, list[list[int]]: 2
  bool run_time() const { return base == Base::Tensor || base == Base::Tuple; }
};
/// `list[int]` and `ints` are the same kind. A dtype (with or without dims) is a tensor,
/// and so is a dtype variable with dims: `T[N]`.
ParamKind param_kind(const Ast& ast, const ast::Type& type);
/// Returns "int", "list[list[float]]", "Pad", for messages.
std::string kind_name(const ParamKind& kind);

/// Returns true if a type's name is a dtype variable: it begins with a capital letter
/// and is neither a kind nor a type name of other languages (`Tensor`).
bool is_dtype_variable(llvm::StringRef name);

/// A name that the types of a function's tensor parameters bind.
struct BoundName {
  enum class Kind : uint8_t {
    Dimension, // N of f32[N]: an integer
    Shape,     // S of f32[S...]: a list of integers
    DType,     // T of T[N]
  };
  ast::Name name;
  Kind kind = Kind::Dimension;
};
/// Returns each name once, in the order of the text.
std::vector<BoundName> bound_names(const Ast& ast, const ast::Decl& fn);

} // namespace tg
