#include "python/bindings/errors.h"
#include "python/bindings/interrupts.h"
#include "python/bindings/parts.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::vector<RuleVerdict> verify(const std::vector<std::string>& rules, const std::string& text,
                                int64_t instances, bool proof, uint64_t seed, double time_limit,
                                int threads) {
  VerifyRulesOptions options;
  options.rules = rules, options.rule_text = text;
  options.instances = instances, options.proof = proof, options.seed = seed;
  options.time_limit_s = time_limit, options.threads = threads;
  options.interrupt.emplace();
  InterruptScope ctrl_c(*options.interrupt);
  nb::gil_scoped_release released;
  return value_of(verify_rules(options));
}

} // namespace

void bind_rules(nb::module_& m) {
  nb::class_<RuleInfo>(m, "RuleInfo", "A declared rule.")
      .def_ro("rule", &RuleInfo::rule)
      .def_ro("set", &RuleInfo::set)
      .def_ro("file", &RuleInfo::file)
      .def_ro("line", &RuleInfo::line)
      .def_ro("with_program", &RuleInfo::with_program)
      .def_prop_ro("numerics", [](const RuleInfo& r) { return word(r.numerics); })
      .def_ro("text", &RuleInfo::text)
      .def_ro("fingerprint", &RuleInfo::fingerprint);
  nb::class_<RuleVerdict>(m, "RuleVerdict", "The result of verifying a rule.")
      .def_ro("rule", &RuleVerdict::rule)
      .def_ro("set", &RuleVerdict::set)
      .def_ro("file", &RuleVerdict::file)
      .def_ro("line", &RuleVerdict::line)
      .def_prop_ro("status", [](const RuleVerdict& v) { return word(v.status); })
      .def_ro("cases", &RuleVerdict::cases)
      .def_ro("in_field", &RuleVerdict::in_field)
      .def_ro("error_bound", &RuleVerdict::error_bound)
      .def_prop_ro("numerics", [](const RuleVerdict& v) { return word(v.numerics); })
      .def_prop_ro("observed", [](const RuleVerdict& v) { return word(v.observed); })
      .def_ro("why", &RuleVerdict::why)
      .def_ro("unproved", &RuleVerdict::unproved)
      .def_ro("counterexample", &RuleVerdict::counterexample);
  m.def(
      "list_rules",
      [](const std::vector<std::string>& selection) {
        nb::gil_scoped_release released;
        return value_of(list_rules(selection));
      },
      "selection"_a);
  m.def("verify_rules", &verify, "rules"_a, "text"_a, "instances"_a, "proof"_a, "seed"_a,
        "time_limit"_a, "threads"_a);
}

} // namespace tangram::python
