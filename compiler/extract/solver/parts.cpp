#include "compiler/extract/solver/parts.h"

#include "compiler/extract/problem.h"

namespace tg {

void Part::copy_to_whole(const ExtractionProblem& whole, const Choice& part, Choice& into) const {
  for (NodeIx node : part.node) {
    if (!node.valid()) continue;
    NodeIx there = origin[node.index];
    into.node[whole.class_of(there).index] = there;
  }
}

Choice Part::project(const ExtractionProblem& from, const Choice& whole) const {
  Choice out(problem.class_count());
  for (uint32_t n = 0; n < origin.size(); ++n)
    if (whole[from.class_of(origin[n])] == origin[n]) out.node[problem.class_of({n}).index] = {n};
  return out;
}

void OpenPart::offer(std::optional<Choice> choice, llvm::StringRef by) {
  if (!choice) return;
  CheckedChoice figures = check_choice(problem(), *choice);
  if (!figures.ok() || figures.stored_bytes > problem().byte_limit() || figures.dag_cost >= cost)
    return;
  trim(problem(), *choice);
  best = std::move(choice);
  cost = figures.dag_cost;
  algorithm = by.str();
}

std::vector<Part> split_into_parts(const ExtractionProblem& problem, size_t small) {
  std::vector<uint32_t> part_of = independent_parts(problem);
  bool whole = problem.byte_limit() != kInfiniteCost; // the limit ties all parts together
  std::vector<size_t> size;
  for (uint32_t c = 0; c < part_of.size(); ++c) {
    size.resize(std::max<size_t>(size.size(), part_of[c] + 1));
    size[part_of[c]] += problem.nodes({c}).size();
  }
  std::vector<uint32_t> group(size.size());
  uint32_t groups = 0;
  for (size_t part = 0, filled = 0; part < size.size(); ++part) {
    if (groups == 0 || (!whole && filled + size[part] > small)) {
      ++groups;
      filled = 0;
    }
    group[part] = groups - 1;
    filled += size[part];
  }
  std::vector<Part> parts(groups);
  std::vector<ClassIx> number(problem.class_count());
  for (uint32_t c = 0; c < number.size(); ++c) {
    Part& part = parts[group[part_of[c]]];
    number[c] = part.problem.add_class();
    part.problem.set_stored_bytes(number[c], problem.stored_bytes({c}));
  }
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    ClassIx cls = problem.class_of({n});
    Part& part = parts[group[part_of[cls.index]]];
    llvm::SmallVector<ClassIx, 8> children;
    for (ClassIx child : problem.children({n})) children.push_back(number[child.index]);
    NodeIx added = part.problem.add_node(number[cls.index], problem.cost({n}), children);
    if (problem.load({n})) part.problem.set_load(added);
    part.origin.push_back({n});
  }
  for (ClassIx root : problem.roots())
    parts[group[part_of[root.index]]].problem.add_root(number[root.index]);
  for (Part& part : parts) {
    part.problem.set_byte_limit(problem.byte_limit());
    part.problem.seal();
  }
  return parts;
}

} // namespace tg
