// The command line of `tg` as one plain struct. CLI11, which throws, is seen by options.cpp alone;
// subcommands read this struct and nothing else of the command line.
#pragma once

#include "compiler/driver/cost_model.h"
#include "lang/core/type.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tg::cli {

struct Options {
  std::string command;            // "opt", "rules list", ...
  std::vector<std::string> files; // positional arguments

  // What to load.
  std::string model;                                    // --model; "" = the only one
  std::vector<std::pair<std::string, std::string>> set; // --set N=8
  std::vector<std::string> rules;                       // --rules: files or rule (set) names
  std::string numerics = "reassociate";                 // exact | reassociate | all | lossy
  bool trust_rules = false;                             // use rules that are not verified
  bool explain = false;                                 // leave a chain of rewrites
  bool verify = false;                                  // hold the result against its source
  std::string rule_cache;                               // "" = in the user's cache folder
  int64_t instances = 200;                              // of `rules verify`, for each rule
  std::string weights;                                  // --weights: "" = random from the seed
  bool proof = false;                                   // of `rules verify`: for all sizes, too

  // How to optimise.
  std::string search = "mcts";            // none | saturate | mcts | anneal | taso | random
  std::string extract = "ilp";            // greedy | ilp
  std::string cost = default_cost_spec(); // cost_model.h
  std::string cost_cache;      // of measured costs: "" as the network finds it | hot | cold
  std::string groups = "auto"; // auto: where costs are measured | on | off
  std::string cost_db;         // "" = the user's cache folder
  std::string save_costs;      // --save-costs: the prices used, as a table for file:TABLE
  double max_weight_growth = 4;
  int64_t iterations = 15, multi_iterations = 1;
  int64_t budget = 0, depth = 0;       // of --search mcts, random; 0 = their defaults
  int64_t search_threads = 0;          // of --search mcts; 0 = threads
  uint64_t seeds = 5;                  // of `bench paper`
  std::vector<std::string> approaches; // of `bench paper`; none = all
  double total_limit_s = 1'800;        // of `bench paper`
  double ilp_limit_s = 40;             // of its cells with rewards from integer programs
  double alpha = 1.05;                 // of --search taso
  double exploration = -1;             // of --search mcts; negative = the profile's
  bool reuse_tree = false;
  std::string mcts_profile = "tangram";   // tangram | pact24
  std::string reward = "greedy-shared";   // of pact24: greedy | greedy-shared | ilp
  std::vector<std::string> without;       // parts of --search mcts to leave out
  std::string priors, save_priors, trace; // files; "" = none
  std::string cycle_filter = "efficient", ilp_cycles = "none";
  bool backoff = false;
  double time_limit_s = -1;    // negative = the command's, or the search's own
  int64_t node_limit = 0;      // 0 = the search's own
  int64_t memory_limit_mb = 0; // 0 = 80% of the machine's memory
  uint64_t seed = 1;

  // How to run.
  std::string backend = "cpu"; // ref | cpu
  DType dtype = DType::F32;    // what a run computes in
  int64_t threads = 0;         // 0 = one for each core
  bool allow_tf32 = false;     // of cuda
  int64_t streams = 1;         // of cuda: copies of the program that run side by side
  int64_t finalists = 8;       // graphs that are measured whole; 0: prices alone decide
  int64_t runs = 0;            // 0 = as many as give a steady median
  bool optimize = false;       // --opt
  bool check = false;          // `run --check`: against ref; `fmt --check`: only look
  /// --input NAME=F.npy; without a name a .npz file that holds several.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string output;      // --output: a folder or an .npz file; of `bench demo` the JSON file
  std::string out_file;    // -o
  std::string weights_b;   // --weights-b: of the second model of `tg verify`
  std::string weights_out; // --weights-out: the weights of the model that -o writes, folded

  bool json = false, quiet = false, verbose = false;
};

/// What the command line came to: options to act on, or text to print and an exit code.
struct Parsed {
  Options options;
  bool done = false; // --help, --version, or an error: print and leave
  int exit_code = 0;
  std::string out, err;
};

Parsed parse_command_line(int argc, char** argv);

} // namespace tg::cli
