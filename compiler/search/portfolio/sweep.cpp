#include "compiler/search/portfolio/searcher.h"

#include <algorithm>

namespace tg {

namespace {

/// Shifts the cuts by half a segment for odd passes, and varies the segment length.
SegmentOptions other_cuts(SegmentOptions options, int number) {
  if (number % 2 == 1) options.first_most = options.most / 2;
  if (number % 4 >= 2) options.most = options.most * 2 / 3;
  options.first_most = std::min(options.first_most, options.most);
  return options;
}

std::string operators_text(Segment segment) {
  return "operators " + std::to_string(segment.first) + " to " + std::to_string(segment.last);
}

} // namespace

Sweep plan_sweep(const Graph& graph, SegmentOptions options, int number, bool repeats) {
  Sweep out;
  out.operators = run_operators(graph);
  out.segments = cut_segments(graph, other_cuts(options, number));
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (Segment segment : out.segments) {
    out.places.push_back(cut_out(graph, out.operators, segment));
    uint32_t fresh = static_cast<uint32_t>(known.size());
    std::vector<uint32_t> key = out.places.back().key;
    if (!repeats) key.insert(key.begin(), static_cast<uint32_t>(out.places.size()));
    out.task_of.push_back(known.try_emplace(std::move(key), fresh).first->second);
  }
  for (size_t i = 0; i < out.segments.size(); ++i)
    if (out.task_of[i] == out.tasks.size()) // first of its kind
      out.tasks.push_back({&out.places[i].graph, SearchTask::Kind::Search,
                           operators_text(out.segments[i]),
                           /*whole=*/false});
  return out;
}

} // namespace tg
