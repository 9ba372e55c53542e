#include "lang/syntax/builtins.h"

namespace tg {

namespace {

constexpr BuiltinInfo kBuiltins[] = {
    {"zeros", Builtin::Zeros, "shape dtype?"},
    {"ones", Builtin::Ones, "shape dtype?"},
    {"full", Builtin::Full, "shape value dtype?"},
    {"iota", Builtin::Iota, "n dtype? axis?"},
    {"eye", Builtin::Eye, "n dtype?"},
    {"tensor", Builtin::Literal, "values dtype?"},
    {"dim", Builtin::Dim, "x axis"},
    {"rank", Builtin::Rank, "x"},
    {"shape", Builtin::ShapeOf, "x"},
    {"dtype", Builtin::DTypeOf, "x"},
    {"split", Builtin::Split, "x axis parts? sizes?"},
    {"grad", Builtin::Grad, "loss wrt constant?", /*yields=*/true},
    {"params", Builtin::Params, "x", /*yields=*/true},
    {"path", Builtin::Path, "w", /*yields=*/true},
    {"update", Builtin::Update, "w value", /*yields=*/true},
    {"zip", Builtin::Zip, "a b", /*yields=*/true},
    {"min", Builtin::Constant, ""},
    {"max", Builtin::Constant, ""},
    {"abs", Builtin::Constant, ""},
    {"floor", Builtin::Constant, ""},
    {"ceil", Builtin::Constant, ""},
    {"int", Builtin::Constant, ""},
    {"float", Builtin::Constant, ""},
    {"len", Builtin::Constant, ""},
    {"sum", Builtin::Constant, ""},
    {"prod", Builtin::Constant, ""},
};

} // namespace

llvm::ArrayRef<BuiltinInfo> all_builtins() { return kBuiltins; }

} // namespace tg
