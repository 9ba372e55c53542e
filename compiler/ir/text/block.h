// Writes equal parts of a graph as a function, with the number of the copy in the weights' paths.
#pragma once

#include "compiler/ir/text/body.h"

namespace tg::text {

/// Writes the copies' numbers in the paths of weights as expressions over one variable.
class CopyNumbers {
public:
  explicit CopyNumbers(const Repeat& repeat);

  bool needed() const { return needed_; }
  int64_t first() const { return first_; }

  /// `"layers." + i + ".w"`
  std::string text(llvm::ArrayRef<RepeatedWeight::Part> path) const;

private:
  /// Returns the common difference of the numbers, or 0 if there is none.
  static int64_t step(llvm::ArrayRef<int64_t> numbers);
  std::string number(llvm::ArrayRef<int64_t> numbers) const;

  bool needed_ = false;
  int64_t first_ = 0;
};

/// The function for the copies of a block.
class Block final : public Body {
public:
  Block(File& file, const Repeat& repeat) : Body(file), repeat_(repeat), numbers_of_(repeat) {}

  const CopyNumbers& numbers() const { return numbers_of_; }
  const std::string& name() const { return name_; }
  /// The open sizes that no type of an argument binds: the last parameters.
  const std::vector<std::string>& sizes() const { return sizes_; }

  /// Returns the text, and chooses the name.
  std::string write();

private:
  NodeId result(size_t i) const { return repeat_.copies[repeat_.body][repeat_.results[i]]; }
  void statements();
  /// Finds the open sizes that the text names and `bound` lacks.
  void find_sizes(llvm::StringRef text, const llvm::StringSet<>& bound);
  std::string path_text(NodeId weight, llvm::StringRef path) const override;

  /// Finds the most frequent prefix, up to a `_`, of the copy's given names.
  void find_scope();

  /// Returns the last words of the scope, without the number of the copy.
  std::string own_name() const;

  /// Returns x for a value passed from block to block; else the model's name for it, without
  /// numbers.
  std::string argument_name(const RepeatedArgument& argument) const;

  static constexpr size_t kLongestOwn = 16;

  const Repeat& repeat_;
  CopyNumbers numbers_of_;
  std::string name_;
  std::vector<std::string> sizes_;
};

} // namespace tg::text
