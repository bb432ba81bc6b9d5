#include "lib/report/ro_crate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/report/job_view.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kNamedAbsent = 10;  // that are told by name
constexpr const char* kProfile = "https://w3id.org/ro/wfrun/process/0.5";
constexpr const char* kCrate = "https://w3id.org/ro/crate/1.1";
constexpr const char* kMetadata = "ro-crate-metadata.json";

ordered_json reference(std::string_view id) {
  return {{"@id", id}};
}

// One stands for itself, as RO-Crate asks.
ordered_json references(const std::vector<std::string>& ids) {
  if (ids.size() == 1) return reference(ids.front());
  ordered_json all = ordered_json::array();
  for (const std::string& id : ids) all.push_back(reference(id));
  return all;
}

std::string form_of_spec(std::string_view file) {
  if (file.ends_with(".json5")) return "application/json5";
  return file.ends_with(".kdl") ? "text/plain" : "application/yaml";
}

}  // namespace

std::string file_uri(std::string_view path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain =
        is_letter(c) || is_digit(c) || std::string_view("/-._~").find(c) != std::string_view::npos;
    if (plain)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

std::string iso_time(WallTime at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(at - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}+00:00",
                     fmt::gmtime(static_cast<std::time_t>(seconds.count())), millis);
}

RoCrate::RoCrate(CrateHead head, Sink sink) : head_(std::move(head)), sink_(std::move(sink)) {
  sink_(
      "{\"@context\": [\"https://w3id.org/ro/crate/1.1/context\", "
      "\"https://w3id.org/ro/terms/workflow-run/context\"],\n\"@graph\": [");
  write({{"@id", kMetadata},
         {"@type", "CreativeWork"},
         {"conformsTo", reference(kCrate)},
         {"about", reference("./")}});
  write({{"@id", kProfile},
         {"@type", "CreativeWork"},
         {"name", "Process Run Crate"},
         {"version", "0.5"}});
}

void RoCrate::write(const ordered_json& entity) {
  sink_(std::exchange(any_, true) ? ",\n" : "\n");
  sink_(json_line(entity));
}

std::string RoCrate::once(std::map<std::string, std::string>& known, const std::string& name,
                          std::string_view kind, std::string_view type,
                          std::string_view description) {
  const auto [at, fresh] = known.try_emplace(name, fmt::format("#{}-{}", kind, known.size() + 1));
  if (!fresh) return at->second;
  ordered_json entity = {{"@id", at->second}, {"@type", type}, {"name", name}};
  if (!description.empty()) entity["description"] = description;
  write(entity);
  return at->second;
}

std::string RoCrate::file(const CrateFile& f) {
  const auto [at, fresh] = files_.try_emplace(f.path, file_uri(f.path));
  if (!fresh) return at->second;
  ordered_json entity = {
      {"@id", at->second}, {"@type", "File"}, {"name", f.path.substr(f.path.rfind('/') + 1)}};
  if (f.exists) {
    entity["contentSize"] = std::to_string(f.bytes);
    entity["dateModified"] = iso_time(f.changed_at);
    if (!f.sha256.empty()) entity["sha256"] = f.sha256;
    std::string about;
    if (f.is_other) about = "It was changed after a job had used it.";
    if (!f.is_read) {
      about += about.empty() ? "" : " ";
      about += "Its hash could not be taken when this crate was made.";
    }
    if (!about.empty()) entity["description"] = about;
  } else {
    if (++absent_ <= kNamedAbsent) first_absent_.push_back(f.path);
    entity["description"] = f.is_known ? "It was not there when this crate was made."
                                       : "It could not be looked at when this crate was made.";
  }
  write(entity);
  return at->second;
}

void RoCrate::add(const CrateRun& run) {
  const std::string instrument =
      once(entries_, run.entry, "entry", "SoftwareApplication",
           "What the entry of this name in the workflow file runs; each action has its command.");
  ordered_json action = {{"@id", fmt::format("#job-{}-attempt-{}", run.job, run.attempt)},
                         // What makes no files that are known is no creation.
                         {"@type", run.outputs.empty() ? "ActivateAction" : "CreateAction"},
                         {"name", run.name},
                         {"description", run.command},
                         {"instrument", reference(instrument)}};
  if (!run.user.empty()) action["agent"] = reference(once(users_, run.user, "user", "Person", ""));
  if (!run.host.empty())
    action["location"] = reference(once(hosts_, run.host, "host", "Place", ""));
  action["startTime"] = iso_time(run.started_at);
  action["endTime"] = iso_time(run.ended_at);
  action["actionStatus"] = run.completed ? "http://schema.org/CompletedActionStatus"
                                         : "http://schema.org/FailedActionStatus";
  if (!run.completed && !run.error.empty()) action["error"] = run.error;
  std::vector<std::string> ids;
  for (const CrateFile& f : run.inputs) ids.push_back(file(f));
  if (!ids.empty()) action["object"] = references(ids);
  ids.clear();
  for (const CrateFile& f : run.outputs) ids.push_back(file(f));
  if (!ids.empty()) action["result"] = references(ids);
  actions_.push_back(action["@id"]);
  write(action);
}

void RoCrate::finish() {
  std::vector<std::string> parts;
  if (!head_.spec_file.empty()) {
    parts.push_back(head_.spec_file);
    write({{"@id", head_.spec_file},
           {"@type", "File"},
           {"name", "the workflow file"},
           {"encodingFormat", form_of_spec(head_.spec_file)},
           {"contentSize", std::to_string(head_.spec_bytes)},
           {"sha256", head_.spec_sha256}});
  }
  for (const auto& [path, id] : files_) parts.push_back(id);
  ordered_json root = {
      {"@id", "./"},
      {"@type", "Dataset"},
      {"conformsTo", reference(kProfile)},
      {"name", head_.workflow},
      {"description", head_.description.empty()
                          ? fmt::format("Runs of jobs of the workflow {}", head_.workflow)
                          : head_.description},
      {"datePublished", iso_time(head_.made_at)}};
  const bool url = head_.license.starts_with("https://") || head_.license.starts_with("http://");
  root["license"] =
      url ? reference(head_.license)
          : ordered_json(head_.license.empty() ? "No license was told when this crate was made."
                                               : head_.license);
  root["hasPart"] = references(parts);
  root["mentions"] = references(actions_);
  if (url) {
    write({{"@id", head_.license}, {"@type", "CreativeWork"}, {"name", head_.license}});
  }
  write(root);
  sink_("\n]}\n");
}

}  // namespace torc::report
