#include "compiler/cli/commands/run_files.h"

#include "compiler/trial/run_steps.h"
#include "runtime/execute.h"
#include "runtime/random.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace tg::cli {

namespace {

/// Returns the index of an input. Errors: `bad_input_value` for a name that the model does not
/// have.
Result<size_t> find_input(const Plan& plan, llvm::StringRef name) {
  std::vector<llvm::StringRef> names;
  for (PlanValueId id : plan.inputs) names.push_back(plan.values[id].name);
  auto found = llvm::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  llvm::StringRef near = near_miss(name, names);
  Diagnostic d = error(Code::bad_input_value, "`{0}` has no input `{1}`", plan.model, name);
  d.help = near.empty() ? "its inputs are: " + llvm::join(names, ", ")
                        : llvm::formatv("did you mean `{0}`?", near).str();
  return d;
}

} // namespace

Result<std::vector<Tensor>> read_inputs(const Options& o, const Plan& plan,
                                        const PrepareOptions& options) {
  TG_TRY(std::vector<Tensor> inputs, random_inputs(plan, o.seed));
  TG_CHECK(give_updated_weights(plan, options, inputs));
  for (const auto& [name, path] : o.inputs) {
    if (!name.empty()) {
      TG_TRY(size_t input, find_input(plan, name));
      TG_TRY(inputs[input], read_npy(path));
      continue;
    }
    auto wanted = [&](llvm::StringRef array, const TensorType& type) -> Result<void> {
      TG_TRY(size_t input, find_input(plan, array));
      return check_input(plan.values[plan.inputs[input]], type);
    };
    TG_TRY(std::vector<NamedTensor> arrays, read_npz(path, wanted));
    for (NamedTensor& array : arrays) {
      TG_TRY(size_t input, find_input(plan, array.name));
      inputs[input] = std::move(array.tensor);
    }
  }
  return inputs;
}

Result<std::vector<InputTensor>> input_types(const Options& o) {
  std::vector<InputTensor> types;
  for (const auto& [name, path] : o.inputs) {
    if (name.empty()) {
      auto note = [&, file = path](llvm::StringRef array, const TensorType& type) -> Result<void> {
        types.push_back({array.str(), type, file});
        return {};
      };
      TG_CHECK(read_npz(path, note));
      continue;
    }
    TG_TRY(Tensor tensor, read_npy(path));
    types.push_back({name, tensor.type(), path});
  }
  return types;
}

Result<std::vector<NamedTensor>> read_examples(const Options& o) {
  std::vector<NamedTensor> examples;
  for (const auto& [name, path] : o.data) {
    if (!name.empty()) {
      TG_TRY(Tensor tensor, read_npy(path));
      examples.push_back({name, std::move(tensor)});
      continue;
    }
    TG_TRY(std::vector<NamedTensor> arrays, read_npz(path));
    for (NamedTensor& array : arrays) examples.push_back(std::move(array));
  }
  return examples;
}

namespace {

/// Returns the file name for an output. Names from other formats can be paths, so `/` becomes `_`.
std::string file_name(llvm::StringRef name) {
  std::string file = name.str();
  std::replace(file.begin(), file.end(), '/', '_');
  return file + ".npy";
}

} // namespace

Result<void> write_outputs(const Options& o, const RunReport& report) {
  if (llvm::sys::path::extension(o.output) == ".npz") {
    std::vector<NamedTensor> tensors;
    for (const RunOutput& output : report.outputs) tensors.push_back({output.name, output.tensor});
    return write_npz(o.output, tensors);
  }
  if (std::error_code code = llvm::sys::fs::create_directories(o.output))
    return error(Code::cannot_write, "cannot create the folder `{0}`: {1}", o.output,
                 code.message());
  for (const RunOutput& output : report.outputs) {
    llvm::SmallString<128> path(o.output);
    llvm::sys::path::append(path, file_name(output.name));
    TG_CHECK(write_npy(path, output.tensor));
  }
  return {};
}

} // namespace tg::cli
