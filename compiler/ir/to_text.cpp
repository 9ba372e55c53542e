// Implements to_text.h: one pass over the nodes in graph order, which is a legal order of
// statements (text/body.h). The formatter then formats the lines.
#include "compiler/ir/to_text.h"

#include "compiler/ir/text/block.h"
#include "compiler/ir/updated.h"
#include "lang/check/resolve.h"
#include "lang/core/extern_signature.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>

#include <cassert>
#include <map>
#include <set>

namespace tg {

namespace text {

namespace {

/// Writes the whole file.
class Model final : public Body {
public:
  explicit Model(File& file)
      : Body(file), needed_(file.graph.reachable()), updated_(updated_weights(file.graph)) {}

  std::string write() {
    for (const GraphCall& call : options_.calls) {
      file_.calls[call.root.index] = &call;
      file_.functions.insert(call.function);
      for (NodeId inner : call.inner) needed_[inner.index] = false;
    }
    if (options_.functions) repeats_ = find_repeats(graph_, options_.calls);
    hide_copies();
    count_all_uses();
    head();
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (auto block = block_at_.find(i); block != block_at_.end()) write_calls(block->second);
      if (needed_[i] && !(graph_.node({i}).op == OpKind::Constant && uses_[i] == 0)) statement({i});
    }
    tail();
    return std::move(text_);
  }

  /// Returns the graph with the names that inputs and outputs have in its text.
  Graph renamed() {
    declare_externs();
    name_inputs();
    Graph result(graph_.shared_symbols(), graph_.name());
    std::vector<NodeId> at(graph_.size());
    for (NodeId input : graph_.inputs())
      at[input.index] = result.input(names_[input.index], graph_.type(input));
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!needed_[i] || at[i].valid()) continue;
      llvm::SmallVector<ValueId, 6> attrs(graph_.attrs({i}).begin(), graph_.attrs({i}).end());
      llvm::SmallVector<NodeId, 6> operands;
      for (NodeId operand : graph_.operands({i})) operands.push_back(at[operand.index]);
      at[i] = result.add(graph_.node({i}).op, attrs, operands);
    }
    std::vector<std::string> names = output_names();
    for (size_t i = 0; i < names.size(); ++i)
      result.add_output(names[i], at[graph_.outputs()[i].node.index]);
    return result;
  }

private:
  /// The call of a block.
  struct CalledBlock {
    std::string name;
    bool numbered = false; // passes the number of the copy as its last argument
    int64_t first = 0;
    std::vector<std::string> sizes; // the last arguments
  };

  void hide_copies() {
    for (size_t i = 0; i < repeats_.size(); ++i) {
      block_at_[repeats_[i].at.index] = i;
      for (const std::vector<NodeId>& copy : repeats_[i].copies)
        for (NodeId id : copy) needed_[id.index] = false;
    }
  }

  void count_all_uses() {
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i]) count_uses({i});
    for (const GraphOutput& output : graph_.outputs()) uses_[output.node.index] += 2; // `let`
    for (const Repeat& repeat : repeats_)
      for (const RepeatedArgument& argument : repeat.arguments) {
        bool by_name = repeat.is_loop && argument.carried < 0;
        if (repeat.is_loop)
          uses_[argument.of[0].index] += by_name ? 2 : 1;
        else
          for (NodeId read : argument.of) ++uses_[read.index];
      }
    for (const Repeat& repeat : repeats_)
      for (const RepeatedArgument& argument : repeat.arguments)
        if (repeat.is_loop && argument.carried >= 0 && uses_[argument.of[0].index] == 1)
          begins_.insert(argument.of[0].index);
  }

  /// A value that only starts a loop is declared as the loop's variable.
  void statement(NodeId id) {
    bool leaf = op_info(graph_.node(id).op).has(Trait::Leaf);
    if (leaf || !begins_.contains(id.index)) return node(id);
    std::string text = operator_text(id, op_info(graph_.node(id).op));
    names_[id.index] = fresh("x");
    variables_.insert(names_[id.index]);
    text_ += "  var " + names_[id.index] + " = " + text + "\n";
  }

  // --- blocks -----------------------------------------------------------------------------------

  void write_calls(size_t at) {
    const Repeat& repeat = repeats_[at];
    if (repeat.is_loop) return write_loop(repeat, blocks_[at]);
    for (size_t k = 0; k < repeat.copies.size(); ++k) {
      std::string call = call_text(repeat, blocks_[at], k);
      std::string targets;
      for (uint32_t place : repeat.results) {
        NodeId id = repeat.copies[k][place];
        name_value(id);
        targets += (targets.empty() ? "" : ", ") + names_[id.index];
      }
      text_ += "  let " + (repeat.results.size() == 1 ? targets : "(" + targets + ")") + " = " +
               call + "\n";
    }
  }

  std::string call_text(const Repeat& repeat, const CalledBlock& block, size_t k) {
    std::string text;
    for (const RepeatedArgument& argument : repeat.arguments)
      text += (text.empty() ? "" : ", ") + operand_text(argument.of[k]);
    if (block.numbered)
      text += (text.empty() ? "" : ", ") + std::to_string(block.first + static_cast<int64_t>(k));
    for (const std::string& size : block.sizes) text += (text.empty() ? "" : ", ") + size;
    return block.name + "(" + text + ")";
  }

  void write_loop(const Repeat& repeat, const CalledBlock& block) {
    std::vector<std::string> variables(repeat.results.size());
    std::string text;
    for (const RepeatedArgument& argument : repeat.arguments) {
      NodeId id = argument.of[0];
      std::string name = operand_text(id);
      if (argument.carried >= 0) {
        bool goes_on = variables_.contains(name) && begins_.contains(id.index);
        if (!goes_on) {
          std::string begin = std::move(name);
          name = fresh("x");
          text_ += "  var " + name + " = " + begin + "\n";
        }
        variables[static_cast<size_t>(argument.carried)] = name;
      }
      text += (text.empty() ? "" : ", ") + name;
    }
    if (block.numbered) text += ", i";
    for (const std::string& size : block.sizes) text += ", " + size;
    std::string targets;
    for (size_t i = 0; i < variables.size(); ++i) {
      targets += (i ? ", " : "") + variables[i];
      variables_.insert(variables[i]);
      names_[repeat.copies.back()[repeat.results[i]].index] = variables[i];
    }
    if (variables.size() > 1) targets = "(" + targets + ")";
    int64_t end = block.first + static_cast<int64_t>(repeat.copies.size());
    text_ += "  for " + std::string(block.numbered ? "i" : "_") + " in " +
             std::to_string(block.first) + ".." + std::to_string(end) + " { " + targets + " = " +
             block.name + "(" + text + ") }\n";
  }

  void head() {
    use_modules();
    declare_externs();
    std::string name = model_name();
    name_inputs();
    for (const auto& taken : taken_) file_.taken.insert(taken.getKey());
    file_.taken.insert(name);
    for (const Repeat& repeat : repeats_) write_block(repeat);
    llvm::SmallVector<llvm::StringRef, 8> lines;
    llvm::StringRef(options_.doc).split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (!options_.doc.empty()) text_ += ("## " + line).str() + "\n";
    text_ += "model " + name + "(";
    for (NodeId input : graph_.inputs())
      text_ += names_[input.index] + ": " + integers_.type(input) + ", ";
    if (options_.open)
      for (const OpenText::Parameter& size : options_.open->parameters)
        text_ += size.name + ": int in " + size.range + ", ";
    for (const auto& function : file_.functions) taken_.insert(function.getKey());
    for (const CalledBlock& block : blocks_)
      if (block.numbered) taken_.insert("i");
    if (taken_.contains("inf")) words_.inf = "(1e308 * 1e308)";
    if (taken_.contains("nan")) words_.nan = "(1e308 * 10.0 - 1e308 * 10.0)";
    text_ += ") -> ";
    results();
    text_ += " {\n";
  }

  /// Blocks that are equal except for their names share a function.
  void write_block(const Repeat& repeat) {
    Block block(file_, repeat);
    std::string text = block.write(), name = block.name();
    std::string rest = text.substr(text.find('('));
    auto [known, fresh] = functions_.try_emplace(std::move(rest), name);
    if (fresh)
      text_ += text;
    else
      file_.functions.erase(name);
    blocks_.push_back(
        {known->second, block.numbers().needed(), block.numbers().first(), block.sizes()});
  }

  /// Names the inputs before anything else.
  void name_inputs() {
    taken_.clear(); // names of models and values are separate
    for (const auto& name : externs_) taken_.insert(name.getKey());
    for (NodeId input : graph_.inputs())
      names_[input.index] = input_name(graph_.attr(input, 0).text);
    take_sizes();
  }

  std::string model_name() {
    std::string name = identifier(graph_.name(), "main");
    bool word = is_constant_name(name); // separate from model names
    return word && !find_op(name) ? name : fresh(name);
  }

  /// Input names are matched with a file of tensors. Every name that the language permits is kept,
  /// including operator names, which are separate from value names. `_` may occur several times.
  std::string input_name(llvm::StringRef name) {
    bool stays = is_identifier(name) && !reserved(name) && !taken_.contains(name);
    if (!stays) return fresh(identifier(name, "x"));
    if (name != "_") taken_.insert(name);
    return name.str();
  }

  void use_modules() {
    std::map<llvm::StringRef, std::set<llvm::StringRef>> used;
    for (const GraphCall& call : options_.calls) used[call.module].insert(call.function);
    for (const auto& [module, functions] : used) {
      text_ += "use " + module.str() + ": " + llvm::join(functions, ", ") + "\n";
    }
    if (!used.empty()) text_ += "\n";
  }

  /// Declares each extern op once, in the order of use.
  void declare_externs() {
    llvm::StringSet<> known;
    if (options_.before)
      for_externs(*options_.before, options_.before->reachable(),
                  [&](const std::string& name, const std::string&) { known.insert(name); });
    for_externs(graph_, needed_, [&](const std::string& name, const std::string& signature) {
      if (!externs_.insert(name).second) return;
      taken_.insert(name);
      if (!known.contains(name))
        text_ += ExternSignature::parse(signature)->declaration(name) + "\n\n";
    });
  }

  template <class Visit>
  static void for_externs(const Graph& graph, const std::vector<bool>& needed, Visit visit) {
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (needed[i] && graph.node({i}).op == OpKind::Extern)
        visit(graph.attr({i}, 0).text, graph.attr({i}, 1).text);
  }

  std::vector<std::string> output_names() const {
    llvm::StringSet<> seen;
    std::vector<std::string> names;
    for (const GraphOutput& output : graph_.outputs()) {
      if (updated_.count(output.name)) {
        names.push_back(output.name);
        continue;
      }
      std::string& name = names.emplace_back(identifier(output.name, "output"));
      while (reserved(name) || !seen.insert(name).second) name += "_";
    }
    return names;
  }

  void results() {
    llvm::ArrayRef<GraphOutput> outputs = result_outputs();
    if (outputs.size() == 1 && outputs[0].name == "output") {
      text_ += integers_.type(outputs[0].node);
      return;
    }
    std::vector<std::string> names = output_names();
    text_ += "(";
    for (size_t i = 0; i < outputs.size(); ++i)
      text_ += names[i] + ": " + integers_.type(outputs[i].node) + ", ";
    text_ += ")";
  }

  /// Returns the outputs without the next values of weights, which follow them.
  llvm::ArrayRef<GraphOutput> result_outputs() const {
    return graph_.outputs().take_while(
        [&](const GraphOutput& output) { return !updated_.count(output.name); });
  }

  void tail() {
    for (const GraphOutput& output : graph_.outputs().drop_front(result_outputs().size())) {
      std::string weight = operand_text(updated_.lookup(output.name)); // may declare it
      std::string value = operand_text(output.node);
      text_ += "  update(" + weight + ", " + value + ")\n";
    }
    std::string values;
    for (const GraphOutput& output : result_outputs())
      values += (values.empty() ? "" : ", ") + operand_text(output.node); // may declare a weight
    text_ += result_outputs().size() == 1 ? "  " + values + "\n}\n" : "  (" + values + ")\n}\n";
  }

  std::vector<bool> needed_; // by node: needs to be written
  llvm::StringMap<NodeId> updated_;
  std::vector<Repeat> repeats_;
  std::vector<CalledBlock> blocks_;              // by repeat, as in repeats_
  std::map<std::string, std::string> functions_; // name by text of the function
  llvm::DenseMap<uint32_t, size_t> block_at_;    // by the first operator
  llvm::DenseSet<uint32_t> begins_;              // initial values of loops without other readers
  llvm::StringSet<> variables_;
  llvm::StringSet<> externs_; // already declared
};

} // namespace

} // namespace text

std::string to_text(const Graph& graph, const TextOptions& options) {
  text::File file{graph, options};
  std::string written = text::Model(file).write();
  SourceManager sources;
  DiagnosticSink sink;
  Ast ast = parse(sources, sources.add(graph.name(), written), sink);
  assert(!sink.failed() && "the written text parses");
  return sink.failed() ? written : format(ast, sources);
}

Graph with_text_names(const Graph& graph) {
  TextOptions options;
  text::File file{graph, options};
  return text::Model(file).renamed();
}

} // namespace tg
