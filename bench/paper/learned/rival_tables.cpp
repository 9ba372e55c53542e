#include "bench/paper/learned/rival_tables.h"

#include "compiler/api/files/json_files.h"

#include <algorithm>

namespace tg::paper {

void mine_motifs(const Derivation& explanation, llvm::ArrayRef<Rule> rules, double gain,
                 MotifTable& table) {
  constexpr size_t kSoon = 3; // steps after a step that count as its successors
  size_t count = explanation.steps.size();
  if (count == 0 || gain <= 0) return;
  double share = gain / static_cast<double>(count);
  auto name = [&](size_t step) { return rules[explanation.steps[step].rule].name; };
  for (size_t i = 0; i < count; ++i) {
    table.rules[name(i)] += share;
    for (size_t j = i + 1; j < std::min(count, i + 1 + kSoon); ++j)
      if (name(i) != name(j)) table.pairs[{name(i), name(j)}] += share;
  }
}

void write_gains(llvm::raw_ostream& out, const PriorTable& table) {
  std::string rules;
  llvm::raw_string_ostream text(rules);
  write_priors(text, table);
  out << "{\"agent\": \"gains\", \"rules\": " << llvm::StringRef(text.str()).trim() << "}\n";
}

void write_motifs(llvm::raw_ostream& out, const MotifTable& table) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attribute("agent", "motifs");
    json.attributeObject("rules", [&] {
      for (const auto& [rule, weight] : table.rules) write_number(json, rule, weight);
    });
    json.attributeArray("pairs", [&] {
      for (const auto& [pair, weight] : table.pairs)
        json.value(llvm::json::Array{pair.first, pair.second, weight});
    });
  });
  out << "\n";
}

} // namespace tg::paper
