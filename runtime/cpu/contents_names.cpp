// A value is named by its operator, its attributes and the names of its operands.
// A buffer is named by its values and their places.
#include "runtime/cpu/contents_names.h"

#include "runtime/content_name.h"
#include "runtime/execute.h"

#include <llvm/ADT/StringExtras.h>

namespace tg::cpu {

namespace {

class Names {
public:
  Names(const Lowering& l, const std::vector<bool>& wanted)
      : l_(l), wanted_(wanted), needed_(l.plan.values.size()), of_value_(l.plan.values.size()),
        in_buffer_(l.buffers.size()), over_(l.buffers.size()) {}

  Result<std::vector<std::string>> run() {
    find_needed();
    for (const PlanStep& step : l_.plan.steps) {
      if (!needed_[step.result]) continue;
      TG_CHECK(name(step));
      if (!is_view(step)) note_place(step);
    }
    std::vector<std::string> names(l_.buffers.size());
    for (BufferId b = 0; b < names.size(); ++b)
      if (wanted_[b] && !over_[b] && !in_buffer_[b].empty()) {
        llvm::sort(in_buffer_[b]); // independent of the order of computation
        names[b] = content_name(llvm::join(in_buffer_[b], "\n"));
      }
    return names;
  }

private:
  BufferId buffer_of(PlanValueId value) const { return l_.place(value).buffer; }

  /// Processes load steps first, and operands before results.
  void find_needed() {
    for (const PlanStep& step : llvm::reverse(l_.plan.steps)) {
      if (step.phase != Phase::Load) continue;
      BufferId b = buffer_of(step.result);
      if (b != kNoBuffer && wanted_[b]) needed_[step.result] = true;
      if (!needed_[step.result]) continue;
      for (PlanValueId operand : step.operands)
        if (operand != kNoValue) needed_[operand] = true;
    }
  }

  bool is_view(const PlanStep& step) const {
    bool moves = is_always_view(step.op) || step.op == OpKind::Reshape;
    return moves && buffer_of(step.result) == buffer_of(step.operands[0]);
  }

  void note_place(const PlanStep& step) {
    const Place& place = l_.place(step.result);
    if (place.buffer == kNoBuffer) return;
    over_[place.buffer] = over_[place.buffer] || of_value_[step.result].empty() ||
                          (step.in_place != kNoValue && buffer_of(step.in_place) == place.buffer);
    std::string text = of_value_[step.result] + " " + dtype_name(place.dtype).str() + " " +
                       std::to_string(place.offset);
    for (const Shape* numbers : {&place.shape, &place.strides})
      for (int64_t number : *numbers) text += " " + std::to_string(number);
    in_buffer_[place.buffer].push_back(std::move(text));
  }

  Result<void> name(const PlanStep& step) {
    constexpr uint32_t kNamed = Trait::Layout | Trait::Pointwise;
    if ((op_info(step.op).traits & kNamed) == 0) return {};
    std::string text = std::to_string(static_cast<int>(step.op));
    text += " " + l_.type(step.result).text();
    for (const Value& attr : step.attrs) text += "\n" + attr.text_form();
    for (PlanValueId operand : step.operands) {
      TG_TRY(std::string of_operand, name_of(operand));
      if (of_operand.empty()) return {};
      text += "\n" + of_operand;
    }
    of_value_[step.result] = content_name(text);
    return {};
  }

  Result<std::string> name_of(PlanValueId id) {
    if (id == kNoValue) return std::string("-");
    const PlanValue& value = l_.plan.values[id];
    if (of_value_[id].empty() && value.kind == PlanValue::Kind::Weight) {
      TG_TRY(std::string weight, name_of_weight(value, l_.options));
      of_value_[id] = content_name(weight);
    } else if (of_value_[id].empty() && value.kind == PlanValue::Kind::Constant) {
      of_value_[id] = content_name(value.type.text()) + "," + content_name(bytes(value.constant)) +
                      "," + content_name(bytes(value.exact));
    }
    return of_value_[id];
  }

  template <class T> static llvm::StringRef bytes(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
  }

  const Lowering& l_;
  const std::vector<bool>& wanted_;
  std::vector<bool> needed_;          // by value
  std::vector<std::string> of_value_; // "": no name
  std::vector<std::vector<std::string>> in_buffer_;
  std::vector<bool> over_; // of each buffer: a value is overwritten, or has no name
};

} // namespace

Result<std::vector<std::string>> names_of_contents(const Lowering& l,
                                                   const std::vector<bool>& wanted) {
  return Names(l, wanted).run();
}

} // namespace tg::cpu
