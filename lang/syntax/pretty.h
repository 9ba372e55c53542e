// A small algebra of layouts (Wadler, "A prettier printer", 2003;
// the strict form of Lindig, "Strictly pretty", 2000). A document is text with possible line
// breaks. A group is printed on one line if it fits, else all breaks directly in it are taken.
// Printing is linear in the size of the document times, at worst, the width of a line.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tg {

/// A document: an index into its Docs.
struct Doc {
  uint32_t index = 0; // 0 is the empty document
  bool empty() const { return index == 0; }
};

class Docs {
public:
  Docs();

  /// Text without newlines.
  Doc text(llvm::StringRef text);
  /// A possible break: a blank if it is not taken.
  Doc line() const { return {kLine}; }
  /// A possible break: nothing if it is not taken.
  Doc soft() const { return {kSoft}; }
  /// Always breaks, and so do all groups that contain it.
  Doc hard() const { return {kHard}; }
  /// A hard break with a blank line.
  Doc blank() const { return {kBlank}; }
  /// Text that is printed only if the group around it is broken.
  Doc if_broken(llvm::StringRef text);
  /// Text that takes the rest of its line: breaks the groups that contain it,
  /// and the following text begins a new line.
  Doc comment(llvm::StringRef text);
  Doc concat(llvm::ArrayRef<Doc> parts);
  Doc group(Doc inner);
  /// Indents by two blanks after each break.
  Doc indent(Doc inner);

  std::string print(Doc doc, size_t width) const;

private:
  enum Kind : uint8_t {
    Empty,
    Line,
    Soft,
    Hard,
    Blank,
    Text,
    Comment,
    IfBroken,
    Concat,
    Group,
    Indent
  };
  static constexpr uint32_t kLine = 1, kSoft = 2, kHard = 3, kBlank = 4;

  struct Node {
    Kind kind = Empty;
    bool breaks = false; // contains a hard break
    uint32_t first = 0;  // Text, Comment, IfBroken: in texts_; Concat, Group, Indent: in children_
    uint32_t count = 0;
  };
  struct Item {
    uint32_t doc;
    uint32_t indent;
    bool flat;
  };
  struct Output;

  Doc add(Kind kind, llvm::ArrayRef<Doc> parts);
  Doc add_text(Kind kind, llvm::StringRef text, bool breaks);
  bool fits(std::vector<Item> stack, llvm::ArrayRef<Item> rest, size_t room) const;

  std::vector<Node> nodes_;
  std::vector<uint32_t> children_;
  std::deque<std::string> texts_;
};

} // namespace tg
