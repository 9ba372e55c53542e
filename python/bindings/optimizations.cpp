#include "python/bindings/errors.h"
#include "python/bindings/interrupts.h"
#include "python/bindings/option_values.h"
#include "python/bindings/parts.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <mutex>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// The user's functions that a search calls from its threads. An exception ends the search
/// and is rethrown when the search is over.
class Callbacks {
public:
  explicit Callbacks(const Interrupt& interrupt) : interrupt_(interrupt) {}

  /// Calls `call` with the interpreter lock held; returns `otherwise` if it throws,
  /// or if an earlier call has thrown.
  template <class T, class Call> T guarded(T otherwise, Call call) {
    nb::gil_scoped_acquire held;
    if (thrown_) return otherwise;
    try {
      return call();
    } catch (nb::python_error&) {
      thrown_ = std::current_exception();
    } catch (const nb::cast_error&) {
      thrown_ = std::make_exception_ptr(nb::type_error("judge must return a number"));
    }
    interrupt_.request();
    return otherwise;
  }

  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

private:
  Interrupt interrupt_;
  std::exception_ptr thrown_;
};

OnProgress listener(const nb::object& notify, Callbacks& callbacks) {
  if (notify.is_none()) return {};
  return [&callbacks, &notify](const SearchProgress& progress) {
    callbacks.guarded(false, [&] { return notify(progress), true; });
  };
}

/// Converts a function that takes a model and returns a function that runs it once
/// and returns seconds. Python objects are released with the interpreter lock held.
Judge judge_of(const nb::object& judge, Callbacks& callbacks) {
  if (judge.is_none()) return {};
  return [&callbacks, &judge](const Model& model) -> std::function<double()> {
    return callbacks.guarded(std::function<double()>(), [&]() -> std::function<double()> {
      nb::object run = judge(model);
      if (run.is_none()) return {};
      std::shared_ptr<nb::object> shared(new nb::object(std::move(run)), [](nb::object* object) {
        nb::gil_scoped_acquire held;
        delete object;
      });
      return [&callbacks, shared] {
        return callbacks.guarded(-1.0, [&] { return 1e6 * nb::cast<double>((*shared)()); });
      };
    });
  };
}

Optimized search(const Model& model, const nb::dict& values, const std::string& rule_text,
                 bool explain, bool trace, bool portable, bool recipe, const nb::object& progress,
                 const nb::object& judge) {
  OptimizeOptions options;
  set_options(options, values);
  options.rule_text = rule_text;
  options.explain = explain, options.record_trace = trace, options.portable = portable;
  options.recipe = recipe;
  options.interrupt.emplace();
  Callbacks callbacks(*options.interrupt);
  options.progress = listener(progress, callbacks);
  options.judge = judge_of(judge, callbacks);
  std::optional<Expected<Optimized>> found;
  {
    InterruptScope ctrl_c(*options.interrupt);
    nb::gil_scoped_release released;
    found.emplace(optimize(model, options));
  }
  callbacks.rethrow();
  return value_of(std::move(*found));
}

// Values of a report as Python has them.
template <class T> const T& to_python(const T& value) { return value; }

std::string_view to_python(Verified verified) {
  constexpr std::string_view words[] = {"not asked", "equal", "undecided"};
  return words[static_cast<size_t>(verified)];
}

nb::dict to_python(const RuleCounts& counts) {
  nb::dict out;
  for (const auto& [rule, count] : counts) out[rule.c_str()] = count;
  return out;
}

void bind_report(nb::module_& m) {
  nb::class_<Bound> bound(m, "Bound", "A bound on the cost of the graphs of an e-graph.");
#define TG_BOUND(type, field, value, meaning) bound.def_ro(#field, &Bound::field, meaning);
  nb::class_<SizeRecipe> recipe(m, "SizeRecipe", "A recipe of a model with open sizes.");
#define TG_SIZE_RECIPE(type, field, value, meaning)                                                \
  recipe.def_ro(#field, &SizeRecipe::field, meaning);
  nb::class_<SizeTrial> trial(m, "SizeTrial", "Sizes at which the recipes were tried.");
#define TG_SIZE_TRIAL(type, field, value, meaning) trial.def_ro(#field, &SizeTrial::field, meaning);
  nb::class_<Report> report(m, "Report", "The report of an optimisation. Costs are microseconds.");
#define TG_ROW(section, origin, written, type, field, value, meaning)                              \
  report.def_prop_ro(                                                                              \
      #field, [](const Report& r) { return to_python(r.field); }, meaning);
#include "tangram/tables/report.def"
}

} // namespace

void bind_optimizations(nb::module_& m) {
  bind_report(m);
  nb::class_<Step>(m, "Step", "One application of a rule.")
      .def_ro("rule", &Step::rule)
      .def_ro("set", &Step::set)
      .def_ro("built_in", &Step::built_in)
      .def_ro("file", &Step::file)
      .def_ro("line", &Step::line)
      .def_ro("backwards", &Step::backwards)
      .def_ro("before", &Step::before)
      .def_ro("after", &Step::after)
      .def_ro("where", &Step::where);
  nb::class_<SearchProgress>(m, "SearchProgress", "The progress of a running search.")
      .def_ro("seconds", &SearchProgress::seconds)
      .def_ro("time_limit_s", &SearchProgress::time_limit_s)
      .def_ro("source_us", &SearchProgress::source_us)
      .def_ro("best_us", &SearchProgress::best_us)
      .def_ro("bound_us", &SearchProgress::bound_us)
      .def_ro("nodes", &SearchProgress::nodes)
      .def_ro("simulations", &SearchProgress::simulations)
      .def_ro("where", &SearchProgress::where)
      .def_ro("rules", &SearchProgress::rules);
  nb::class_<Optimized>(m, "Optimized")
      .def_ro("model", &Optimized::model)
      .def_ro("report", &Optimized::report)
      .def_ro("steps", &Optimized::steps)
      .def_ro("report_json", &Optimized::report_json)
      .def_ro("trace_json", &Optimized::trace_json)
      .def_ro("recipe", &Optimized::recipe)
      .def(
          "at",
          [](const Optimized& found, const Sizes& sizes) { return value_of(found.at(sizes)); },
          "sizes"_a, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Recipe>(m, "Recipe", "The rewrites of an optimisation, for other sizes.");
  nb::class_<Repeated>(m, "Repeated")
      .def_ro("model", &Repeated::model)
      .def_ro("steps", &Repeated::steps)
      .def_ro("skipped", &Repeated::skipped)
      .def_ro("cost_before_us", &Repeated::cost_before_us)
      .def_ro("cost_after_us", &Repeated::cost_after_us)
      .def_ro("source_returned", &Repeated::source_returned);
  m.def("optimize", &search, "model"_a, "options"_a, "rule_text"_a, "explain"_a, "trace"_a,
        "portable"_a, "recipe"_a, "progress"_a.none(), "judge"_a.none());
  m.def(
      "repeat",
      [](const Recipe& recipe, const Model& model) { return value_of(repeat(recipe, model)); },
      "recipe"_a, "model"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("option_rows", &option_rows);
  m.def(
      "report_page", [](const std::string& trace) { return value_of(report_page(trace)); },
      "trace_json"_a);
}

} // namespace tangram::python
