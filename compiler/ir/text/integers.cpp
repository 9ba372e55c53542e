#include "compiler/ir/text/integers.h"

#include "compiler/ir/text/words.h"

#include <llvm/ADT/StringExtras.h>

namespace tg::text {

const std::string* Integers::open(const IntegerPlace& place) const {
  if (!open_) return nullptr;
  auto found = open_->expressions.find(place);
  return found == open_->expressions.end() ? nullptr : &found->second;
}

bool Integers::has_open(NodeId id, uint32_t slot) const {
  if (!open_) return false;
  auto first = open_->expressions.lower_bound({id.index, slot, 0});
  return first != open_->expressions.end() && first->first.node == id.index &&
         first->first.slot == slot;
}

std::string Integers::text(int64_t number, const IntegerPlace& place) const {
  const std::string* expression = open(place);
  return expression ? *expression : std::to_string(number);
}

std::vector<std::string> Integers::texts(llvm::ArrayRef<int64_t> numbers, NodeId id,
                                         uint32_t slot) const {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < numbers.size(); ++i)
    texts.push_back(text(numbers[i], {id.index, slot, i}));
  return texts;
}

std::string Integers::list(llvm::ArrayRef<int64_t> numbers, NodeId id, uint32_t slot) const {
  return "[" + llvm::join(texts(numbers, id, slot), ", ") + "]";
}

std::vector<std::string> Integers::sizes(NodeId id) const {
  return texts(graph_.type(id).shape, id, IntegerPlace::kShape);
}

std::string Integers::type(NodeId id) const {
  const TensorType& type = graph_.type(id);
  if (!has_open(id, IntegerPlace::kShape)) return type_text(type);
  return dtype_name(type.dtype).str() + list(type.shape, id, IntegerPlace::kShape);
}

} // namespace tg::text
