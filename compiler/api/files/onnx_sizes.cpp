#include "compiler/api/files/onnx_sizes.h"

#include "compiler/import/onnx/read/input_dims.h"

#include <llvm/ADT/StringSet.h>

#include <algorithm>

namespace tg {

std::vector<std::string> leave_out_sizes(const onnx::ModelFile* file, onnx::ImportOptions& sizes) {
  llvm::StringSet<> inputs, dims;
  if (file)
    for (const onnx::schema::ValueInfo& input : file->model().graph().input())
      inputs.insert(input.name());
  std::vector<std::string> names;
  if (file)
    for (const std::string& name : onnx::dim_names(*file, sizes)) dims.insert(name);
  auto keep = [&](auto& map, const llvm::StringSet<>& known, llvm::StringRef kind) {
    for (auto at = map.begin(); at != map.end();) {
      bool stays = known.contains(at->first);
      if (!stays) names.push_back((kind + " `" + at->first + "`").str());
      at = stays ? std::next(at) : map.erase(at);
    }
  };
  keep(sizes.shapes, inputs, "an input");
  keep(sizes.named_shapes, inputs, "an input");
  keep(sizes.dims, dims, "a symbolic dimension");
  keep(sizes.ranges, dims, "a symbolic dimension");
  keep(sizes.computed_dims, dims, "a symbolic dimension");
  return names;
}

Result<std::vector<OpenSize>> onnx_open_sizes(const onnx::ModelFile& file,
                                              const onnx::ImportOptions& options) {
  TG_TRY(onnx::InputDims dims, onnx::input_dims(file, options));
  if (!dims.unranked.empty())
    return error(Code::not_constant, "`{0}` does not give the rank of the input `{1}`",
                 file.file_name(), dims.unranked.front())
        .suggest("set its shape with --shape " + dims.unranked.front() + "=1,S,64");
  std::vector<OpenSize> sizes;
  for (const onnx::OpenDim& dim : dims.open) {
    SizeRange range{1, {}};
    for (const std::string& name : {dim.symbol, dim.name})
      if (auto given = options.ranges.find(name); given != options.ranges.end())
        range = {given->second.least, given->second.most};
    if (range.most && *range.most < range.least)
      return error(Code::usage, "the range {0} of `{1}` is empty", range.text(), dim.name);
    constexpr int64_t kLength = 64;
    int64_t sample = std::max<int64_t>(dim.axis == 0 ? 1 : kLength, range.least);
    if (range.most) sample = std::min(sample, *range.most);
    sizes.push_back({dim.name, range, sample});
  }
  return sizes;
}

void set_onnx_sizes(llvm::ArrayRef<OpenSize> sizes, llvm::ArrayRef<int64_t> point,
                    onnx::ImportOptions& options) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    options.dims[sizes[i].name] = point[i];
    options.ranges.erase(sizes[i].name);
  }
  options.most_folded = 1;
}

namespace {

/// Binds the sizes of open dimensions, with the place of each.
class Binding {
public:
  Binding(llvm::ArrayRef<OpenSize> sizes, const onnx::InputDims& dims) : sizes_(sizes) {
    for (const auto& [symbol, size] : dims.fixed) known_[symbol] = size;
    for (size_t i = 0; i < sizes.size(); ++i) open_[dims.open[i].symbol] = &sizes[i];
  }

  Result<void> bind(llvm::StringRef symbol, int64_t size, const std::string& place) {
    auto open = open_.find(symbol.str());
    if (open == open_.end()) return {};
    const OpenSize& of = *open->second;
    auto [known, fresh] = known_.try_emplace(symbol.str(), size);
    if (!fresh && known->second != size)
      return error(Code::bad_input_value, "`{0}` is {1} in {2}, but {3} in {4}", of.name,
                   known->second, places_[symbol.str()], size, place);
    places_.try_emplace(symbol.str(), place);
    if (!of.range.contains(size))
      return error(Code::bad_input_value, "`{0}` must be in {1}, but {2} is {3}", of.name,
                   of.range.text(), place, size);
    return {};
  }

  /// Finds the only unknown size of a sum, if the others are known and it occurs once.
  Result<void> solve(const onnx::InputDim& dim, int64_t size, const std::string& place) {
    int64_t rest = size;
    const onnx::InputDim::Product* unknown = nullptr;
    for (const onnx::InputDim::Product& product : dim.sum) {
      std::optional<int64_t> value = onnx::InputDim{{product}, ""}.value(known_);
      if (!value && (unknown || product.symbols.size() != 1)) return {};
      if (value)
        rest -= *value;
      else
        unknown = &product;
    }
    if (unknown && unknown->factor != 0 && rest % unknown->factor == 0 && rest >= 0)
      return bind(unknown->symbols[0], rest / unknown->factor, place);
    if (!unknown && rest == 0) return {};
    return error(Code::bad_input_value, "{0} is {1}, which does not fit {2} of the file", place,
                 size, dim.place);
  }

  void store(onnx::ImportOptions& options) const {
    for (const auto& [symbol, size] : open_)
      if (auto known = known_.find(symbol); known != known_.end())
        options.dims[size->name] = known->second;
  }

private:
  llvm::ArrayRef<OpenSize> sizes_;
  std::map<std::string, int64_t> known_;
  std::map<std::string, std::string> places_;
  std::map<std::string, const OpenSize*> open_;
};

} // namespace

Result<void> add_onnx_input_sizes(const onnx::ModelFile& file, llvm::ArrayRef<OpenSize> sizes,
                                  llvm::ArrayRef<InputTensor> inputs,
                                  onnx::ImportOptions& options) {
  TG_TRY(onnx::InputDims dims, onnx::input_dims(file, options));
  Binding binding(sizes, dims);
  for (bool alone : {true, false}) // sizes by themselves first
    for (const InputTensor& input : inputs) {
      auto declared = dims.inputs.find(input.name);
      if (declared == dims.inputs.end() ||
          declared->second.size() != static_cast<size_t>(input.type.rank()))
        continue; // left to the check of inputs
      for (size_t axis = 0; axis < declared->second.size(); ++axis) {
        const onnx::InputDim& dim = declared->second[axis];
        std::string place =
            llvm::formatv("dimension {0} of the input `{1}` ({2})", axis, input.name, input.file);
        int64_t size = input.type[axis];
        bool open = llvm::any_of(dim.sum, [](const auto& p) { return !p.symbols.empty(); });
        if (!open || dim.symbol().empty() == alone) continue;
        TG_CHECK(alone ? binding.bind(dim.symbol(), size, place) : binding.solve(dim, size, place));
      }
    }
  binding.store(options);
  return {};
}

} // namespace tg
