// Checks of the e-graph's invariants, comparison of states, and text output, for tests and builds
// with TG_VERIFY. Not optimised.
#include "compiler/egraph/egraph.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

namespace tg {

namespace {

std::string name_of(const EGraph& egraph, ENodeId id) {
  return llvm::formatv("node {0} ({1})", id.index,
                       llvm::StringRef(op_info(egraph.node(id).op).name.data(),
                                       op_info(egraph.node(id).op).name.size()));
}

/// Type, attributes and children of one live node.
std::string verify_node(InferMemo& infer, const EGraph& egraph, ENodeId id) {
  const ENode& n = egraph.node(id);
  for (ClassId child : egraph.children(id))
    if (!canonical(egraph, child))
      return name_of(egraph, id) + " has a child that is not canonical";
  llvm::SmallVector<TypeId, 6> types;
  for (ClassId child : egraph.children(id)) types.push_back(egraph.eclass(child).type);
  Typing typing = infer(n.op, n.attrs, types);
  if (!typing.ok()) return name_of(egraph, id) + " is ill-typed";
  if (!(typing.attrs == n.attrs)) return name_of(egraph, id) + " has attributes not in normal form";
  if (!(typing.type == class_at(egraph, class_of(egraph, id)).type))
    return name_of(egraph, id) + " has another type than its class";
  if (!(egraph.lookup(n.op, n.attrs, egraph.children(id)) == id))
    return name_of(egraph, id) + " is not the node that the hash table finds for it";
  if (n.stamp >= egraph.change_mark() || !(egraph.changes_since(n.stamp)[0] == id))
    return name_of(egraph, id) + " is not at its place in the change log";
  return {};
}

std::string verify_class(const EGraph& egraph, ClassId id, std::vector<bool>& seen) {
  bool weight_only = false, constant = false;
  uint32_t count = 0, oldest = UINT32_MAX;
  for (ENodeId member : egraph.nodes(id)) {
    if (!egraph.node(member).alive()) return name_of(egraph, member) + " is dead but in a ring";
    if (!(class_of(egraph, member) == id)) return name_of(egraph, member) + " is in a wrong ring";
    if (seen[member.index]) return name_of(egraph, member) + " is in a ring twice";
    seen[member.index] = true;
    weight_only |= is_weight_only(egraph, member);
    constant |= egraph.node(member).op == OpKind::Constant;
    oldest = std::min(oldest, member.index);
    ++count;
  }
  if (count == 0) return llvm::formatv("class {0} is empty", id.index);
  if (egraph.node({oldest}).filtered())
    return llvm::formatv("the oldest member of class {0} is filtered", id.index);
  if (weight_only != class_at(egraph, id).weight_only() ||
      constant != class_at(egraph, id).has_constant())
    return llvm::formatv("class {0} has wrong flags", id.index);
  return {};
}

} // namespace

std::string verify(const EGraph& egraph) {
  if (!egraph.clean()) return "the e-graph is not rebuilt";
  InferMemo infer(egraph.symbols());
  std::vector<bool> seen(egraph.node_bound());
  size_t live = 0, filtered = 0, classes = 0;
  for (uint32_t i = 0; i < egraph.class_bound(); ++i) {
    if (!canonical(egraph, {i})) continue;
    ++classes;
    if (std::string wrong = verify_class(egraph, {i}, seen); !wrong.empty()) return wrong;
  }
  std::vector<uint32_t> users(egraph.class_bound()), listed(egraph.class_bound());
  for (uint32_t i = 0; i < egraph.node_bound(); ++i) {
    if (!egraph.node({i}).alive()) continue;
    ++live;
    filtered += egraph.node({i}).filtered();
    if (!seen[i]) return name_of(egraph, {i}) + " is not in any ring";
    if (std::string wrong = verify_node(infer, egraph, {i}); !wrong.empty()) return wrong;
    for (ClassId child : egraph.children({i})) ++users[child.index];
  }
  for (uint32_t i = 0; i < egraph.class_bound(); ++i) {
    if (!canonical(egraph, {i})) continue;
    egraph.for_users({i}, [&](ENodeId) { ++listed[i]; });
    if (listed[i] != users[i]) return llvm::formatv("class {0} does not list all its users", i);
  }
  if (live != node_count(egraph) || filtered != filtered_count(egraph) ||
      classes != class_count(egraph))
    return "the counters are wrong";
  return {};
}

bool same_state(const EGraph& x, const EGraph& y, std::string* why) {
  const EGraphState &a = x.state_, &b = y.state_;
  auto differ = [&](const char* what) {
    if (why) *why = what;
    return false;
  };
  auto same_node = [](const ENode& x, const ENode& y) {
    return x.attrs == y.attrs && x.first == y.first && x.arity == y.arity && x.home == y.home &&
           x.origin == y.origin && x.op == y.op && x.rule == y.rule && x.state == y.state &&
           x.stamp == y.stamp && x.next == y.next && x.prev == y.prev;
  };
  auto same_class = [](const EClass& x, const EClass& y) {
    return x.first_node == y.first_node && x.node_count == y.node_count &&
           x.first_edge == y.first_edge && x.edge_count == y.edge_count && x.flags == y.flags &&
           x.type == y.type;
  };
  auto same_union = [](const Union& x, const Union& y) {
    return x.kept == y.kept && x.absorbed == y.absorbed && x.why.rule == y.why.rule &&
           x.why.node == y.why.node;
  };
  auto equal = [](const auto& x, const auto& y, auto same) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  if (!equal(a.nodes, b.nodes, same_node)) return differ("nodes");
  if (a.edge_child != b.edge_child) return differ("children");
  if (a.edge_next != b.edge_next || a.edge_owner != b.edge_owner) return differ("user lists");
  if (!equal(a.classes, b.classes, same_class)) return differ("classes");
  if (a.leaders != b.leaders) return differ("the union-find");
  if (a.changes != b.changes) return differ("the change log");
  if (!equal(a.unions, b.unions, same_union)) return differ("the merges");
  if (a.rule_seen != b.rule_seen) return differ("the rules' marks");
  if (a.history != b.history || a.edge_born != b.edge_born) return differ("the history");
  if (a.by_op != b.by_op) return differ("the operator index");
  if (!(a.counters == b.counters)) return differ("counters");
  if (x.pending_ != y.pending_ || x.flag_queue_ != y.flag_queue_) return differ("pending work");
  for (uint32_t i = 0; i < x.node_bound(); ++i) {
    const ENode& n = x.node({i});
    if (!(x.lookup(n.op, n.attrs, x.children({i})) == y.lookup(n.op, n.attrs, y.children({i}))))
      return differ("the hash table");
  }
  return true;
}

std::string dump(const EGraph& egraph) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (uint32_t i = 0; i < egraph.class_bound(); ++i) {
    if (!canonical(egraph, {i})) continue;
    out << 'c' << i << " : " << egraph.symbols().type(class_at(egraph, {i}).type).text()
        << (class_at(egraph, {i}).weight_only() ? " weight-only" : "") << '\n';
    for (ENodeId member : egraph.nodes({i})) {
      const ENode& n = egraph.node(member);
      out << "  n" << member.index << " = "
          << llvm::StringRef(op_info(n.op).name.data(), op_info(n.op).name.size()) << '(';
      llvm::StringRef separator = "";
      for (ClassId child : egraph.children(member)) {
        out << separator << 'c' << child.index;
        separator = ", ";
      }
      out << ')';
      for (ValueId value : egraph.symbols().attrs(n.attrs))
        out << ' ' << egraph.symbols().value(value).text_form();
      out << (egraph.node(member).filtered() ? " filtered\n" : "\n");
    }
  }
  for (const EGraphRoot& root : egraph.roots())
    out << "root " << root.name << " = c" << egraph.find(root.id).index << '\n';
  return out.str();
}

} // namespace tg
