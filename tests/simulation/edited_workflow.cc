#include "tests/simulation/edited_workflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"

namespace torc::simulation {
namespace {

using claim::JobState;

std::set<std::uint64_t> upstream_in(const claim::Reader& reader, std::uint64_t id) {
  std::set<std::uint64_t> all;
  claim::State state(reader);
  const claim::Span* span = state.span_of(id);
  if (span == nullptr || span->barrier == 0) return all;
  const auto barrier = state.barrier(span->barrier);
  if (!barrier) return all;
  for (const claim::JobRange& range : barrier->upstream) {
    for (std::uint64_t i = 0; i < range.count; ++i) all.insert(raw(range.first) + i);
  }
  return all;
}

}  // namespace

EditedWorkflow::EditedWorkflow(const Scenario& scenario, World& world)
    : world_(world), file_(file_of(scenario)), jobs_(jobs_of(file_)) {}

WorkflowFile EditedWorkflow::file_of(const Scenario& scenario) {
  SeededEntropy random(scenario.seed ^ 0xC2B2AE3D27D4EB4FULL);
  return any_file(random);
}

std::vector<std::string> EditedWorkflow::names() const {
  std::vector<std::string> all;
  for (const auto& [name, job] : jobs_) all.push_back(name);
  return all;
}

std::vector<std::string> EditedWorkflow::removed_names() const {
  std::vector<std::string> all;
  for (const std::uint64_t id : removed_) all.push_back(stored_[id].name);
  return all;
}

void EditedWorkflow::wrong(std::uint64_t id, const Stored& stored, const std::string& what) {
  world_.violate(fmt::format("job {} of an edited workflow {} ({}, {}, attempt {}, claim {})", id,
                             what, stored.name, to_string(stored.job.state), stored.job.attempt,
                             stored.job.claim));
}

// --- claims ---

void EditedWorkflow::claims(const claim::Reader& reader, const claim::ClaimToken& token) {
  const std::uint64_t id = raw(token.job);
  workflow::RecipeBook book;  // of this transaction alone, which may come to nothing
  const auto page = book.find(reader, token.job);
  if (page == nullptr) return world_.violate(fmt::format("job {} has no recipe", id));
  const auto rendered = page->recipe.render(id - raw(page->job_template.first));
  Made made{rendered.command, {}};
  for (const std::uint64_t before : upstream_in(reader, id)) {
    const auto job = claim::read_job(reader, JobId{before});
    if (!job || job->state != JobState::completed)
      world_.violate(fmt::format("job {} is claimed before job {} has completed", id, before));
    made.from[before] = job ? job->claim : 0;
  }
  if (!kept_.contains(id)) {
    const auto known = jobs_.find(rendered.name);
    if (known == jobs_.end() || removed_.contains(id)) {
      world_.violate(fmt::format("job {} is claimed, and was removed", id));
    } else if (known->second.command != made.command) {
      world_.violate(fmt::format("job {} is claimed by another command than in the file", id));
    }
  }
  made_[{id, token.claim}] = std::move(made);
}

int EditedWorkflow::exit_code_of(const claim::ClaimToken& token) const {
  const auto found = made_.find({raw(token.job), token.claim});
  return found != made_.end() && is_to_fail(found->second.command) ? 1 : 0;
}

// --- the store, and the file ---

void EditedWorkflow::read_one(const claim::Reader& reader, workflow::RecipeBook& book,
                              std::uint64_t id) {
  Stored& stored = stored_[id];
  const auto job = claim::read_job(reader, JobId{id});
  const auto page = book.find(reader, JobId{id});
  if (!job || page == nullptr) return world_.violate(fmt::format("job {} cannot be read", id));
  const auto rendered = page->recipe.render(id - raw(page->job_template.first));
  stored.job = *job;
  stored.name = rendered.name;
  stored.command = rendered.command;
  stored.upstream = upstream_in(reader, id);
  stored.priority = page->job_template.priority;
  stored.is_removed = claim::is_removed(reader, JobId{id});
  if (!numbers_.emplace(stored.name, id).second)
    wrong(id, stored, fmt::format("has the name of job {}", numbers_[stored.name]));
}

void EditedWorkflow::read(const claim::Reader& reader) {
  if (const auto sound = claim::verify_state(reader); !sound)
    world_.violate("the state contradicts itself: " + sound.error().text());
  const auto count = claim::count_jobs(reader);
  if (!count) return world_.violate("the jobs cannot be counted: " + count.error().text());
  stored_.assign(*count + 1, {});
  numbers_.clear();
  workflow::RecipeBook book;
  for (std::uint64_t id = 1; id <= *count; ++id) read_one(reader, book, id);
}

bool EditedWorkflow::is_as_in_file(const Stored& stored) const {
  const FileJob& now = jobs_.at(stored.name);
  if (now.priority != stored.priority) return false;
  if (now.command != stored.command || now.needs.size() != stored.upstream.size()) return false;
  return std::ranges::all_of(stored.upstream, [&](std::uint64_t before) {
    return now.needs.contains(stored_[before].name);
  });
}

std::string EditedWorkflow::how_it_differs(const Stored& stored) const {
  const FileJob& now = jobs_.at(stored.name);
  std::string upstream;
  for (const std::uint64_t before : stored.upstream) upstream += " " + stored_[before].name;
  return fmt::format("is '{}' (priority {}) after{}, and in the file '{}' (priority {}) after {}",
                     stored.command, stored.priority, upstream, now.command, now.priority,
                     fmt::join(now.needs, " "));
}

// Each job is what the file says, or a worker has it.
void EditedWorkflow::check_definitions(Seen seen) {
  kept_.clear();
  for (const auto& [name, job] : jobs_) {
    if (!numbers_.contains(name)) world_.violate(fmt::format("there is no job {}", name));
  }
  for (std::uint64_t id = 1; id < stored_.size(); ++id) {
    const Stored& stored = stored_[id];
    const bool is_there = jobs_.contains(stored.name);
    if (stored.is_removed == is_there)
      wrong(id, stored, is_there ? "was removed, and is in the file" : "is not in the file");
    if (!is_there || is_as_in_file(stored)) continue;
    if (seen == Seen::at_once && !claim::is_live(stored.job.state))
      wrong(id, stored, how_it_differs(stored));
    kept_.insert(id);
  }
}

void EditedWorkflow::check_made(std::uint64_t id, const Stored& stored) {
  const auto made = made_.find({id, stored.job.claim});
  if (made == made_.end()) return wrong(id, stored, "has completed by no claim of it");
  if (made->second.command != jobs_.at(stored.name).command)
    wrong(id, stored, fmt::format("counts, and was made by '{}'", made->second.command));
  if (made->second.from.size() != jobs_.at(stored.name).needs.size())
    wrong(id, stored, "counts, and was made from other jobs");
  for (const auto& [before, claim] : made->second.from) {
    const Stored& upstream = stored_[before];
    if (!jobs_.at(stored.name).needs.contains(upstream.name))
      wrong(id, stored, fmt::format("counts, and was made from job {}", before));
    if (upstream.job.state != JobState::completed || upstream.job.claim != claim)
      wrong(id, stored,
            fmt::format("counts, and was made from a result of job {} by claim {}, which does not",
                        before, claim));
  }
}

void EditedWorkflow::check_results() {
  for (std::uint64_t id = 1; id < stored_.size(); ++id) {
    const Stored& stored = stored_[id];
    if (kept_.contains(id) || !jobs_.contains(stored.name)) continue;
    if (stored.job.state == JobState::completed) check_made(id, stored);
  }
}

void EditedWorkflow::note_removed() {
  removed_.clear();
  for (std::uint64_t id = 1; id < stored_.size(); ++id) {
    const Stored& stored = stored_[id];
    if (!stored.is_removed) continue;
    if (claim::is_live(stored.job.state) || claim::has(stored.job.state, claim::trait::kWaits))
      wrong(id, stored, "was removed, and may run");
    if (jobs_.contains(stored.name)) removed_.insert(id);
  }
}

void EditedWorkflow::applied(const claim::Reader& reader, const WorkflowFile& file, Seen seen) {
  file_ = file;
  jobs_ = jobs_of(file);
  read(reader);
  if (!world_.violation().empty()) return;
  check_definitions(seen);
  check_results();
  note_removed();
}

void EditedWorkflow::taken_out(const claim::Reader& reader, const std::vector<std::string>& named) {
  const std::set<std::uint64_t> before = removed_;
  read(reader);
  if (!world_.violation().empty()) return;
  note_removed();
  for (const std::string& name : named) {
    if (!removed_.contains(numbers_.at(name)))
      world_.violate(fmt::format("job {} was not removed", name));
  }
  for (std::uint64_t id = 1; id < stored_.size(); ++id) {
    const Stored& stored = stored_[id];
    const bool is_behind = std::ranges::any_of(
        stored.upstream, [&](std::uint64_t up) { return removed_.contains(up); });
    const bool is_named = std::ranges::find(named, stored.name) != named.end();
    if (removed_.contains(id) != (before.contains(id) || is_named || is_behind) &&
        jobs_.contains(stored.name))
      wrong(id, stored, is_behind ? "waits for a job that was removed" : "was removed by nobody");
  }
}

void EditedWorkflow::put_back(const claim::Reader& reader, const std::vector<std::string>& named) {
  read(reader);
  if (!world_.violation().empty()) return;
  note_removed();
  for (const std::string& name : named) {
    if (removed_.contains(numbers_.at(name)))
      world_.violate(fmt::format("job {} was not put back", name));
  }
}

// --- at the end ---

// Something that it waits for has not completed, and never will.
bool EditedWorkflow::waits_in_vain(const Stored& stored) const {
  return std::ranges::any_of(stored.upstream, [&](std::uint64_t before) {
    return stored_[before].job.state != JobState::completed;
  });
}

void EditedWorkflow::check_over(std::uint64_t id, const Stored& stored,
                                const std::set<std::uint64_t>& canceled) {
  switch (stored.job.state) {
    case JobState::completed:
    case JobState::terminated:
      return;
    case JobState::failed: {
      const auto made = made_.find({id, stored.job.claim});
      const bool is_explained = made != made_.end() && is_to_fail(made->second.command) &&
                                made->second.command == jobs_.at(stored.name).command;
      if (!is_explained && stored.job.lost + 1 < 5)
        wrong(id, stored, "has failed, which the file does not explain");
      return;
    }
    case JobState::canceled:
      if (canceled.contains(id) || removed_.contains(id)) return;
      if (!claim::is_passed_over(stored.job) || !waits_in_vain(stored))
        wrong(id, stored, "is canceled, which nobody wanted");
      return;
    case JobState::blocked:
      if (!waits_in_vain(stored)) wrong(id, stored, "still waits");
      return;
    default:
      wrong(id, stored, "is not over");
  }
}

void EditedWorkflow::check_end(const claim::Reader& reader,
                               const std::set<std::uint64_t>& canceled) {
  read(reader);
  if (!world_.violation().empty()) return;
  const std::set<std::uint64_t> before = removed_;
  note_removed();
  if (before != removed_) world_.violate("jobs were removed or put back by nobody");
  check_results();
  for (std::uint64_t id = 1; id < stored_.size(); ++id) {
    if (!jobs_.contains(stored_[id].name)) continue;
    if (!is_as_in_file(stored_[id])) wrong(id, stored_[id], how_it_differs(stored_[id]));
    check_over(id, stored_[id], canceled);
  }
}

}  // namespace torc::simulation
