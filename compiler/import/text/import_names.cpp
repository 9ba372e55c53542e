#include "compiler/import/text/import_names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/Path.h>

namespace tg {
namespace {

using llvm::StringRef;
using Segments = llvm::SmallVector<StringRef, 8>;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// Removes a number at the end: "add_12" gives "add".
StringRef without_number(StringRef word) {
  StringRef stem = word.rtrim("0123456789");
  return stem.size() == word.size() ? word : stem.rtrim('_');
}

/// Removes "_output_0", ":0" and the like.
StringRef without_result_number(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  if (stem.size() == name.size()) return name;
  if (stem.consume_back("_output_") || stem.consume_back(":")) return stem;
  return name;
}

/// Returns true for the names that exporters give to values that they know nothing about.
bool is_generic_name(StringRef word) {
  StringRef stem = without_number(word);
  if (stem.size() <= 1) return true;
  return llvm::StringSwitch<bool>(stem)
      .Cases("val", "getitem", "tmp", "output", "result", "node", true)
      .Cases("view", "_to_copy", "_unsafe_view", "n0", "arange", "index", true)
      .Default(stem.startswith("p2o") || stem.endswith("tmp") || find_op(stem).has_value());
}

/// Returns true for names such as `val_12` that the exporter invented for a weight.
bool is_made_up(StringRef word) {
  StringRef stem = without_number(word);
  return stem.size() > 1 && stem.size() < word.size() && is_generic_name(word);
}

/// Returns true for names of ONNX operators: "Conv", "LayerNormalization_1".
bool is_operator(StringRef segment) {
  StringRef stem = without_number(segment);
  return stem.size() > 1 && is_upper(stem[0]) && llvm::all_of(stem, llvm::isAlnum);
}

/// Converts to snake case: "LayerNormalization_1" to layer_normalization_1, "MatMul" to matmul.
std::string snake(StringRef word) {
  std::string lower = word.lower();
  if (find_op(without_number(lower)) || word.startswith("Is")) return lower;
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    bool begins = is_upper(word[i]) && i > 0 && !is_upper(word[i - 1]) && word[i - 1] != '_';
    if (begins) text += '_';
    text += llvm::toLower(word[i]);
  }
  return text;
}

/// Splits a value's name into parts, from the outermost in. A part that the next one repeats, as in
/// `/layer1/layer1.0/`, is dropped.
Segments segments_of(StringRef name) {
  Segments parts, kept;
  without_result_number(name).split(parts, '/', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (!kept.empty() && part.startswith(kept.back()) &&
        part.drop_front(kept.back().size()).startswith("."))
      kept.pop_back();
    kept.push_back(part);
  }
  return kept;
}

/// Splits a weight's path: `encoder.layer.0.weight`, `onnx::MatMul_12`.
Segments path_segments(StringRef path) {
  Segments parts;
  if (path.contains('/')) return segments_of(path);
  if (size_t at = path.rfind("::"); at != StringRef::npos) path = path.drop_front(at + 2);
  path.split(parts, '.', -1, /*KeepEmpty=*/false);
  return parts;
}

/// Returns the number of leading parts that all names of several parts share, not counting last
/// parts.
size_t common_prefix(llvm::ArrayRef<Segments> names) {
  const Segments* first = nullptr;
  size_t common = 0;
  for (const Segments& name : names) {
    if (name.size() < 2) continue;
    if (!first) {
      first = &name;
      common = name.size() - 1;
    }
    size_t same = 0;
    while (same < std::min(common, name.size() - 1) && name[same] == (*first)[same]) ++same;
    common = same;
  }
  return common;
}

/// Joins the parts to one identifier; it is empty only if they have no letters and no digits.
std::string joined(llvm::ArrayRef<StringRef> parts) {
  std::string name;
  for (StringRef part : parts) {
    if (!name.empty() && name.back() != '_') name += '_';
    for (char c : part) {
      bool good = llvm::isAlnum(c) || c == '_';
      if (good ? c != '_' || name.empty() || name.back() != '_'
               : !name.empty() && name.back() != '_')
        name += good ? c : '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

class Namer {
public:
  Namer(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& file_names)
      : graph_(graph), needed_(graph.reachable()) {
    for (uint32_t i = 0; i < graph.size(); ++i) {
      if (!needed_[i]) continue;
      auto found = file_names.find(i);
      if (graph.node({i}).op == OpKind::Weight) {
        paths_.push_back(path_segments(graph.attr({i}, 0).text));
        weights_[i] = paths_.size() - 1;
      } else if (!op_info(graph.node({i}).op).has(Trait::Leaf) && found != file_names.end()) {
        values_.push_back(segments_of(found->second));
        of_value_[i] = values_.size() - 1;
      }
    }
    shorten(values_);
    shorten(paths_);
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (auto at = of_value_.find(i); at != of_value_.end())
        last_in_[scope_of(values_[at->second])] = i;
  }

  llvm::DenseMap<uint32_t, std::string> names() {
    llvm::DenseMap<uint32_t, std::string> names;
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!needed_[i]) continue;
      std::string name;
      if (auto at = weights_.find(i); at != weights_.end())
        name = joined(paths_[at->second]);
      else if (!op_info(graph_.node({i}).op).has(Trait::Leaf))
        name = value_name({i});
      if (!name.empty() && !llvm::isDigit(name[0])) names[i] = std::move(name);
    }
    name_by_role(names);
    return names;
  }

private:
  static void shorten(std::vector<Segments>& names) {
    size_t prefix = common_prefix(names);
    auto number_next = [&](const Segments& name) {
      return name.size() > prefix && llvm::isDigit(name[prefix][0]);
    };
    while (prefix > 0 && llvm::any_of(names, number_next)) --prefix;
    for (Segments& name : names)
      if (name.size() > prefix) name.erase(name.begin(), name.begin() + static_cast<int>(prefix));
  }

  static std::string scope_of(llvm::ArrayRef<StringRef> parts) {
    return parts.empty() ? "" : llvm::join(parts.drop_back(), "/");
  }

  /// Renames weights with an invented name, such as `onnx::Conv_12` or `val_12`, after their role:
  /// the weight of conv1 becomes conv1_weight.
  void name_by_role(llvm::DenseMap<uint32_t, std::string>& names) {
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      auto own = needed_[i] && !graph_.node({i}).weight_only ? names.find(i) : names.end();
      if (own == names.end()) continue;
      auto value = of_value_.find(i);
      std::string name = own->second; // without an operator's name after the module's
      if (value != of_value_.end() && values_[value->second].size() > 1 &&
          is_operator(values_[value->second].back()))
        name = joined(llvm::makeArrayRef(values_[value->second]).drop_back());
      const OpInfo& info = op_info(graph_.node({i}).op);
      llvm::ArrayRef<NodeId> operands = graph_.operands({i});
      for (size_t k = 0; k < operands.size() && !info.variadic(); ++k) {
        NodeId weight = below(operands[k]);
        auto at = weights_.find(weight.index);
        if (at == weights_.end()) continue;
        const Segments& parts = paths_[at->second];
        bool made_up = parts.size() == 1 && (is_operator(parts[0]) || is_made_up(parts[0]) ||
                                             llvm::isDigit(parts[0][0]));
        if (!made_up) continue;
        StringRef role(info.operands()[k].name.data(), info.operands()[k].name.size());
        if (role.size() == 1) role = graph_.node({i}).op == OpKind::Add ? "bias" : "weight";
        names[weight.index] = name + "_" + role.str();
        paths_[at->second].push_back(role); // its first reader has named it
      }
    }
  }

  /// Returns the operand below reshapes, transposes and the like of weights.
  NodeId below(NodeId operand) const {
    while (graph_.node(operand).weight_only && graph_.operands(operand).size() == 1)
      operand = graph_.operands(operand)[0];
    return operand;
  }

  std::string value_name(NodeId id) const {
    auto at = of_value_.find(id.index);
    if (at == of_value_.end()) return after_weight(id);
    llvm::ArrayRef<StringRef> parts = values_[at->second];
    if (parts.empty()) return after_weight(id);
    if (!is_operator(parts.back())) {
      std::string name = joined(parts);
      return parts.size() == 1 && is_generic_name(name) ? after_weight(id) : name;
    }
    if (parts.size() == 1) return after_weight(id);
    // The last value that a module computes gets the module's name.
    if (last_in_.lookup(scope_of(parts)) == id.index) return joined(parts.drop_back());
    std::string last = snake(parts.back());
    Segments whole(parts.begin(), parts.end() - 1);
    whole.push_back(last);
    return joined(whole);
  }

  /// Names an operator after its weight: `layer1.0.conv1.weight` gives layer1_0_conv1.
  std::string after_weight(NodeId id) const {
    switch (graph_.node(id).op) {
    case OpKind::Matmul:
    case OpKind::Conv2d:
    case OpKind::LayerNorm:
    case OpKind::BatchNorm:
    case OpKind::Gather: break;
    default: return "";
    }
    if (graph_.node(id).weight_only) return "";
    for (NodeId operand : graph_.operands(id)) {
      auto at = weights_.find(below(operand).index);
      if (at == weights_.end()) continue;
      const Segments& parts = paths_[at->second];
      return parts.size() < 2 ? "" : joined(llvm::makeArrayRef(parts).drop_back());
    }
    return "";
  }

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<Segments> values_, paths_;
  llvm::DenseMap<uint32_t, size_t> of_value_, weights_; // node to index there
  llvm::StringMap<uint32_t> last_in_; // for each module, the last node among its own values
};

} // namespace

llvm::DenseMap<uint32_t, std::string>
readable_names(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& file_names) {
  return Namer(graph, file_names).names();
}

std::string readable_model_name(StringRef name, StringRef path) {
  bool nothing = llvm::StringSwitch<bool>(name)
                     .Cases("", "main", "graph", "main_graph", "model", true)
                     .Cases("torch_jit", "torch-jit-export", "tf2onnx", "spox_graph", true)
                     .Default(name.startswith("Model from "));
  return (nothing ? llvm::sys::path::stem(path) : name).str();
}

} // namespace tg
