#include "compiler/import/onnx/read/input_dims.h"

#include "compiler/ir/text/words.h"

#include <llvm/ADT/StringExtras.h>

namespace tg::onnx {
namespace {

/// Returns the symbol of a size; some exporters write "?" for a size without one.
llvm::StringRef symbol_of(const schema::Shape::Dimension& dim) {
  return dim.dim_param() == "?" ? llvm::StringRef() : llvm::StringRef(dim.dim_param());
}

bool is_known(const schema::Shape::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

class DimReader {
public:
  DimReader(const ModelFile& file, const ImportOptions& options)
      : file_(file), graph_(file.model().graph()), options_(options) {
    for (const schema::Tensor& tensor : graph_.initializer()) initializers_.insert(tensor.name());
    find_symbols();
  }

  Result<InputDims> run() {
    TG_CHECK(check_options());
    for (const auto& [name, size] : options_.dims) result_.fixed[symbol_named(name)] = size;
    for (const schema::ValueInfo& input : graph_.input()) TG_CHECK(bind_given_shape(input));
    for (const schema::ValueInfo& input : graph_.input())
      if (is_input(input)) add_dims(input);
    find_open();
    return std::move(result_);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names = symbols_;
    for (const std::string& symbol : symbols_) names.push_back(names_.lookup(symbol));
    for (const auto& [symbol, sum] : sums_) names.push_back(symbol);
    return names;
  }

private:
  /// A weight whose value is in the file is an input only if a shape is given for it.
  bool is_input(const schema::ValueInfo& input) const {
    return !initializers_.contains(input.name()) || given_sizes(input.name()).has_value();
  }

  static const schema::Shape& shape_of(const schema::ValueInfo& input) {
    return input.type().tensor_type().shape();
  }

  /// Returns the texts of a given shape.
  std::optional<std::vector<std::string>> given_sizes(const std::string& input) const {
    std::vector<std::string> texts;
    if (auto named = options_.named_shapes.find(input); named != options_.named_shapes.end())
      return named->second;
    auto given = options_.shapes.find(input);
    if (given == options_.shapes.end()) return std::nullopt;
    for (int64_t size : given->second) texts.push_back(std::to_string(size));
    return texts;
  }

  // --- symbols ----------------------------------------------------------------------------------

  void add_symbol(llvm::StringRef symbol) {
    if (!llvm::is_contained(symbols_, symbol)) symbols_.push_back(symbol.str());
  }

  /// Symbols in the order of the inputs; without expressions of others.
  void find_symbols() {
    for (const schema::ValueInfo& input : graph_.input()) {
      std::optional<std::vector<std::string>> given = given_sizes(input.name());
      size_t rank = given ? given->size() : static_cast<size_t>(shape_of(input).dim_size());
      for (size_t axis = 0; axis < rank; ++axis)
        if (!is_number(input, axis)) add_symbol(symbol_at(input, axis));
    }
    name_symbols();
    for (const std::string& symbol : symbols_)
      if (!options_.dims.count(symbol))
        if (std::optional<InputDim> sum = parse(symbol)) sums_[symbol] = std::move(*sum);
    llvm::erase_if(symbols_, [&](const std::string& symbol) { return sums_.count(symbol) != 0; });
  }

  bool is_number(const schema::ValueInfo& input, size_t axis) const {
    auto at = static_cast<int>(axis);
    return at < shape_of(input).dim_size() && is_known(shape_of(input).dim(at));
  }

  /// Returns the symbol that the file or a given shape writes for a dimension, or "".
  llvm::StringRef text_of(const schema::ValueInfo& input, size_t axis) const {
    auto at = static_cast<int>(axis);
    auto named = options_.named_shapes.find(input.name());
    bool in_file = at < shape_of(input).dim_size() && !is_known(shape_of(input).dim(at));
    llvm::StringRef own = in_file ? symbol_of(shape_of(input).dim(at)) : llvm::StringRef();
    if (!own.empty() || named == options_.named_shapes.end()) return own;
    bool word = axis < named->second.size() && text::is_identifier(named->second[axis]);
    return word ? llvm::StringRef(named->second[axis]) : llvm::StringRef();
  }

  std::string generated(const schema::ValueInfo& input, size_t axis) const {
    std::string name = text::identifier(input.name(), "x") + "_" + std::to_string(axis);
    auto is_taken = [&](const schema::ValueInfo& other) {
      return llvm::any_of(shape_of(other).dim(),
                          [&](const auto& d) { return d.dim_param() == name; });
    };
    while (llvm::any_of(graph_.input(), is_taken)) name += "_";
    return name;
  }

  /// Returns the symbol of a dimension without a number, generated if it has no name.
  std::string symbol_at(const schema::ValueInfo& input, size_t axis) const {
    llvm::StringRef text = text_of(input, axis);
    return text.empty() ? generated(input, axis) : text.str();
  }

  /// Returns the expression that the options give for a symbol, or null.
  const std::string* computed(const std::string& symbol) const {
    for (const std::string& name : {symbol, names_.lookup(symbol)})
      if (auto given = options_.computed_dims.find(name); given != options_.computed_dims.end())
        return &given->second;
    return nullptr;
  }

  /// Returns a symbol as a sum of products of numbers and other symbols, if its text or the options
  /// say so.
  std::optional<InputDim> parse(const std::string& symbol) const {
    const std::string* given = computed(symbol);
    llvm::StringRef text = given ? *given : symbol;
    InputDim dim;
    llvm::SmallVector<llvm::StringRef, 4> terms, factors;
    text.split(terms, '+');
    for (llvm::StringRef term : terms) {
      InputDim::Product& product = dim.sum.emplace_back();
      factors.clear();
      term.split(factors, '*');
      for (llvm::StringRef factor : factors) {
        factor = factor.trim();
        int64_t number = 0;
        std::string other = symbol_named(factor.str());
        bool known = other != symbol && llvm::is_contained(symbols_, other) && !computed(other);
        if (!factor.getAsInteger(10, number))
          product.factor *= number;
        else if (known)
          product.symbols.push_back(other);
        else
          return std::nullopt;
      }
    }
    return dim;
  }

  /// Gives each symbol an identifier that no other symbol, no input and no word of the language
  /// has.
  void name_symbols() {
    llvm::StringSet<> taken;
    for (const schema::ValueInfo& input : graph_.input())
      taken.insert(text::identifier(input.name(), "x"));
    for (const std::string& symbol : symbols_) {
      std::string name = text::identifier(symbol, "n");
      while (text::is_word(name) || taken.contains(name)) name += "_size";
      taken.insert(name);
      names_[symbol] = name;
    }
  }

  /// Returns the symbol that an option names, by itself or as an identifier.
  std::string symbol_named(const std::string& name) const {
    for (const std::string& symbol : symbols_)
      if (symbol == name) return symbol;
    for (const std::string& symbol : symbols_)
      if (names_.lookup(symbol) == name) return symbol;
    return name;
  }

  // --- options ----------------------------------------------------------------------------------

  Diagnostic bad(const llvm::Twine& what) const {
    return error(Code::usage, "`{0}`: {1}", file_.file_name(), what.str());
  }

  Result<void> check_name(const std::string& name, llvm::ArrayRef<std::string> names,
                          const char* what) const {
    if (llvm::is_contained(names, name)) return {};
    Diagnostic d = error(Code::usage, "`{0}` has no {1} `{2}`", file_.file_name(), what, name);
    std::vector<llvm::StringRef> known(names.begin(), names.end());
    if (llvm::StringRef near = near_miss(name, known); !near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near).str();
    return d;
  }

  Result<void> check_options() const {
    std::vector<std::string> inputs, dims = names();
    for (const schema::ValueInfo& input : graph_.input()) inputs.push_back(input.name());
    for (const auto& [name, sizes] : options_.named_shapes)
      TG_CHECK(check_name(name, inputs, "input"));
    for (const auto& [name, sizes] : options_.shapes) {
      TG_CHECK(check_name(name, inputs, "input"));
      if (llvm::any_of(sizes, [](int64_t size) { return size < 0; }))
        return bad("the shape given for `" + name + "` has a negative size");
    }
    for (const auto& [name, text] : options_.computed_dims)
      if (llvm::none_of(sums_, [&](const auto& sum) {
            return sum.first == name || names_.lookup(sum.first) == name;
          })) {
        TG_CHECK(check_name(name, dims, "dimension"));
        return bad("`" + name + "` is given as `" + text +
                   "`, which is not a sum of products of numbers and other dimensions");
      }
    for (const auto& [name, range] : options_.ranges) TG_CHECK(check_name(name, dims, "dimension"));
    for (const auto& [name, size] : options_.dims) {
      TG_CHECK(check_name(name, dims, "dimension"));
      if (size < 0) return bad("the dimension `" + name + "` is given a negative size");
    }
    return {};
  }

  /// Binds symbols by the numbers of a given shape.
  Result<void> bind_given_shape(const schema::ValueInfo& input) {
    std::optional<std::vector<std::string>> given = given_sizes(input.name());
    const schema::Type::OfTensor& tensor = input.type().tensor_type();
    if (!given || !tensor.has_shape()) return {};
    if (static_cast<int>(given->size()) != tensor.shape().dim_size())
      return bad("the shape given for `" + input.name() + "` has " + llvm::Twine(given->size()) +
                 " sizes, but the input has " + llvm::Twine(tensor.shape().dim_size()));
    for (int i = 0; i < tensor.shape().dim_size(); ++i)
      TG_CHECK(bind_given_size(input, i, (*given)[static_cast<size_t>(i)]));
    return {};
  }

  Result<void> bind_given_size(const schema::ValueInfo& input, int axis, const std::string& given) {
    const schema::Shape::Dimension& dim = shape_of(input).dim(axis);
    std::string which = "size " + std::to_string(axis + 1) + " of the input `" + input.name() + "`";
    int64_t size = 0;
    bool named = llvm::StringRef(given).getAsInteger(10, size);
    bool known = dim.has_dim_value() && dim.dim_value() > 0;
    if (known && (named || dim.dim_value() != size))
      return bad(which + " is " + llvm::Twine(dim.dim_value()) + ", and " + given + " is given");
    llvm::StringRef symbol = symbol_of(dim);
    if (named && !symbol.empty() && given != symbol && given != names_.lookup(symbol))
      return bad(which + " is `" + symbol + "`, and `" + given + "` is given");
    if (named || symbol.empty()) return {};
    auto [bound, first] = result_.fixed.try_emplace(symbol.str(), size);
    if (!first && bound->second != size)
      return bad(which + " is `" + symbol + "`, which is " + llvm::Twine(bound->second) +
                 " elsewhere, and " + llvm::Twine(size) + " is given");
    return {};
  }

  // --- result -----------------------------------------------------------------------------------

  void add_dims(const schema::ValueInfo& input) {
    std::optional<std::vector<std::string>> given = given_sizes(input.name());
    if (!given && !input.type().tensor_type().has_shape()) {
      result_.unranked.push_back(input.name());
      return;
    }
    std::vector<InputDim>& dims = result_.inputs[input.name()];
    size_t rank = given ? given->size() : static_cast<size_t>(shape_of(input).dim_size());
    for (size_t axis = 0; axis < rank; ++axis)
      dims.push_back(dim_of(input, axis, given ? (*given)[axis] : ""));
  }

  InputDim dim_of(const schema::ValueInfo& input, size_t axis, llvm::StringRef given) const {
    llvm::StringRef text = text_of(input, axis);
    std::string place =
        text.empty() ? "size " + std::to_string(axis + 1) : ("`" + text + "`").str();
    place += " of `" + input.name() + "`";
    int64_t number = 0;
    if (!given.empty() && !given.getAsInteger(10, number)) return {{{number, {}}}, place};
    if (is_number(input, axis))
      return {{{shape_of(input).dim(static_cast<int>(axis)).dim_value(), {}}}, place};
    std::string symbol = symbol_at(input, axis);
    auto sum = sums_.find(symbol);
    if (sum == sums_.end() || result_.fixed.count(symbol)) return {{{1, {symbol}}}, place};
    return {sum->second.sum, place};
  }

  void find_open() {
    for (const schema::ValueInfo& input : graph_.input()) {
      auto dims = result_.inputs.find(input.name());
      for (size_t i = 0; dims != result_.inputs.end() && i < dims->second.size(); ++i)
        for (const InputDim::Product& product : dims->second[i].sum)
          for (const std::string& symbol : product.symbols)
            add_open(symbol, dims->second[i].place, static_cast<int64_t>(i));
    }
  }

  void add_open(const std::string& symbol, const std::string& place, int64_t axis) {
    bool known = result_.fixed.count(symbol) || llvm::any_of(result_.open, [&](const OpenDim& one) {
                   return one.symbol == symbol;
                 });
    if (known) return;
    result_.open.push_back({symbol, names_.lookup(symbol), place, axis});
  }

  const ModelFile& file_;
  const schema::Graph& graph_;
  const ImportOptions& options_;
  llvm::StringSet<> initializers_;
  std::vector<std::string> symbols_;
  llvm::StringMap<std::string> names_;   // by symbol
  std::map<std::string, InputDim> sums_; // symbols that are expressions of others
  InputDims result_;
};

} // namespace

llvm::StringRef InputDim::symbol() const {
  bool alone = sum.size() == 1 && sum[0].factor == 1 && sum[0].symbols.size() == 1;
  return alone ? llvm::StringRef(sum[0].symbols[0]) : llvm::StringRef();
}

std::optional<int64_t> InputDim::value(const std::map<std::string, int64_t>& sizes) const {
  int64_t total = 0;
  for (const Product& product : sum) {
    int64_t term = product.factor;
    for (const std::string& symbol : product.symbols) {
      auto size = sizes.find(symbol);
      if (size == sizes.end() || __builtin_mul_overflow(term, size->second, &term))
        return std::nullopt;
    }
    if (__builtin_add_overflow(total, term, &total)) return std::nullopt;
  }
  return total;
}

Result<InputDims> input_dims(const ModelFile& file, const ImportOptions& options) {
  return DimReader(file, options).run();
}

std::vector<std::string> dim_names(const ModelFile& file, const ImportOptions& options) {
  return DimReader(file, options).names();
}

} // namespace tg::onnx
