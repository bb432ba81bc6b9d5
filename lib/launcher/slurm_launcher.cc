#include "lib/launcher/slurm_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/launcher/slurm_submission.h"
#include "lib/slurm/own_jobs.h"
#include "lib/slurm/short_host_list.h"
#include "lib/slurm/squeue.h"

namespace torc::launcher {
namespace {

using Words = std::vector<std::string>;
using Names = std::set<std::string, std::less<>>;

// Of the user's variables, those that would make of one submission another one: elsewhere, several,
// or one that is waited for.
constexpr std::array<const char*, 4> kNotForSbatch{"SLURM_CLUSTERS", "SBATCH_CLUSTERS",
                                                   "SBATCH_ARRAY_INX", "SBATCH_WAIT"};
// Those that would narrow down what is cancelled, or ask a person.
constexpr std::array<const char*, 14> kNotForScancel{
    "SLURM_CLUSTERS",    "SCANCEL_ACCOUNT",     "SCANCEL_BATCH", "SCANCEL_CTLD",   "SCANCEL_FULL",
    "SCANCEL_HURRY",     "SCANCEL_INTERACTIVE", "SCANCEL_NAME",  "SCANCEL_QOS",    "SCANCEL_STATE",
    "SCANCEL_PARTITION", "SCANCEL_USER",        "SCANCEL_WCKEY", "SCANCEL_VERBOSE"};
constexpr std::size_t kIdsAtOnce = 5000;  // of at most 32 bytes each: far below ARG_MAX

template <class List>
Words without(const List& variables, Words words) {
  Words argv{"env"};
  for (const char* variable : variables) argv.insert(argv.end(), {"-u", variable});
  std::ranges::move(words, std::back_inserter(argv));
  return argv;
}

SubmitAnswer not_asked(Submitted what, const std::string& why) {
  SubmitAnswer answer;
  answer.what = what;
  answer.words = slurm::words_for_people({why});
  return answer;
}

// What of `rows` is looked for.
class Looked {
 public:
  explicit Looked(const Looking& looking)
      : intents_(looking.intents.begin(), looking.intents.end()),
        shared_(looking.shared_names.begin(), looking.shared_names.end()),
        ids_(looking.ids.begin(), looking.ids.end()) {}

  // nullopt: it is somebody else's, or nothing that was looked for.
  [[nodiscard]] std::optional<Listed> take(const slurm::OwnJob& job) const {
    const slurm::ShownAllocation& shown = job.shown;
    std::string intent;
    if (intents_.contains(shown.name)) {
      intent = shown.name;
    } else {
      // A site may add to a comment.
      for (const auto word : slurm::words(job.comment)) {
        if (intents_.contains(word)) intent = word;
      }
      if (intent.empty() && shared_.contains(shown.name) && is_intent(job.comment))
        intent = job.comment;
    }
    if (intent.empty() && !shared_.contains(shown.name) && !ids_.contains(shown.id))
      return std::nullopt;
    Listed listed;
    listed.cluster = shown.cluster;
    listed.id = shown.id;
    listed.intent = std::move(intent);
    listed.name = shown.name;
    listed.state = shown.state;
    listed.reason = shown.reason;
    listed.stage = slurm::stage_of(shown.state);
    listed.submitted = shown.submitted;
    listed.start = shown.start;
    listed.end = shown.end;
    listed.nodes = job.nodes;
    return listed;
  }

 private:
  Names intents_;
  Names shared_;
  Names ids_;
};

// That it had ended already, or never was, is what was wanted.
bool is_past(std::string_view line) {
  return line.find("already completing or completed") != std::string_view::npos ||
         line.find("Invalid job id specified") != std::string_view::npos;
}

class Slurm final : public Launcher {
 public:
  explicit Slurm(SlurmSetup setup) : setup_(std::move(setup)) {}

  SubmitAnswer submit(const Submission& submission) override {
    if (!is_intent(submission.intent) || !submission.script.is_absolute())
      return not_asked(Submitted::refused, "torc: this is not a name, or no path, to submit by");
    const bool is_shared = !submission.shared_name.empty();
    Words words{"sbatch", "--parsable", "--export=ALL",
                "--job-name=" + (is_shared ? submission.shared_name : submission.intent)};
    if (is_shared) words.push_back("--comment=" + submission.intent);
    if (const std::string nodes = excluded(submission.exclude_nodes); !nodes.empty())
      words.push_back("--exclude=" + nodes);
    words.push_back(submission.script.string());
    slurm::Command command{without(kNotForSbatch, std::move(words)), {}, kSubmitLimit};
    for (const auto& [name, value] : submission.environment)
      command.environment.push_back(fmt::format("{}={}", name, value));
    const auto output = setup_.run(command);
    if (!output.ok()) return not_asked(Submitted::later, output.error().what);
    SubmitAnswer answer = read_submission(*output);
    if (answer.what == Submitted::accepted && answer.cluster.empty())
      answer.cluster = setup_.cluster;
    return answer;
  }

  Listing list(const Looking& looking) override {
    slurm::OwnQuestion question{setup_.user, setup_.cluster};
    if (looking.ids.empty()) {
      question.names = looking.intents;
      std::ranges::copy(looking.shared_names, std::back_inserter(question.names));
    }
    const Looked looked(looking);
    slurm::OwnJobs queue = slurm::own_in_queue(setup_.run, question);
    Listing listing;
    listing.whole = queue.whole;
    listing.failure = std::move(queue.failure);
    listing.cluster = setup_.cluster;
    std::set<std::pair<std::string, WallTime>> seen;
    const auto take = [&](const slurm::OwnJob& job) {
      listing.cluster = job.shown.cluster;
      auto listed = looked.take(job);
      if (!listed || !seen.emplace(listed->id, listed->submitted).second) return;
      listing.allocations.push_back(*std::move(listed));
    };
    std::ranges::for_each(queue.jobs, take);
    if (!looking.ended_too) return listing;
    const slurm::OwnJobs ended = slurm::own_in_accounting(setup_.run, question, looking.since,
                                                          !looking.shared_names.empty());
    if (!listing.cluster.empty() && !ended.jobs.empty() &&
        ended.jobs.front().shown.cluster != listing.cluster)
      return listing;
    listing.accounting = ended.whole;
    std::ranges::for_each(ended.jobs, take);
    return listing;
  }

  bool cancel(const std::vector<std::string>& ids) override {
    Words good;
    std::ranges::copy_if(ids, std::back_inserter(good), slurm::is_job_id);
    bool all = good.size() == ids.size();
    for (std::size_t at = 0; at < good.size(); at += kIdsAtOnce) {
      Words words{"scancel"};
      const std::size_t end = std::min(good.size(), at + kIdsAtOnce);
      words.insert(words.end(), good.begin() + static_cast<std::ptrdiff_t>(at),
                   good.begin() + static_cast<std::ptrdiff_t>(end));
      const auto output =
          setup_.run({without(kNotForScancel, std::move(words)), {}, slurm::kAskLimit});
      all = all && output.ok() && is_done(*output);
    }
    return all;
  }

  [[nodiscard]] std::string name() const override { return "slurm"; }

  [[nodiscard]] std::string cluster() override {
    if (setup_.cluster.empty())
      setup_.cluster = slurm::cluster_name(slurm::run_program_of(setup_.run, slurm::kAskLimit));
    return setup_.cluster;
  }

 private:
  static std::string excluded(const Words& nodes) {
    Words good;
    std::ranges::copy_if(nodes, std::back_inserter(good), slurm::is_plain);
    std::string list = slurm::short_host_list(good);
    return list.size() + 16 < slurm::kLongestWord ? list : std::string();
  }
  static bool is_done(const slurm::SbatchOutput& output) {
    if (output.exit_code == 0) return true;
    const auto lines = split(trimmed(output.err), '\n');
    return output.exit_code > 0 && !lines.empty() && std::ranges::all_of(lines, is_past);
  }

  SlurmSetup setup_;
};

}  // namespace

std::unique_ptr<Launcher> slurm_launcher(SlurmSetup setup) {
  return std::make_unique<Slurm>(std::move(setup));
}

}  // namespace torc::launcher
