#include "compiler/api/size_recipes.h"

#include "compiler/api/public_types.h"
#include "compiler/api/verify/rule_trust.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tg {

using Public = tangram::OptimizeOptions;
using sizes::Point;

// --- the sizes to try ----------------------------------------------------------------------------

namespace {

bool is_prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

/// Returns a prime near the geometric mean if there is one between the two, so that sizes which
/// divide by small numbers are not the only ones.
std::optional<int64_t> prime_between(int64_t a, int64_t b) {
  double mean = std::sqrt(static_cast<double>(std::max<int64_t>(a, 1)) * static_cast<double>(b));
  for (auto n = static_cast<int64_t>(mean) + 1; n > a + 1; --n)
    if (n < b && is_prime(n)) return n;
  return std::nullopt;
}

/// Returns the sizes to try of one size, ascending. A range without an end is tried up to eight
/// times the size of a plain run.
std::vector<int64_t> sizes_to_try(const OpenSize& size, bool few) {
  constexpr int64_t kBeyond = 8;
  int64_t least = size.range.least, sample = size.sample;
  int64_t most = size.range.most.value_or(std::max<int64_t>(sample, 1) * kBeyond);
  std::vector<int64_t> out = {least, sample, most};
  if (size.range.contains(1)) out.push_back(1);
  auto add_between = [&](int64_t a, int64_t b) {
    if (auto n = prime_between(a, b)) out.push_back(*n);
  };
  if (!few) add_between(least, sample);
  add_between(sample, most);
  llvm::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

} // namespace

std::vector<Point> points_to_try(llvm::ArrayRef<OpenSize> sizes) {
  Point sample, least, most;
  for (const OpenSize& size : sizes) {
    std::vector<int64_t> all = sizes_to_try(size, true);
    sample.push_back(size.sample), least.push_back(all.front()), most.push_back(all.back());
  }
  std::vector<Point> points = {sample};
  auto add = [&](const Point& point) {
    if (!llvm::is_contained(points, point)) points.push_back(point);
  };
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int64_t n : sizes_to_try(sizes[i], sizes.size() > 2)) {
      Point point = sample;
      point[i] = n;
      add(point);
    }
  add(least), add(most);
  return points;
}

// --- recipes by size -----------------------------------------------------------------------------

size_t SizeRecipes::index_at(llvm::ArrayRef<int64_t> point) const {
  for (size_t i = 0; i + 1 < recipes_.size(); ++i)
    if (point[deciding_] <= *recipes_[i].interval.most) return i;
  return recipes_.size() - 1;
}

std::string SizeRecipes::sizes_text(const Serving& recipe) const {
  if (recipes_.size() == 1) return text_of(sizes_);
  return OpenSize{sizes_[deciding_].name, recipe.interval}.text();
}

namespace {

class SizeSearch {
public:
  SizeSearch(const OpenModel& model, const Public& options, const OptimizeHost& host,
             SourceManager& sources)
      : model_(model), options_(options), host_(host), sources_(sources) {}

  /// `first_s`: the time of the first search.
  Result<std::shared_ptr<const SizeRecipes>> run(const LoadedModel& source, OptimizedModel& first,
                                                 double first_s);

private:
  /// A point of the ranges with the costs of the recipes there; none where one cannot be repeated.
  struct Tried {
    Point point;
    Graph source;
    std::vector<std::optional<RepeatedGraph>> by_recipe;
    bool searched = false;
  };

  void try_points(const LoadedModel& source);
  Result<void> add_recipe(const OptimizedModel& found, const Graph& source, const Point& point);
  double cost(const Tried& tried, size_t recipe) const;
  double least_cost(const Tried& tried) const;
  double gain(const Tried& tried) const { return source_cost(tried) / least_cost(tried); }
  static double source_cost(const Tried& tried);
  double doubt(const Tried& tried) const;
  void search_more(double seconds);
  void search_at(Tried& tried, double seconds);

  double worst_loss(size_t recipe, std::optional<size_t> along) const;
  bool varies(const Tried& tried, size_t along) const;
  double mean_cost(size_t recipe) const;
  size_t best_single() const;
  size_t deciding_size(size_t single) const;
  std::vector<size_t> covering(llvm::ArrayRef<const Tried*> axis) const;
  std::shared_ptr<const SizeRecipes> select();
  int64_t crossing(const Tried& below, size_t lower, const Tried& above, size_t upper);
  std::optional<double> cost_at(size_t recipe, const Point& point);

  const OpenModel& model_;
  const Public& options_;
  const OptimizeHost& host_;
  SourceManager& sources_;
  std::vector<Rule> rules_;  // in use
  std::vector<Tried> tried_; // the first is the plain run
  std::vector<SizeRecipes::Serving> recipes_;
  std::vector<std::string> notes_;
  size_t deciding_ = 0;

  void report(const SizeRecipes& recipes, OptimizeReport& report) const;
  void report_proof(const SizeRecipes& recipes, OptimizeReport& report, double seconds) const;
};

// --- searches ------------------------------------------------------------------------------------

/// Instantiates the model at the points. Sizes above a limit of the program are left out; then a
/// note has the reason.
void SizeSearch::try_points(const LoadedModel& source) {
  for (Point& point : points_to_try(model_.sizes())) {
    DiagnosticSink sink;
    if (tried_.empty()) {
      tried_.push_back({std::move(point), source.graph, {}, true});
    } else if (std::optional<LoadedModel> at = model_.at(point, sink)) {
      tried_.push_back({std::move(point), std::move(at->graph), {}});
    } else {
      notes_.push_back(llvm::formatv("not tried at {0}: {1}", text_of(model_.sizes(), point),
                                     first_error(sink).message));
    }
  }
}

Result<void> SizeSearch::add_recipe(const OptimizedModel& found, const Graph& source,
                                    const Point& point) {
  tangram::Recipe recipe = tangram::to_recipe(*found.result.chain, found.rules, source, options_);
  for (Tried& tried : tried_) {
    Result<RepeatedGraph> repeated = repeat(recipe, tried.source);
    if (!repeated) return std::move(repeated.error());
    tried.by_recipe.push_back(std::move(*repeated));
  }
  recipes_.push_back({std::move(recipe), point, {}});
  return {};
}

double SizeSearch::cost(const Tried& tried, size_t recipe) const {
  return tried.by_recipe[recipe]->cost_us();
}

double SizeSearch::source_cost(const Tried& tried) { return tried.by_recipe[0]->source_us; }

double SizeSearch::least_cost(const Tried& tried) const {
  double least = source_cost(tried);
  for (size_t r = 0; r < recipes_.size(); ++r) least = std::min(least, cost(tried, r));
  return least;
}

/// Returns how much a search at this point may gain, as a logarithm: more than 0 if the best recipe
/// skips rewrites there, or has less than half the gain of the first search.
double SizeSearch::doubt(const Tried& tried) const {
  if (tried.searched) return 0;
  double first = std::log(gain(tried_[0])), here = std::log(gain(tried));
  constexpr double kLittle = 0.01;
  bool skips = llvm::none_of(tried.by_recipe, [&](const std::optional<RepeatedGraph>& repeated) {
    return repeated->skipped == 0 && repeated->cost_us() <= least_cost(tried);
  });
  if (skips) return std::max(first - here, kLittle);
  return here < first / 2 ? first - here : 0;
}

void SizeSearch::search_more(double seconds) {
  StopToken stop = host_.stop.value_or(StopToken()).within(seconds);
  constexpr double kShortest = 0.02;
  while (recipes_.size() < kMaxRecipes && stop.seconds_left() > kShortest && !stop.asked()) {
    auto most = std::max_element(tried_.begin(), tried_.end(), [&](const Tried& a, const Tried& b) {
      return doubt(a) < doubt(b);
    });
    if (doubt(*most) <= 0) return;
    search_at(*most, stop.seconds_left());
  }
}

/// Searches by prices alone. Without a result the point keeps the recipes that there are.
void SizeSearch::search_at(Tried& tried, double seconds) {
  tried.searched = true;
  DiagnosticSink sink;
  std::optional<LoadedModel> source = model_.at(tried.point, sink);
  if (!source) return;
  Public options = options_;
  options.finalists = 0;
  constexpr double kSearching = 0.6; // the remainder is for deriving the chain
  options.time_limit_s = kSearching * seconds;
  options.explain = options.verify = options.record_trace = false;
  options.save_costs = options.save_priors = {};
  options.judge = {}, options.progress = {};
  OptimizeHost host{.stop = host_.stop.value_or(StopToken()).within(seconds),
                    .selected = rules_,
                    .weights = source->weights ? source->weights : host_.weights,
                    .kept = source->kept,
                    .chain = true,
                    .remember = false,
                    .isolated = host_.isolated};
  std::optional<OptimizedModel> found =
      optimize_model(source->graph, options, nullptr, host, sources_, sink);
  std::string fault;
  if (!found)
    fault = sink.failed() ? first_error(sink).message : "it failed";
  else if (!found->result.chain)
    fault = found->result.unexplained;
  else if (found->result.chain->steps.empty())
    return; // nothing is better there
  else if (auto added = add_recipe(*found, source->graph, tried.point); !added)
    fault = added.error().message;
  if (!fault.empty())
    notes_.push_back(llvm::formatv("the search at {0} has no result: {1}",
                                   text_of(model_.sizes(), tried.point), fault));
}

// --- selection -----------------------------------------------------------------------------------

/// Returns true if the point is that of a plain run in all other sizes.
bool SizeSearch::varies(const Tried& tried, size_t along) const {
  for (size_t i = 0; i < tried.point.size(); ++i)
    if (i != along && tried.point[i] != tried_[0].point[i]) return false;
  return true;
}

/// Returns the largest ratio of the recipe's cost to the least one, along a size or anywhere.
double SizeSearch::worst_loss(size_t recipe, std::optional<size_t> along) const {
  double worst = 1;
  for (const Tried& tried : tried_)
    if (!along || varies(tried, *along))
      worst = std::max(worst, cost(tried, recipe) / least_cost(tried));
  return worst;
}

/// Returns the mean of the logarithms of a recipe's costs.
double SizeSearch::mean_cost(size_t recipe) const {
  double sum = 0;
  for (const Tried& tried : tried_) sum += std::log(cost(tried, recipe));
  return sum / static_cast<double>(tried_.size());
}

size_t SizeSearch::best_single() const {
  size_t best = 0;
  for (size_t r = 1; r < recipes_.size(); ++r)
    if (worst_loss(r, std::nullopt) < worst_loss(best, std::nullopt)) best = r;
  return worst_loss(0, std::nullopt) <= kRecipeTolerance ? 0 : best;
}

/// Returns the size along which a single recipe loses most.
size_t SizeSearch::deciding_size(size_t single) const {
  size_t deciding = 0;
  for (size_t i = 1; i < model_.sizes().size(); ++i)
    if (worst_loss(single, i) > worst_loss(single, deciding)) deciding = i;
  return deciding;
}

/// Returns recipes of which one is within the tolerance at each point: repeatedly the one that is
/// at most of the points left.
std::vector<size_t> SizeSearch::covering(llvm::ArrayRef<const Tried*> axis) const {
  std::vector<size_t> chosen;
  std::vector<const Tried*> left(axis.begin(), axis.end());
  auto good = [&](size_t r) {
    return [this, r](const Tried* tried) {
      return cost(*tried, r) <= least_cost(*tried) * kRecipeTolerance;
    };
  };
  while (!left.empty()) {
    size_t best = 0;
    for (size_t r = 1; r < recipes_.size(); ++r)
      if (llvm::count_if(left, good(r)) > llvm::count_if(left, good(best))) best = r;
    if (llvm::none_of(left, good(best))) break; // the source is cheapest there
    chosen.push_back(best);
    llvm::erase_if(left, good(best));
  }
  if (chosen.empty()) chosen.push_back(0);
  return chosen;
}

std::optional<double> SizeSearch::cost_at(size_t recipe, const Point& point) {
  DiagnosticSink sink;
  std::optional<LoadedModel> at = model_.at(point, sink);
  if (!at) return std::nullopt;
  Result<RepeatedGraph> repeated = repeat(recipes_[recipe].recipe, at->graph);
  if (!repeated) return std::nullopt;
  return repeated->cost_us();
}

/// Returns the least size from which the upper recipe costs no more, if there is one crossing.
int64_t SizeSearch::crossing(const Tried& below, size_t lower, const Tried& above, size_t upper) {
  int64_t low = below.point[deciding_], high = above.point[deciding_];
  while (high - low > 1) {
    Point middle = below.point;
    middle[deciding_] = low + (high - low) / 2;
    std::optional<double> a = cost_at(lower, middle), b = cost_at(upper, middle);
    (a && b && *b <= *a ? high : low) = middle[deciding_];
  }
  return high;
}

std::shared_ptr<const SizeRecipes> SizeSearch::select() {
  std::vector<OpenSize> sizes(model_.sizes().begin(), model_.sizes().end());
  size_t single = best_single();
  deciding_ = deciding_size(single);
  const SizeRange range = sizes[deciding_].range;
  std::vector<const Tried*> axis;
  for (const Tried& tried : tried_)
    if (varies(tried, deciding_)) axis.push_back(&tried);
  llvm::sort(axis, [&](const Tried* a, const Tried* b) {
    return a->point[deciding_] < b->point[deciding_];
  });
  std::vector<size_t> chosen = {single};
  if (worst_loss(single, deciding_) > kRecipeTolerance) chosen = covering(axis);
  std::vector<SizeRecipes::Serving> serving;
  std::vector<double> served; // their mean costs
  std::optional<size_t> last;
  for (size_t i = 0; i < axis.size(); ++i) {
    size_t best = chosen[0];
    for (size_t r : chosen)
      if (cost(*axis[i], r) < cost(*axis[i], best)) best = r;
    bool stays = last && cost(*axis[i], *last) <= cost(*axis[i], best) * kRecipeTolerance;
    if (stays || last == best) continue;
    int64_t from = last ? crossing(*axis[i - 1], *last, *axis[i], best) : range.least;
    if (last) serving.back().interval.most = from - 1;
    serving.push_back({recipes_[best].recipe, recipes_[best].searched_at, {from, range.most}});
    served.push_back(mean_cost(best));
    last = best;
  }
  auto best = std::min_element(served.begin(), served.end()) - served.begin();
  return std::make_shared<const SizeRecipes>(std::move(sizes), deciding_, std::move(serving),
                                             static_cast<size_t>(best));
}

// --- the report ----------------------------------------------------------------------------------

/// Claims a proof only if the prover shows every rule that a recipe applies, for all sizes. A
/// recipe applies a rule only where its conditions hold, which is checked at each size, so nothing
/// else depends on the sizes.
void SizeSearch::report_proof(const SizeRecipes& recipes, OptimizeReport& report,
                              double seconds) const {
  std::map<std::string, Rule> rules; // by fingerprint
  std::set<std::string> unproved;
  for (const SizeRecipes::Serving& serving : recipes.recipes())
    for (Rule& rule : rules_of(serving.recipe))
      if (rule.native != Native::No)
        unproved.insert(rule.name);
      else
        rules.emplace(rule_fingerprint(rule), std::move(rule));
  std::vector<Rule> stated;
  for (auto& [print, rule] : rules) stated.push_back(std::move(rule));
  TrustOptions trust;
  trust.proofs = true;
  trust.threads = static_cast<int>(options_.threads);
  trust.cache = options_.rule_cache;
  trust.isolated = host_.isolated;
  trust.stop = host_.stop.value_or(StopToken()).within(seconds);
  // Those that come with the program have passed their instances in its tests.
  trust.verify = [](const Rule& rule, const RuleCheckOptions& check) {
    return rule.with_program ? RuleVerdict() : verify_rule(rule, check);
  };
  std::vector<RuleVerdict> verdicts = verify_rules(stated, trust);
  for (size_t i = 0; i < stated.size(); ++i)
    if (verdicts[i].proof != RuleVerdict::Proof::Proved) unproved.insert(stated[i].name);
  bool empty =
      llvm::any_of(model_.sizes(), [](const OpenSize& size) { return size.range.contains(0); });
  if (unproved.empty() && !empty) {
    report.proved_for = text_of(model_.sizes());
    return;
  }
  std::string reason =
      empty ? "proofs are about sizes of at least 1" : "no proof of " + llvm::join(unproved, ", ");
  report.notes.push_back("the result is not proved for the ranges: " + reason);
}

void SizeSearch::report(const SizeRecipes& recipes, OptimizeReport& report) const {
  for (const SizeRecipes::Serving& serving : recipes.recipes())
    report.recipes.push_back({recipes.sizes_text(serving),
                              text_of(model_.sizes(), serving.searched_at),
                              steps_of(serving.recipe)});
  for (const Tried& tried : tried_) {
    size_t index = recipes.index_at(tried.point);
    const Point& searched = recipes.recipes()[index].searched_at;
    auto own = llvm::find_if(recipes_, [&](const auto& r) { return r.searched_at == searched; });
    const RepeatedGraph& at = *tried.by_recipe[static_cast<size_t>(own - recipes_.begin())];
    report.tried.push_back({text_of(model_.sizes(), tried.point), index, at.source_us, at.cost_us(),
                            at.skipped, at.source_is_better()});
    double loss = at.cost_us() / least_cost(tried);
    if (loss > kRecipeTolerance && !varies(tried, deciding_))
      report.notes.push_back(llvm::formatv(
          "at {0} another recipe costs {1:f0}% less, but the choice depends on {2}",
          report.tried.back().at, 100 * (1 - 1 / loss), model_.sizes()[deciding_].name));
  }
}

Result<std::shared_ptr<const SizeRecipes>> SizeSearch::run(const LoadedModel& source,
                                                           OptimizedModel& first, double first_s) {
  constexpr double kLeastMore = 3, kLeastProof = 30; // seconds; proofs are kept for later runs
  double more_s = std::max(first_s / 2, kLeastMore);
  OptimizeReport& report = first.result.report;
  Stopwatch clock;
  rules_ = first.rules;
  try_points(source);
  TG_CHECK(add_recipe(first, source.graph, model_.sample()));
  search_more(more_s);
  std::shared_ptr<const SizeRecipes> recipes = select();
  this->report(*recipes, report);
  report_proof(*recipes, report, std::max(more_s - clock.seconds(), kLeastProof));
  llvm::append_range(report.notes, notes_);
  report.total_s += clock.seconds();
  return recipes;
}

} // namespace

std::optional<SizesOptimized> optimize_sizes(const OpenModel& model, const Public& options,
                                             std::shared_ptr<const ExternKernels> externs,
                                             OptimizeHost host, SourceManager& sources,
                                             DiagnosticSink& sink) {
  std::optional<LoadedModel> source = model.at(model.sample(), sink);
  if (!source) return std::nullopt;
  if (!host.stop)
    host.stop = stop_within(options.time_limit_s, options.memory_limit_mb, options.interrupt);
  host.chain = true;
  if (!host.weights) host.weights = source->weights;
  host.kept = source->kept;
  Stopwatch clock;
  std::optional<OptimizedModel> best =
      optimize_model(source->graph, options, std::move(externs), host, sources, sink);
  if (!best) return std::nullopt;
  SizesOptimized out{std::move(*best), std::move(*source)};
  OptimizeReport& report = out.best.result.report;
  for (const OpenSize& size : model.sizes()) report.open_sizes.push_back(size.text());
  if (!out.best.result.chain) {
    report.notes.push_back("other sizes are not optimised: " + out.best.result.unexplained);
    return out;
  }
  Result<std::shared_ptr<const SizeRecipes>> recipes =
      SizeSearch(model, options, host, sources).run(out.source, out.best, clock.seconds());
  if (!recipes) {
    sink.report(std::move(recipes.error()));
    return std::nullopt;
  }
  out.recipes = std::move(*recipes);
  return out;
}

} // namespace tg
