// Draws a picture on a terminal: one line per operator, in the order of the graph. Values that are
// still needed run down in columns, one per value. If an operator takes several, they are joined in
// a line above it, as in the histories of version control.
//
//   ○   image  f32[1, 8]
//   ├─╮
//   ● │ relu  f32[1, 8]
//   ├─╯
//   ● add  f32[1, 8]
#include "compiler/report/pages/graph_picture.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::pages {
namespace {

enum Side : unsigned { Up = 1, Down = 2, Left = 4, Right = 8 };

llvm::StringRef line_sign(unsigned sides) {
  switch (sides) {
  case 0: return " ";
  case Up | Down: return "│";
  case Left | Right: return "─";
  case Up | Right: return "╰";
  case Up | Left: return "╯";
  case Down | Right: return "╭";
  case Down | Left: return "╮";
  case Up | Down | Right: return "├";
  case Up | Down | Left: return "┤";
  case Left | Right | Up: return "┴";
  case Left | Right | Down: return "┬";
  case Up | Down | Left | Right: return "┼";
  default: return (sides & (Up | Down)) ? "│" : "─";
  }
}

struct Row {
  std::string rails;
  size_t columns = 0;
  std::optional<size_t> node; // its text is beside it
};

class Rails {
public:
  explicit Rails(const Picture& picture) : picture_(picture), last_use_(picture.nodes.size(), 0) {
    for (size_t i = 0; i < picture.nodes.size(); ++i)
      for (uint32_t operand : picture.nodes[i].operands) last_use_[operand] = i;
    for (size_t i = 0; i < picture.nodes.size(); ++i) add(i);
  }
  llvm::ArrayRef<Row> rows() const { return rows_; }

private:
  static constexpr uint32_t kFree = UINT32_MAX;

  bool ends(uint32_t value, size_t at) const { return last_use_[value] <= at; }

  size_t free_column() {
    for (size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c] == kFree) return c;
    columns_.push_back(kFree);
    return columns_.size() - 1;
  }

  /// Returns the column for the node: that of the leftmost operand without further readers, else a
  /// free one.
  size_t column_for(size_t node, llvm::ArrayRef<size_t> from) {
    for (size_t c : from)
      if (ends(columns_[c], node)) return c;
    return free_column();
  }

  void add(size_t node) {
    std::vector<size_t> from; // by operand
    for (size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c] != kFree && llvm::is_contained(picture_.nodes[node].operands, columns_[c]))
        from.push_back(c);
    size_t column = column_for(node, from);
    bool straight = from.empty() || (from.size() == 1 && from[0] == column);
    if (!straight) join(node, from, column);
    for (size_t c : from)
      if (ends(columns_[c], node)) columns_[c] = kFree;
    Row row{"", columns_.size(), node};
    for (size_t c = 0; c < columns_.size(); ++c) {
      bool here = c == column;
      row.rails +=
          here ? (picture_.nodes[node].input() ? "○" : "●") : (columns_[c] == kFree ? " " : "│");
      row.rails += " ";
    }
    rows_.push_back(std::move(row));
    columns_[column] = last_use_[node] > node ? static_cast<uint32_t>(node) : kFree;
    while (!columns_.empty() && columns_.back() == kFree) columns_.pop_back();
  }

  /// Draws the line that joins the operands to the column of their node.
  void join(size_t node, llvm::ArrayRef<size_t> from, size_t column) {
    size_t left = std::min(column, from.front()), right = std::max(column, from.back());
    Row row{"", columns_.size(), std::nullopt};
    for (size_t c = 0; c < columns_.size(); ++c) {
      bool operand = llvm::is_contained(from, c), taken = columns_[c] != kFree;
      unsigned sides = 0;
      if (taken) sides |= Up;
      if ((taken && !(operand && ends(columns_[c], node))) || c == column) sides |= Down;
      // A line is drawn behind a column that it crosses.
      bool joins = operand || c == column;
      if (c > left && c <= right && (joins || !taken)) sides |= Left;
      if (c >= left && c < right && (joins || !taken)) sides |= Right;
      row.rails += line_sign(sides);
      row.rails += c >= left && c < right ? "─" : " ";
    }
    rows_.push_back(std::move(row));
  }

  const Picture& picture_;
  std::vector<size_t> last_use_;
  std::vector<uint32_t> columns_; // by column: the value that runs down
  std::vector<Row> rows_;
};

std::string details(const PictureNode& node) {
  std::string text;
  for (const std::string& weight : node.weights) text += (text.empty() ? "" : ", ") + weight;
  if (!node.attrs.empty()) text += (text.empty() ? "" : ", ") + node.attrs;
  for (const std::string& output : node.outputs)
    text += (text.empty() ? "" : "  ") + ("-> " + output);
  return text;
}

} // namespace

void draw_rails(llvm::raw_ostream& out, const Picture& picture, bool color) {
  Rails rails(picture);
  size_t columns = 0, label = 0, type = 0;
  for (const Row& row : rails.rows()) columns = std::max(columns, row.columns);
  for (const PictureNode& node : picture.nodes) {
    label = std::max(label, node.label().size());
    type = std::max(type, node.type.size());
  }
  label = std::min<size_t>(label, 24), type = std::min<size_t>(type, 28);
  auto pad = [](llvm::StringRef text, size_t width) {
    return text.str() + std::string(width > text.size() ? width - text.size() : 0, ' ');
  };
  for (const Row& row : rails.rows()) {
    if (!row.node) {
      out << llvm::StringRef(row.rails).rtrim() << "\n";
      continue;
    }
    const PictureNode& node = picture.nodes[*row.node];
    out << row.rails << std::string(2 * (columns - row.columns), ' ') << " ";
    if (color) out << "\033[1m";
    out << pad(node.label(), label);
    if (color) out << "\033[0m";
    std::string rest = "  " + pad(node.type, type) + "  " + details(node);
    out << llvm::StringRef(rest).rtrim() << "\n";
  }
}

} // namespace tg::pages
