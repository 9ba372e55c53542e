// See composite.h. One walk in post-order; ast::kMaxDepth limits the recursion.
#include "lang/check/composite.h"

#include "lang/check/consteval.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using ast::ExprKind;
using ast::Op;

constexpr size_t kMaxInstructions = 256;

class Reader {
public:
  Reader(const Ast& ast, const ast::Decl& op, llvm::function_ref<bool(llvm::StringRef)> declared)
      : ast_(ast), op_(op), declared_(declared) {}

  std::optional<Composite> read() {
    if (!op_.value || !read(op_.value) || out_.body.op_count() < 2) return std::nullopt;
    bool tensors = llvm::any_of(out_.operands, [](auto& o) { return !o.param.empty(); });
    if (!tensors) return std::nullopt;
    return std::move(out_);
  }

private:
  bool read(ast::ExprId id) {
    if (out_.body.code.size() > kMaxInstructions) return false;
    const ast::Expr& e = ast_[id];
    if (std::optional<double> number = folded(id)) return operand({{}, *number});
    switch (e.kind) {
    case ExprKind::Name: return is_tensor(e.text) && operand({e.text, 0});
    case ExprKind::Unary: return e.op == Op::Neg && read(e.a) && emit("neg", 1);
    case ExprKind::Binary: return binary(e);
    case ExprKind::Call: return call(e);
    default: return false;
    }
  }

  bool is_tensor(llvm::StringRef name) const {
    return llvm::any_of(ast_[op_.params], [&](const ast::Param& p) {
      return p.name.text == name && p.type && ast_[p.type].bracketed &&
             ast_[p.type].name.text != "list";
    });
  }

  bool binary(const ast::Expr& e) {
    switch (e.op) {
    case Op::Add: return read(e.a) && read(e.b) && emit("add", 2);
    case Op::Sub: return read(e.a) && read(e.b) && emit("sub", 2);
    case Op::Mul: return read(e.a) && read(e.b) && emit("mul", 2);
    case Op::Div: return read(e.a) && read(e.b) && emit("div", 2);
    case Op::Pow: return power(e);
    default: return false;
    }
  }

  /// As in instantiation, small powers are products.
  bool power(const ast::Expr& e) {
    std::optional<Value> n = fold_expr(ast_, e.b, no_word);
    if (!n || !n->is(Value::Kind::Int) || !is_product(n->number))
      return read(e.a) && read(e.b) && emit("pow", 2);
    if (!square(e.a)) return false;
    if (n->number == 3) return read(e.a) && emit("mul", 2);
    return n->number == 2 || (square(e.a) && emit("mul", 2));
  }

  bool square(ast::ExprId x) { return read(x) && read(x) && emit("mul", 2); }

  bool call(const ast::Expr& e) {
    llvm::ArrayRef<ast::Arg> args = ast_[e.args];
    if (declared_(e.callee.text)) return false;
    for (const ast::Arg& arg : args)
      if (arg.kind != ast::ArgKind::Positional || !read(arg.value)) return false;
    return emit(e.callee.text, args.size());
  }

  bool emit(llvm::StringRef name, size_t operands) {
    std::optional<OpKind> kind = find_op(name);
    if (!kind) return false;
    const OpInfo& info = op_info(*kind);
    bool fits =
        info.has(Trait::Pointwise) && info.operand_count == operands && info.attr_count == 0;
    FusedInstr instr;
    instr.op = *kind;
    if (fits) out_.body.code.push_back(instr);
    return fits;
  }

  bool operand(Composite::Operand wanted) {
    auto at = llvm::find_if(out_.operands, [&](const Composite::Operand& o) {
      return o.param == wanted.param && o.number == wanted.number;
    });
    auto number = static_cast<uint32_t>(at - out_.operands.begin());
    if (at == out_.operands.end()) out_.operands.push_back(wanted);
    FusedInstr instr;
    instr.is_operand = true;
    instr.operand = number;
    out_.body.code.push_back(instr);
    out_.body.operands = static_cast<uint32_t>(out_.operands.size());
    return true;
  }

  static std::optional<Value> no_word(const ast::Expr&) { return std::nullopt; }

  /// Returns the value of an expression of numbers.
  std::optional<double> folded(ast::ExprId id) const {
    std::optional<Value> value = fold_expr(ast_, id, no_word);
    return value && is_number(*value) ? std::optional(as_real(*value)) : std::nullopt;
  }

  const Ast& ast_;
  const ast::Decl& op_;
  llvm::function_ref<bool(llvm::StringRef)> declared_;
  Composite out_;
};

} // namespace

std::optional<Composite> pointwise_composite(const Ast& ast, const ast::Decl& op,
                                             llvm::function_ref<bool(llvm::StringRef)> declared) {
  return Reader(ast, op, declared).read();
}

} // namespace tg
