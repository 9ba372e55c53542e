// A file of measured times of graphs, against which price predictions can be evaluated without
// running anything (price_model_bench --run writes it, price_model_bench --samples reads it).
//
// Each graph has a line "graph NETWORK WHOLE_US WASHED_MIB"; the first graph of a network is its
// source. A line "op COUNT US KEY" for each distinct operator follows: the number of its nodes, and
// the time of one of them within whole runs. Words are separated by tabs.
#pragma once

#include "compiler/optimizer/refined_search.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace tg {

struct Truth {
  std::string network;
  double whole_us = 0, washed_mib = 0;
  struct Op {
    double count = 0, us = 0;
    std::string key;
  };
  std::vector<Op> ops;
};

inline void write_truth(llvm::raw_ostream& out, const Graph& graph, double whole_us,
                        double washed_mib, const PlacedInstances& placed) {
  llvm::StringMap<int> count;
  for (const OpInstance& instance : placed.of.instances)
    ++count[instance_key(graph.symbols(), instance)];
  out << llvm::formatv("graph\t{0}\t{1:f3}\t{2}\n", graph.name(), whole_us, washed_mib);
  for (const PlacedTime& time : placed.times) {
    std::string key = instance_key(graph.symbols(), time.instance);
    out << llvm::formatv("op\t{0}\t{1:f3}\t{2}\n", count[key], time.microseconds, key);
  }
}

/// Returns an empty list if the file cannot be read or a line is invalid.
inline std::vector<Truth> read_truths(const std::string& path) {
  std::vector<Truth> truths;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return {};
  for (llvm::StringRef rest = (*buffer)->getBuffer(); !rest.empty();) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    llvm::SmallVector<llvm::StringRef, 4> words;
    line.split(words, '\t', 3);
    double first = 0, second = 0;
    if (words.size() != 4) return {};
    if (words[0] == "graph" && !words[2].getAsDouble(first) && !words[3].getAsDouble(second))
      truths.push_back({words[1].str(), first, second, {}});
    else if (words[0] == "op" && !truths.empty() && !words[1].getAsDouble(first) &&
             !words[2].getAsDouble(second))
      truths.back().ops.push_back({first, second, words[3].str()});
    else
      return {};
  }
  return truths;
}

} // namespace tg
