// `tg weights`: lists the weights of a model and which of them a file has, and writes a file with
// all of them.
#include "compiler/api/files/weights.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"

namespace tg::cli {
namespace {

struct WeightReport {
  std::string model, file;
  std::vector<WeightRow> rows;

  size_t count(WeightState state) const {
    return static_cast<size_t>(
        llvm::count_if(rows, [&](const WeightRow& row) { return row.state == state; }));
  }
  /// Returns the number of elements of all weights of the model.
  uint64_t parameters() const {
    uint64_t total = 0;
    for (const WeightRow& row : rows)
      if (row.state != WeightState::Unused) total += static_cast<uint64_t>(row.type.elements());
    return total;
  }
};

std::string type_text(const WeightRow& row) {
  return row.state == WeightState::Unused ? row.file_type : row.type.text();
}

void print_weights(Session& session, const WeightReport& report) {
  llvm::raw_ostream& out = session.out;
  bool compared = !report.file.empty();
  std::vector<Table::Column> columns = {{"weight"}, {"type"}};
  if (compared) {
    columns.push_back({"state"});
    columns.push_back({"in the file"});
  }
  Table table(columns);
  for (const WeightRow& row : report.rows) {
    std::vector<std::string> cells = {row.path, type_text(row)};
    if (compared) {
      cells.push_back(state_name(row.state).str());
      cells.push_back(row.state == WeightState::Mismatched ? row.file_type : "");
    }
    table.add(cells);
  }
  if (!table.empty()) {
    table.print(out, session.color);
    out << "\n";
  }
  size_t unused = report.count(WeightState::Unused);
  out << report.model << ": " << counted(report.rows.size() - unused, "weight") << ", "
      << counted(report.parameters(), "parameter");
  for (WeightState state :
       {WeightState::Found, WeightState::Missing, WeightState::Mismatched, WeightState::Unused})
    if (compared && report.count(state) > 0)
      out << "; " << count_text(report.count(state)) << " " << state_name(state);
  out << "\n";
}

void write_row(llvm::json::OStream& json, const WeightRow& row) {
  json.object([&] {
    json.attribute("path", row.path);
    json.attributeArray("shape", [&] {
      for (int64_t size : row.type.shape) json.value(size);
    });
    if (row.type.is_none()) // a dtype that no model can have
      json.attribute("dtype", llvm::StringRef(row.file_type).split('[').first);
    else
      json.attribute("dtype", dtype_name(row.type.dtype));
    json.attribute("state", state_name(row.state));
    if (row.state == WeightState::Mismatched) json.attribute("file_type", row.file_type);
  });
}

void print_weights_json(Session& session, const WeightReport& report) {
  llvm::json::OStream json(session.out, 2);
  json.object([&] {
    json.attribute("ok", !session.sink.failed());
    json.attribute("model", report.model);
    json.attribute("parameters", static_cast<int64_t>(report.parameters()));
    json.attributeArray("weights", [&] {
      for (const WeightRow& row : report.rows) write_row(json, row);
    });
    if (session.sink.failed()) write_errors(json, session.sink, session.sources);
  });
  session.out << "\n";
}

/// Writes every weight of the model: from the file if it has the weight, otherwise random.
Result<void> initialise(const Options& o, const Graph& graph,
                        const std::shared_ptr<const WeightFile>& file) {
  PrepareOptions options = prepare_options(o);
  if (file) options.weights = weights_or_random(file, o.seed);
  return save_weights(graph, options, o.out_file);
}

} // namespace

int run_weights(Session& session) {
  const Options& o = session.options;
  std::optional<LoadedModel> model = load(session);
  if (!model) return session.fail();
  std::shared_ptr<const WeightFile> file = model->weights;
  if (o.files.size() > 1) {
    Result<std::shared_ptr<const WeightFile>> opened = open_weight_file(o.files[1]);
    if (!opened) return session.fail(opened.error());
    file = std::move(*opened);
  }
  WeightReport report{model->graph.name(), file ? file->file_name().str() : "",
                      compare_weights(model->graph, file.get())};
  // With -o, missing weights are written and so are not an error; mismatches are.
  if (file) {
    Result<void> fits = check_weights(report.rows, report.model, report.file);
    if (!fits && !(fits.error().code == Code::missing_weights && !o.out_file.empty()))
      session.sink.report(fits.error());
  }
  if (!session.sink.failed() && !o.out_file.empty())
    if (Result<void> written = initialise(o, model->graph, file); !written)
      session.sink.report(written.error());
  if (o.json) {
    print_weights_json(session, report);
    session.print_warnings();
    return session.sink.failed() ? 1 : 0;
  }
  if (!o.quiet) print_weights(session, report);
  session.out.flush(); // print the table before the errors
  return session.sink.failed() ? session.fail() : 0;
}

} // namespace tg::cli
