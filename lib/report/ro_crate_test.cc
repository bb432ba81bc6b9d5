// Whether the crate is what RO-Crate 1.1 and the profile Process Run Crate 0.5 say that it MUST be,
// and says what it was told.
#include "lib/report/ro_crate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace torc::report {
namespace {

using nlohmann::json;

// The sentences with MUST of both documents that the crate breaks.
class Profile {
 public:
  explicit Profile(const std::string& text) : crate_(json::parse(text)) {
    for (const json& entity : crate_["@graph"]) {
      const auto [at, fresh] = entities_.emplace(entity["@id"], entity);
      must(fresh, "each @id stands once: " + at->first);
    }
    check();
  }
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  [[nodiscard]] const json& at(const std::string& id) const {
    static const json kNone;
    const auto found = entities_.find(id);
    return found == entities_.end() ? kNone : found->second;
  }
  [[nodiscard]] bool has(const std::string& id) const { return entities_.contains(id); }

 private:
  void must(bool holds, const std::string& sentence) {
    if (!holds) broken_.push_back(sentence);
  }
  static bool is_a(const json& entity, const std::string& type) {
    const json& types = entity["@type"];
    if (types.is_string()) return types == type;
    for (const json& one : types) {
      if (one == type) return true;
    }
    return false;
  }
  static std::vector<std::string> ids_of(const json& entity, const char* key) {
    std::vector<std::string> ids;
    if (!entity.contains(key)) return ids;
    const json& value = entity.at(key);
    if (value.is_object()) return {value["@id"]};
    if (!value.is_array()) return ids;
    for (const json& one : value) ids.push_back(one["@id"]);
    return ids;
  }
  static bool links_to(const json& entity, const char* key, const std::string& id) {
    const auto ids = ids_of(entity, key);
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  void check() {
    const std::string context = crate_["@context"].dump();
    must(context.find("https://w3id.org/ro/crate/1.1/context") != std::string::npos,
         "the context of RO-Crate 1.1 is there");
    for (const auto& [id, entity] : entities_)
      must(entity.contains("@type"), "every entity has a @type: " + id);
    must(has("ro-crate-metadata.json"), "the metadata descriptor is there");
    const json& descriptor = at("ro-crate-metadata.json");
    must(is_a(descriptor, "CreativeWork"), "the descriptor is a CreativeWork");
    must(links_to(descriptor, "about", "./"), "the descriptor is about the root");
    must(links_to(descriptor, "conformsTo", "https://w3id.org/ro/crate/1.1"),
         "the descriptor conforms to RO-Crate 1.1");
    must(has("./"), "the root data entity is there");
    const json& root = at("./");
    must(is_a(root, "Dataset"), "the root is a Dataset");
    for (const char* key : {"name", "description", "datePublished", "license"})
      must(root.contains(key), std::string("the root has ") + key);
    must(root["datePublished"].get<std::string>().size() >= 10,
         "datePublished is told to the day at least");
    const std::string profile = "https://w3id.org/ro/wfrun/process/0.5";
    must(links_to(root, "conformsTo", profile), "the root conforms to the profile");
    must(is_a(at(profile), "CreativeWork"), "the profile is a CreativeWork");
    for (const auto& [id, entity] : entities_) check_entity(id, entity, root);
  }

  void check_entity(const std::string& id, const json& entity, const json& root) {
    for (const char* key : {"instrument", "agent", "object", "result", "location", "hasPart"}) {
      for (const std::string& to : ids_of(entity, key))
        must(has(to), "what an entity refers to is described: " + id + " " + key + " " + to);
    }
    if (is_a(entity, "File")) must(links_to(root, "hasPart", id), "a file is a part of the root");
    if (!is_a(entity, "CreateAction") && !is_a(entity, "ActivateAction")) return;
    must(!ids_of(entity, "instrument").empty(), "an action has an instrument: " + id);
    for (const std::string& to : ids_of(entity, "instrument"))
      must(is_a(at(to), "SoftwareApplication"), "the instrument is an application: " + to);
    must(links_to(root, "mentions", id), "the root mentions the action");
    must(entity.contains("endTime"), "an action has its end: " + id);
    const json& status = entity["actionStatus"];
    const bool failed = status == "http://schema.org/FailedActionStatus";
    must(failed || status == "http://schema.org/CompletedActionStatus",
         "an action is completed or failed: " + id);
    must(failed || !entity.contains("error"), "only a failed action has an error");
  }

  json crate_;
  std::map<std::string, json> entities_;
  std::vector<std::string> broken_;
};

CrateHead head() {
  CrateHead head;
  head.workflow = "w";
  head.made_at = std::chrono::sys_days(std::chrono::year(2026) / 5 / 1).time_since_epoch();
  head.spec_file = "spec.kdl";
  head.spec_bytes = 7;
  head.spec_sha256 = "ab";
  return head;
}

CrateFile file(std::string path) {
  CrateFile file;
  file.path = std::move(path);
  file.exists = true;
  file.bytes = 12;
  file.changed_at = std::chrono::seconds(1);
  file.sha256 = "cd";
  return file;
}

CrateRun run(std::uint64_t job) {
  CrateRun run;
  run.job = job;
  run.attempt = 2;
  run.name = "make_" + std::to_string(job);
  run.command = "echo 'a \"b\"' > x";
  run.entry = "make_{i}";
  run.host = "n1";
  run.user = "user 1000";
  run.completed = true;
  run.started_at = std::chrono::milliseconds(1500);
  run.ended_at = std::chrono::seconds(90);
  return run;
}

std::string crate_of(const CrateHead& head, const std::vector<CrateRun>& runs) {
  std::string text;
  RoCrate crate(head, [&](std::string_view bytes) { text += bytes; });
  for (const CrateRun& r : runs) crate.add(r);
  crate.finish();
  return text;
}

TEST(RoCrateProfile, is_kept_by_runs_of_every_kind) {
  CrateRun makes = run(1);
  makes.inputs = {file("/d/in put.csv")};
  makes.outputs = {file("/d/out.csv")};
  CrateRun uses = run(2);
  uses.inputs = {file("/d/out.csv")};
  CrateRun failed = run(3);
  failed.completed = false;
  failed.error = "failed: exited, exit code 3";
  failed.entry = "other";
  failed.host.clear();
  failed.user.clear();
  for (const std::string license : {"", "CC0", "https://spdx.org/licenses/CC0-1.0"}) {
    CrateHead h = head();
    h.license = license;
    const Profile profile(crate_of(h, {makes, uses, failed}));
    EXPECT_EQ(profile.broken(), std::vector<std::string>{}) << license;
  }
}

TEST(RoCrateProfile, is_kept_by_a_workflow_of_which_nothing_ran) {
  CrateHead h = head();
  h.spec_file.clear();
  EXPECT_EQ(Profile(crate_of(h, {})).broken(), std::vector<std::string>{});
}

TEST(RoCrate, says_what_ran_and_how_it_ended) {
  CrateRun makes = run(1);
  makes.outputs = {file("/d/out.csv")};
  CrateRun failed = run(7);
  failed.completed = false;
  failed.error = "failed: exited, exit code 3";
  const Profile crate(crate_of(head(), {makes, failed}));
  const json& action = crate.at("#job-1-attempt-2");
  EXPECT_EQ(action["@type"], "CreateAction");
  EXPECT_EQ(action["name"], "make_1");
  EXPECT_EQ(action["description"], "echo 'a \"b\"' > x");
  EXPECT_EQ(action["startTime"], "1970-01-01T00:00:01.500+00:00");
  EXPECT_EQ(action["endTime"], "1970-01-01T00:01:30.000+00:00");
  EXPECT_EQ(crate.at(action["instrument"]["@id"])["name"], "make_{i}");
  EXPECT_EQ(crate.at(action["agent"]["@id"])["name"], "user 1000");
  EXPECT_EQ(crate.at(action["location"]["@id"])["name"], "n1");
  EXPECT_EQ(action["result"]["@id"], "file:///d/out.csv");
  const json& other = crate.at("#job-7-attempt-2");
  EXPECT_EQ(other["@type"], "ActivateAction");
  EXPECT_EQ(other["error"], "failed: exited, exit code 3");
  EXPECT_EQ(other["actionStatus"], "http://schema.org/FailedActionStatus");
  EXPECT_EQ(other["instrument"], action["instrument"]);
  EXPECT_EQ(crate.at("./")["datePublished"], "2026-05-01T00:00:00.000+00:00");
  EXPECT_EQ(crate.at("spec.kdl")["contentSize"], "7");
}

TEST(RoCrate, says_of_a_file_only_what_is_known) {
  CrateRun makes = run(1);
  CrateFile gone = file("/d/gone");
  gone.exists = false;
  CrateFile changed = file("/d/ch\xC3\xA4nged");
  changed.is_other = true;
  changed.sha256.clear();
  CrateFile closed = file("/d/closed");
  closed.exists = closed.is_known = false;
  CrateFile unread = file("/d/unread");
  unread.sha256.clear();
  unread.is_read = false;
  makes.outputs = {file("/d/a b%.csv"), gone, changed, closed, unread};
  const Profile crate(crate_of(head(), {makes}));
  const json& there = crate.at("file:///d/a%20b%25.csv");
  EXPECT_EQ(there["name"], "a b%.csv");
  EXPECT_EQ(there["contentSize"], "12");
  EXPECT_EQ(there["sha256"], "cd");
  EXPECT_EQ(there["dateModified"], "1970-01-01T00:00:01.000+00:00");
  EXPECT_FALSE(there.contains("description"));
  EXPECT_FALSE(crate.at("file:///d/unread").contains("sha256"));
  EXPECT_EQ(crate.at("file:///d/unread")["description"],
            "Its hash could not be taken when this crate was made.");
  EXPECT_FALSE(crate.at("file:///d/gone").contains("contentSize"));
  EXPECT_EQ(crate.at("file:///d/gone")["description"],
            "It was not there when this crate was made.");
  EXPECT_EQ(crate.at("file:///d/closed")["description"],
            "It could not be looked at when this crate was made.");
  EXPECT_EQ(crate.at("file:///d/ch%C3%A4nged")["description"],
            "It was changed after a job had used it.");
  EXPECT_FALSE(crate.at("file:///d/ch%C3%A4nged").contains("sha256"));
}

}  // namespace
}  // namespace torc::report
