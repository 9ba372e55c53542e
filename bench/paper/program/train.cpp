// `tg-paper train`: trains a policy that chooses rewrites of a model, with a line after each
// update.
#include "bench/paper/learned/train_agent.h"
#include "bench/paper/learned/train_model.h"
#include "bench/paper/program/own_options.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/ir/to_text.h"
#include "lang/core/support/data_file.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::paper {

using cli::Align;
using cli::Session;
using CommandLine = cli::Options;

namespace {

void print_line(llvm::raw_ostream& out, const TrainingProgress& now, const CommandLine& o) {
  out << llvm::formatv("episode {0,5} of {1}  reward {2,7:f2}  best {3} ({4:f3}x)  measured {5,5}  "
                       "entropy {6:f2}  kl {7:f4}  {8:f1} s",
                       now.state.episodes, own(o).episodes, now.mean_reward,
                       cli::duration_text(now.best_time), now.source_time / now.best_time,
                       now.measurements, now.learned.entropy, now.learned.kl, now.seconds);
  if (o.verbose) out << llvm::formatv("  loss {0:f3}", now.learned.loss);
  out << "\n";
  out.flush();
}

/// Prints the end of a resumed training that learned nothing; a first training gives an error
/// instead.
void print_nothing_learned(llvm::raw_ostream& out, llvm::StringRef stopped_by, double seconds,
                           llvm::StringRef unfinished, const CommandLine& o) {
  out << llvm::formatv(
      "stopped after {0:f1} s ({1}), before {2} was complete: `{3}` is unchanged\n", seconds,
      stopped_by, unfinished, o.out_file);
}

void print_trained(llvm::raw_ostream& out, const TrainedPolicy& trained, const CommandLine& o,
                   bool color) {
  bool stopped = !trained.stopped_by.empty();
  if (stopped && trained.episodes == trained.earlier_episodes)
    return print_nothing_learned(
        out, trained.stopped_by, trained.seconds,
        llvm::formatv("an update of {0} episodes", PpoOptions().episodes_per_update).str(), o);
  out << llvm::formatv(
      "{0}{1} in {2:f1} s; best mean reward {3:f2}; {4} measured",
      cli::counted(trained.episodes - trained.earlier_episodes, "episode"),
      trained.earlier_episodes > 0 ? llvm::formatv(" after {0}", trained.earlier_episodes).str()
                                   : std::string(),
      trained.seconds, trained.best_reward, cli::counted(trained.measurements, "graph"));
  if (trained.refused > 0) out << llvm::formatv(", {0} of them rejected", trained.refused);
  out << "\n";
  if (stopped)
    out << llvm::formatv("stopped before episode {0} ({1}): the next run continues from here\n",
                         own(o).episodes, trained.stopped_by);
  if (trained.rules.empty()) return;
  cli::Table table({{"rule"}, {"applied", Align::Right}});
  for (const RuleCount& rule : trained.rules)
    table.add({rule.rule, "x" + std::to_string(rule.count)});
  table.print(out, color, 2);
}

void write_update(llvm::json::OStream& json, const TrainingProgress& now) {
  json.object([&] {
    json.attribute("episodes", static_cast<int64_t>(now.state.episodes));
    write_number(json, "mean_reward", now.mean_reward);
    write_number(json, "best_us", now.best_time);
    json.attribute("measurements", static_cast<int64_t>(now.measurements));
    write_number(json, "loss", now.learned.loss);
    write_number(json, "entropy", now.learned.entropy);
    write_number(json, "kl", now.learned.kl);
    write_number(json, "seconds", now.seconds);
  });
}

void write_stopped(llvm::json::OStream& json, const std::string& stopped_by) {
  json.attribute("stopped", !stopped_by.empty());
  json.attribute("stopped_by", stopped_by);
}

void write_trained(llvm::json::OStream& json, const TrainedPolicy& trained) {
  json.attribute("episodes", static_cast<int64_t>(trained.episodes));
  json.attribute("earlier_episodes", static_cast<int64_t>(trained.earlier_episodes));
  write_number(json, "best_reward", trained.best_reward);
  write_number(json, "source_us", trained.source_us);
  write_number(json, "best_us", trained.best_us);
  json.attribute("measurements", static_cast<int64_t>(trained.measurements));
  json.attribute("refused", static_cast<int64_t>(trained.refused));
  write_number(json, "seconds", trained.seconds);
  write_stopped(json, trained.stopped_by);
  json.attributeObject("rules", [&] {
    for (const RuleCount& rule : trained.rules)
      json.attribute(rule.rule, static_cast<int64_t>(rule.count));
  });
}

/// Returns the host options of both kinds of training.
OptimizeHost host_of(Session& session) {
  OptimizeHost host{.stop = session.stop, .isolated = true};
  host.verifying = cli::progress_line(session, "verifying rules");
  host.timing = cli::progress_line(session, "timing operators");
  return host;
}

// --- agents of the tree search -------------------------------------------------------------------

void print_round(llvm::raw_ostream& out, const GuideProgress& now, const CommandLine& o) {
  out << llvm::formatv("round {0,3} of {1}  gain {2,6:f2}%  ", now.round, own(o).rounds,
                       100 * now.gain);
  if (now.samples > 0) // tables have no samples
    out << llvm::formatv("samples {0,5}  loss {1:f3}  ", now.samples, now.loss);
  out << llvm::formatv("{0:f1} s\n", now.seconds);
  out.flush();
}

void print_agent(llvm::raw_ostream& out, const TrainedAgent& trained, const CommandLine& o) {
  bool stopped = !trained.stopped_by.empty();
  if (stopped && trained.rounds == trained.earlier_rounds)
    return print_nothing_learned(out, trained.stopped_by, trained.seconds, "a round", o);
  out << llvm::formatv(
      "{0}{1} over {2} in {3:f1} s{4}\n",
      cli::counted(trained.rounds - trained.earlier_rounds, "round"),
      trained.earlier_rounds > 0 ? llvm::formatv(" after {0}", trained.earlier_rounds).str()
                                 : std::string(),
      cli::counted(trained.networks, "part"), trained.seconds,
      stopped ? "; stopped before the other rounds: " + trained.stopped_by : std::string());
}

void write_agent(llvm::json::OStream& json, const TrainedAgent& trained) {
  json.attribute("networks", static_cast<int64_t>(trained.networks));
  json.attribute("rounds", static_cast<int64_t>(trained.rounds));
  json.attribute("earlier_rounds", static_cast<int64_t>(trained.earlier_rounds));
  json.attribute("samples", static_cast<int64_t>(trained.samples));
  write_number(json, "gain", trained.gain);
  write_number(json, "seconds", trained.seconds);
  write_stopped(json, trained.stopped_by);
}

int train_agent(Session& session) {
  const CommandLine& o = session.options;
  std::vector<LoadedModel> models;
  for (const std::string& file : o.files) {
    std::optional<LoadedModel> model = cli::load(session, file, o.files.size() > 1);
    if (!model) return session.fail();
    models.push_back(std::move(*model));
  }
  session.print_warnings();
  std::vector<const Graph*> graphs;
  for (const LoadedModel& model : models) graphs.push_back(&model.graph);
  tangram::OptimizeOptions options = o;
  options.rule_cache = cli::rule_cache(o);
  TrainAgentOptions training{.agent = o.policy,
                             .path = o.out_file,
                             .again = o.again,
                             .rounds = static_cast<size_t>(own(o).rounds),
                             .learning_rate = own(o).learning_rate};
  std::optional<TrainedAgent> trained =
      paper::train_agent(graphs, training, options, host_of(session), session.sources, session.sink,
                         [&](const GuideProgress& now) {
                           if (!o.json && !o.quiet) print_round(session.out, now, o);
                         });
  if (!trained) return session.fail();
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] { write_agent(json, *trained); });
    session.out << "\n";
  } else if (!o.quiet) {
    print_agent(session.out, *trained, o);
  }
  return 0;
}

// --- policies that are followed ------------------------------------------------------------------

int train_policy(Session& session) {
  const CommandLine& o = session.options;
  if (o.files.size() > 1)
    return session.fail(error(Code::usage, "`--policy {0}` requires a single model", o.policy)
                            .suggest("guide, gains and motifs can be trained on several models"));
  std::optional<LoadedModel> model = cli::load(session);
  if (!model) return session.fail();
  session.print_warnings();
  tangram::OptimizeOptions options = o;
  options.rule_cache = cli::rule_cache(o);
  OptimizeHost host = host_of(session);
  host.weights = model->weights;
  TrainOptions training{.policy = o.policy,
                        .path = o.out_file,
                        .again = o.again,
                        .episodes = static_cast<size_t>(own(o).episodes),
                        .horizon = static_cast<size_t>(o.depth),
                        .measure_every = static_cast<size_t>(own(o).measure_every),
                        .by_prices = own(o).by_prices,
                        .learning_rate = own(o).learning_rate,
                        .published_slips = own(o).published_slips};
  std::string updates;
  llvm::raw_string_ostream text(updates);
  std::optional<TrainedPolicy> trained;
  {
    llvm::json::OStream json(text, 2);
    json.array([&] {
      trained = train_model(model->graph, training, options, host, session.sources, session.sink,
                            [&](const TrainingProgress& now) {
                              write_update(json, now);
                              if (!o.json && !o.quiet) print_line(session.out, now, o);
                            });
    });
  }
  if (!trained) return session.fail();
  if (!own(o).best_file.empty())
    if (auto written = cli::write_text_file(session, own(o).best_file, to_text(*trained->best));
        !written)
      return session.fail(written.error());
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      write_trained(json, *trained);
      json.attributeBegin("updates");
      json.rawValue(text.str());
      json.attributeEnd();
    });
    session.out << "\n";
  } else if (!o.quiet) {
    print_trained(session.out, *trained, o, session.color);
  }
  return 0;
}

} // namespace

int run_train(Session& session) {
  const CommandLine& o = session.options;
  if (o.out_file.empty() || o.out_file == "-")
    return session.fail(
        error(Code::usage, "`tg-paper train` requires `-o FILE`, to which it writes the policy"));
  if (const std::string& best = own(o).best_file; !best.empty() && best != "-")
    if (auto writable = check_writable(best); !writable) return session.fail(writable.error());
  session.interruptible = std::make_unique<cli::Interruptible>(); // each update is saved
  return is_agent(o.policy) ? train_agent(session) : train_policy(session);
}

} // namespace tg::paper
