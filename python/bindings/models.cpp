#include "python/bindings/arrays.h"
#include "python/bindings/errors.h"
#include "python/bindings/interrupts.h"
#include "python/bindings/parts.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <sstream>

namespace tangram::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using Dims = std::map<std::string, int64_t>;
using Settings = std::map<std::string, std::string>;

ParseOptions parse_options(std::string model, Settings set, Shapes shapes, Dims dims, int keep) {
  return {std::move(model), std::move(set), std::move(shapes), std::move(dims), keep};
}

Model parse_text(const std::string& text, const std::string& name, const std::string& model,
                 const Settings& set) {
  nb::gil_scoped_release released;
  return value_of(parse(text, name, parse_options(model, set, {}, {}, 0)));
}

Model load(const std::string& path, const std::string& model, const Settings& set,
           const Shapes& shapes, const Dims& dims, int keep_for_opset) {
  nb::gil_scoped_release released;
  return value_of(parse_file(path, parse_options(model, set, shapes, dims, keep_for_opset)));
}

/// Releases the reference on any thread that destroys the last model.
std::shared_ptr<const void> kept(AnyArray array) {
  return {new AnyArray(std::move(array)), [](const void* p) {
            nb::gil_scoped_acquire held;
            delete static_cast<const AnyArray*>(p);
          }};
}

Model given(const Model& model, const nb::dict& weights) {
  std::vector<GivenWeight> views;
  for (auto [path, tensor] : weights) {
    auto name = nb::cast<std::string>(path);
    AnyArray array = array_of(tensor, DType::F32, "the weight `" + name + "`");
    ConstTensorView view = view_of(array);
    views.push_back({std::move(name), std::move(view), kept(std::move(array))});
  }
  nb::gil_scoped_release released;
  return value_of(with_weights(model, views));
}

Verification compare(const Model& a, const Model& b, uint64_t seed, double time_limit,
                     int threads) {
  VerifyOptions options;
  options.seed = seed, options.time_limit_s = time_limit, options.threads = threads;
  options.interrupt.emplace();
  InterruptScope ctrl_c(*options.interrupt);
  nb::gil_scoped_release released;
  return value_of(verify(a, b, options));
}

std::string_view verdict_word(const Verification& v) {
  constexpr std::string_view words[] = {"equal", "different", "undecided"};
  return words[static_cast<size_t>(v.verdict)];
}

std::string_view method_word(const Verification& v) {
  constexpr std::string_view words[] = {"identical", "field", "float64"};
  return words[static_cast<size_t>(v.method)];
}

void bind_verification(nb::module_& m) {
  using Element = Verification::Element;
  nb::class_<Element>(m, "Element", "One element of a tensor.")
      .def_ro("name", &Element::name)
      .def_ro("index", &Element::index)
      .def_ro("value", &Element::value, "An int of an integer dtype or bool, else a float.");
  nb::class_<Verification>(m, "Verification", "The result of comparing two models.")
      .def_prop_ro("verdict", &verdict_word, "'equal', 'different' or 'undecided'")
      .def_prop_ro("method", &method_word, "'identical', 'field' or 'float64'")
      .def_ro("points", &Verification::points)
      .def_ro("error_bound", &Verification::error_bound)
      .def_ro("why", &Verification::why)
      .def_ro("caveats", &Verification::caveats)
      .def_ro("a", &Verification::a)
      .def_ro("b", &Verification::b)
      .def_ro("inputs", &Verification::inputs);
}

} // namespace

void bind_models(nb::module_& m) {
  nb::class_<TensorSpec>(m, "TensorSpec", "Name, dtype and shape of an input, output or weight.")
      .def_ro("name", &TensorSpec::name)
      .def_prop_ro("dtype", [](const TensorSpec& s) { return word(s.dtype); })
      .def_prop_ro("shape", [](const TensorSpec& s) { return nb::tuple(nb::cast(s.shape)); });
  nb::class_<OpenSize>(m, "OpenSize", "A size of a model that has a range.")
      .def_ro("name", &OpenSize::name)
      .def_ro("least", &OpenSize::least)
      .def_ro("most", &OpenSize::most, "None: no end.")
      .def_ro("sample", &OpenSize::sample, "The default.");
  bind_verification(m);
  nb::class_<Model>(m, "Model", "A checked tensor graph.")
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("open_sizes", &Model::open_sizes)
      .def(
          "at", [](const Model& model, const Sizes& sizes) { return value_of(model.at(sizes)); },
          "sizes"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("weights", &Model::weights)
      .def_prop_ro("op_count", &Model::op_count)
      .def("text", &Model::text, nb::call_guard<nb::gil_scoped_release>())
      .def("with_weights", &given, "weights"_a)
      .def(
          "with_weights_file",
          [](const Model& model, const std::string& path) {
            nb::gil_scoped_release released;
            return value_of(with_weights(model, path));
          },
          "path"_a)
      .def(
          "save_onnx",
          [](const Model& model, const std::string& path, int opset) {
            nb::gil_scoped_release released;
            return value_of(save_onnx(model, path, opset));
          },
          "path"_a, "opset"_a)
      .def(
          "save_weights",
          [](const Model& model, const std::string& path) {
            nb::gil_scoped_release released;
            return value_of(save_weights(model, path));
          },
          "path"_a)
      .def("verify", &compare, "other"_a, "seed"_a, "time_limit"_a, "threads"_a)
      .def(
          "svg",
          [](const Model& model, const Model* other) {
            nb::gil_scoped_release released;
            return graph_svg(model, other);
          },
          "other"_a.none());
  m.def("parse", &parse_text, "text"_a, "name"_a, "model"_a, "set"_a);
  m.def("load", &load, "path"_a, "model"_a, "set"_a, "shapes"_a, "dims"_a, "keep_for_opset"_a);
  m.def("svg_style", &svg_style);
}

} // namespace tangram::python
