// Each part is a list of keys with their required contents. Unknown keys are accepted.
#include "compiler/report/trace_check.h"

#include "compiler/api/files/json_files.h"
#include "tangram/tangram.h"

#include <cmath>
#include <type_traits>

namespace tg {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using Json = llvm::json::Value;
using Where = llvm::json::Path;

enum class FieldType : uint8_t { Text, Flag, Number, NumberOrNull };

struct Key {
  llvm::StringLiteral name;
  FieldType holds;
};

template <class T>
constexpr FieldType kHeld = std::is_same_v<T, std::string>             ? FieldType::Text
                            : std::is_same_v<T, std::optional<double>> ? FieldType::NumberOrNull
                                                                       : FieldType::Number;
constexpr Key kReport[] = {
#define TG_KEY_Always_(field)
#define TG_KEY_Known_(field)
#define TG_KEY_Never_(field)
#define TG_KEY_Drawn_(field) {#field, kHeld<decltype(tangram::Report::field)>},
#define TG_ROW(section, origin, written, type, field, value, meaning) TG_KEY_##written##_(field)
#include "compiler/optimizer/report.def"
#undef TG_KEY_Always_
#undef TG_KEY_Known_
#undef TG_KEY_Never_
#undef TG_KEY_Drawn_
};
constexpr Key kPoint[] = {
    {"s", FieldType::Number}, {"cost_us", FieldType::NumberOrNull}, {"where", FieldType::Text}};
constexpr Key kTreeNode[] = {{"rule", FieldType::Text},
                             {"where", FieldType::Text},
                             {"places", FieldType::Number},
                             {"visits", FieldType::Number},
                             {"nodes", FieldType::Number},
                             {"value", FieldType::NumberOrNull},
                             {"cost_us", FieldType::NumberOrNull},
                             {"chosen", FieldType::Flag}};
constexpr Key kApplied[] = {{"rule", FieldType::Text}};
constexpr Key kStep[] = {{"where", FieldType::Text},
                         {"before_us", FieldType::NumberOrNull},
                         {"after_us", FieldType::NumberOrNull}};
constexpr Key kRewrite[] = {{"rule", FieldType::Text},
                            {"where", FieldType::Text},
                            {"before", FieldType::Text},
                            {"after", FieldType::Text},
                            {"backwards", FieldType::Flag}};
constexpr Key kOperator[] = {{"op", FieldType::Text},
                             {"type", FieldType::Text},
                             {"attrs", FieldType::Text},
                             {"changed", FieldType::Flag}};

bool fail(Where where, llvm::StringLiteral why) {
  where.report(why);
  return false;
}

/// JSON permits numbers that are too large for a double.
bool is_number(const Json& value) {
  auto number = value.getAsNumber();
  return number && std::isfinite(*number);
}

/// Returns true for an integer from `least` to `end` - 1.
bool whole_number(const Json& value, int64_t least, int64_t end, Where where) {
  auto number = value.getAsInteger();
  if (!number) return fail(where, "expected a whole number");
  return (*number >= least && *number < end) || fail(where, "value out of range");
}

bool holds(const Json* value, FieldType what, Where where) {
  if (!value) return fail(where, "missing value");
  switch (what) {
  case FieldType::Text: return value->getAsString() || fail(where, "expected a string");
  case FieldType::Flag: return value->getAsBoolean() || fail(where, "expected true or false");
  case FieldType::Number: return is_number(*value) || fail(where, "expected a number");
  case FieldType::NumberOrNull:
    return value->getAsNull() || is_number(*value) || fail(where, "expected a number or null");
  }
  return false;
}

bool has_keys(const Object& object, llvm::ArrayRef<Key> keys, Where where) {
  return llvm::all_of(keys, [&](const Key& key) {
    return holds(object.get(key.name), key.holds, where.field(key.name));
  });
}

using CheckItem = llvm::function_ref<bool(const Json&, size_t index, Where)>;

bool each(const Object& object, llvm::StringLiteral key, Where parent, CheckItem check) {
  Where where = parent.field(key);
  const Json* value = object.get(key);
  if (!value) return fail(where, "missing value");
  const Array* items = value->getAsArray();
  if (!items) return fail(where, "expected a list");
  for (size_t i = 0; i < items->size(); ++i)
    if (!check((*items)[i], i, where.index(static_cast<unsigned>(i)))) return false;
  return true;
}

/// Returns true for a list of objects with these keys that satisfy `more`.
bool each_object(
    const Object& object, llvm::StringLiteral key, llvm::ArrayRef<Key> keys, Where parent,
    llvm::function_ref<bool(const Object&, size_t, Where)> more = [](const Object&, size_t, Where) {
      return true;
    }) {
  return each(object, key, parent, [&](const Json& item, size_t i, Where where) {
    const Object* fields = item.getAsObject();
    if (!fields) return fail(where, "expected an object");
    return has_keys(*fields, keys, where) && more(*fields, i, where);
  });
}

/// [column, count, [place, ...]]
bool is_cell(const Json& cell, int64_t columns, Where where) {
  const Array* parts = cell.getAsArray();
  const Array* places = parts && parts->size() == 3 ? (*parts)[2].getAsArray() : nullptr;
  if (!places) return fail(where, "expected a column, a count and a list of places");
  for (const Json& place : *places)
    if (!place.getAsString()) return fail(where.index(2), "expected texts");
  return whole_number((*parts)[0], 0, columns, where.index(0)) &&
         holds(&(*parts)[1], FieldType::Number, where.index(1));
}

bool are_applications(const Object& trace, Where where) {
  const Json* columns = trace.get("columns");
  if (!columns) return fail(where.field("columns"), "missing value");
  if (!whole_number(*columns, 0, INT32_MAX, where.field("columns"))) return false;
  int64_t end = *columns->getAsInteger();
  return each_object(
      trace, "applications", kApplied, where, [&](const Object& rule, size_t, Where at) {
        return each(rule, "cells", at,
                    [&](const Json& cell, size_t, Where here) { return is_cell(cell, end, here); });
      });
}

/// Parents come before their children.
bool is_tree(const Object& trace, Where where) {
  return each_object(trace, "tree", kTreeNode, where, [](const Object& node, size_t i, Where at) {
    const Json* parent = node.get("parent");
    if (!parent) return fail(at.field("parent"), "missing value");
    return whole_number(*parent, -1, static_cast<int64_t>(i), at.field("parent"));
  });
}

bool are_steps(const Object& trace, Where where) {
  return each_object(trace, "steps", kStep, where, [](const Object& step, size_t, Where at) {
    const Object* rules = step.getObject("rules");
    if (!rules) return fail(at.field("rules"), "expected an object");
    return llvm::all_of(*rules, [&](const auto& rule) { return is_number(rule.second); }) ||
           fail(at.field("rules"), "expected numbers");
  });
}

/// Checks keys that traces of earlier versions lack: a text, or a list of texts.
bool is_labelled(const Object& node, Where where) {
  if (const Json* name = node.get("name"); name && !name->getAsString())
    return fail(where.field("name"), "expected a string");
  for (llvm::StringLiteral key : {llvm::StringLiteral("weights"), llvm::StringLiteral("outputs")}) {
    if (!node.get(key)) continue;
    bool texts = each(node, key, where, [](const Json& text, size_t, Where at) {
      return text.getAsString() || fail(at, "expected a string");
    });
    if (!texts) return false;
  }
  return true;
}

/// Operands come before those that use them.
bool is_graph(const Object& trace, llvm::StringLiteral key, Where where) {
  return each_object(trace, key, kOperator, where, [](const Object& node, size_t i, Where at) {
    return is_labelled(node, at) &&
           each(node, "operands", at, [&](const Json& operand, size_t, Where here) {
             return whole_number(operand, 0, static_cast<int64_t>(i), here);
           });
  });
}

bool is_trace(const Json& value, Where where) {
  const Object* trace = value.getAsObject();
  if (!trace) return fail(where, "expected an object");
  if (trace->getInteger("tangram_trace").getValueOr(0) != 1)
    return fail(where.field("tangram_trace"), "expected 1");
  const Object* report = trace->getObject("report");
  if (!report) return fail(where.field("report"), "expected an object");
  return has_keys(*report, kReport, where.field("report")) &&
         each_object(*trace, "points", kPoint, where) && are_applications(*trace, where) &&
         is_tree(*trace, where) && are_steps(*trace, where) &&
         (!trace->get("chain") || each_object(*trace, "chain", kRewrite, where)) &&
         is_graph(*trace, "source", where) && is_graph(*trace, "result", where);
}

} // namespace

Result<llvm::json::Value> parse_trace(llvm::StringRef text, llvm::StringRef path) {
  TG_TRY(Json trace, parse_json(text, path, Code::bad_trace_file));
  Where::Root root("trace");
  if (is_trace(trace, root)) return trace;
  return error(Code::bad_trace_file, "`{0}` is not a trace of `tg opt --trace`: {1}", path,
               llvm::toString(root.getError()));
}

} // namespace tg
