// Measures the speedup from optimising the networks of policies before they run. X-RLflow's agent,
// as written and as optimised, decides in and learns from the states of a random walk through the
// rewrites of a model.
//
//   policy_bench [--model examples/paper/bert.tg] [--policy xrlflow] [--states 16] [--rounds 20]
//
// A round is a decision in each state and a step of gradient descent on all states, by each of the
// two forms, on one thread. The output has the medians, the speedup of the optimised form (paired
// by rounds, with the 95% interval), and the time of the first call including preparation.
#include "bench/paper/learned/policy_models.h"
#include "compiler/api/files/model.h"
#include "compiler/ir/from_ast.h"
#include "compiler/rules/from_ast.h"
#include "lang/core/support/repeated_times.h"
#include "lang/core/support/stop.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <random>

namespace {

using namespace tg;
using namespace tg::paper;

struct Settings {
  std::string model = std::string(TG_SOURCE_DIR) + "/examples/paper/bert.tg", policy = "xrlflow";
  size_t states = 16, rounds = 20;
};

double milliseconds(llvm::function_ref<Result<void>()> work) {
  Stopwatch watch;
  Result<void> done = work();
  if (!done) llvm::errs() << done.error().message << "\n", std::exit(1);
  return watch.seconds() * 1e3;
}

/// The policy in both forms, and the states that it runs on.
class Bench {
public:
  explicit Bench(const Settings& settings) : settings_(settings) {}
  Result<void> walk(const Graph& model, llvm::ArrayRef<Rule> rules);
  Result<void> run();

private:
  using Work = llvm::function_ref<Result<void>(PolicyModels&)>;
  Result<void> decide(PolicyModels& policy);
  Result<void> learn(PolicyModels& policy);
  void compare(const char* what, Work work);

  const Settings& settings_;
  std::vector<std::shared_ptr<const RewriteState>> states_;
  std::unique_ptr<PolicyModels> written_, optimised_;
};

/// Collects the states of walks from the source by random rewrites; a finished walk restarts there.
Result<void> Bench::walk(const Graph& model, llvm::ArrayRef<Rule> rules) {
  RewriteEnvironment environment(model, rules, [](const Graph&) -> Result<double> { return 1.0; },
                                 {.encoder = make_state_encoding});
  std::mt19937 random(1);
  TG_CHECK(environment.reset());
  while (states_.size() < settings_.states) {
    states_.push_back(environment.state());
    size_t rewrites = environment.state()->stop();
    if (rewrites == 0) return error(Code::usage, "no rule applies to the model");
    TG_TRY(RewriteEnvironment::Step step, environment.step(random() % rewrites));
    if (step.done) TG_CHECK(environment.reset());
  }
  return {};
}

Result<void> Bench::decide(PolicyModels& policy) {
  for (const auto& state : states_) TG_CHECK(policy.decide(encoded(*state)));
  return {};
}

Result<void> Bench::learn(PolicyModels& policy) {
  std::vector<Sample> samples;
  for (const auto& state : states_)
    samples.push_back({&encoded(*state), samples.size() % state->actions(), -2.0,
                       samples.size() % 2 ? 1.0 : -1.0, 0.5});
  TG_CHECK(policy.learn(samples));
  return {};
}

void Bench::compare(const char* what, Work work) {
  double first = milliseconds([&] { return work(*written_); }),
         second = milliseconds([&] { return work(*optimised_); });
  std::vector<double> written, optimised;
  for (size_t round = 0; round < settings_.rounds; ++round) {
    written.push_back(milliseconds([&] { return work(*written_); }));
    optimised.push_back(milliseconds([&] { return work(*optimised_); }));
  }
  Comparison c = compare_times(written, optimised);
  llvm::outs() << llvm::formatv("{0,-8} {1,10:f1} {2,10:f1} {3,6:f2}x ({4:f2} to {5:f2}) {6,8:f0} "
                                "{7,6:f0}\n",
                                what, c.first.median_us, c.second.median_us, c.ratio, c.low, c.high,
                                first, second);
}

Result<void> Bench::run() {
  const PolicyForm* form = find_policy_form(settings_.policy);
  if (!form) return error(Code::usage, "there is no policy `{0}`", settings_.policy);
  PolicyOptions options;
  options.run.threads = 1;
  options.optimised = true;
  TG_TRY(optimised_, PolicyModels::fresh(*form, options));
  options.optimised = false;
  TG_TRY(written_, PolicyModels::fresh(*form, options));
  llvm::outs() << llvm::formatv(
      "{0} states, ms: as written, optimised, how much faster; the first time "
      "as written, optimised\n",
      states_.size());
  compare("decide", [this](PolicyModels& policy) { return decide(policy); });
  compare("learn", [this](PolicyModels& policy) { return learn(policy); });
  return {};
}

Result<void> bench(const Settings& settings) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> model = load_graph(sources, settings.model, {}, sink);
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), {"taso"}, sink);
  if (!model || !rules) return sink.all().front();
  Bench bench(settings);
  TG_CHECK(bench.walk(*model, *rules));
  return bench.run();
}

/// Errors: `usage`.
Result<Settings> read_settings(llvm::ArrayRef<const char*> words) {
  Settings settings;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    llvm::StringRef option = words[i], value = words[i + 1];
    size_t* count = option == "--states"   ? &settings.states
                    : option == "--rounds" ? &settings.rounds
                                           : nullptr;
    std::string* text = option == "--model"    ? &settings.model
                        : option == "--policy" ? &settings.policy
                                               : nullptr;
    if (text) *text = value.str();
    bool read = text || (count && !value.getAsInteger(10, *count) && *count > 0);
    if (!read) return error(Code::usage, "`{0} {1}` is not an option of this", option, value);
  }
  if (words.size() % 2) return error(Code::usage, "`{0}` has no value", words.back());
  return settings;
}

} // namespace

int main(int argc, char** argv) {
  Result<Settings> settings = read_settings({argv + 1, static_cast<size_t>(argc - 1)});
  Result<void> done = settings ? bench(*settings) : Result<void>(settings.error());
  if (done) return 0;
  llvm::errs() << done.error().message << "\n";
  return 1;
}
