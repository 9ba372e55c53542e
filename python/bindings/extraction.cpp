#include "python/bindings/errors.h"
#include "python/bindings/interrupts.h"
#include "python/bindings/parts.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

Extraction extracted(const std::string& text, const std::string& name, const std::string& extractor,
                     bool check, uint64_t seed, double time_limit) {
  ExtractOptions options;
  std::optional<Extractor> found = from_word<Extractor>(extractor);
  if (!found) throw nb::value_error(("unknown extractor `" + extractor + "`").c_str());
  options.extract = *found;
  options.check = check, options.seed = seed, options.time_limit_s = time_limit;
  options.interrupt.emplace();
  InterruptScope ctrl_c(*options.interrupt);
  nb::gil_scoped_release released;
  return value_of(extract(text, name, options));
}

Calibration calibrated(double time_limit, int threads) {
  CalibrateOptions options;
  options.time_limit_s = time_limit, options.threads = threads;
  nb::gil_scoped_release released;
  return value_of(calibrate(options));
}

} // namespace

void bind_extraction(nb::module_& m) {
  nb::class_<Extraction>(m, "Extraction", "The best graph that was found in an e-graph.")
      .def_ro("nodes", &Extraction::nodes)
      .def_ro("classes", &Extraction::classes)
      .def_ro("roots", &Extraction::roots)
      .def_prop_ro(
          "choices",
          [](const Extraction& e) {
            nb::dict choices;
            for (const auto& [group, node] : e.choices) choices[nb::cast(group)] = node;
            return choices;
          },
          "{class: node}, the ids of the file")
      .def_ro("algorithm", &Extraction::algorithm)
      .def_ro("dag_cost", &Extraction::dag_cost)
      .def_ro("tree_cost", &Extraction::tree_cost)
      .def_ro("lower_bound", &Extraction::lower_bound)
      .def_ro("optimal", &Extraction::optimal)
      .def_ro("seconds", &Extraction::seconds)
      .def_ro("note", &Extraction::note);
  nb::class_<Calibration>(m, "Calibration", "The result of calibrating this machine.")
      .def_ro("timed", &Calibration::timed)
      .def_ro("unsettled", &Calibration::unsettled)
      .def_ro("samples", &Calibration::samples)
      .def_ro("seconds", &Calibration::seconds)
      .def_ro("median_error", &Calibration::median_error)
      .def_ro("finished", &Calibration::finished)
      .def_ro("notes", &Calibration::notes);
  m.def("extract", &extracted, "text"_a, "name"_a, "extractor"_a, "check"_a, "seed"_a,
        "time_limit"_a);
  m.def("calibrate", &calibrated, "time_limit"_a, "threads"_a);
}

} // namespace tangram::python
