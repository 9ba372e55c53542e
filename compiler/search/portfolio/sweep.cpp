#include "compiler/search/portfolio/sweep.h"

#include <algorithm>

namespace tg {

namespace {

/// Half a stretch on, then longer and shorter stretches.
StretchOptions other_cuts(StretchOptions options, int number) {
  if (number % 2 == 1) options.first_most = options.most / 2;
  if (number % 4 >= 2) options.most = options.most * 2 / 3;
  options.first_most = std::min(options.first_most, options.most);
  return options;
}

std::string operators_text(Stretch stretch) {
  return "operators " + std::to_string(stretch.first) + " to " + std::to_string(stretch.last);
}

} // namespace

Sweep plan_sweep(const Graph& graph, StretchOptions options, int number, bool repeats) {
  Sweep out;
  out.operators = run_operators(graph);
  out.stretches = cut_stretches(graph, other_cuts(options, number));
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (Stretch stretch : out.stretches) {
    out.places.push_back(cut_out(graph, out.operators, stretch));
    uint32_t fresh = static_cast<uint32_t>(known.size());
    std::vector<uint32_t> key = out.places.back().key;
    if (!repeats) key.insert(key.begin(), static_cast<uint32_t>(out.places.size()));
    out.task_of.push_back(known.try_emplace(std::move(key), fresh).first->second);
  }
  for (size_t i = 0; i < out.stretches.size(); ++i)
    if (out.task_of[i] == out.tasks.size()) // the first of its kind
      out.tasks.push_back({&out.places[i].graph, SearchTask::Kind::Search,
                           operators_text(out.stretches[i]),
                           /*whole=*/false});
  return out;
}

} // namespace tg
