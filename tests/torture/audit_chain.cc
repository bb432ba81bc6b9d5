// The commit files of a store, from the first, against the rules of docs/maintainer/claims.md. They
// are read with the store's decoders and judged with nothing of lib/claim but its decoders.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/claim/tables/tables.h"
#include "lib/store/engine/commit_file.h"
#include "tests/integration/harness.h"
#include "tests/torture/audit.h"

namespace torc::torture {
namespace {

namespace fs = std::filesystem;
using claim::Job;
using claim::JobState;
using claim::Table;
using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;
// File times are those of the last tick of the kernel's clock; an end is noticed by and by.
constexpr std::int64_t kTick = kSecond / 20;
constexpr std::int64_t kNotice = 3 * kSecond;

store::StoreId id_of(const Path& directory) {
  store::StoreId id{};
  for (const std::string& line : itest::lines_of(itest::read_text(directory / "META"))) {
    if (line.starts_with("id: ") && store::from_hex(line.substr(4), id)) return id;
  }
  throw Violation{directory.string() + "/META names no store id"};
}

struct Numbered {
  std::uint64_t number = 0;
  Path file;
};

std::vector<Numbered> commit_files(const Path& directory) {
  std::vector<Numbered> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || name.find_first_not_of("0123456789") != std::string::npos ||
        entry.path().parent_path().parent_path().filename() != "journal")
      continue;
    files.push_back({std::stoull(name), entry.path()});
  }
  std::sort(files.begin(), files.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  return files;
}

std::int64_t time_of(const Path& file) {
  struct stat st {};
  if (stat(file.c_str(), &st) != 0) throw Violation{file.string() + " has gone"};
  return st.st_mtim.tv_sec * kSecond + st.st_mtim.tv_nsec;
}

// One commit: what it says of jobs and workers, in the form in which it is judged.
struct Step {
  std::uint64_t number = 0;
  std::uint64_t author = 0;
  std::int64_t at = 0;
  std::vector<std::pair<std::uint64_t, std::optional<Job>>> jobs;  // none: the record was erased
  std::vector<std::pair<std::uint64_t, claim::Worker>> workers;
};

class Replay {
 public:
  Replay(const Plan& plan, const json& jobs, const Ledger& ledger) : plan_(plan), ledger_(ledger) {
    std::map<std::string, std::size_t> index;
    for (std::size_t i = 0; i < plan.size(); ++i) index[plan[i].name] = i;
    for (const json& job : jobs)
      index_[job.at("job_id").get<std::uint64_t>()] = index.at(job.at("job").get<std::string>());
    states_.resize(plan.size());
  }

  void apply(const Step& step) {
    for (const auto& [epoch, worker] : step.workers) judge_worker(step, epoch, worker);
    // An exchange ends jobs before it claims those that became ready by it.
    for (const auto& [id, job] : step.jobs) {
      if (job && claim::is_terminal(job->state)) judge_job(step, id, job);
    }
    for (const auto& [id, job] : step.jobs) {
      if (!job || !claim::is_terminal(job->state)) judge_job(step, id, job);
    }
    last_by_[step.author] = step.at;
  }
  [[nodiscard]] std::uint64_t expired() const { return expired_; }

 private:
  [[noreturn]] void wrong(const Step& step, const std::string& what) const {
    throw Violation{fmt::format("commit {} (by worker {}): {}", step.number, step.author, what)};
  }

  void judge_job(const Step& step, std::uint64_t id, const std::optional<Job>& now) {
    Job& before = states_[index_.at(id)];
    const std::string& name = plan_[index_.at(id)].name;
    if (claim::is_terminal(before.state)) {
      wrong(step, fmt::format("{} was {} (attempt {}) and is changed", name,
                              claim::to_string(before.state), before.attempt));
    }
    const bool same_claim = now && now->attempt == before.attempt && now->claim == before.claim &&
                            now->worker == before.worker;
    const bool by_holder = claim::raw(before.worker) == step.author;
    const JobState state = now ? now->state : JobState::ready;
    switch (state) {
      case JobState::claimed:
        judge_claim(step, name, before, *now);
        break;
      case JobState::running:
        if (!claim::is_live(before.state) || !same_claim || !by_holder)
          wrong(step, name + " is said to run by a worker that does not hold it");
        break;
      case JobState::completed:
        if (!claim::is_live(before.state) || !same_claim || !by_holder)
          wrong(step, name + " is completed by a worker that does not hold it");
        if (now->outcome.exit_code != 0) wrong(step, name + " completed without exit code 0");
        break;
      case JobState::ready:
        if (!claim::is_live(before.state) || (!by_holder && !expired_now_.contains(before.worker)))
          wrong(step, name + " is taken from a worker that holds it");
        break;
      default:
        if (state == JobState::failed && plan_[index_.at(id)].deadly != Deadly::no && same_claim &&
            by_holder && now->outcome.signal == 9)
          break;
        if (state != JobState::failed || !claim::is_loss(now->outcome.cause))
          wrong(step, fmt::format("{} is {}: {}, exit code {}, signal {}", name,
                                  claim::to_string(state), claim::to_string(now->outcome.cause),
                                  now->outcome.exit_code, now->outcome.signal));
    }
    before = now.value_or(Job{});
    if (!now) before.state = JobState::ready;
  }

  void judge_claim(const Step& step, const std::string& name, const Job& before, const Job& now) {
    if (claim::is_live(before.state)) wrong(step, name + " is claimed while somebody holds it");
    if (now.attempt != before.attempt + 1 || now.claim != step.number ||
        claim::raw(now.worker) != step.author)
      wrong(step, name + " is claimed with a wrong token");
    const std::size_t self = static_cast<std::size_t>(&before - states_.data());
    for (const std::size_t need : plan_[self].needs) {
      if (states_[need].state != JobState::completed)
        wrong(step, fmt::format("{} is claimed before {} has completed", name, plan_[need].name));
    }
  }

  void judge_worker(const Step& step, std::uint64_t epoch, const claim::Worker& worker) {
    if (step.number != current_) {
      current_ = step.number;
      expired_now_.clear();
    }
    pids_[epoch] = static_cast<pid_t>(worker.info.pid);
    if (worker.status != claim::WorkerStatus::expired) return;
    ++expired_;
    expired_now_.insert(claim::WorkerEpoch{epoch});
    const pid_t pid = pids_[epoch];
    const Ledger::Fate* fate = ledger_.find(pid);
    if (fate == nullptr) return;  // a process that nobody here knows
    const bool dead =
        fate->died_at != 0 && fate->died_at <= step.at + (fate->was_killed ? kTick : kNotice);
    const bool own_past = pids_[step.author] == pid;  // it came back after it lost its lease
    if (dead || own_past) return;
    const auto last = last_by_.find(epoch);
    const std::int64_t silent = step.at - (last == last_by_.end() ? 0 : last->second);
    // It may only write heartbeats, so that silence in the chain proves nothing. A renewal does.
    const std::int64_t lease = kLease.count() * kSecond;
    if (silent < lease - kTick || !ledger_.anybody_stood_still(step.at - 2 * lease, step.at)) {
      wrong(step, fmt::format("worker {} (process {}) was expired {:.3f} s after its last commit, "
                              "alive",
                              epoch, pid, static_cast<double>(silent) * 1e-9));
    }
  }

  const Plan& plan_;
  const Ledger& ledger_;
  std::map<std::uint64_t, std::size_t> index_;  // job id -> place in the plan
  std::vector<Job> states_;
  std::map<std::uint64_t, pid_t> pids_;            // of workers
  std::map<std::uint64_t, std::int64_t> last_by_;  // time of the newest commit of a worker
  std::set<claim::WorkerEpoch> expired_now_;       // in the commit that is being judged
  std::uint64_t current_ = 0;
  std::uint64_t expired_ = 0;
};

Step read_step(const store::StoreId& id, const Numbered& commit, store::Hash128& chain) {
  auto file = store::decode_commit(id, commit.number, itest::read_text(commit.file), commit.file);
  if (!file.ok()) throw Violation{file.error().text()};
  if (file->header.before != chain)
    throw Violation{commit.file.string() + " does not continue the commit before it"};
  chain = file->after;
  Step step{commit.number, file->header.author, time_of(commit.file), {}, {}};
  const auto job_key = [](std::string_view key) { return claim::id_in(Table::job, key); };
  bool readable = true;
  const bool good = store::replay(
      file->writes,
      [&](std::string_view key, std::string_view value) {
        if (const auto job = job_key(key)) {
          step.jobs.emplace_back(*job, claim::decode_job(value));
          readable = readable && step.jobs.back().second;
        }
        const auto epoch = claim::id_in(Table::worker, key);
        const auto worker = epoch ? claim::decode_worker(value) : std::nullopt;
        if (worker) step.workers.emplace_back(*epoch, *worker);
      },
      [&](std::string_view key) {
        if (const auto job = job_key(key)) step.jobs.emplace_back(*job, std::nullopt);
      });
  if (!good || !readable) throw Violation{commit.file.string() + ": its writes cannot be read"};
  return step;
}

}  // namespace

void audit_chain(const Plan& plan, const Path& directory, const json& jobs, const Ledger& ledger,
                 Account& account) {
  const std::vector<Numbered> files = commit_files(directory);
  if (files.empty()) throw Violation{directory.string() + " has no commit files"};
  if (files.front().number != 1) {
    ++account.not_replayed;
    return;
  }
  const store::StoreId id = id_of(directory);
  store::Hash128 chain{};
  Replay replay(plan, jobs, ledger);
  std::uint64_t expected = 0;
  for (const Numbered& commit : files) {
    if (commit.number != ++expected) throw Violation{fmt::format("commit {} is missing", expected)};
    replay.apply(read_step(id, commit, chain));
  }
  account.commits = files.size();
  account.expired = replay.expired();
}

}  // namespace torc::torture
