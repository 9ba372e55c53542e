// Prints documents with a stack of items instead of recursion, each with its mode and indent.
#include "lang/syntax/pretty.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

Docs::Docs() {
  for (Kind kind : {Empty, Line, Soft, Hard, Blank})
    nodes_.push_back({kind, kind == Hard || kind == Blank, 0, 0});
}

Doc Docs::add_text(Kind kind, llvm::StringRef text, bool breaks) {
  texts_.push_back(text.str());
  nodes_.push_back({kind, breaks, static_cast<uint32_t>(texts_.size() - 1), 1});
  return {static_cast<uint32_t>(nodes_.size() - 1)};
}

Doc Docs::text(llvm::StringRef text) { return text.empty() ? Doc{} : add_text(Text, text, false); }
Doc Docs::if_broken(llvm::StringRef text) { return add_text(IfBroken, text, false); }
Doc Docs::comment(llvm::StringRef text) { return add_text(Comment, text, true); }

Doc Docs::add(Kind kind, llvm::ArrayRef<Doc> parts) {
  Node node{kind, false, static_cast<uint32_t>(children_.size()), 0};
  for (Doc part : parts) {
    if (part.empty()) continue;
    children_.push_back(part.index);
    ++node.count;
    node.breaks |= nodes_[part.index].breaks;
  }
  if (node.count == 0) return {};
  nodes_.push_back(node);
  return {static_cast<uint32_t>(nodes_.size() - 1)};
}

Doc Docs::concat(llvm::ArrayRef<Doc> parts) { return add(Concat, parts); }
Doc Docs::group(Doc inner) { return add(Group, inner); }
Doc Docs::indent(Doc inner) { return add(Indent, inner); }

/// Returns true if `stack`, and then `rest` up to its first break, fits in `room` columns.
/// `rest` is read from its end; its items keep their own mode.
bool Docs::fits(std::vector<Item> stack, llvm::ArrayRef<Item> rest, size_t room) const {
  while (true) {
    if (stack.empty()) {
      if (rest.empty()) return true;
      stack.push_back(rest.back());
      rest = rest.drop_back();
    }
    Item item = stack.back();
    stack.pop_back();
    const Node& node = nodes_[item.doc];
    size_t width = 0;
    switch (node.kind) {
    case Empty: break;
    case Line:
    case Soft:
      if (!item.flat) return true;
      width = node.kind == Line;
      break;
    case Hard:
    case Blank: return true;
    case IfBroken:
      if (!item.flat) width = texts_[node.first].size();
      break;
    case Comment: return true; // a new line follows; the comment itself may be too long
    case Text: width = texts_[node.first].size(); break;
    case Concat:
    case Indent:
    case Group: {
      bool flat = item.flat && !node.breaks;
      for (uint32_t i = node.count; i-- > 0;)
        stack.push_back({children_[node.first + i], item.indent, flat});
      break;
    }
    }
    if (width > room) return false;
    room -= width;
  }
}

/// Indentation is written with the first text of a line, so that no line ends in blanks.
struct Docs::Output {
  std::string text;
  size_t column = 0;
  size_t pending_indent = 0;
  bool line_is_full = false; // by a comment

  void write(llvm::StringRef part, size_t indent) {
    if (line_is_full) newline(indent, false);
    text.append(pending_indent, ' ');
    pending_indent = 0;
    text += part;
    column += part.size();
  }
  void newline(size_t indent, bool blank) {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    text += blank ? "\n\n" : "\n";
    column = pending_indent = indent;
    line_is_full = false;
  }
};

std::string Docs::print(Doc doc, size_t width) const {
  Output out;
  std::vector<Item> stack{{doc.index, 0, false}};
  while (!stack.empty()) {
    Item item = stack.back();
    stack.pop_back();
    const Node& node = nodes_[item.doc];
    switch (node.kind) {
    case Empty: break;
    case Line:
    case Soft:
      if (!item.flat || out.line_is_full)
        out.newline(item.indent, false);
      else if (node.kind == Line)
        out.write(" ", item.indent);
      break;
    case Hard: out.newline(item.indent, false); break;
    case Blank: out.newline(item.indent, true); break;
    case IfBroken:
      if (!item.flat) out.write(texts_[node.first], item.indent);
      break;
    case Text: out.write(texts_[node.first], item.indent); break;
    case Comment:
      out.write(texts_[node.first], item.indent);
      out.line_is_full = true;
      break;
    case Group: {
      size_t room = out.column < width ? width - out.column : 0;
      Item inner{children_[node.first], item.indent, true};
      if (!item.flat) inner.flat = !node.breaks && fits({inner}, stack, room);
      stack.push_back(inner);
      break;
    }
    case Concat:
    case Indent: {
      uint32_t indent = item.indent + (node.kind == Indent ? 2 : 0);
      for (uint32_t i = node.count; i-- > 0;)
        stack.push_back({children_[node.first + i], indent, item.flat});
      break;
    }
    }
  }
  return std::move(out.text);
}

} // namespace tg
