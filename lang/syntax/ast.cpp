// Spelling, comparison and the text form of syntax trees. Two trees are equal
// if their text forms (dump) are equal. ast::kMaxDepth limits the recursion.
#include "lang/syntax/ast.h"

#include <llvm/Support/raw_ostream.h>

namespace tg {

llvm::StringRef ast::spelling(Op op) {
  static constexpr llvm::StringLiteral kSpellings[] = {"",   "+",   "-",  "*",  "/",  "//", "%",
                                                       "@",  "**",  "==", "!=", "<",  "<=", ">",
                                                       ">=", "and", "or", "-",  "not"};
  static_assert(std::size(kSpellings) == static_cast<size_t>(Op::Not) + 1);
  return kSpellings[static_cast<size_t>(op)];
}

const ast::Arg* Ast::find_arg(ast::List<ast::Arg> args, llvm::StringRef name) const {
  for (const ast::Arg& arg : (*this)[args])
    if (arg.kind == ast::ArgKind::Named && arg.name.text == name) return &arg;
  return nullptr;
}

namespace {

class Dumper {
public:
  Dumper(const Ast& tree, llvm::raw_ostream& out) : tree_(tree), out_(out) {}

  void expr(ast::ExprId id);
  void file();

private:
  void type(ast::TypeRef id);
  void block(ast::BlockId id, unsigned indent);
  void stmt(ast::StmtId id, unsigned indent);
  void decl(const ast::Decl& d);
  void function(const ast::Decl& d);
  void rule(const ast::Decl& d);

  void exprs(ast::List<ast::ExprId> list) {
    for (ast::ExprId id : tree_[list]) {
      out_ << ' ';
      expr(id);
    }
  }
  void args(ast::List<ast::Arg> list);
  void slice(const ast::Slice& s);
  void optional(ast::ExprId id) {
    if (id)
      expr(id);
    else
      out_ << '_';
  }
  void names(ast::List<ast::Name> list) {
    for (const ast::Name& name : tree_[list]) out_ << ' ' << name.text;
  }
  void params(ast::List<ast::Param> list);
  llvm::raw_ostream& line(unsigned indent) { return out_.indent(2 * indent); }
  void quoted(llvm::StringRef text) {
    out_ << '"';
    out_.write_escaped(text);
    out_ << '"';
  }

  const Ast& tree_;
  llvm::raw_ostream& out_;
  unsigned indent_ = 0;
};

void Dumper::args(ast::List<ast::Arg> list) {
  for (const ast::Arg& arg : tree_[list]) {
    out_ << ' ';
    if (arg.kind == ast::ArgKind::Named) out_ << arg.name.text << '=';
    if (arg.value) expr(arg.value);
    if (arg.kind == ast::ArgKind::Spread) out_ << "...";
    if (arg.kind == ast::ArgKind::Rest) out_ << "..";
  }
}

void Dumper::slice(const ast::Slice& s) {
  out_ << ' ';
  if (s.ellipsis) {
    out_ << "...";
    return;
  }
  if (!s.range) return expr(s.begin);
  out_ << "(: ";
  optional(s.begin);
  out_ << ' ';
  optional(s.end);
  if (s.step) {
    out_ << ' ';
    expr(s.step);
  }
  out_ << ')';
}

void Dumper::expr(ast::ExprId id) {
  using Kind = ast::ExprKind;
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case Kind::Error: out_ << "<error>"; return;
  case Kind::Name:
  case Kind::Int:
  case Kind::Float:
  case Kind::Bool: out_ << e.text; return;
  case Kind::String: quoted(e.text); return;
  case Kind::List: out_ << "(list"; break;
  case Kind::Tuple: out_ << "(tuple"; break;
  case Kind::Call: out_ << "(call " << e.callee.text; break;
  case Kind::Unary: out_ << "(unary " << ast::spelling(e.op); break;
  case Kind::Binary: out_ << "(binary " << ast::spelling(e.op); break;
  case Kind::Index: out_ << "(index"; break;
  case Kind::Range: out_ << "(range"; break;
  case Kind::Spread: out_ << e.text << "..."; return;
  case Kind::If: out_ << "(if"; break;
  }
  for (ast::ExprId operand : {e.a, e.b}) {
    if (!operand) continue;
    out_ << ' ';
    expr(operand);
  }
  exprs(e.items);
  args(e.args);
  for (const ast::Slice& s : tree_[e.slices]) slice(s);
  if (e.alias) out_ << " as " << e.alias.text;
  for (ast::BlockId b : {e.then_block, e.else_block})
    if (b) block(b, indent_ + 1);
  out_ << ')';
}

void Dumper::type(ast::TypeRef id) {
  const ast::Type& t = tree_[id];
  if (t.kind == ast::TypeKind::Error) out_ << "<error>";
  if (t.kind == ast::TypeKind::Named) out_ << t.name.text;
  if (t.kind == ast::TypeKind::Tuple) out_ << "(tuple";
  for (ast::TypeRef part : tree_[t.parts]) {
    out_ << ' ';
    type(part);
  }
  if (t.kind == ast::TypeKind::Tuple) out_ << ')';
  if (!t.bracketed) return;
  out_ << '[';
  exprs(t.dims);
  out_ << " ]";
}

void Dumper::block(ast::BlockId id, unsigned indent) {
  out_ << " {\n";
  for (ast::StmtId s : tree_[tree_[id].stmts]) stmt(s, indent);
  line(indent - 1) << "}";
}

void Dumper::stmt(ast::StmtId id, unsigned indent) {
  static constexpr const char* kWords[] = {"<error>", "let", "var", "assign",
                                           "param",   "for", "expr"};
  const ast::Stmt& s = tree_[id];
  unsigned outer = std::exchange(indent_, indent);
  line(indent) << kWords[static_cast<size_t>(s.kind)];
  if (s.destructures) out_ << " tuple";
  names(s.targets);
  if (s.type) {
    out_ << ": ";
    type(s.type);
  }
  if (s.value) {
    out_ << ' ';
    expr(s.value);
  }
  args(s.args);
  if (s.body) block(s.body, indent + 1);
  out_ << '\n';
  indent_ = outer;
}

void Dumper::params(ast::List<ast::Param> list) {
  for (const ast::Param& p : tree_[list]) {
    line(1) << "param " << p.name.text << (p.variadic ? "..." : "");
    if (p.type) {
      out_ << ": ";
      type(p.type);
    }
    if (p.range) {
      out_ << " in ";
      expr(p.range);
    }
    if (p.default_value) {
      out_ << " = ";
      expr(p.default_value);
    }
    out_ << '\n';
  }
}

void Dumper::function(const ast::Decl& d) {
  params(d.params);
  for (const ast::ResultType& r : tree_[d.results]) {
    line(1) << "result " << r.name.text << ": ";
    type(r.type);
    out_ << '\n';
  }
  for (ast::ExprId condition : tree_[d.where]) {
    line(1) << "where ";
    expr(condition);
    out_ << '\n';
  }
  if (d.value) {
    line(1) << "is ";
    expr(d.value);
  }
  if (d.body) {
    line(1) << "body";
    block(d.body, 2);
  }
  out_ << '\n';
}

void Dumper::rule(const ast::Decl& d) {
  if (d.numerics) line(1) << "numerics " << d.numerics.text << '\n';
  params(d.params);
  for (ast::StmtId s : tree_[d.lets]) stmt(s, 1);
  auto side = [&](const char* word, ast::List<ast::ExprId> terms) {
    for (ast::ExprId term : tree_[terms]) {
      line(1) << word << ' ';
      expr(term);
      out_ << '\n';
    }
  };
  side("lhs", d.lhs);
  side(d.two_way ? "equals" : "rhs", d.rhs);
  side("where", d.where);
}

void Dumper::decl(const ast::Decl& d) {
  static constexpr const char* kWords[] = {"use", "fn", "model", "ruleset", "rule", "op"};
  if (d.external) out_ << "extern ";
  out_ << kWords[static_cast<size_t>(d.kind)];
  if (d.name) out_ << ' ' << d.name.text;
  if (d.relative) out_ << " relative";
  names(d.path);
  if (!d.imports.empty()) out_ << " :";
  names(d.imports);
  if (!d.doc.empty()) {
    out_ << ' ';
    quoted(d.doc);
  }
  out_ << '\n';
  using ast::DeclKind;
  if (d.kind == DeclKind::Fn || d.kind == DeclKind::Model || d.kind == DeclKind::Op) function(d);
  if (d.kind == ast::DeclKind::Rule) rule(d);
}

void Dumper::file() {
  if (!tree_.doc().empty()) {
    out_ << "file ";
    quoted(tree_.doc());
    out_ << '\n';
  }
  for (ast::DeclId id : tree_.decls()) decl(tree_[id]);
}

} // namespace

std::string dump(const Ast& tree, ast::ExprId id) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Dumper(tree, out).expr(id);
  return text;
}

std::string dump(const Ast& tree) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Dumper(tree, out).file();
  return text;
}

bool same_tree(const Ast& left, const Ast& right) { return dump(left) == dump(right); }

} // namespace tg
