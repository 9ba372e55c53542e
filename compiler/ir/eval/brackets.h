// Index expressions: `sizes[1]`, `x[:, 0:64]`. An index on a tensor becomes operators of the table.
// Its places are processed in two passes. The first makes slices for ranges and single places, from
// the first axis on. The second makes the changes to the number of axes, from the last axis on, so
// that earlier places keep their axes.
#pragma once

#include "compiler/ir/eval/nodes.h"

namespace tg::eval {

class Brackets {
public:
  Brackets(Expressions& expressions, Nodes& nodes, Report& report)
      : expressions_(expressions), nodes_(nodes), report_(report) {}

  Val index(Frame& frame, ast::ExprId id);

private:
  /// One place of an index, evaluated for an axis.
  struct Place {
    int64_t axis = 0;
    Size start = 0, stop = 0, step = 1;
    bool single = false; // drops the axis
    Operand indices;     // valid if the place is a tensor of integers
  };
  using Places = llvm::SmallVector<Place, 6>;

  Val list_item(Frame& frame, const ast::Expr& e, const Val& list);
  Val list_slice(Frame& frame, const ast::Slice& slice, const Val& list);
  Val tensor_places(Frame& frame, ast::ExprId id, NodeId node);
  bool read_places(Frame& frame, const ast::Expr& e, const OpenType& type, Places& out);
  bool read_place(Frame& frame, const ast::Slice& slice, const Size& size, Place& out);
  bool read_indices(Frame& frame, const ast::Slice& slice, const Val& val, Operand& out);
  bool read_range(Frame& frame, const ast::Slice& slice, const Size& size, Place& out);
  bool slice_bound(Frame& frame, ast::ExprId bound, const Size& size, Size& out);
  Val take(Frame& frame, ast::ExprId id, Operand from, int64_t axis, const Place& place);

  Expressions& expressions_;
  Nodes& nodes_;
  Report& report_;
};

} // namespace tg::eval
