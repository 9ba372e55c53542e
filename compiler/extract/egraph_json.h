// Reads e-graphs in the egraph-serialize JSON form (used by the extraction gym) as extraction
// problems: one object with "nodes" (node id to {op, eclass, children, cost, subsumed}) and
// "root_eclasses". A child is the id of a node and stands for that node's class. Ids of nodes and
// of classes are opaque strings in two name spaces. The order of the file is kept, since extractors
// break ties by it.
//
// Algorithm: one streaming pass (RapidJSON's SAX parser, iterative, so that depth needs no stack),
// then children and roots are resolved. The reader rejects input that general readers accept:
// duplicate keys and ids, numbers that overflow, nesting deeper than the form allows.
#pragma once

#include "compiler/extract/problem.h"
#include "lang/core/result.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Allocator.h>

namespace tg {

/// Numbers strings in the order of their first use.
class IdTable {
public:
  uint32_t intern(llvm::StringRef id);
  /// Returns UINT32_MAX if the id is unknown.
  uint32_t find(llvm::StringRef id) const;
  llvm::StringRef operator[](uint32_t index) const { return ids_[index]; }
  size_t size() const { return ids_.size(); }

private:
  llvm::StringMap<uint32_t, llvm::BumpPtrAllocator> numbers_;
  std::vector<llvm::StringRef> ids_; // keys of numbers_
};

struct SerializedEGraph {
  ExtractionProblem problem;             // sealed; nodes and classes in the order of the file
  std::vector<llvm::StringRef> node_ids; // by node of the problem; the strings are owned by `nodes`
  IdTable nodes, classes;                // `classes`: by class of the problem
};

/// Parses an e-graph; `name` is used in messages. A subsumed node becomes a forbidden node. A node
/// that is its own child is kept but never chosen. A file without roots gives a problem without
/// roots. Errors: `bad_egraph_file`.
Result<SerializedEGraph> parse_egraph_json(llvm::StringRef text, llvm::StringRef name);

/// Reads a file and parses it. Errors: `cannot_read`, `bad_egraph_file`.
Result<SerializedEGraph> read_egraph_json(llvm::StringRef path);

} // namespace tg
