// Runs the extractors on every instance of a folder of e-graphs (the extraction gym's, in JSON) and
// compares them with the best known results (extract_gym_best.csv: all extractors of the gym at
// commit 903ba0f, including its integer programs with 10 s).
//
//   extract_gym_bench [--data DIR] [--seconds S] [--extractors A,B] [--json FILE] [NAME...]
//
// DIR contains <suite>/<instance>.json; the default is TANGRAM_EGRAPHS from the environment.
// Without either the program does nothing. NAME keeps the instances whose name contains it. The
// cost of each answer is recomputed from the choice. Seconds are those of one extraction, without
// reading.
#include "compiler/extract/egraph_json.h"
#include "compiler/extract/extractors.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstdlib>

namespace {

using namespace tg;

struct Settings {
  std::string data, json;
  double seconds = 10;
  std::vector<Extractor> extractors = {Extractor::Greedy, Extractor::GreedyDag, Extractor::Best};
  std::vector<std::string> names;
};

/// A row of extract_gym_best.csv.
struct Known {
  std::string name; // suite/instance
  double cost = 0, greedy_dag_s = 0;
};

struct Run {
  std::string instance;
  size_t nodes = 0, classes = 0;
  Extractor extractor{};
  Extraction answer;
  double known = 0, known_greedy_s = 0;
  std::string fault; // error of the check, or the reason why there is no answer

  double off() const { return known != 0 ? answer.dag_cost / known - 1 : answer.dag_cost; }
  bool worse() const { return off() > 1e-9; }
  double gap() const { return answer.dag_cost > 0 ? 1 - answer.lower_bound / answer.dag_cost : 0; }
};

std::vector<Known> read_known() {
  std::vector<Known> known;
  auto file = llvm::MemoryBuffer::getFile(TG_SOURCE_DIR "/bench/extract_gym_best.csv");
  if (!file) return known;
  llvm::SmallVector<llvm::StringRef, 128> lines;
  (*file)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : llvm::drop_begin(lines)) {
    llvm::SmallVector<llvm::StringRef, 13> cells;
    line.split(cells, ',');
    if (cells.size() < 11) continue;
    Known row;
    row.name = (cells[0] + "/" + cells[1]).str();
    cells[10].getAsDouble(row.cost);
    cells[9].getAsDouble(row.greedy_dag_s);
    row.greedy_dag_s *= 1e-6;
    known.push_back(row);
  }
  return known;
}

Run run_one(const Known& known, const SerializedEGraph& egraph, Extractor extractor,
            const Settings& settings) {
  Run run;
  run.instance = known.name;
  run.nodes = egraph.problem.node_count();
  run.classes = egraph.problem.class_count();
  run.extractor = extractor;
  run.known = known.cost;
  run.known_greedy_s = known.greedy_dag_s;
  IlpOptions options;
  options.time_limit_s = settings.seconds;
  Result<Extraction> answer = run_extractor(egraph.problem, extractor, options);
  if (!answer) {
    run.fault = answer.error().message;
    return run;
  }
  run.answer = std::move(*answer);
  CheckedChoice checked = check_choice(egraph.problem, run.answer.choice);
  run.fault = checked.fault;
  if (checked.ok() && checked.dag_cost != run.answer.dag_cost) run.fault = "the cost is wrong";
  return run;
}

void print(const Run& run) {
  if (!run.fault.empty()) {
    llvm::outs() << run.instance << ": " << extractor_name(run.extractor) << ": " << run.fault
                 << '\n';
    return;
  }
  llvm::outs() << llvm::format("%-52.52s %-13s %12.6f %12.6f %8.2g%% %12.6f %7.2f%% %8.3f  ",
                               run.instance.c_str(), extractor_name(run.extractor).data(),
                               run.known, run.answer.dag_cost, 100 * run.off(),
                               run.answer.lower_bound, 100 * run.gap(), run.answer.seconds)
               << (run.answer.optimal ? "optimal" : "") << (run.worse() ? " WORSE" : "") << '\n';
  llvm::outs().flush();
}

void summarise(llvm::ArrayRef<Run> runs, const Settings& settings) {
  for (Extractor extractor : settings.extractors) {
    size_t count = 0, faults = 0, worse = 0, better = 0, optimal = 0, slower = 0;
    double most_off = 0, seconds = 0;
    for (const Run& run : runs) {
      if (run.extractor != extractor) continue;
      ++count;
      faults += !run.fault.empty();
      worse += run.worse();
      better += run.off() < -1e-9;
      optimal += run.answer.optimal;
      slower += run.answer.seconds > run.known_greedy_s;
      most_off = std::max(most_off, run.off());
      seconds += run.answer.seconds;
    }
    llvm::outs() << llvm::formatv(
        "{0}: {1} instances, {2} not as good as the best known (at most {3:f3}% off), {4} better, "
        "{5} proven optimal ({6:f1}%), {7} faults, {8:f2} s; slower than the gym's "
        "faster-greedy-dag on {9}\n",
        extractor_name(extractor), count, worse, 100 * most_off, better, optimal,
        count ? 100.0 * static_cast<double>(optimal) / static_cast<double>(count) : 0.0, faults,
        seconds, slower);
  }
}

void write_json(llvm::ArrayRef<Run> runs, const Settings& settings) {
  std::error_code failed;
  llvm::raw_fd_ostream out(settings.json, failed);
  if (failed) return;
  llvm::json::OStream json(out, 1);
  json.object([&] {
    json.attribute("seconds", settings.seconds);
    json.attributeArray("runs", [&] {
      for (const Run& run : runs)
        json.object([&] {
          json.attribute("instance", run.instance);
          json.attribute("nodes", static_cast<int64_t>(run.nodes));
          json.attribute("classes", static_cast<int64_t>(run.classes));
          json.attribute("extractor", extractor_name(run.extractor));
          json.attribute("algorithm", run.answer.algorithm);
          json.attribute("known", run.known);
          json.attribute("dag_cost", run.answer.dag_cost);
          json.attribute("reported_cost", run.answer.reported_cost);
          json.attribute("lower_bound", run.answer.lower_bound);
          json.attribute("optimal", run.answer.optimal);
          json.attribute("seconds", run.answer.seconds);
          json.attribute("gym_greedy_dag_seconds", run.known_greedy_s);
          json.attribute("fault", run.fault);
        });
    });
  });
}

bool parse(int argc, char** argv, Settings& settings) {
  if (const char* data = std::getenv("TANGRAM_EGRAPHS")) settings.data = data;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--data" && more) {
      settings.data = argv[++i];
    } else if (arg == "--json" && more) {
      settings.json = argv[++i];
    } else if (arg == "--seconds" && more) {
      settings.seconds = std::atof(argv[++i]);
    } else if (arg == "--extractors" && more) {
      settings.extractors.clear();
      llvm::SmallVector<llvm::StringRef, 6> words;
      llvm::StringRef(argv[++i]).split(words, ',');
      for (llvm::StringRef word : words) {
        std::vector<Extractor> all = all_extractors();
        auto named = llvm::find_if(all, [&](Extractor e) { return extractor_name(e) == word; });
        if (named == all.end()) return llvm::errs() << "no extractor " << word << '\n', false;
        settings.extractors.push_back(*named);
      }
    } else if (arg.startswith("--")) {
      return llvm::errs() << "unknown option " << arg << "\n", false;
    } else {
      settings.names.push_back(arg.str());
    }
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) return 2;
  if (settings.data.empty() || !llvm::sys::fs::is_directory(settings.data)) {
    llvm::outs() << "skipped: no folder of e-graphs (--data DIR, or TANGRAM_EGRAPHS)\n";
    return 0;
  }
  llvm::outs() << llvm::formatv("{0,-52} {1,-13} {2,12} {3,12} {4,9} {5,12} {6,8} {7,8}\n",
                                "instance", "extractor", "best known", "cost", "off", "bound",
                                "gap", "seconds");
  std::vector<Run> runs;
  bool ok = true;
  for (const Known& known : read_known()) {
    bool wanted = settings.names.empty() || llvm::any_of(settings.names, [&](const auto& name) {
                    return llvm::StringRef(known.name).contains(name);
                  });
    if (!wanted) continue;
    Result<SerializedEGraph> egraph = read_egraph_json(settings.data + "/" + known.name + ".json");
    if (!egraph) {
      llvm::outs() << egraph.error().message << '\n';
      ok = false;
      continue;
    }
    for (Extractor extractor : settings.extractors) {
      runs.push_back(run_one(known, *egraph, extractor, settings));
      print(runs.back());
      ok &= runs.back().fault.empty();
    }
  }
  summarise(runs, settings);
  if (!settings.json.empty()) write_json(runs, settings);
  return ok ? 0 : 1;
}
