// Optimization as a game, for the caller's agents.
#include "python/bindings/errors.h"
#include "python/bindings/option_values.h"
#include "python/bindings/parts.h"
#include "tangram/environment.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// Returns a NumPy array that owns the elements.
template <class T> nb::object array_of(std::vector<T> elements, std::vector<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(elements));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), std::move(owner)));
}

/// An environment with a Python clock, whose exceptions are rethrown by the call
/// that used the clock.
class Game {
public:
  Game(const Model& model, const nb::dict& values, const std::string& rule_text, bool by_prices,
       size_t horizon, size_t measure_every, double waiting_reward, size_t most_candidates,
       size_t most_operators, const nb::object& seconds)
      : seconds_(seconds) {
    EnvironmentOptions options;
    set_options(options.search, values);
    options.search.rule_text = rule_text;
    options.by_prices = by_prices, options.horizon = horizon;
    options.measure_every = measure_every, options.waiting_reward = waiting_reward;
    options.most_candidates = most_candidates, options.most_operators = most_operators;
    if (!seconds.is_none()) options.time_us = [this](const Model& graph) { return time_us(graph); };
    nb::gil_scoped_release released;
    game_.emplace(value_of(Environment::make(model, options)));
  }
  Game(const Game&) = delete;
  Game& operator=(const Game&) = delete;

  void reset() {
    std::optional<Error> error;
    {
      nb::gil_scoped_release released;
      error = game_->reset();
    }
    rethrow();
    check(error);
  }
  StepResult step(size_t action) {
    std::optional<Expected<StepResult>> done;
    {
      nb::gil_scoped_release released;
      done.emplace(game_->step(action));
    }
    rethrow();
    return value_of(std::move(*done));
  }
  nb::tuple numbers(size_t action) const {
    GraphNumbers numbers = value_of(game_->numbers(checked(action)));
    size_t nodes = numbers.operators.size(), edges = numbers.edges.size() / 2;
    return nb::make_tuple(array_of(std::move(numbers.operators), {nodes}),
                          array_of(std::move(numbers.traits), {nodes, Environment::kTraits}),
                          array_of(std::move(numbers.edges), {edges, 2}));
  }
  Model after(size_t action) const { return value_of(game_->after(checked(action))); }
  Model model() const { return game_->model(); }
  const Environment& game() const { return *game_; }

private:
  size_t checked(size_t action) const {
    if (action >= game_->actions())
      throw nb::index_error(("there is no action " + std::to_string(action)).c_str());
    return action;
  }
  double time_us(const Model& graph) {
    nb::gil_scoped_acquire held;
    try {
      return 1e6 * nb::cast<double>(seconds_(graph));
    } catch (nb::python_error&) {
      thrown_ = std::current_exception();
    } catch (const nb::cast_error&) {
      thrown_ = std::make_exception_ptr(nb::type_error("time must return a number"));
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  nb::object seconds_;
  std::exception_ptr thrown_;
  std::optional<Environment> game_;
};

} // namespace

void bind_environments(nb::module_& m) {
  nb::class_<Rewrite>(m, "Rewrite", "A rule and the place in a graph where it applies.")
      .def_ro("rule", &Rewrite::rule)
      .def_ro("place", &Rewrite::place)
      .def("__repr__", [](const Rewrite& r) {
        return "<Rewrite " + r.rule + (r.place.empty() ? "" : " at " + r.place) + ">";
      });
  nb::class_<RewriteStep>(m, "RewriteStep",
                          "The values on which a reward may depend. Times are microseconds.")
      .def_ro("step", &RewriteStep::step, "number of the step in the episode, from 1")
      .def_ro("measured", &RewriteStep::measured, "else `time_us` is `last_us`")
      .def_ro("source_us", &RewriteStep::source_us)
      .def_ro("last_us", &RewriteStep::last_us)
      .def_ro("time_us", &RewriteStep::time_us)
      .def_ro("done", &RewriteStep::done);
  nb::class_<StepResult>(m, "StepResult")
      .def_ro("reward", &StepResult::reward)
      .def_ro("terminated", &StepResult::terminated)
      .def_ro("truncated", &StepResult::truncated)
      .def_ro("step", &StepResult::step);
  nb::class_<Environment::Best>(m, "BestGraph")
      .def_ro("model", &Environment::Best::model)
      .def_ro("time_us", &Environment::Best::time_us)
      .def_ro("path", &Environment::Best::path);
  nb::class_<Game>(m, "Environment")
      .def(nb::init<const Model&, const nb::dict&, const std::string&, bool, size_t, size_t, double,
                    size_t, size_t, const nb::object&>(),
           "model"_a, "options"_a, "rule_text"_a, "by_prices"_a, "horizon"_a, "measure_every"_a,
           "waiting_reward"_a, "most_candidates"_a, "most_operators"_a, "time"_a.none())
      .def("reset", &Game::reset)
      .def("step", &Game::step, "action"_a)
      .def("numbers", &Game::numbers, "action"_a)
      .def("after", &Game::after, "action"_a)
      .def_prop_ro("model", &Game::model)
      .def_prop_ro("candidates", [](const Game& g) { return g.game().candidates(); })
      .def_prop_ro("path", [](const Game& g) { return g.game().path(); })
      .def_prop_ro("best", [](const Game& g) { return g.game().best(); })
      .def_prop_ro("source_us", [](const Game& g) { return g.game().source_us(); })
      .def_prop_ro("measurements", [](const Game& g) { return g.game().measurements(); });
  m.def("operator_names", &Environment::operator_names);
  m.attr("NODE_TRAITS") = Environment::kTraits;
}

} // namespace tangram::python
