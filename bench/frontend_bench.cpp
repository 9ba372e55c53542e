// Times the front end by phase, on generated files of 100,000 operators and on the largest
// examples.
//
//   frontend_bench [--operators N] [--rounds N] [--json FILE] [MODEL.tg ...]
//
// Phases: scan (scanner and line ends), parse (grammar, including the library files that the model
// uses), check (names and arguments of all functions), evaluate (unfolding, shapes, the graph),
// print (the graph as text again). The timed region runs from the text in memory to the result of
// the phase, without reading the file or freeing memory. Each figure is the median of the rounds;
// the minimum is printed too, because other load only adds time. Each input runs in its own
// process, so that peak memory (over all rounds and the print) is measured separately.
//
// Goals for parse, check and evaluate together: under 50 ms for the largest example; under 1 s and
// 500 MB for 100,000 operators.
#include "compiler/api/files/model.h"
#include "compiler/ir/to_text.h"
#include "lang/check/check.h"
#include "lang/syntax/parse.h"
#include "lang/syntax/tokens.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tg;

using Clock = std::chrono::steady_clock;

enum Phase { kScan, kParse, kCheck, kEvaluate, kPrint, kPhases };
constexpr const char* kPhaseNames[] = {"scan", "parse", "check", "evaluate", "print"};

struct Options {
  size_t operators = 100'000;
  int rounds = 5;
  std::string json;
  std::vector<std::string> models;
};

/// The measurements of one process, as sent through the pipe.
struct Figures {
  std::array<double, kPhases> median_ms{}, least_ms{};
  double whole_ms = 0, whole_least_ms = 0; // all phases except print
  uint64_t bytes = 0, nodes = 0, operators = 0;
  uint64_t peak_bytes = 0; // of the process, including its code and libraries
};

struct Input {
  std::string name, text;
};

// --- generated files -----------------------------------------------------------------------------

/// Generates one operator per line, each in a `let`: products with one of ten weights, sums,
/// activations.
std::string lines(size_t operators) {
  std::string text = "model lines(x: f32[8, 16]) -> f32[8, 16] {\n";
  llvm::raw_string_ostream out(text);
  for (int i = 0; i < 10; ++i) out << "  param w" << i << ": f32[16, 16]\n";
  out << "  let y0 = x\n";
  for (size_t i = 1; i <= operators; ++i) {
    out << "  let y" << i << " = ";
    switch (i % 4) {
    case 0: out << "y" << i - 1 << " @ w" << i / 4 % 10 << "\n"; break;
    case 1: out << "relu(y" << i - 1 << ")\n"; break;
    case 2: out << "y" << i - 1 << " + y" << (i < 3 ? 0 : i - 3) << "\n"; break;
    case 3: out << "tanh(y" << i - 1 << ")\n"; break;
    }
  }
  out << "  y" << operators << "\n}\n";
  return out.str();
}

/// Generates the same number of operators from a short text: function calls in loops that unfold.
std::string loops(size_t operators) {
  size_t rounds = operators / 400; // 100 calls of four operators each
  return llvm::formatv("fn step(x: f32[N, D]) -> f32[N, D] {{\n"
                       "  param w: f32[D, D]\n"
                       "  relu(x @ w + x) * 0.5\n"
                       "}\n\n"
                       "model loops(x: f32[8, 16]) -> f32[8, 16] {{\n"
                       "  var y = x\n"
                       "  for i in 0..{0} {{ for k in 0..100 {{ y = step(y) } }\n"
                       "  y\n"
                       "}\n",
                       rounds)
      .str();
}

// --- the clock -----------------------------------------------------------------------------------

class Watch {
public:
  /// Returns the milliseconds since the last lap.
  double lap() {
    Clock::time_point now = Clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

private:
  Clock::time_point last_ = Clock::now();
};

double scan_ms(llvm::StringRef text, FileId file) {
  Watch watch;
  SyntaxErrors errors(file);
  RawTokens raw = scan(text, errors);
  std::vector<Token> tokens = insert_line_ends(raw.tokens, text, errors);
  return watch.lap();
}

/// Measures one round. Returns false and prints the errors if the input has any.
bool measure(const Input& input, std::array<double, kPhases>& ms, Figures& figures) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add(input.name, input.text);
  ms[kScan] = scan_ms(sources.file(file).text(), file);
  Watch watch;
  Program program = load_program(sources, library(), file, sink);
  ms[kParse] = watch.lap() - ms[kScan];
  bool good = check_names(program, sink);
  ms[kCheck] = watch.lap();
  std::optional<Graph> graph;
  if (good) graph = instantiate(program, "", {}, std::make_shared<Symbols>(), sink);
  ms[kEvaluate] = watch.lap() - ms[kCheck]; // instantiate() checks the names again
  if (!graph) {
    for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
    return false;
  }
  watch.lap();
  std::string text = to_text(*graph);
  ms[kPrint] = watch.lap();
  figures.nodes = graph->size();
  figures.operators = graph->op_count();
  return !text.empty();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool measure_rounds(const Input& input, int rounds, Figures& figures) {
  std::array<std::vector<double>, kPhases> all;
  std::vector<double> whole;
  for (int round = 0; round < rounds; ++round) {
    std::array<double, kPhases> ms{};
    if (!measure(input, ms, figures)) return false;
    double sum = 0;
    for (int p = 0; p < kPhases; ++p) {
      all[p].push_back(ms[p]);
      if (p != kPrint) sum += ms[p];
    }
    whole.push_back(sum);
  }
  for (int p = 0; p < kPhases; ++p) {
    figures.median_ms[p] = median(all[p]);
    figures.least_ms[p] = *std::min_element(all[p].begin(), all[p].end());
  }
  figures.whole_ms = median(whole);
  figures.whole_least_ms = *std::min_element(whole.begin(), whole.end());
  figures.bytes = input.text.size();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  return true;
}

/// Measures in a separate process.
bool measure_apart(const Input& input, int rounds, Figures& figures) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    Figures measured;
    bool good = measure_rounds(input, rounds, measured) &&
                write(ends[1], &measured, sizeof measured) == sizeof measured;
    _exit(good ? 0 : 1);
  }
  close(ends[1]);
  bool good = read(ends[0], &figures, sizeof figures) == sizeof figures;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return good && status == 0;
}

// --- results -------------------------------------------------------------------------------------

void print_head(llvm::raw_ostream& out) {
  out << llvm::formatv("{0,-22} {1,9} {2,9}", "ms, median of rounds", "bytes", "operators");
  for (const char* phase : kPhaseNames) out << llvm::formatv(" {0,9}", phase);
  out << llvm::formatv(" {0,12} {1,9} {2,9}\n", "text->graph", "(least)", "peak MB");
}

void print(llvm::StringRef name, const Figures& f, llvm::raw_ostream& out) {
  out << llvm::formatv("{0,-22} {1,9} {2,9}", name, f.bytes, f.operators);
  for (double ms : f.median_ms) out << llvm::formatv(" {0,9:f2}", ms);
  out << llvm::formatv(" {0,12:f2} {1,9:f2} {2,9:f1}\n", f.whole_ms, f.whole_least_ms,
                       static_cast<double>(f.peak_bytes) / 1e6);
  out.flush();
}

void print_json(llvm::StringRef name, const Figures& f, llvm::raw_ostream& out) {
  out << llvm::formatv("{{\"name\": \"{0}\", \"bytes\": {1}, \"operators\": {2}, \"nodes\": {3}",
                       name, f.bytes, f.operators, f.nodes);
  for (int p = 0; p < kPhases; ++p)
    out << llvm::formatv(", \"{0}_ms\": {1:f3}, \"{0}_least_ms\": {2:f3}", kPhaseNames[p],
                         f.median_ms[p], f.least_ms[p]);
  out << llvm::formatv(", \"text_to_graph_ms\": {0:f3}, \"text_to_graph_least_ms\": {1:f3}, "
                       "\"peak_bytes\": {2}}",
                       f.whole_ms, f.whole_least_ms, f.peak_bytes);
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word(argv[i]);
    bool more = i + 1 < argc;
    if (word == "--operators" && more)
      options.operators = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--rounds" && more)
      options.rounds = std::max(1, std::atoi(argv[++i]));
    else if (word == "--json" && more)
      options.json = argv[++i];
    else
      options.models.push_back(word.str());
  }
  if (options.models.empty())
    for (const char* name : {"paper/nasneta", "paper/vit_huge", "inceptionv3", "gpt2"})
      options.models.push_back(std::string(TG_SOURCE_DIR "/examples/") + name + ".tg");
  return options;
}

/// Errors: those of load_file.
Result<std::vector<Input>> inputs_of(const Options& options) {
  std::vector<Input> inputs = {{"generated, lines", lines(options.operators)},
                               {"generated, loops", loops(options.operators)}};
  for (const std::string& path : options.models) {
    SourceManager sources;
    TG_TRY(FileId file, load_file(sources, path));
    inputs.push_back({path, sources.file(file).text().str()});
  }
  return inputs;
}

} // namespace

int main(int argc, char** argv) {
  Options options = read_options(argc, argv);
  Result<std::vector<Input>> inputs = inputs_of(options);
  if (!inputs) {
    llvm::errs() << inputs.error().message << "\n";
    return 1;
  }
  print_head(llvm::outs());
  std::string json;
  llvm::raw_string_ostream json_out(json);
  for (const Input& input : *inputs) {
    Figures figures;
    llvm::outs().flush();
    if (!measure_apart(input, options.rounds, figures)) {
      llvm::errs() << "frontend_bench: " << input.name << " could not be measured\n";
      return 1;
    }
    llvm::StringRef name = llvm::StringRef(input.name);
    name.consume_front(TG_SOURCE_DIR "/examples/");
    print(name, figures, llvm::outs());
    json_out << (json_out.str().empty() ? "[" : ",\n ");
    print_json(name, figures, json_out);
  }
  json_out << "]\n";
  if (options.json.empty()) return 0;
  std::error_code failed;
  llvm::raw_fd_ostream file(options.json, failed);
  if (failed) {
    llvm::errs() << "cannot write " << options.json << ": " << failed.message() << "\n";
    return 1;
  }
  llvm::StringRef list = llvm::StringRef(json_out.str()).rtrim();
  file << "{\"rounds\": " << options.rounds << ", \"inputs\": " << list << "}\n";
  return 0;
}
