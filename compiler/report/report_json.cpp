#include "compiler/report/report_json.h"

#include "compiler/api/files/json_files.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/report/public_report.h"

namespace tg {
namespace {

// Writes the value of a row under its name, by the row's type.

using Stream = llvm::json::OStream;

void write(Stream& json, const char* key, const std::string& text) { json.attribute(key, text); }
void write(Stream& json, const char* key, bool flag) { json.attribute(key, flag); }
void write(Stream& json, const char* key, double number) { write_number(json, key, number); }
void write(Stream& json, const char* key, size_t count) {
  json.attribute(key, static_cast<uint64_t>(count));
}

void write(Stream& json, const char* key, const tangram::RuleCounts& counts) {
  json.attributeObject(key, [&] {
    for (const auto& [rule, count] : counts) json.attribute(rule, static_cast<int64_t>(count));
  });
}

void write(Stream& json, const char* key, const std::vector<std::string>& texts) {
  json.attributeArray(key, [&] {
    for (const std::string& text : texts) json.value(text);
  });
}

void write(Stream& json, const char* key, const std::vector<tangram::Bound>& bounds) {
  json.attributeArray(key, [&] {
    for (const tangram::Bound& bound : bounds)
      json.object([&] {
#define TG_BOUND(type, field, value, meaning) write(json, #field, bound.field);
#include "compiler/optimizer/report.def"
      });
  });
}

void write(Stream& json, const char* key, const std::vector<tangram::SizeRecipe>& recipes) {
  json.attributeArray(key, [&] {
    for (const tangram::SizeRecipe& recipe : recipes)
      json.object([&] {
#define TG_SIZE_RECIPE(type, field, value, meaning) write(json, #field, recipe.field);
#include "compiler/optimizer/report.def"
      });
  });
}

void write(Stream& json, const char* key, const std::vector<tangram::SizeTrial>& tried) {
  json.attributeArray(key, [&] {
    for (const tangram::SizeTrial& trial : tried)
      json.object([&] {
#define TG_SIZE_TRIAL(type, field, value, meaning) write(json, #field, trial.field);
#include "compiler/optimizer/report.def"
      });
  });
}

template <class T> void write(Stream& json, const char* key, const std::optional<T>& value) {
  if (value)
    write(json, key, *value);
  else
    json.attribute(key, nullptr);
}

template <class T> bool is_known(const T&) { return true; }
template <class T> bool is_known(const std::optional<T>& value) { return value.has_value(); }
template <class T> bool is_known(const std::vector<T>& list) { return !list.empty(); }

/// The values of the column `written`.
enum class Written : uint8_t { Always, Drawn, Known, Never };

template <Written written, class T> void write_row(Stream& json, const char* key, const T& value) {
  if constexpr (written != Written::Never)
    if (written != Written::Known || is_known(value)) write(json, key, value);
}

} // namespace

void write_report(llvm::json::OStream& json, const OptimizeReport& from) {
  const tangram::Report report = public_report(from);
#define TG_ROW(section, origin, written, type, field, value, meaning)                              \
  write_row<Written::written>(json, #field, report.field);
#include "compiler/optimizer/report.def"
}

void write_report(llvm::json::OStream& json, const OptimizeReport& report, llvm::StringRef priors) {
  write_report(json, report);
  json.attribute("priors", priors);
}

std::string report_json(const OptimizeReport& report, llvm::StringRef priors) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out, 2);
  json.object([&] { write_report(json, report, priors); });
  out.flush();
  return text;
}

std::vector<tangram::Step> steps_of(const Derivation& chain, llvm::ArrayRef<Rule> rules) {
  std::vector<tangram::Step> steps;
  for (const DerivationStep& step : chain.steps) {
    const Rule& rule = rules[step.rule];
    steps.push_back({rule.name, rule.set, rule.built_in, rule.file, rule.line, !step.forward,
                     to_text(step_fragment(chain, step, rule, true)),
                     to_text(step_fragment(chain, step, rule, false)),
                     step_leaves(chain, step, rule)});
  }
  return steps;
}

void write_chain(llvm::json::OStream& json, llvm::StringRef name,
                 llvm::ArrayRef<tangram::Step> steps) {
  json.attributeArray(name, [&] {
    for (const tangram::Step& step : steps)
      json.object([&] {
        json.attribute("rule", step.rule);
        json.attribute("file", step.file);
        json.attribute("line", static_cast<int64_t>(step.line));
        json.attribute("backwards", step.backwards);
        json.attribute("before", step.before);
        json.attribute("after", step.after);
        json.attribute("where", step.where);
      });
  });
}

} // namespace tg
