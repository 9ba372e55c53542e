#include "compiler/egraph/fuse.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

bool pointwise(const ENode& n) { return op_info(n.op).has(Trait::Pointwise); }

bool fused(const ENode& n) { return n.op == OpKind::FusedMap; }

FusedBody single(OpKind op) {
  FusedBody body;
  body.operands = static_cast<uint32_t>(op_info(op).operand_count);
  for (uint32_t i = 0; i < body.operands; ++i) body.code.push_back({true, i, OpKind{}});
  body.code.push_back({false, 0, op});
  return body;
}

} // namespace

bool FusePointwise::apply(ENodeId node, RuleId rule) {
  bool news = add(node, rule, false);
  return add(node, rule, true) || news;
}

const FusedBody& FusePointwise::body(ENodeId id) {
  const ENode& n = egraph_.node(id);
  if (!fused(n)) {
    FusedBody& known = single_[static_cast<size_t>(n.op)];
    if (known.code.empty()) known = single(n.op);
    return known;
  }
  ValueId text = egraph_.symbols().attrs(n.attrs)[0];
  auto [entry, fresh] = bodies_.try_emplace(text.index);
  if (fresh) entry->second = *parse_fused_body(egraph_.symbols().value(text).text);
  return entry->second;
}

bool FusePointwise::output(ClassId id) const {
  return llvm::any_of(egraph_.roots(),
                      [&](const EGraphRoot& root) { return egraph_.find(root.id) == id; });
}

/// Returns true if a class of pointwise operators may be computed anyway: as an output, or by
/// another operator.
bool FusePointwise::kept(ClassId id) const {
  id = egraph_.find(id);
  bool by_pointwise = false, otherwise = false;
  for (ENodeId member : egraph_.nodes(id)) {
    const ENode& n = egraph_.node(member);
    if (n.state != 0) continue;
    (pointwise(n) || fused(n) ? by_pointwise : otherwise) = true;
  }
  return by_pointwise && (otherwise || output(id));
}

/// Returns the number of operands of a body that are such classes; inlined ones no longer count.
size_t FusePointwise::kept_by(ENodeId body) const {
  return static_cast<size_t>(
      llvm::count_if(egraph_.children(body), [&](ClassId leaf) { return kept(leaf); }));
}

/// Returns the member with the largest body, the oldest among equals. With `keep`, prefers the
/// member that keeps most of such operands, then the largest. Returns an invalid id if the operand
/// must stay a leaf: it is known at load, or has another type, so it would be recomputed for each
/// element that it is broadcast to.
ENodeId FusePointwise::largest(ClassId operand, TypeId type, bool keep) {
  ENodeId best;
  std::pair<size_t, size_t> best_rank{0, 0};
  if (class_at(egraph_, operand).weight_only() || !(class_at(egraph_, operand).type == type))
    return best;
  if (keep && kept(operand)) return best;
  for (ENodeId member : egraph_.nodes(egraph_.find(operand))) {
    const ENode& n = egraph_.node(member);
    if (n.state != 0 || (!pointwise(n) && !fused(n))) continue;
    std::pair<size_t, size_t> rank{keep ? kept_by(member) : 0, body(member).op_count()};
    if (!best.valid() || rank > best_rank || (rank == best_rank && member.index < best.index))
      best = member, best_rank = rank;
  }
  return best;
}

uint32_t FusePointwise::number(ClassId leaf) {
  leaf = egraph_.find(leaf);
  auto found = llvm::find(leaves_, leaf);
  if (found == leaves_.end()) {
    leaves_.push_back(leaf);
    return static_cast<uint32_t>(leaves_.size() - 1);
  }
  return static_cast<uint32_t>(found - leaves_.begin());
}

/// Appends the operand to the body. Inlines it and returns true if `inner` is valid and the limits
/// permit it; otherwise appends a leaf.
bool FusePointwise::inline_operand(ClassId operand, ENodeId inner, FusedBody& out) {
  size_t code = out.code.size(), leaves = leaves_.size();
  if (inner.valid()) {
    for (FusedInstr instr : body(inner).code) {
      if (instr.is_operand) instr.operand = number(egraph_.children(inner)[instr.operand]);
      out.code.push_back(instr);
    }
    // At least one more operand and one more operator will follow.
    if (leaves_.size() <= kMaxOperands - 1 && out.op_count() < kMaxOps) return true;
    out.code.resize(code);
    leaves_.resize(leaves);
  }
  out.code.push_back({true, number(operand), OpKind{}});
  return false;
}

/// Writes the left side of an application to row_.
void FusePointwise::describe(ENodeId root, llvm::ArrayRef<ENodeId> inlined) {
  row_.assign(1, 0);
  auto head = [&](ENodeId id) {
    const ENode& n = egraph_.node(id);
    row_.append({static_cast<uint32_t>(n.op), n.attrs.index, n.arity});
    return row_[0]++;
  };
  auto leaf = [&](ClassId child) { row_.push_back(2 * egraph_.find(child).index); };
  llvm::SmallVector<uint32_t, 3> places;
  for (ENodeId inner : inlined) {
    places.push_back(row_[0]);
    if (!inner.valid()) continue;
    head(inner);
    for (ClassId child : egraph_.children(inner)) leaf(child);
  }
  head(root);
  for (size_t i = 0; i < inlined.size(); ++i)
    if (inlined[i].valid())
      row_.push_back(2 * places[i] + 1);
    else
      leaf(egraph_.children(root)[i]);
}

bool FusePointwise::add(ENodeId id, RuleId rule, bool keep) {
  ENode n = egraph_.node(id);
  ClassId home = class_of(egraph_, id);
  TypeId type = class_at(egraph_, home).type;
  if (egraph_.symbols().type(type).dtype != DType::F32 || class_at(egraph_, home).weight_only())
    return false;
  leaves_.clear();
  FusedBody out;
  llvm::SmallVector<ENodeId, 3> inlined;
  for (ClassId operand : egraph_.children(id)) {
    ENodeId inner = largest(operand, type, keep);
    inlined.push_back(inline_operand(operand, inner, out) ? inner : ENodeId{});
  }
  out.code.push_back({false, 0, n.op});
  out.operands = static_cast<uint32_t>(leaves_.size());
  if (out.op_count() < 2 || leaves_.size() > kMaxOperands) return false;
  Symbols& symbols = egraph_.symbols();
  ValueId text = symbols.value(Value::of_string(out.text()));
  Typing typing = type_of(egraph_, OpKind::FusedMap, symbols.attrs({text}), leaves_);
  if (!typing.ok() || !(typing.type == type)) return false;
  if (egraph_.recording()) describe(id, inlined);
  if (!egraph_.add_equal(home, OpKind::FusedMap, typing, leaves_, {rule, id})) return false;
  if (egraph_.recording()) {
    row_.push_back(typing.attrs.index);
    for (ClassId leaf : leaves_) row_.push_back(leaf.index);
    egraph_.note_application(rule, row_);
  }
  return true;
}

} // namespace tg
