// The shape of a problem's classes as a graph: an edge goes from a class to every child of each of
// its usable nodes.
#pragma once

#include "compiler/extract/problem.h"

namespace tg {

/// All classes, children before their users where there is no cycle: the order in which a
/// depth-first walk from the first class, the second and so on leaves them.
std::vector<ClassIx> children_first(const ExtractionProblem& problem);

/// Classes of a sealed problem in parts that share no class: by class, numbered from 0.
std::vector<uint32_t> independent_parts(const ExtractionProblem& problem);

/// Strongly connected components over all usable nodes; by class, numbered from 0, and -1 for
/// classes on no cycle. Tarjan (1972), without recursion.
std::vector<int32_t> cyclic_components(const ExtractionProblem& problem);

} // namespace tg
