#include "compiler/extract/cost/kernel_match.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <memory>

namespace tg {

namespace {

constexpr size_t kMostMatches = 64;    // per class: sums in all orders have many
constexpr uint64_t kStepsForSum = 100; // as counted by Poll, for one sum

class Matcher {
public:
  Matcher(const EGraph& egraph, llvm::ArrayRef<KernelPattern> patterns, Poll& poll)
      : egraph_(egraph), patterns_(patterns), poll_(poll) {}

  void match(ClassId cls) {
    found_ = 0;
    Matches sums = sums_of(cls);
    for (ENodeId node : candidates(cls)) {
      std::optional<Act> act = act_of(egraph_.node(node).op);
      if (!act) continue;
      ClassId below = egraph_.children(node)[0];
      for (const KernelMatch& core : heads_of(below)) activate(core, *act, node);
      for (const KernelMatch& core : sums_of(below)) activate(core, *act, node);
    }
    for (KernelMatch& sum : sums) keep(std::move(sum));
  }

  std::vector<KernelMatch> matches;

private:
  using Matches = llvm::SmallVector<KernelMatch, 4>;

  llvm::SmallVector<ENodeId, 8> candidates(ClassId cls) const {
    llvm::SmallVector<ENodeId, 8> nodes;
    for (ENodeId node : egraph_.nodes(egraph_.find(cls)))
      if (egraph_.node(node).alive() && !egraph_.node(node).filtered()) nodes.push_back(node);
    llvm::sort(nodes, [](ENodeId a, ENodeId b) { return a.index < b.index; });
    return nodes;
  }

  static std::optional<Act> act_of(OpKind op) {
    for (Act act : {Act::Relu, Act::Tanh, Act::Sigmoid, Act::Gelu, Act::Relu6})
      if (act_op(act) == op) return act;
    return std::nullopt;
  }

  const KernelPattern* pattern_of(OpKind head) const {
    auto row = llvm::find_if(patterns_, [&](const KernelPattern& p) { return p.head == head; });
    return row == patterns_.end() ? nullptr : row;
  }

  static size_t slot(OpKind op, llvm::StringRef operand) {
    return static_cast<size_t>(op_info(op).operand_index(operand));
  }
  bool absent(ClassId cls) const {
    return class_at(egraph_, cls).type == egraph_.symbols().none_type();
  }
  bool free(const KernelMatch& match, llvm::StringRef operand) const {
    return absent(match.operands[slot(match.op, operand)]);
  }

  /// Returns the heads without an activation in a class.
  const Matches& heads_of(ClassId cls) {
    std::unique_ptr<Matches>& known = heads_[egraph_.find(cls).index];
    if (!known) known = std::make_unique<Matches>(find_heads(cls));
    return *known;
  }

  Matches find_heads(ClassId cls) const {
    Matches out;
    for (ENodeId id : candidates(cls)) {
      const ENode& node = egraph_.node(id);
      if (!pattern_of(node.op)) continue;
      auto act = static_cast<size_t>(op_info(node.op).attr_slot("act"));
      if (egraph_.symbols().attr(node.attrs, act).text != act_name(Act::None)) continue;
      KernelMatch& head = out.emplace_back();
      head.nodes = {id};
      head.op = node.op;
      head.attrs = node.attrs;
      for (ClassId child : egraph_.children(id)) head.operands.push_back(egraph_.find(child));
    }
    return out;
  }

  /// Returns heads with one or two added operands.
  Matches sums_of(ClassId cls) {
    Matches out;
    for (ENodeId id : candidates(cls)) {
      if (egraph_.node(id).op != OpKind::Add) continue;
      if (poll_.after(kStepsForSum)) break;
      ClassId sides[] = {egraph_.find(egraph_.children(id)[0]),
                         egraph_.find(egraph_.children(id)[1])};
      for (int side : {0, 1}) {
        ClassId below = sides[side], other = sides[1 - side];
        if (below == egraph_.find(cls) ||
            !(class_at(egraph_, below).type == class_at(egraph_, cls).type))
          continue;
        for (const KernelMatch& head : heads_of(below)) add_operand(head, other, id, out);
        for (ENodeId inner : candidates(below)) { // a sum of a sum
          if (out.size() >= kMostMatches || poll_.after(kStepsForSum)) break;
          if (egraph_.node(inner).op == OpKind::Add) add_second(inner, below, other, id, out);
        }
      }
      if (out.size() >= kMostMatches) break;
    }
    return out;
  }

  void add_second(ENodeId inner, ClassId cls, ClassId other, ENodeId id, Matches& out) {
    Matches once;
    ClassId sides[] = {egraph_.find(egraph_.children(inner)[0]),
                       egraph_.find(egraph_.children(inner)[1])};
    for (int side : {0, 1})
      if (sides[side] != cls && class_at(egraph_, sides[side]).type == class_at(egraph_, cls).type)
        for (const KernelMatch& head : heads_of(sides[side]))
          add_operand(head, sides[1 - side], inner, once);
    for (const KernelMatch& sum : once) add_operand(sum, other, id, out);
  }

  /// Adds the match with a sum on top, if the kernel supports the added operand.
  void add_operand(const KernelMatch& core, ClassId other, ENodeId sum, Matches& out) const {
    const KernelPattern& pattern = *pattern_of(core.op);
    KernelMatch grown = core;
    grown.nodes.insert(grown.nodes.begin(), sum);
    if (pattern.bias && free(core, "bias") && takes_bias(core, other, grown.bias_shape)) {
      grown.operands[slot(core.op, "bias")] = other;
      out.push_back(std::move(grown));
    } else if (pattern.residual && free(core, "residual") &&
               class_at(egraph_, other).type == class_at(egraph_, class_of(egraph_, sum)).type) {
      grown.operands[slot(core.op, "residual")] = other;
      out.push_back(std::move(grown));
    }
  }

  /// Returns true if the operand is a bias: one number for each column of a product or channel of a
  /// convolution, directly or, if it is computed at load, after a reshape at load.
  bool takes_bias(const KernelMatch& core, ClassId bias, Shape& reshaped) const {
    const Symbols& symbols = egraph_.symbols();
    const TensorType& b = symbols.type(class_at(egraph_, bias).type);
    const TensorType& w = symbols.type(class_at(egraph_, core.operands[1]).type);
    bool product = core.op == OpKind::Matmul;
    if (absent(bias) || b.rank() == 0) return false;
    int64_t channels = product ? w.shape.back() : w.shape.front();
    int64_t axis = static_cast<int64_t>(b.rank()) - (product ? 1 : 3);
    if (product && b.rank() == 1) return b.shape[0] == channels;
    if (axis < 0 || !class_at(egraph_, bias).weight_only() || b.elements() != channels ||
        b.shape[static_cast<size_t>(axis)] != channels)
      return false;
    reshaped = {channels};
    return true;
  }

  void activate(const KernelMatch& core, Act act, ENodeId node) {
    if (!llvm::is_contained(pattern_of(core.op)->acts, act)) return;
    KernelMatch match = core;
    match.nodes.insert(match.nodes.begin(), node);
    Symbols& symbols = *egraph_.shared_symbols();
    auto attrs = llvm::to_vector<6>(symbols.attrs(core.attrs));
    auto place = static_cast<size_t>(op_info(core.op).attr_slot("act"));
    attrs[place] = symbols.value(Value::of_enum(act_name(act)));
    match.attrs = symbols.attrs(attrs);
    keep(std::move(match));
  }

  /// Keeps a match that is a valid operator of the class's type and does not need its own
  /// inner classes.
  void keep(KernelMatch match) {
    if (found_ >= kMostMatches || !sound(match)) return;
    ++found_;
    matches.push_back(std::move(match));
  }

  bool sound(const KernelMatch& match) const {
    llvm::SmallVector<ClassId, 4> own;
    for (ENodeId node : match.nodes) own.push_back(class_of(egraph_, node));
    for (size_t i = 0; i < own.size(); ++i)
      if (llvm::is_contained(match.operands, own[i]) ||
          llvm::is_contained(llvm::makeArrayRef(own).drop_front(i + 1), own[i]))
        return false;
    Symbols& symbols = *egraph_.shared_symbols();
    llvm::SmallVector<TypeId, 4> types;
    for (size_t i = 0; i < match.operands.size(); ++i)
      types.push_back(operand_type(egraph_, match, i));
    auto attrs = llvm::to_vector<6>(symbols.attrs(match.attrs));
    TypeId result;
    return infer(symbols, match.op, attrs, types, result) && symbols.attrs(attrs) == match.attrs &&
           result == class_at(egraph_, own.front()).type;
  }

  const EGraph& egraph_;
  llvm::ArrayRef<KernelPattern> patterns_;
  Poll& poll_;
  size_t found_ = 0; // in the current class
  /// By canonical class: all sums above a class use them.
  llvm::DenseMap<uint32_t, std::unique_ptr<Matches>> heads_;
};

} // namespace

int bias_operand(const KernelMatch& match) { return op_info(match.op).operand_index("bias"); }

TypeId operand_type(const EGraph& egraph, const KernelMatch& match, size_t i) {
  TypeId type = class_at(egraph, match.operands[i]).type;
  if (match.bias_shape.empty() || static_cast<int>(i) != bias_operand(match)) return type;
  Symbols& symbols = *egraph.shared_symbols();
  TensorType reshaped = symbols.type(type);
  reshaped.shape = match.bias_shape;
  return symbols.type(reshaped);
}

std::vector<KernelMatch> match_kernels(const EGraph& egraph, llvm::ArrayRef<ClassId> classes,
                                       llvm::ArrayRef<KernelPattern> patterns, Poll& poll) {
  Matcher matcher(egraph, patterns, poll);
  for (ClassId cls : classes) {
    if (poll.stopped()) break;
    matcher.match(cls);
  }
  return std::move(matcher.matches);
}

} // namespace tg
