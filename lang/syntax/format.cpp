// Converts a tree to text, through a Doc (pretty.h). Comments are not in the tree:
// they wait in a queue in source order. Each construct, when it is printed,
// first prints the comments before it, and then the comment that follows on the same line.
// So no comment is lost or reordered, and comments in the usual places stay in place.
#include "lang/syntax/format.h"

#include "lang/syntax/parse.h"
#include "lang/syntax/pretty.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>

namespace tg {
namespace {

using ast::ArgKind;
using ast::DeclKind;
using ast::ExprId;
using ast::ExprKind;
using ast::StmtKind;
using llvm::ArrayRef;
using llvm::StringRef;

/// How tightly an expression binds, as in the grammar.
enum Binding { kOr, kAnd, kNot, kComparison, kSum, kProduct, kSign, kPower, kAtom };

/// Returns true for a sign or `not` before an operand, and for the sign of the smallest integer.
bool is_prefixed(const ast::Expr& e) {
  return e.kind == ExprKind::Unary || (e.kind == ExprKind::Int && e.text.startswith("-"));
}

Binding binding(const ast::Expr& e) {
  using ast::Op;
  if (is_prefixed(e)) return e.op == Op::Not ? kNot : kSign;
  if (e.kind != ExprKind::Binary) return kAtom;
  switch (e.op) {
  case Op::Or: return kOr;
  case Op::And: return kAnd;
  case Op::Add:
  case Op::Sub: return kSum;
  case Op::Pow: return kPower;
  default: return ast::is_comparison(e.op) ? kComparison : kProduct;
  }
}

/// Returns true if the operand needs parentheses. `kNot` and `kSign` extend as far right
/// as possible, so to the left of an operator they are always wrapped unless they bind tighter.
bool needs_parentheses(const ast::Expr& parent, const ast::Expr& operand, bool left) {
  Binding outer = binding(parent), inner = binding(operand);
  if (inner == kAtom || parent.kind == ExprKind::Call) return false;
  if (parent.kind == ExprKind::Unary) return inner < outer;
  if (is_prefixed(operand) && !left) return inner == kNot && outer > kNot;
  if (outer == kPower) return left || inner < kPower;
  if (outer == kComparison) return inner <= kComparison;
  return left ? inner < outer : inner <= outer;
}

/// When a comma follows the last item of a sequence.
enum class Comma { Never, IfMultiline, Always };

/// The queue of comments, in source order.
class Comments {
public:
  Comments(const Ast& tree, StringRef text, Docs& docs)
      : all_(tree.comments()), text_(text), docs_(docs) {}

  /// Returns true if a comment precedes this position.
  bool wait(uint32_t position) const {
    return next_ < all_.size() && all_[next_].span.begin < position;
  }
  /// Takes the next comment, and returns its span.
  Doc take(Span& span);
  Doc take() {
    Span span;
    return take(span);
  }
  /// Takes the comments before `position`, each on its own line.
  Doc before(uint32_t position);
  /// Takes the comment at the end of the line in which a construct ended at `end`.
  Doc behind(uint32_t end);
  /// Returns the end of the last comment taken, if that is after `end`.
  uint32_t end_of_last(uint32_t end) const {
    return next_ > 0 ? std::max(end, all_[next_ - 1].span.end) : end;
  }
  /// Position in the queue, to return to when a construct is printed again.
  size_t mark() const { return next_; }
  void go_back(size_t mark) { next_ = mark; }

private:
  ArrayRef<ast::Comment> all_;
  StringRef text_;
  Docs& docs_;
  size_t next_ = 0;
};

/// Returns true for items of which a line holds several: a number, or a list of a few.
bool is_short(const Ast& tree, ExprId id) {
  constexpr size_t kMostNumbers = 3;
  auto number = [&](ExprId id) {
    const ast::Expr& item = tree[id];
    ExprKind kind = item.kind == ExprKind::Unary ? tree[item.a].kind : item.kind;
    return kind == ExprKind::Int || kind == ExprKind::Float || kind == ExprKind::Bool;
  };
  if (tree[id].kind != ExprKind::List) return number(id);
  ArrayRef<ExprId> all = tree[tree[id].items];
  return all.size() <= kMostNumbers && llvm::all_of(all, number);
}

class Formatter {
public:
  Formatter(const Ast& tree, const SourceManager& sources)
      : tree_(tree), text_(sources.file(tree.file()).text()), comments_(tree, text_, docs_) {}

  std::string file();

private:
  // --- expressions ---
  Doc expr(ExprId id);
  Doc operand(const ast::Expr& parent, ExprId id, bool left, bool written);
  Doc unary(const ast::Expr& e);
  Doc binary(const ast::Expr& e);
  Doc chain(ExprId id, Binding level);
  Doc call(const ast::Expr& e);
  Doc arg(const ast::Arg& a);
  Doc args(ast::List<ast::Arg> list, uint32_t close);
  Doc items(const ast::Expr& e);
  Doc index(const ast::Expr& e);
  Doc slice(const ast::Slice& s);
  Doc conditional(const ast::Expr& e);

  // --- types, declarations, statements ---
  Doc type(ast::TypeRef id);
  Doc param(const ast::Param& p);
  Doc result(const ast::ResultType& r);
  Doc targets(const ast::Stmt& s);
  Doc assigned(Doc head, ExprId value);
  bool starts_with_sign(ExprId id) const;
  Doc stmt(ast::StmtId id, size_t padding);
  Doc block(ast::BlockId id);
  Doc lines(ArrayRef<ast::StmtId> stmts, uint32_t close);
  std::vector<size_t> paddings(ArrayRef<ast::StmtId> stmts) const;
  Doc decl(const ast::Decl& d);
  Doc use(const ast::Decl& d);
  Doc function(const ast::Decl& d);
  Doc op(const ast::Decl& d);
  Doc signature(const ast::Decl& d, uint32_t end);
  Doc rule(const ast::Decl& d);
  Doc equation(const ast::Decl& d);
  Doc conditions(ast::List<ExprId> list);

  // --- documents ---
  Doc text(StringRef part) { return docs_.text(part); }
  Doc source(Span span) { return docs_.text(slice(span)); }
  Doc cat(std::initializer_list<Doc> parts) {
    return docs_.concat(ArrayRef<Doc>(parts.begin(), parts.size()));
  }
  /// Prints `open item, item close` on one line, or one item per line.
  template <class Item, class Print>
  Doc sequence(StringRef open, ArrayRef<Item> all, uint32_t close_at, StringRef close, Print print,
               bool filled = false, Comma trailing = Comma::IfMultiline);
  template <class Item, class Print>
  Doc ungrouped(StringRef open, ArrayRef<Item> all, uint32_t close_at, StringRef close, Print print,
                bool filled = false, Comma trailing = Comma::IfMultiline);
  /// Prints items one after the other, as many as fit on a line.
  template <class Item, class Print> Doc listing(ArrayRef<Item> all, Print print);

  StringRef slice(Span span) const { return text_.slice(span.begin, span.end); }
  bool one_line(Span span) const { return !slice(span).contains('\n'); }

  const Ast& tree_;
  StringRef text_;
  Docs docs_;
  Comments comments_;
};

/// Return the span of an item of a sequence.
Span place(const Ast& tree, ExprId id) { return tree[id].span; }
Span place(const Ast& tree, ast::TypeRef id) { return tree[id].span; }
template <class Item> Span place(const Ast&, const Item& item) { return item.span; }

// --- comments ------------------------------------------------------------------------------------

bool has_blank_line(StringRef gap) {
  for (size_t at = gap.find('\n'); at != StringRef::npos;) {
    size_t next = gap.find('\n', at + 1);
    if (next != StringRef::npos && gap.slice(at, next).trim().empty()) return true;
    at = next;
  }
  return false;
}

Doc Comments::take(Span& span) {
  span = all_[next_++].span;
  return docs_.comment(text_.slice(span.begin, span.end));
}

Doc Comments::before(uint32_t position) {
  llvm::SmallVector<Doc, 4> parts;
  while (wait(position)) {
    parts.push_back(take());
    parts.push_back(docs_.hard());
  }
  return docs_.concat(parts);
}

Doc Comments::behind(uint32_t end) {
  if (next_ == all_.size()) return {};
  const ast::Comment& c = all_[next_];
  bool behind = !c.own_line && c.span.begin >= end &&
                text_.slice(end, c.span.begin).find_first_not_of(" \t,") == StringRef::npos;
  if (!behind) return {};
  ++next_;
  return docs_.comment(("  " + text_.slice(c.span.begin, c.span.end)).str());
}

// --- sequences -----------------------------------------------------------------------------------

template <class Item, class Print>
Doc Formatter::ungrouped(StringRef open, ArrayRef<Item> all, uint32_t close_at, StringRef close,
                         Print print, bool filled, Comma trailing) {
  llvm::SmallVector<Doc, 16> inner;
  Doc last_comma = trailing == Comma::Always        ? text(",")
                   : trailing == Comma::IfMultiline ? docs_.if_broken(",")
                                                    : Doc{};
  for (size_t i = 0; i < all.size(); ++i) {
    Span span = place(tree_, all[i]);
    Doc before = comments_.before(span.begin);
    Doc item = print(all[i]);
    Doc comma = i + 1 < all.size() ? text(",") : last_comma;
    item = cat({before, item, comma, comments_.behind(span.end)});
    Doc gap = i == 0 ? docs_.soft() : docs_.line();
    if (filled && i > 0)
      inner.push_back(docs_.group(cat({gap, item})));
    else
      inner.append({gap, item});
  }
  while (comments_.wait(close_at)) inner.append({docs_.hard(), comments_.take()});
  if (inner.empty()) return text((open + close).str());
  return cat({text(open), docs_.indent(docs_.concat(inner)), docs_.soft(), text(close)});
}

template <class Item, class Print>
Doc Formatter::sequence(StringRef open, ArrayRef<Item> all, uint32_t close_at, StringRef close,
                        Print print, bool filled, Comma trailing) {
  return docs_.group(ungrouped(open, all, close_at, close, print, filled, trailing));
}

template <class Item, class Print> Doc Formatter::listing(ArrayRef<Item> all, Print print) {
  llvm::SmallVector<Doc, 8> parts;
  for (size_t i = 0; i < all.size(); ++i) {
    Span span = place(tree_, all[i]);
    Doc gap = i > 0 ? docs_.line() : Doc{};
    Doc before = comments_.before(span.begin);
    Doc item = print(all[i]);
    bool last = i + 1 == all.size();
    item = cat({before, item, last ? Doc{} : text(","), last ? Doc{} : comments_.behind(span.end)});
    parts.push_back(i > 0 ? docs_.group(cat({gap, item})) : item);
  }
  return docs_.concat(parts);
}

// --- expressions ---------------------------------------------------------------------------------

Doc Formatter::expr(ExprId id) {
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case ExprKind::Error:
  case ExprKind::Name:
  case ExprKind::Float:
  case ExprKind::String:
  case ExprKind::Bool: return source(e.span);
  case ExprKind::Int: return text(e.text);
  case ExprKind::Spread: return cat({text(e.text), text("...")});
  case ExprKind::List:
  case ExprKind::Tuple: return items(e);
  case ExprKind::Call: return call(e);
  case ExprKind::Unary: return unary(e);
  case ExprKind::Binary: return binary(e);
  case ExprKind::Index: return index(e);
  case ExprKind::Range: return cat({expr(e.a), text(".."), e.b ? expr(e.b) : text("")});
  case ExprKind::If: return conditional(e);
  }
  return {};
}

/// `written`: the operand is parenthesized in the source; the parentheses are kept around
/// operations.
Doc Formatter::operand(const ast::Expr& parent, ExprId id, bool left, bool written) {
  const ast::Expr& e = tree_[id];
  bool operation = is_prefixed(e) || e.kind == ExprKind::Binary;
  if (!(operation && written) && !needs_parentheses(parent, e, left)) return expr(id);
  return docs_.group(
      cat({text("("), docs_.indent(cat({docs_.soft(), expr(id)})), docs_.soft(), text(")")}));
}

Doc Formatter::unary(const ast::Expr& e) {
  bool written = tree_[e.a].span.end != e.span.end;
  return cat({text(e.op == ast::Op::Not ? "not " : "-"), operand(e, e.a, false, written)});
}

/// A chain of operators of one level breaks at all of them or at none.
Doc Formatter::binary(const ast::Expr& e) {
  llvm::SmallVector<const ast::Expr*, 8> links; // from the last operator to the first
  const ast::Expr* at = &e;
  while (true) {
    links.push_back(at);
    const ast::Expr& left = tree_[at->a];
    bool written = left.span.begin != at->span.begin;
    bool chain = left.kind == ExprKind::Binary && binding(left) == binding(e) && !written &&
                 binding(e) != kPower && binding(e) != kComparison;
    if (!chain) break;
    at = &left;
  }
  llvm::SmallVector<Doc, 16> parts;
  bool written = tree_[at->a].span.begin != at->span.begin;
  parts.push_back(operand(*at, at->a, true, written));
  for (const ast::Expr* link : llvm::reverse(links)) {
    const ast::Expr& right = tree_[link->b];
    parts.push_back(text((" " + ast::spelling(link->op)).str()));
    parts.push_back(comments_.behind(link->op_span.end));
    parts.push_back(docs_.line());
    parts.push_back(comments_.before(right.span.begin));
    parts.push_back(operand(*link, link->b, false, right.span.end != link->span.end));
  }
  return docs_.group(docs_.concat(parts));
}

Doc Formatter::call(const ast::Expr& e) {
  uint32_t close = (e.alias ? e.alias.span.begin : e.span.end) - 1;
  Doc out = cat({text(e.callee.text), args(e.args, close)});
  return e.alias ? cat({out, text(" as "), text(e.alias.text)}) : out;
}

/// A single bracketed argument shares the lines of its brackets with the call's.
Doc Formatter::args(ast::List<ast::Arg> list, uint32_t close) {
  ArrayRef<ast::Arg> all = tree_[list];
  auto print = [&](const ast::Arg& a) { return arg(a); };
  bool single = all.size() == 1 && all[0].kind == ArgKind::Positional;
  if (single && !comments_.wait(all[0].span.begin)) {
    ExprKind kind = tree_[all[0].value].kind;
    bool hugs = kind == ExprKind::Call || kind == ExprKind::List || kind == ExprKind::Tuple;
    size_t before = comments_.mark();
    if (hugs) {
      Doc inner = expr(all[0].value);
      if (!comments_.wait(close)) return cat({text("("), inner, text(")")});
      comments_.go_back(before);
    }
  }
  bool open_ended = !all.empty() && all.back().kind == ArgKind::Rest;
  return sequence("(", all, close, ")", print, false,
                  open_ended ? Comma::Never : Comma::IfMultiline);
}

Doc Formatter::arg(const ast::Arg& a) {
  switch (a.kind) {
  case ArgKind::Positional: return expr(a.value);
  case ArgKind::Named: return cat({text(a.name.text), text(" = "), expr(a.value)});
  case ArgKind::Spread: return cat({expr(a.value), text("...")});
  case ArgKind::Rest: return text("..");
  }
  return {};
}

Doc Formatter::items(const ast::Expr& e) {
  bool list = e.kind == ExprKind::List;
  ArrayRef<ExprId> all = tree_[e.items];
  auto print = [&](ExprId id) { return expr(id); };
  bool numbers = llvm::all_of(all, [&](ExprId id) { return is_short(tree_, id); });
  // A tuple of one item keeps its comma.
  if (!list && all.size() == 1)
    return sequence("(", all, e.span.end - 1, ")", print, false, Comma::Always);
  return sequence(list ? "[" : "(", all, e.span.end - 1, list ? "]" : ")", print, numbers);
}

Doc Formatter::index(const ast::Expr& e) {
  bool written = tree_[e.a].span.begin != e.span.begin;
  const ast::Expr& value = tree_[e.a];
  bool operation = is_prefixed(value) || value.kind == ExprKind::Binary;
  Doc base = operation ? cat({text("("), expr(e.a), text(")")}) : operand(e, e.a, true, written);
  auto print = [&](const ast::Slice& s) { return slice(s); };
  return cat({base, sequence("[", tree_[e.slices], e.span.end - 1, "]", print)});
}

Doc Formatter::slice(const ast::Slice& s) {
  if (s.ellipsis) return text("...");
  if (!s.range) return expr(s.begin);
  auto bound = [&](ExprId id) { return id ? expr(id) : Doc{}; };
  Doc begin = bound(s.begin);
  Doc end = bound(s.end);
  if (!s.step) return cat({begin, text(":"), end});
  return cat({begin, text(":"), end, text(":"), bound(s.step)});
}

Doc Formatter::conditional(const ast::Expr& e) {
  Doc condition = expr(e.a);
  Doc out = cat({text("if "), condition, text(" "), block(e.then_block)});
  if (!e.else_block) return out;
  // `else if` is a block without braces.
  const ast::Block& other = tree_[e.else_block];
  ArrayRef<ast::StmtId> stmts = tree_[other.stmts];
  bool else_if = text_[other.span.begin] != '{' && stmts.size() == 1;
  Doc rest = else_if ? expr(tree_[stmts[0]].value) : block(e.else_block);
  return cat({out, text(" else "), rest});
}

// --- types ---------------------------------------------------------------------------------------

Doc Formatter::type(ast::TypeRef id) {
  const ast::Type& t = tree_[id];
  if (t.kind == ast::TypeKind::Tuple)
    return sequence("(", tree_[t.parts], t.span.end - 1, ")",
                    [&](ast::TypeRef part) { return type(part); });
  if (!t.bracketed) return text(t.name.text);
  return cat({text(t.name.text), sequence("[", tree_[t.dims], t.span.end - 1, "]",
                                          [&](ExprId dim) { return expr(dim); })});
}

// --- statements ----------------------------------------------------------------------------------

Doc Formatter::targets(const ast::Stmt& s) {
  ArrayRef<ast::Name> names = tree_[s.targets];
  if (!s.destructures) return text(names[0].text);
  auto print = [&](const ast::Name& name) { return text(name.text); };
  if (names.size() == 1) return cat({text("("), text(names[0].text), text(",)")});
  return docs_.group(cat({text("("), docs_.indent(listing(names, print)), text(")")}));
}

/// Prints `head = value`; an operation that does not fit is moved to the next lines, indented.
Doc Formatter::assigned(Doc head, ExprId value) {
  const ast::Expr& e = tree_[value];
  if (comments_.wait(e.span.begin)) {
    Doc comments = comments_.before(e.span.begin);
    return cat({head, text(" ="), docs_.indent(cat({docs_.hard(), comments, expr(value)}))});
  }
  if (e.kind != ExprKind::Binary) return cat({head, text(" = "), expr(value)});
  return cat({head, text(" ="), docs_.group(docs_.indent(cat({docs_.line(), expr(value)})))});
}

/// `padding`: blanks between the target and `=`, for aligned lines.
Doc Formatter::stmt(ast::StmtId id, size_t padding) {
  const ast::Stmt& s = tree_[id];
  switch (s.kind) {
  case StmtKind::Error: return source(s.span);
  case StmtKind::Let:
  case StmtKind::Var:
  case StmtKind::Assign: {
    const char* word = s.kind == StmtKind::Let ? "let " : s.kind == StmtKind::Var ? "var " : "";
    return assigned(cat({text(word), targets(s), text(std::string(padding, ' '))}), s.value);
  }
  case StmtKind::Param: {
    Doc head = cat({text("param "), targets(s), text(": ")});
    head = cat({head, type(s.type)});
    if (s.value) return assigned(head, s.value);
    return s.args.empty() ? head : cat({head, text(" "), args(s.args, s.span.end - 1)});
  }
  case StmtKind::For: {
    Doc head = cat({text("for "), targets(s), text(" in ")});
    Doc range = expr(s.value);
    return cat({head, range, text(" "), block(s.body)});
  }
  case StmtKind::Expr:
    // Parenthesized in the source, because it could not start a line otherwise.
    if (starts_with_sign(s.value) && s.span.begin != tree_[s.value].span.begin)
      return cat({text("("), expr(s.value), text(")")});
    return expr(s.value);
  }
  return {};
}

/// Returns true if the first token of the printed expression is a `-`.
bool Formatter::starts_with_sign(ExprId id) const {
  const ast::Expr* e = &tree_[id];
  while (e->kind == ExprKind::Binary) {
    const ast::Expr& left = tree_[e->a];
    if (left.span.begin != e->span.begin || needs_parentheses(*e, left, true)) return false;
    e = &left;
  }
  return is_prefixed(*e) && e->op != ast::Op::Not;
}

/// Consecutive `let` and `var` lines whose `=` are in one column, with blanks before some of them,
/// stay aligned.
std::vector<size_t> Formatter::paddings(ArrayRef<ast::StmtId> stmts) const {
  std::vector<size_t> pads(stmts.size(), 0);
  struct Line {
    size_t column = 0, width = 0; // of `=` in the source, of the printed text before it
    bool padded = false;
  };
  auto read = [&](const ast::Stmt& s) {
    Line line;
    bool simple =
        (s.kind == StmtKind::Let || s.kind == StmtKind::Var) && !s.destructures && one_line(s.span);
    if (!simple) return line;
    const ast::Name& target = tree_[s.targets][0];
    size_t equals = text_.find('=', target.span.end);
    size_t start = text_.rfind('\n', s.span.begin) + 1; // npos + 1 == 0
    line.column = equals - start + 1;
    line.width = StringRef("let ").size() + target.text.size(); // `var` has the same length
    line.padded = equals > target.span.end + 1;
    return line;
  };
  for (size_t first = 0; first < stmts.size();) {
    Line head = read(tree_[stmts[first]]);
    size_t last = first + 1, widest = head.width;
    bool padded = head.padded;
    while (head.column != 0 && last < stmts.size()) {
      StringRef gap = text_.slice(tree_[stmts[last - 1]].span.end, tree_[stmts[last]].span.begin);
      Line line = read(tree_[stmts[last]]);
      if (line.column != head.column || gap.count('\n') != 1) break;
      widest = std::max(widest, line.width);
      padded |= line.padded;
      ++last;
    }
    for (size_t i = first; padded && last - first > 1 && i < last; ++i)
      pads[i] = widest - read(tree_[stmts[i]]).width;
    first = last;
  }
  return pads;
}

/// Prints statements and the comments between them, one per line, without the final break.
Doc Formatter::lines(ArrayRef<ast::StmtId> stmts, uint32_t close) {
  llvm::SmallVector<Doc, 32> parts;
  std::vector<size_t> pads = paddings(stmts);
  uint32_t previous_end = UINT32_MAX;
  auto separate = [&](uint32_t begin) {
    if (previous_end == UINT32_MAX) return;
    bool blank = previous_end <= begin && has_blank_line(text_.slice(previous_end, begin));
    parts.push_back(blank ? docs_.blank() : docs_.hard());
  };
  auto own_comments = [&](uint32_t position) {
    while (comments_.wait(position)) {
      Span span;
      Doc comment = comments_.take(span);
      separate(span.begin);
      parts.push_back(comment);
      previous_end = span.end;
    }
  };
  for (size_t i = 0; i < stmts.size(); ++i) {
    Span span = tree_[stmts[i]].span;
    own_comments(span.begin);
    separate(span.begin);
    parts.push_back(stmt(stmts[i], pads[i]));
    parts.push_back(comments_.behind(span.end));
    previous_end = comments_.end_of_last(span.end);
  }
  own_comments(close);
  return docs_.concat(parts);
}

/// A block that was on one line stays there if it fits.
Doc Formatter::block(ast::BlockId id) {
  const ast::Block& b = tree_[id];
  ArrayRef<ast::StmtId> stmts = tree_[b.stmts];
  uint32_t close = b.span.end - 1;
  if (stmts.empty() && !comments_.wait(close)) return text("{}");
  bool inlined = one_line(b.span) && stmts.size() <= 1 && !comments_.wait(close);
  Doc gap = inlined ? docs_.line() : docs_.hard();
  return docs_.group(
      cat({text("{"), docs_.indent(cat({gap, lines(stmts, close)})), gap, text("}")}));
}

// --- declarations --------------------------------------------------------------------------------

Doc Formatter::use(const ast::Decl& d) {
  Doc head = cat({text("use "), source(d.path_span)});
  if (d.imports.empty()) return head;
  Doc names = listing(tree_[d.imports], [&](const ast::Name& name) { return text(name.text); });
  return docs_.group(cat({head, text(":"), docs_.indent(cat({docs_.line(), names}))}));
}

Doc Formatter::param(const ast::Param& p) {
  Doc out = cat({text(p.name.text), text(p.variadic ? "..." : "")});
  if (p.type) out = cat({out, text(": "), type(p.type)});
  if (p.range) out = cat({out, text(" in "), expr(p.range)});
  if (p.default_value) out = cat({out, text(" = "), expr(p.default_value)});
  return out;
}

Doc Formatter::result(const ast::ResultType& r) {
  return cat({text(r.name ? (r.name.text + ": ").str() : ""), type(r.type)});
}

Doc Formatter::conditions(ast::List<ExprId> list) {
  Doc all = listing(tree_[list], [&](ExprId id) { return expr(id); });
  Doc aligned = docs_.indent(docs_.indent(docs_.indent(all))); // the width of `where `
  return docs_.group(cat({text("where "), aligned}));
}

/// Prints keyword, name, parameters and results; `end`: start of the text after the head.
Doc Formatter::signature(const ast::Decl& d, uint32_t end) {
  ArrayRef<ast::ResultType> results = tree_[d.results];
  uint32_t params_end = results.empty() && d.where.empty() ? end
                        : results.empty()                  ? tree_[tree_[d.where][0]].span.begin
                                                           : d.results_span.begin;
  // Parameters break before results do.
  Doc params = ungrouped("(", tree_[d.params], params_end, ")",
                         [&](const ast::Param& p) { return param(p); });
  const char* word = d.kind == DeclKind::Fn      ? "fn "
                     : d.kind == DeclKind::Model ? "model "
                     : d.external                ? "extern op "
                                                 : "op ";
  Doc head = cat({text(word), text(d.name.text), params});
  if (!results.empty()) {
    auto print = [&](const ast::ResultType& r) { return result(r); };
    Doc types = d.results_parenthesised ? sequence("(", results, d.results_span.end - 1, ")", print)
                                        : result(results[0]);
    head = cat({head, text(" -> "), types});
  }
  return docs_.group(head);
}

Doc Formatter::function(const ast::Decl& d) {
  Doc head = signature(d, tree_[d.body].span.begin);
  if (d.where.empty()) return cat({head, text(" "), block(d.body)});
  Doc where = cat({docs_.indent(cat({docs_.line(), conditions(d.where)})), docs_.line()});
  head = cat({head, docs_.group(where)});
  return cat({head, block(d.body)});
}

Doc Formatter::op(const ast::Decl& d) {
  Doc head = signature(d, d.value ? tree_[d.value].span.begin : d.span.end);
  if (!d.where.empty())
    head = cat({head, docs_.group(docs_.indent(cat({docs_.line(), conditions(d.where)})))});
  if (!d.value) return head;
  Doc before = comments_.before(tree_[d.value].span.begin);
  Doc gap = before.empty() ? docs_.line() : docs_.hard();
  return cat({head, text(" ="), docs_.group(docs_.indent(cat({gap, before, expr(d.value)})))});
}

Doc Formatter::equation(const ast::Decl& d) {
  auto print = [&](ExprId id) { return expr(id); };
  // After a `let`, a line that starts with a sign would continue it.
  bool sign = !d.lets.empty() && starts_with_sign(tree_[d.lhs][0]);
  Doc left = docs_.group(listing(tree_[d.lhs], [&](ExprId id) {
    bool first = sign && id == tree_[d.lhs][0];
    return first ? cat({text("("), expr(id), text(")")}) : expr(id);
  }));
  Doc arrow = cat({docs_.line(), text(d.two_way ? "<=>" : "=>")});
  Doc behind = comments_.behind(d.arrow_span.end);
  bool commented = !behind.empty() || comments_.wait(tree_[tree_[d.rhs][0]].span.begin);
  Doc gap = commented ? docs_.hard() : text(" ");
  Doc right = docs_.group(listing(tree_[d.rhs], print));
  return cat({left, docs_.group(docs_.indent(cat({arrow, behind, gap, right})))});
}

/// Prints `let`s and the equation in source order, followed by the conditions.
Doc Formatter::rule(const ast::Decl& d) {
  Doc head = cat({text("rule "), text(d.name.text),
                  sequence("(", tree_[d.params], d.numerics ? d.numerics.span.begin : d.span.begin,
                           ")", [&](const ast::Param& p) { return param(p); }),
                  text(d.numerics ? (" " + d.numerics.text).str() : ""), text(" {")});
  struct Line {
    uint32_t begin, end;
    ast::StmtId let;
    bool where = false;
  };
  llvm::SmallVector<Line, 8> all;
  for (ast::StmtId let : tree_[d.lets])
    all.push_back({tree_[let].span.begin, tree_[let].span.end, let});
  if (!d.lhs.empty())
    all.push_back({tree_[tree_[d.lhs][0]].span.begin, tree_[tree_[d.rhs].back()].span.end, {}});
  llvm::sort(all, [](const Line& a, const Line& b) { return a.begin < b.begin; });
  if (!d.where.empty())
    all.push_back(
        {tree_[tree_[d.where][0]].span.begin, tree_[tree_[d.where].back()].span.end, {}, true});
  bool inlined = one_line(d.span) && all.size() <= 1 && !comments_.wait(d.span.end);
  llvm::SmallVector<Doc, 16> parts;
  uint32_t previous_end = 0;
  auto separate = [&](uint32_t begin) {
    bool blank = previous_end != 0 && previous_end < begin &&
                 has_blank_line(text_.slice(previous_end, begin));
    parts.push_back(inlined ? docs_.line() : blank ? docs_.blank() : docs_.hard());
  };
  auto own_comments = [&](uint32_t position) {
    while (comments_.wait(position)) {
      Span span;
      Doc comment = comments_.take(span);
      separate(span.begin);
      parts.push_back(comment);
      previous_end = span.end;
    }
  };
  for (const Line& line : all) {
    own_comments(line.begin);
    separate(line.begin);
    parts.push_back(line.where ? conditions(d.where) : line.let ? stmt(line.let, 0) : equation(d));
    parts.push_back(comments_.behind(line.end));
    previous_end = line.end;
  }
  own_comments(d.span.end);
  Doc gap = inlined ? docs_.line() : docs_.hard();
  return docs_.group(
      cat({head, docs_.indent(docs_.concat(parts)), parts.empty() ? Doc{} : gap, text("}")}));
}

Doc Formatter::decl(const ast::Decl& d) {
  switch (d.kind) {
  case DeclKind::Use: return use(d);
  case DeclKind::Fn:
  case DeclKind::Model: return function(d);
  case DeclKind::Ruleset: return cat({text("ruleset "), text(d.name.text)});
  case DeclKind::Rule: return rule(d);
  case DeclKind::Op: return op(d);
  }
  return {};
}

/// Prints declarations and comments in source order. One blank line separates two declarations,
/// or a declaration and the comments above the next; `use` lines may be adjacent.
std::string Formatter::file() {
  llvm::SmallVector<Doc, 64> parts;
  uint32_t previous_end = 0;
  const ast::Decl* above = nullptr; // the last printed declaration, if no comment followed
  auto separate = [&](uint32_t begin, bool uses) {
    bool blank = has_blank_line(text_.slice(previous_end, begin)) ||
                 (above && !(uses && above->kind == DeclKind::Use));
    if (!parts.empty()) parts.push_back(blank ? docs_.blank() : docs_.hard());
  };
  auto own_comments = [&](uint32_t position, bool uses) {
    while (comments_.wait(position)) {
      Span span;
      Doc comment = comments_.take(span);
      separate(span.begin, uses);
      parts.push_back(comment);
      previous_end = span.end;
      above = nullptr;
    }
  };
  for (ast::DeclId id : tree_.decls()) {
    const ast::Decl& d = tree_[id];
    bool uses = d.kind == DeclKind::Use;
    own_comments(d.span.begin, uses);
    separate(d.span.begin, uses);
    parts.push_back(decl(d));
    parts.push_back(comments_.behind(d.span.end));
    previous_end = comments_.end_of_last(d.span.end);
    above = &d;
  }
  own_comments(static_cast<uint32_t>(text_.size()), false);
  parts.push_back(docs_.hard());
  return docs_.print(docs_.concat(parts), kFormatWidth);
}

} // namespace

std::string format(const Ast& tree, const SourceManager& sources) {
  return Formatter(tree, sources).file();
}

std::optional<std::string> format_file(SourceManager& sources, FileId file, DiagnosticSink& sink) {
  DiagnosticSink found;
  Ast tree = parse(sources, file, found);
  for (const Diagnostic& d : found.all()) sink.report(d);
  if (found.failed()) return std::nullopt;
  std::string out = format(tree, sources);
  FileId again = sources.add(sources.file(file).name().str(), out);
  DiagnosticSink second;
  Ast copy = parse(sources, again, second);
  bool faithful =
      !second.failed() && same_tree(tree, copy) && tree.comments().size() == copy.comments().size();
  if (faithful) return out;
  sink.report(error(Code::internal,
                    "the formatter changed the meaning of {0}; the file was not written",
                    sources.file(file).name()));
  return std::nullopt;
}

} // namespace tg
