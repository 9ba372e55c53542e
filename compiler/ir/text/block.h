// What equal parts of a graph become: a function,
// whose weights have the number of the copy in their paths.
#pragma once

#include "compiler/ir/text/body.h"

namespace tg::text {

/// The numbers of the copies in the paths of a block's weights, as expressions over one variable.
class CopyNumbers {
public:
  explicit CopyNumbers(const Repeat& repeat);

  bool needed() const { return needed_; }
  int64_t first() const { return first_; }

  /// `"layers." + i + ".w"`
  std::string text(llvm::ArrayRef<RepeatedWeight::Part> path) const;

private:
  /// 0 where they do not go on by equal steps.
  static int64_t step(llvm::ArrayRef<int64_t> numbers);
  std::string number(llvm::ArrayRef<int64_t> numbers) const;

  bool needed_ = false;
  int64_t first_ = 0;
};

/// The function that the copies of a block become.
class Block final : public Body {
public:
  Block(File& file, const Repeat& repeat) : Body(file), repeat_(repeat), numbers_of_(repeat) {}

  const CopyNumbers& numbers() const { return numbers_of_; }
  const std::string& name() const { return name_; }

  /// Also chooses the name.
  std::string write();

private:
  NodeId result(size_t i) const { return repeat_.copies[repeat_.body][repeat_.results[i]]; }
  void statements();
  std::string path_text(NodeId weight, llvm::StringRef path) const override;

  /// What most given names of the copy begin with, up to a `_`.
  void find_scope();

  /// The last words of the scope, without the number of the copy.
  std::string own_name() const;

  /// Of what the blocks hand on to each other x; else what the model calls it, without numbers.
  std::string argument_name(const RepeatedArgument& argument) const;

  static constexpr size_t kLongestOwn = 16;

  const Repeat& repeat_;
  CopyNumbers numbers_of_;
  std::string name_;
};

} // namespace tg::text
