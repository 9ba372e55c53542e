// Writes the statements of one body. Nodes arrive in a legal order of statements. The text of a
// node with a single use waits in `pending_` until its user inlines it, or, if the line would be
// too long, is written as a `let` just before.
#pragma once

#include "compiler/ir/text/integers.h"
#include "compiler/ir/text/words.h"
#include "compiler/ir/to_text.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>
#include <vector>

namespace tg::text {

/// State common to the bodies of one file.
struct File {
  const Graph& graph;
  const TextOptions& options;
  llvm::DenseMap<uint32_t, const GraphCall*> calls{}; // by root
  llvm::StringSet<> taken = {};                       // names of the model and its inputs
  llvm::StringSet<> functions = {};                   // names of called functions
};

/// Returns the padding `valid` as zeros, and other values of attributes as they are.
Value with_pad_numbers(const Value& value, AttrKind kind);

/// The statements of the model or of a function.
class Body {
public:
  explicit Body(File& file)
      : file_(file), graph_(file.graph), options_(file.options),
        integers_(file.graph, file.options.open), uses_(file.graph.size()),
        names_(file.graph.size()) {}
  virtual ~Body() = default;

protected:
  /// Returns a unique name that is neither a word of the language nor an operator.
  std::string fresh(std::string name);

  bool free(llvm::StringRef name) const;

  /// Writes the node as a statement, or keeps its text for its user.
  void node(NodeId id);
  void let(NodeId id, llvm::StringRef text);
  /// Names a node: the given name, or the operator and a number: conv2d_1, relu_1.
  void name_value(NodeId id);
  /// Returns the given name, or "".
  std::string given_name(NodeId id) const;
  /// Drops leading parts of a long name.
  static llvm::StringRef shortened(llvm::StringRef name);

  const GraphCall* call_of(NodeId id) const { return file_.calls.lookup(id.index); }
  llvm::ArrayRef<NodeId> operands_of(NodeId id) const;
  void count_uses(NodeId id) {
    for (NodeId operand : operands_of(id)) ++uses_[operand.index];
  }

  void declare_weight(NodeId id);
  /// Returns the expression of a weight's path.
  virtual std::string path_text(NodeId, llvm::StringRef path) const {
    return Value::of_string(path).text_form();
  }

  std::string operand_text(NodeId id);

  std::string constant_of(NodeId id, bool mixed = false) const;

  /// Returns true if the operator can be written with a sign: it uses no optional operand or
  /// attribute, and at least one side is a tensor (numbers would be folded).
  bool has_sign(NodeId id) const;

  bool is_number(NodeId id) const {
    return graph_.node(id).op == OpKind::Constant && graph_.type(id).rank() == 0;
  }

  std::string sign_text(NodeId id);
  /// Writes operands with whole calls as statements first if the line would be too long.
  void shorten(llvm::ArrayRef<NodeId> operands, size_t name);

  std::string operator_text(NodeId id, const OpInfo& info);
  /// Returns the operands of a call. Operands after an absent one are written by name.
  std::string operands_text(NodeId id, const OpInfo& info);

  /// Returns `x[:, 2:4]` for a slice, `x[:, 2]` for one that drops its axis, and "" for other
  /// nodes.
  std::string bracket_text(NodeId id);
  /// False for lists, which are indexed when a model is built, and for slices of a whole axis.
  bool is_bracket(NodeId slice) const;
  size_t axis_of(NodeId slice) const { return static_cast<size_t>(graph_.attr(slice, 0).number); }
  bool drops_axis(NodeId reshape, NodeId slice) const;
  /// Returns `2:4`; the ends of an axis are omitted.
  std::string range_text(NodeId slice) const;
  std::string bracket_text(NodeId slice, const std::string& place);

  std::string call_text(const GraphCall& call);
  std::string extern_text(NodeId id);
  std::string iota_text(NodeId id) const;

  /// Returns true if the operands of a list differ in dtype, so that a literal must state its own.
  bool is_mixed(const OpInfo& info, llvm::ArrayRef<NodeId> operands) const;
  std::string attributes(NodeId id, const OpInfo& info) const;
  std::string attribute_text(NodeId id, uint32_t slot, AttrKind kind) const;
  bool is_default(NodeId id, const AttrInfo& attr, const Value& value) const;

  /// Reserves the names of the parameters with ranges.
  void take_sizes();

  static constexpr size_t kLongestName = 40;
  static constexpr size_t kInline = 48; // maximum length of an inlined node's text

  File& file_;
  const Graph& graph_;
  const TextOptions& options_;
  Integers integers_;
  std::string text_;
  std::string scope_; // common prefix of given names, omitted here
  std::vector<uint32_t> uses_;
  std::vector<std::string> names_; // by node; empty if it has none (yet)
  llvm::DenseMap<uint32_t, std::string> pending_;
  llvm::StringSet<> taken_;
  llvm::StringMap<uint32_t> numbers_;
  NumberWords words_;
};

} // namespace tg::text
