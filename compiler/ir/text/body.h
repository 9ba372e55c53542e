// The statements of one body as text. Nodes come in an order that is legal for statements. The text
// of a node that is used once waits in `pending_` until its user takes it in or, where that would
// be too long, is written out as a `let` just before.
#pragma once

#include "compiler/ir/text/words.h"
#include "compiler/ir/to_text.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <vector>

namespace tg::text {

/// What the bodies of one file share.
struct File {
  const Graph& graph;
  const TextOptions& options;
  llvm::DenseMap<uint32_t, const GraphCall*> calls{}; // by root
  llvm::StringSet<> taken = {};                       // names of the model and its inputs
  llvm::StringSet<> functions = {};                   // names that are called
};

/// Statements of one body: of the model, or of a function that a part of it becomes.
class Body {
public:
  explicit Body(File& file)
      : file_(file), graph_(file.graph), options_(file.options), uses_(file.graph.size()),
        names_(file.graph.size()) {}
  virtual ~Body() = default;

protected:
  /// A name that nothing else has: neither a word of the language nor an operator.
  std::string fresh(std::string name);

  bool free(llvm::StringRef name) const;

  /// The node's text, kept for its user or as a statement of its own.
  void node(NodeId id);
  void let(NodeId id, llvm::StringRef text);
  /// Input names aside, a name is what it is given, or the operator and a number: conv2d_1, relu_1.
  void name_value(NodeId id);
  /// "" for none.
  std::string given_name(NodeId id) const;
  /// Without its first parts where it is long.
  static llvm::StringRef shortened(llvm::StringRef name);

  const GraphCall* call_of(NodeId id) const { return file_.calls.lookup(id.index); }
  llvm::ArrayRef<NodeId> operands_of(NodeId id) const;
  void count_uses(NodeId id) {
    for (NodeId operand : operands_of(id)) ++uses_[operand.index];
  }

  void declare_weight(NodeId id);
  /// The expression of a weight's path.
  virtual std::string path_text(NodeId, llvm::StringRef path) const {
    return Value::of_string(path).text_form();
  }

  std::string operand_text(NodeId id);

  /// Whether it can be written with a sign: no optional operand or attribute in use, and a tensor
  /// on one side at least (numbers would be folded).
  bool has_sign(NodeId id) const;

  bool is_number(NodeId id) const {
    return graph_.node(id).op == OpKind::Constant && graph_.type(id).rank() == 0;
  }

  std::string sign_text(NodeId id);
  /// Operands that hold whole calls are written out first where the line would get too long.
  void shorten(llvm::ArrayRef<NodeId> operands, size_t name);

  std::string operator_text(NodeId id, const OpInfo& info);
  /// Those of a call: behind one that is absent those that are there go by name.
  std::string operands_text(NodeId id, const OpInfo& info);

  /// `x[:, 2:4]` for a slice, `x[:, 2]` for one whose axis goes; "" for what is none.
  std::string bracket_text(NodeId id);
  /// Lists are indexed when a model is built, and what is whole is no slice.
  bool is_bracket(NodeId slice) const;
  size_t axis_of(NodeId slice) const { return static_cast<size_t>(graph_.attr(slice, 0).number); }
  bool drops_axis(NodeId reshape, NodeId slice) const;
  /// `2:4`; the ends of an axis go without saying.
  std::string range_text(NodeId slice) const;
  std::string bracket_text(NodeId slice, const std::string& place);

  std::string call_text(const GraphCall& call);
  std::string extern_text(NodeId id);
  std::string iota_text(NodeId id) const;

  /// Whether the operands of a list differ in dtype: a literal among them has to say its own.
  bool is_mixed(const OpInfo& info, llvm::ArrayRef<NodeId> operands) const;
  std::string attributes(NodeId id, const OpInfo& info) const;
  bool is_default(NodeId id, const AttrInfo& attr, const Value& value) const;

  static constexpr size_t kLongestName = 40;
  static constexpr size_t kInline = 48; // longest text of a node that is written inside another

  File& file_;
  const Graph& graph_;
  const TextOptions& options_;
  std::string text_;
  std::string scope_; // what given names have at their head, which goes without saying here
  std::vector<uint32_t> uses_;
  std::vector<std::string> names_; // by node; empty where it has none (yet)
  llvm::DenseMap<uint32_t, std::string> pending_;
  llvm::StringSet<> taken_;
  llvm::StringMap<uint32_t> numbers_;
  NumberWords words_;
};

} // namespace tg::text
