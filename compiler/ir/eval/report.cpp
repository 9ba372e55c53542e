#include "compiler/ir/eval/report.h"

#include "compiler/ir/from_ast.h"
#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::eval {

namespace {

constexpr size_t kMaxWritten = 32; // most characters of an operand in a note
constexpr size_t kMaxChain = 8;    // most calls shown

/// "f32[1, 512] and f32[256, 512]"
std::string type_list(llvm::ArrayRef<std::string> types) {
  if (types.empty()) return "nothing";
  if (types.size() == 1) return types[0];
  if (types.size() > 6)
    return types[0] + ", " + types[1] + ", … (" + std::to_string(types.size()) + " operands)";
  return llvm::join(types.drop_back(), ", ") + " and " + types.back();
}

std::string op_message(OpKind op, llvm::ArrayRef<std::string> types) {
  if (types.size() == 2) {
    const char* a = types[0].c_str();
    const char* b = types[1].c_str();
    switch (op) {
    case OpKind::Matmul:
    case OpKind::Mul: return llvm::formatv("cannot multiply {0} by {1}", a, b);
    case OpKind::Add: return llvm::formatv("cannot add {0} and {1}", a, b);
    case OpKind::Sub: return llvm::formatv("cannot subtract {1} from {0}", a, b);
    case OpKind::Div: return llvm::formatv("cannot divide {0} by {1}", a, b);
    default: break;
    }
  }
  return llvm::formatv("cannot apply `{0}` to {1}", op_info(op).name, type_list(types));
}

/// Returns the attribute that a message of `infer` is about: its name opens it, in backticks.
int attribute_of(const OpInfo& info, llvm::StringRef why) {
  if (!why.consume_front("`")) return -1;
  return info.attr_slot(why.take_until([](char c) { return c == '`'; }));
}

Code code_of(const OpInfo& info, llvm::StringRef why) {
  if (attribute_of(info, why) >= 0) return Code::bad_attribute;
  if (why.contains("too many elements")) return Code::overflow;
  if (why.startswith("dtypes differ")) return Code::dtype_mismatch;
  return Code::shape_mismatch;
}

/// For a product whose inner sizes differ, suggests the operand to transpose. `x_inner` is the
/// operand of x if x is a transpose.
std::string transpose_help(const TensorType& x, const TensorType& y, llvm::StringRef x_text,
                           llvm::StringRef y_text, llvm::StringRef x_inner,
                           llvm::StringRef y_inner) {
  if (x.rank() < 2 || y.rank() < 2) return {};
  auto turned = [](TensorType t) {
    std::swap(t.shape[t.shape.size() - 1], t.shape[t.shape.size() - 2]);
    return t;
  };
  auto help = [&](const TensorType& t, llvm::StringRef text, llvm::StringRef inner) {
    std::string other = inner.empty() ? ("transpose(" + text + ")").str() : inner.str();
    return llvm::formatv("{0} has the shape {1}", other, turned(t).text()).str();
  };
  int64_t inner_x = x.shape.back(), inner_y = y.shape[y.shape.size() - 2];
  if (inner_x == inner_y) return {};
  if (inner_x == y.shape.back()) return help(y, y_text, y_inner);
  if (x.shape[x.shape.size() - 2] == inner_y) return help(x, x_text, x_inner);
  return {};
}

} // namespace

Val Report::fail(const Frame& frame, Diagnostic d) {
  auto key = std::make_tuple(static_cast<uint16_t>(d.code), d.span.file.index, d.span.begin);
  if (stopped_ || !reported_.insert(key).second) return {};
  note_chain(frame, d);
  sink_.report(std::move(d));
  return {};
}

Val Report::limit(const Frame& frame, Span span, std::string what) {
  fail(frame, error(Code::endless_recursion, span, "{0}", what)
                  .suggest("calls and loops are unfolded at compile time and must end: end a "
                           "recursion with an `if`, and give loops a short range"));
  stopped_ = true;
  return {};
}

bool Report::step(const Frame& frame, Span span) {
#ifdef TG_FUZZ
  constexpr uint64_t kSteps = kMaxSteps / 1000; // under a fuzzer, long loops have no use
#else
  constexpr uint64_t kSteps = kMaxSteps;
#endif
  if (++steps_ <= kSteps) return !stopped_;
  limit(frame, span, llvm::formatv("this does not end within {0} steps", kSteps));
  return false;
}

std::string Report::place(Span span, FileId from) const {
  const SourceFile& file = sources_.file(span.file);
  uint32_t line = file.position(span.begin).line;
  if (span.file == from) return llvm::formatv("line {0}", line);
  return llvm::formatv("{0}:{1}", file.name(), line);
}

std::string Report::written(const Frame& frame, ast::ExprId expr) const {
  if (!expr) return "it";
  llvm::StringRef text = sources_.text(frame.ast[expr].span);
  size_t line = text.find('\n');
  if (text.size() <= kMaxWritten && line == llvm::StringRef::npos) return text.str();
  size_t cut = std::min(line, kMaxWritten - 1);
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.take_front(cut).rtrim().str() + "…";
}

std::string Report::transposed_operand(const Frame& frame, ast::ExprId expr) const {
  if (!expr || frame.ast[expr].kind != ast::ExprKind::Call) return {};
  const ast::Expr& e = frame.ast[expr];
  bool swaps = e.callee.text == "transpose" && e.args.size() == 1 &&
               frame.ast[e.args][0].kind == ast::ArgKind::Positional;
  return swaps ? written(frame, frame.ast[e.args][0].value) : "";
}

std::string Report::origin(const Frame& frame, ast::ExprId expr, NodeId node) const {
  if (!expr || frame.ast[expr].kind != ast::ExprKind::Name) return {};
  const Binding* binding = frame.find(frame.ast[expr].text);
  if (!binding) return {};
  std::string at = place(binding->span, frame.module.file);
  switch (binding->how) {
  case Bound::Parameter: return "from the parameter at " + at;
  case Bound::Let: return "from the let at " + at;
  case Bound::Var: return "from the var at " + at;
  case Bound::Loop: return "from the loop at " + at;
  case Bound::Dimension: return "from the dimension at " + at;
  case Bound::Weight:
    if (node.valid() && graph_.node(node).op == OpKind::Weight)
      return "param " + graph_.attr(node, 0).text + " at " + at;
    return "param at " + at;
  }
  return {};
}

void Report::note_operands(const Frame& frame, llvm::ArrayRef<Operand> operands,
                           Diagnostic& d) const {
  std::vector<std::pair<std::string, std::string>> rows;
  size_t width = 0;
  for (const Operand& operand : operands) {
    if (!operand.expr || rows.size() == 6) continue;
    std::string left =
        llvm::formatv("{0}: {1}", written(frame, operand.expr), type(operand.node).text());
    std::string right = origin(frame, operand.expr, operand.node);
    auto row = std::make_pair(std::move(left), std::move(right));
    if (llvm::is_contained(rows, row)) continue;
    if (!row.second.empty()) width = std::max(width, row.first.size());
    rows.push_back(std::move(row));
  }
  for (auto& [left, right] : rows) {
    if (!right.empty()) left += std::string(width - left.size() + 1, ' ') + right;
    d.notes.push_back(std::move(left));
  }
}

void Report::note_values(const Frame& frame, ast::ExprId expr, Diagnostic& d) const {
  std::string text;
  std::vector<ast::ExprId> open{expr};
  std::set<llvm::StringRef> seen;
  while (!open.empty()) {
    ast::ExprId id = open.back();
    open.pop_back();
    const ast::Expr& e = frame.ast[id];
    const Binding* binding = e.kind == ast::ExprKind::Name ? frame.find(e.text) : nullptr;
    if (binding && seen.insert(e.text).second)
      text += (text.empty() ? "" : ", ") + e.text.str() + " = " + describe(binding->val);
    size_t mark = open.size();
    for_each_child(frame.ast, id, [&](ast::ExprId child) { open.push_back(child); });
    std::reverse(open.begin() + static_cast<ptrdiff_t>(mark), open.end());
  }
  if (!text.empty()) d.notes.push_back(std::move(text));
}

/// "in cell(width = 256), called from rnn at line 23"
std::string Report::call_text(const Frame& frame, FileId from) const {
  return llvm::formatv("in {0}({1}), called from {2} at {3}", frame.decl.name.text, frame.arguments,
                       frame.caller->decl.name.text, place(frame.call_site, from));
}

void Report::note_chain(const Frame& frame, Diagnostic& d) const {
  size_t shown = 0;
  const Frame* f = &frame;
  for (; f->caller && shown < kMaxChain; f = f->caller, ++shown)
    d.notes.push_back(call_text(*f, d.span.file));
  size_t more = 0;
  for (; f->caller; f = f->caller) ++more;
  if (more) d.notes.push_back(llvm::formatv("… and {0} more calls", more));
}

std::string Report::describe(const Val& val) const {
  switch (val.kind) {
  case Val::Kind::Poison: return "?";
  case Val::Kind::Unit: return "nothing";
  case Val::Kind::Const:
  case Val::Kind::Open: return val.value.text_form();
  case Val::Kind::Tensor: return type(val.node).text();
  case Val::Kind::List:
  case Val::Kind::Tuple: break;
  }
  std::string text = val.is(Val::Kind::List) ? "[" : "(";
  for (size_t i = 0; i < val.items.size(); ++i) {
    if (i == 6) return text + ", …" + (val.is(Val::Kind::List) ? "]" : ")");
    // One level deep; deeper items are omitted.
    const Val& item = val.items[i];
    bool nested = item.is(Val::Kind::List) || item.is(Val::Kind::Tuple);
    text += (i ? ", " : "") + (nested ? std::string("[…]") : describe(item));
  }
  return text + (val.is(Val::Kind::List) ? "]" : ")");
}

/// Suggests swapping the first two operands if they would fit then.
std::string Report::swap_help(const Frame& frame, ast::ExprId site, OpKind op,
                              llvm::ArrayRef<Operand> operands) const {
  const OpInfo& info = op_info(op);
  if (operands.size() < 2 || info.variadic() || info.operand_count < 2) return {};
  if (llvm::StringRef(frame.module.name).startswith("std.")) return {}; // assumed correct
  llvm::SmallVector<ValueId, kMaxAttrs> attrs;
  for (const AttrInfo& attr : info.attrs()) {
    if (attr.required) return {};
    attrs.push_back(graph_.symbols().value(default_value(attr)));
  }
  llvm::SmallVector<TypeId, 6> types;
  for (const Operand& operand : operands) types.push_back(graph_.node(operand.node).type);
  while (types.size() < info.operand_count) types.push_back(graph_.symbols().none_type());
  std::swap(types[0], types[1]);
  TypeId result;
  if (!infer(graph_.symbols(), op, attrs, types, result)) return {};
  std::string a = written(frame, operands[0].expr), b = written(frame, operands[1].expr);
  bool call = frame.ast[site].kind == ast::ExprKind::Call;
  return llvm::formatv("the operands fit in the opposite order: {0}",
                       call ? std::string(info.name) + "(" + b + ", " + a + ")"
                            : b + " " + ast::spelling(frame.ast[site].op).str() + " " + a);
}

Val Report::refused(const Frame& frame, ast::ExprId site, OpKind op,
                    llvm::ArrayRef<Operand> operands, std::string why) {
  const OpInfo& info = op_info(op);
  const ast::Expr& e = frame.ast[site];
  llvm::SmallVector<std::string, 5> types;
  llvm::SmallVector<Operand, 5> present;
  for (const Operand& operand : operands)
    if (graph_.node(operand.node).op != OpKind::None) {
      types.push_back(type(operand.node).text());
      present.push_back(operand);
    }
  Diagnostic d = error(code_of(info, why), e.span, "{0}", op_message(op, types));
  if (d.code == Code::bad_attribute) {
    std::string_view name = info.attrs()[static_cast<size_t>(attribute_of(info, why))].name;
    if (const ast::Arg* arg = frame.ast.find_arg(e.args, name)) d.span = arg->span;
  }
  if (op == OpKind::Matmul && present.size() == 2)
    d.help = transpose_help(type(present[0].node), type(present[1].node),
                            written(frame, present[0].expr), written(frame, present[1].expr),
                            transposed_operand(frame, present[0].expr),
                            transposed_operand(frame, present[1].expr));
  if (d.code == Code::shape_mismatch && d.help.empty())
    d.help = swap_help(frame, site, op, operands);
  if (d.code == Code::dtype_mismatch && present.size() >= 2)
    d.help = llvm::formatv("convert one of them: cast({0}, {1})", written(frame, present[1].expr),
                           dtype_name(type(present[0].node).dtype));
  d.label = std::move(why);
  note_operands(frame, present, d);
  return fail(frame, std::move(d));
}

} // namespace tg::eval
