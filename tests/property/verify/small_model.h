// Builds models for tests from a line of text.
#pragma once

#include "compiler/api/files/model.h"

#include <gtest/gtest.h>

namespace tg::test {

/// Returns the graph of `model m(PARAMETERS) { BODY }`.
inline Graph model(const std::string& parameters, const std::string& body) {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file = sources.add("case.tg", "model m(" + parameters + ") { " + body + " }\n");
  std::optional<Graph> graph = load_model(sources, file, {}, sink);
  for (const Diagnostic& d : sink.all()) ADD_FAILURE() << body << ": " << d.message;
  return graph ? std::move(*graph) : Graph(std::make_shared<Symbols>());
}

} // namespace tg::test
