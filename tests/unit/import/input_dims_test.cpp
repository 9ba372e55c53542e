// Open sizes of inputs: their names, the options that fix, bound and compute them, and errors.
#include "compiler/import/onnx/read/input_dims.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringExtras.h>

#include "tests/unit/import/small_models.h"

namespace tg::onnx {
namespace {

/// A model with inputs of these dimensions: numbers, symbols, or "" for an unnamed size.
std::shared_ptr<const ModelFile>
file_with(std::vector<std::pair<std::string, std::vector<std::string>>> inputs) {
  schema::Model model = model_of({});
  for (const auto& [name, dims] : inputs) {
    schema::ValueInfo& input = *model.mutable_graph()->add_input();
    input.set_name(name);
    schema::Type::OfTensor& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(schema::Tensor::FLOAT);
    tensor.mutable_shape();
    for (const std::string& text : dims) {
      schema::Shape::Dimension& dim = *tensor.mutable_shape()->add_dim();
      int64_t size = 0;
      if (!llvm::StringRef(text).getAsInteger(10, size))
        dim.set_dim_value(size);
      else if (!text.empty())
        dim.set_dim_param(text);
    }
  }
  return file_of(model);
}

/// Returns "batch:batch n:past length" with symbol:name of each open size.
std::string open_text(const Result<InputDims>& dims) {
  if (!dims) return "error: " + dims.error().message;
  std::vector<std::string> out;
  for (const OpenDim& dim : dims->open) out.push_back(dim.symbol + ":" + dim.name);
  return llvm::join(out, " ");
}

std::string open_text(std::vector<std::pair<std::string, std::vector<std::string>>> inputs,
                      const ImportOptions& options = {}) {
  std::shared_ptr<const ModelFile> file = file_with(std::move(inputs));
  return open_text(input_dims(*file, options));
}

TEST(InputDims, NamesAreIdentifiersOfTheLanguage) {
  EXPECT_EQ(open_text({{"x", {"batch", "3"}}, {"y", {"batch", "", "?"}}}),
            "batch:batch y_1:y_1 y_2:y_2");
  EXPECT_EQ(open_text({{"n", {"if", "relu", "n", "a b", "a-b"}}}),
            "if:if_size relu:relu_size n:n_size a b:a_b a-b:a_b_size");
  EXPECT_EQ(open_text({{"in.0", {""}}}), "in_0_0:in_0_0");
  EXPECT_EQ(open_text({{"x", {"2", "3"}}}), "");
}

TEST(InputDims, ExpressionsOfOtherSizes) {
  EXPECT_EQ(open_text({{"p", {"past"}}, {"x", {"seq"}}, {"m", {"past + seq"}}}),
            "past:past seq:seq");
  EXPECT_EQ(open_text({{"p", {"past"}}, {"m", {"2*past + 1"}}}), "past:past");
  EXPECT_EQ(open_text({{"p", {"past"}}, {"m", {"other + 1"}}}),
            "past:past other + 1:other_1"); // no dimension is `other`
  ImportOptions options;
  options.computed_dims["total"] = "past+seq";
  std::shared_ptr<const ModelFile> file =
      file_with({{"p", {"past"}}, {"x", {"seq"}}, {"m", {"total"}}});
  Result<InputDims> dims = input_dims(*file, options);
  EXPECT_EQ(open_text(dims), "past:past seq:seq");
  EXPECT_EQ(dims->inputs["m"][0].value({{"past", 4}, {"seq", 3}}), 7);
  EXPECT_EQ(dims->inputs["m"][0].value({{"past", 4}}), std::nullopt);
}

TEST(InputDims, OptionsFixSizes) {
  ImportOptions options;
  options.dims["if_size"] = 4; // by its identifier
  options.dims["y_0"] = 5;
  EXPECT_EQ(open_text({{"x", {"if"}}, {"y", {"", "n"}}}, options), "n:n");
  options = {};
  options.shapes["x"] = {2, 7};
  EXPECT_EQ(open_text({{"x", {"batch", ""}}, {"y", {"batch", "n"}}}, options), "n:n");
  options = {};
  options.named_shapes["x"] = {"S", "7"};
  options.named_shapes["y"] = {"S", "T"};
  EXPECT_EQ(open_text({{"x", {"", ""}}, {"y", {"", ""}}}, options), "S:S T:T");
}

TEST(InputDims, Contradictions) {
  ImportOptions options;
  options.dims["bacth"] = 2;
  EXPECT_EQ(open_text({{"x", {"batch"}}}, options), "error: `m.onnx` has no dimension `bacth`");
  options = {};
  options.dims["batch"] = -2;
  EXPECT_EQ(open_text({{"x", {"batch"}}}, options),
            "error: `m.onnx`: the dimension `batch` is given a negative size");
  options = {};
  options.shapes["x"] = {2, 3};
  EXPECT_EQ(open_text({{"x", {"batch"}}}, options),
            "error: `m.onnx`: the shape given for `x` has 2 sizes, but the input has 1");
  options.shapes["x"] = {4};
  EXPECT_EQ(open_text({{"x", {"3"}}}, options),
            "error: `m.onnx`: size 1 of the input `x` is 3, and 4 is given");
  options.shapes["y"] = {5};
  EXPECT_EQ(
      open_text({{"x", {"n"}}, {"y", {"n"}}}, options),
      "error: `m.onnx`: size 1 of the input `y` is `n`, which is 4 elsewhere, and 5 is given");
  options = {};
  options.computed_dims["total"] = "past+other";
  EXPECT_EQ(open_text({{"x", {"past", "total"}}}, options),
            "error: `m.onnx`: `total` is given as `past+other`, which is not a sum of products of "
            "numbers and other dimensions");
}

} // namespace
} // namespace tg::onnx
