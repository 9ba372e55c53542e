// Sums the gradients from several readers of a value. First combines two forms of gradients, of
// which unrolled loops over a sequence make one for each step. Adjacent pieces of a tensor, zero
// elsewhere, become one concat. Products that each sum over few rows become one product over all
// of their rows.
#include "compiler/ir/grad/rules.h"
#include "lang/core/const_math.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::grad {

namespace {

/// A gradient that is zero outside of a box.
struct Piece {
  NodeId inside;
  Shape before, shape;
};

std::optional<Piece> piece_of(NodeBuilder& b, NodeId share) {
  const Graph& graph = b.graph();
  const OpInfo& info = op_info(OpKind::Pad);
  auto attr = [&](llvm::StringRef name) -> const Value& {
    return graph.attr(share, static_cast<size_t>(info.attr_slot(name)));
  };
  if (graph.node(share).op != OpKind::Pad || number_of(attr("value"))->as_real() != 0)
    return std::nullopt;
  NodeId inside = graph.operands(share)[0];
  return Piece{inside, copied(attr("before").ints), copied(b.shape(inside))};
}

/// Returns the axis along which the second begins where the first ends, or -1.
int64_t side_by_side(const Piece& first, const Piece& second) {
  int64_t along = -1;
  for (size_t i = 0; i < first.before.size(); ++i) {
    if (first.before[i] == second.before[i] && first.shape[i] == second.shape[i]) continue;
    if (along >= 0 || second.before[i] != first.before[i] + first.shape[i]) return -1;
    along = static_cast<int64_t>(i);
  }
  return along;
}

/// Concatenates the adjacent pieces from `begin` on; sets `end` to one past the last of them.
NodeId line_of(NodeBuilder& b, llvm::ArrayRef<Piece> pieces, size_t begin, size_t& end,
               NodeBuilder::Ints whole) {
  llvm::SmallVector<NodeId, 8> parts = {pieces[begin].inside};
  Shape before = pieces[begin].before, after;
  int64_t axis = -1;
  for (end = begin + 1; end < pieces.size(); ++end) {
    int64_t along = side_by_side(pieces[end - 1], pieces[end]);
    if (along < 0 || (axis >= 0 && along != axis)) break;
    axis = along;
    parts.push_back(pieces[end].inside);
  }
  NodeId line = b.concat(parts, std::max<int64_t>(axis, 0));
  for (size_t i = 0; i < before.size(); ++i)
    after.push_back(whole[i] - before[i] - b.shape(line)[i]);
  return b.pad(line, before, after);
}

void join_pieces(NodeBuilder& b, std::vector<NodeId>& shares) {
  std::vector<Piece> pieces;
  std::vector<NodeId> rest;
  for (NodeId share : shares)
    if (auto piece = piece_of(b, share))
      pieces.push_back(std::move(*piece));
    else
      rest.push_back(share);
  if (pieces.size() < 2) return;
  Shape whole = copied(b.shape(shares[0]));
  llvm::stable_sort(pieces, [](const Piece& x, const Piece& y) { return x.before < y.before; });
  for (size_t at = 0; at < pieces.size();) rest.push_back(line_of(b, pieces, at, at, whole));
  shares = std::move(rest);
}

/// Returns true for a product of transposed rows with rows, the gradient of a matrix, if adding
/// such results takes longer than concatenating the rows.
bool sums_few_rows(const NodeBuilder& b, NodeId share) {
  const Graph& graph = b.graph();
  if (graph.node(share).op != OpKind::Matmul) return false;
  llvm::ArrayRef<NodeId> operands = graph.operands(share);
  bool plain = b.type(operands[2]).is_none() && b.type(operands[3]).is_none() &&
               graph.attr(share, 0).text == "none";
  if (!plain || b.rank(operands[0]) != 2 || b.rank(operands[1]) != 2) return false;
  int64_t m = b.size(share, 0), n = b.size(share, 1), k = b.size(operands[1], 0);
  return graph.node(operands[0]).op == OpKind::Transpose && k * (m + n) <= m * n;
}

void join_products(NodeBuilder& b, std::vector<NodeId>& shares) {
  llvm::SmallVector<NodeId, 8> x, y;
  std::vector<NodeId> rest;
  for (NodeId share : shares) {
    if (!sums_few_rows(b, share)) {
      rest.push_back(share);
      continue;
    }
    x.push_back(b.graph().operands(b.graph().operands(share)[0])[0]);
    y.push_back(b.graph().operands(share)[1]);
  }
  if (x.size() < 2) return;
  rest.push_back(b.matmul(b.transpose(b.concat(x, 0), {1, 0}), b.concat(y, 0)));
  shares = std::move(rest);
}

} // namespace

NodeId sum_of_shares(NodeBuilder& b, std::vector<NodeId> shares) {
  if (shares.size() > 1) {
    join_pieces(b, shares);
    join_products(b, shares);
  }
  NodeId sum = shares.front();
  for (NodeId share : llvm::makeArrayRef(shares).drop_front()) sum = b.add(sum, share);
  return sum;
}

} // namespace tg::grad
