
#include "compiler/api/files/json_files.h"
#include "compiler/report/picture.h"
#include "compiler/report/report_json.h"

#include <map>

namespace tg {
namespace {

void write_texts(llvm::json::OStream& json, llvm::StringRef key,
                 llvm::ArrayRef<std::string> texts) {
  if (texts.empty()) return;
  json.attributeArray(key, [&] {
    for (const std::string& text : texts) json.value(text);
  });
}

/// Writes the nodes that the outputs need, as they are drawn.
void write_graph(llvm::json::OStream& json, const Graph& graph, const Graph& other) {
  json.array([&] {
    for (const PictureNode& node : picture_with_changes(graph, other).nodes)
      json.object([&] {
        json.attribute("op", node.op);
        if (!node.name.empty()) json.attribute("name", node.name);
        json.attribute("type", node.type);
        json.attribute("attrs", node.attrs);
        json.attribute("changed", node.changed);
        json.attributeArray("operands", [&] {
          for (uint32_t operand : node.operands) json.value(static_cast<int64_t>(operand));
        });
        write_texts(json, "weights", node.weights);
        write_texts(json, "outputs", node.outputs);
      });
  });
}

void write_points(llvm::json::OStream& json, const SearchTrace& trace) {
  json.attributeArray("points", [&] {
    for (const SearchTrace::Point& point : trace.points)
      json.object([&] {
        write_number(json, "s", point.seconds);
        write_number(json, "cost_us", point.cost_us);
        json.attribute("simulations", static_cast<int64_t>(point.simulations));
        json.attribute("nodes", static_cast<int64_t>(point.nodes));
        json.attribute("where", point.where);
      });
  });
}

/// The applications of a rule in one column: their number, and the places if known.
struct HeatCell {
  int64_t count = 0;
  std::vector<std::string> places;
};

constexpr size_t kMostPlaces = 8; // places listed for a cell; more would not be read

/// Writes the heat map, with rules numbered by first use, and counts added up by column and rule:
/// [column, count, [place, ...]].
void write_applications(llvm::json::OStream& json, const SearchTrace& trace,
                        llvm::ArrayRef<Rule> rules) {
  std::map<RuleId, std::map<uint32_t, HeatCell>> cells;
  for (const SearchTrace::Application& a : trace.applications) {
    HeatCell& cell = cells[a.rule][a.column];
    cell.count += a.applied;
    if (!a.where.empty() && cell.places.size() < kMostPlaces &&
        !llvm::is_contained(cell.places, a.where))
      cell.places.push_back(a.where);
  }
  json.attribute("columns", static_cast<int64_t>(trace.column_count()));
  json.attributeArray("applications", [&] {
    for (const auto& [rule, columns] : cells) {
      if (rule >= rules.size()) continue;
      json.object([&] {
        json.attribute("rule", rules[rule].name);
        json.attributeArray("cells", [&] {
          for (const auto& [column, cell] : columns)
            json.array([&, column = column, &cell = cell] {
              json.value(static_cast<int64_t>(column));
              json.value(cell.count);
              json.array([&] {
                for (const std::string& place : cell.places) json.value(place);
              });
            });
        });
      });
    }
  });
}

void write_tree(llvm::json::OStream& json, const SearchTrace& trace, llvm::ArrayRef<Rule> rules) {
  json.attributeArray("tree", [&] {
    for (const SearchTrace::TreeNode& node : trace.tree)
      json.object([&] {
        json.attribute("parent", node.parent);
        json.attribute("rule", node.rule < rules.size() ? rules[node.rule].name : "");
        json.attribute("places", static_cast<int64_t>(node.places));
        json.attribute("where", node.where);
        json.attribute("visits", static_cast<int64_t>(node.visits));
        write_number(json, "value", node.value);
        write_number(json, "cost_us", node.cost_us);
        json.attribute("nodes", static_cast<int64_t>(node.nodes));
        json.attribute("chosen", node.chosen);
      });
  });
}

/// Writes the steps that made the result; none if the result is the source.
void write_steps(llvm::json::OStream& json, const SearchTrace& trace, bool changed) {
  json.attributeArray("steps", [&] {
    if (!changed) return;
    for (const SearchTrace::Step& step : trace.steps)
      json.object([&] {
        json.attribute("where", step.where);
        write_number(json, "before_us", step.before_us);
        write_number(json, "after_us", step.after_us);
        json.attributeObject("rules", [&] {
          for (const auto& [rule, count] : step.rules)
            json.attribute(rule, static_cast<int64_t>(count));
        });
      });
  });
}

} // namespace

std::string trace_json(const SearchTrace& trace, const Graph& source, const Optimized& result,
                       llvm::ArrayRef<Rule> rules, llvm::StringRef priors) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.object([&] {
    json.attribute("tangram_trace", 1);
    json.attributeObject("report", [&] { write_report(json, result.report, priors); });
    write_points(json, trace);
    write_applications(json, trace, rules);
    write_tree(json, trace, rules);
    write_steps(json, trace, result.report.changed());
    if (result.chain) write_chain(json, "chain", steps_of(*result.chain, rules));
    json.attributeBegin("source");
    write_graph(json, source, result.graph);
    json.attributeEnd();
    json.attributeBegin("result");
    write_graph(json, result.graph, source);
    json.attributeEnd();
  });
  out << "\n";
  out.flush();
  return text;
}

} // namespace tg
