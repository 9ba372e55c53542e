// Reads e-graphs in the egraph-serialize JSON form (of the extraction gym) as extraction problems:
// one object with "nodes" (node id to {op, eclass, children, cost, subsumed}) and "root_eclasses".
// A child names a node and means that node's class; ids of nodes and of classes are opaque strings
// in two name spaces. The order of the file is kept, since extractors break ties by it.
//
// Algorithm: one streaming pass (RapidJSON's SAX parser, iterative, so that depth costs no stack),
// then children and roots are resolved. What general readers let pass is refused: keys and ids
// given twice, numbers that overflow, nesting beyond what the form can have.
#pragma once

#include "compiler/extract/problem.h"
#include "lang/core/result.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Allocator.h>

namespace tg {

/// Numbers for strings, in the order of their first use.
class IdTable {
public:
  uint32_t intern(llvm::StringRef id);
  /// UINT32_MAX where there is none.
  uint32_t find(llvm::StringRef id) const;
  llvm::StringRef operator[](uint32_t index) const { return ids_[index]; }
  size_t size() const { return ids_.size(); }

private:
  llvm::StringMap<uint32_t, llvm::BumpPtrAllocator> numbers_;
  std::vector<llvm::StringRef> ids_; // keys of numbers_
};

struct SerializedEGraph {
  ExtractionProblem problem;             // sealed; nodes and classes in the order of the file
  std::vector<llvm::StringRef> node_ids; // by node of the problem; texts live in `nodes`
  IdTable nodes, classes;                // `classes`: by class of the problem
};

/// `name` is for messages. A subsumed node is a forbidden one; a node that is its own child is
/// kept and never chosen. A file without roots is a problem without roots.
/// Errors: `bad_egraph_file`.
Result<SerializedEGraph> parse_egraph_json(llvm::StringRef text, llvm::StringRef name);

/// The same from a file. Errors: `cannot_read`, `bad_egraph_file`.
Result<SerializedEGraph> read_egraph_json(llvm::StringRef path);

} // namespace tg
