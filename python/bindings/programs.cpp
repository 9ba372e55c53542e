#include "python/bindings/arrays.h"
#include "python/bindings/errors.h"
#include "python/bindings/parts.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <mutex>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// A thread-safe Program: its runs are serialized.
class SharedProgram {
public:
  SharedProgram(const Model& model, const CompileOptions& options)
      : inputs_(model.inputs()), outputs_(model.outputs()),
        program_(value_of(compile(model, options))) {}

  /// Returns the outputs for inputs in the order of the model.
  nb::list run(const nb::list& inputs) {
    Bound bound = bind(inputs);
    std::vector<TensorView> places;
    std::vector<std::vector<uint16_t>> narrow; // outputs without a NumPy type
    nb::list outputs;
    narrow.reserve(outputs_.size());
    for (const TensorSpec& spec : outputs_) {
      TensorView view;
      if (spec.dtype == DType::BF16) {
        view = {narrow.emplace_back(elements(spec)).data(), spec.dtype, spec.shape};
        outputs.append(nb::none());
      } else {
        outputs.append(new_array(spec, view));
      }
      places.push_back(std::move(view));
    }
    {
      nb::gil_scoped_release released;
      std::lock_guard lock(mutex_);
      check(program_.run(bound.views, places));
    }
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].dtype == DType::BF16)
        outputs[i] = widened(static_cast<const uint16_t*>(places[i].data), places[i].shape);
    return outputs;
  }

  Timing time(const nb::list& inputs, const TimeOptions& options) {
    std::vector<Tensor> tensors;
    nb::module_ numpy = nb::module_::import_("numpy");
    for (nb::handle input : inputs) {
      AnyArray array = array_of(numpy.attr("asarray")(input, "float32"), DType::F32, "an input");
      ConstTensorView view = view_of(array);
      const auto* data = static_cast<const float*>(view.data);
      tensors.push_back({view.shape, {data, data + array.size()}});
    }
    nb::gil_scoped_release released;
    std::lock_guard lock(mutex_);
    return value_of(program_.time(tensors, options));
  }

  ProgramInfo info() const { return program_.info(); }

private:
  struct Bound {
    std::vector<AnyArray> arrays; // keep the viewed arrays alive
    std::vector<ConstTensorView> views;
  };

  Bound bind(const nb::list& inputs) const {
    Bound bound;
    bound.arrays.reserve(inputs.size());
    size_t at = 0;
    for (nb::handle input : inputs) {
      const TensorSpec* spec = at < inputs_.size() ? &inputs_[at] : nullptr;
      ++at;
      bound.arrays.push_back(array_of(input, spec ? spec->dtype : DType::F32,
                                      spec ? "the input `" + spec->name + "`" : "an input"));
      bound.views.push_back(view_of(bound.arrays.back()));
    }
    return bound;
  }

  static std::vector<uint16_t> elements(const TensorSpec& spec) {
    size_t count = 1;
    for (int64_t size : spec.shape) count *= static_cast<size_t>(size);
    return std::vector<uint16_t>(count);
  }

  std::vector<TensorSpec> inputs_, outputs_;
  std::mutex mutex_;
  Program program_;
};

template <class E> E word_of(std::string_view text, const char* what) {
  if (std::optional<E> value = from_word<E>(text)) return *value;
  std::string all;
  for (std::string_view row : Words<E>::kRows)
    if (!row.empty()) all += (all.empty() ? "" : ", ") + std::string(row);
  throw nb::value_error((std::string(what) + " must be one of " + all).c_str());
}

SharedProgram* compiled(const Model& model, const std::string& backend, const std::string& dtype,
                        int threads, int64_t memory_limit, uint64_t seed, bool allow_tf32,
                        double tune_near_ms) {
  CompileOptions options;
  options.backend = word_of<Backend>(backend, "a backend");
  options.dtype = word_of<DType>(dtype, "a dtype");
  options.threads = threads, options.memory_limit_mb = memory_limit, options.seed = seed;
  options.allow_tf32 = allow_tf32;
  options.tune_near_ms = tune_near_ms;
  nb::gil_scoped_release released;
  return new SharedProgram(model, options);
}

} // namespace

void bind_programs(nb::module_& m) {
  nb::class_<StepTiming>(m, "StepTiming", "One operator of a timed run.")
      .def_ro("name", &StepTiming::name)
      .def_ro("result", &StepTiming::result)
      .def_ro("implementation", &StepTiming::implementation)
      .def_ro("median_us", &StepTiming::median_us)
      .def_ro("flops", &StepTiming::flops)
      .def_ro("bytes", &StepTiming::bytes);
  nb::class_<Timing>(m, "Timing", "The times of runs, in microseconds.")
      .def_ro("runs", &Timing::runs)
      .def_ro("median_us", &Timing::median_us)
      .def_ro("p10_us", &Timing::p10_us)
      .def_ro("p90_us", &Timing::p90_us)
      .def_ro("min_us", &Timing::min_us)
      .def_ro("steps", &Timing::steps);
  nb::class_<ProgramInfo>(m, "ProgramInfo", "The device and the memory of a program.")
      .def_ro("backend", &ProgramInfo::backend)
      .def_ro("device", &ProgramInfo::device)
      .def_ro("threads", &ProgramInfo::threads)
      .def_ro("build_s", &ProgramInfo::build_s)
      .def_ro("memory_mb", &ProgramInfo::memory_mb)
      .def_ro("notes", &ProgramInfo::notes);
  nb::class_<SharedProgram>(m, "Program", "A model that is compiled and loaded on a backend.")
      .def("run", &SharedProgram::run, "inputs"_a)
      .def(
          "time",
          [](SharedProgram& program, const nb::list& inputs, size_t runs, double seconds,
             bool steps) {
            return program.time(inputs, {.runs = runs, .seconds = seconds, .steps = steps});
          },
          "inputs"_a, "runs"_a, "seconds"_a, "steps"_a)
      .def_prop_ro("info", &SharedProgram::info);
  m.def("compile", &compiled, "model"_a, "backend"_a, "dtype"_a, "threads"_a, "memory_limit"_a,
        "seed"_a, "allow_tf32"_a, "tune_near_ms"_a);
}

} // namespace tangram::python
