#include "lib/spec/read/parse.h"

#include <fmt/format.h>

#include <exception>

#include "lib/spec/forms/json5_tree.h"
#include "lib/spec/forms/kdl_document.h"
#include "lib/spec/read/kdl_tree.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/read/session.h"
#include "lib/spec/script/script_tree.h"
#include "lib/spec/text/form.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::spec {
namespace {

Tree read_tree(const Source& source, Report& report, Where where) {
  if (is_script(source)) return read_script(source, report);
  switch (form_of(source.file())) {
    case Form::json5:
      return read_json5(source, report);
    case Form::kdl: {
      const std::optional<KdlDocument> document = read_kdl(source, report);
      return document ? kdl_tree(*document, where, source, report) : Tree{};
    }
    case Form::yaml:
      break;
  }
  return read_yaml(source, report);
}

// `existing`: null, or what the text is to be added to.
std::optional<Workflow> read(const Source& source, Report& report, const ReadFile& read_file_named,
                             ExistingWorkflow* existing) {
  if (existing != nullptr && is_script(source)) {
    report.error(source.place(0, 2), "a script is a workflow of its own, and no addition to one",
                 "`torc run FILE` runs it; what is added is YAML that begins with 'jobs:'");
    return {};
  }
  const Tree tree =
      read_tree(source, report, existing == nullptr ? Where::workflow : Where::addition);
  if (tree.root == nullptr) {
    if (!report.has_error()) {
      report.error({}, "the file is empty",
                   existing == nullptr ? "a workflow needs at least 'name' and 'jobs'"
                                       : "an addition needs at least 'jobs'");
    }
    return {};
  }
  if (tree.root->kind != NodeKind::map) {
    report.error(place_of(source, *tree.root),
                 existing == nullptr ? "a workflow is a map, and this is not one"
                                     : "an addition is a map, and this is not one",
                 form_of(source.file()) == Form::json5 ? "write { name: '…', jobs: [ … ] }"
                 : existing == nullptr ? "write 'name: …' and 'jobs:' at the left margin"
                                       : "write 'jobs:' at the left margin");
    return {};
  }
  Session session{source, report, read_file_named, {}, {}};
  return existing == nullptr ? read_workflow(session, *tree.root)
                             : read_addition(session, *tree.root, *existing);
}

}  // namespace

std::optional<Workflow> read_draft(const Source& source, Report& report, const ReadFile& read_named,
                                   ExistingWorkflow* existing) {
  try {
    return read(source, report, read_named, existing);
  } catch (const std::exception& e) {  // memory, or a ReadFile that throws
    report.error({}, fmt::format("the spec cannot be read: {}", e.what()), "make it smaller");
    return {};
  }
}

}  // namespace torc::spec
