#include "lib/launcher/generic_launcher.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/launcher/generic_answer.h"
#include "lib/slurm/squeue.h"

namespace torc::launcher {
namespace {

using namespace std::chrono_literals;

using Words = std::vector<std::string>;
using Values = std::map<std::string, std::string, std::less<>>;

constexpr auto kAnswerLimit = 30s;
constexpr ByteCount kMostAnswer = mebibytes(64);
constexpr std::size_t kIdsOfOneCommand = 1000;
constexpr auto kClocksApart = 24h;

// {name} in a word becomes the value of that name; other braces stay.
std::string filled(const std::string& word, const Values& values) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = word.find('{', at);
    out.append(word, at, open - at);
    if (open == std::string::npos) return out;
    const std::size_t close = word.find('}', open);
    const auto value = close == std::string::npos
                           ? values.end()
                           : values.find(std::string_view(word).substr(open + 1, close - open - 1));
    if (value == values.end()) {
      out += '{';
      at = open + 1;
    } else {
      out += value->second;
      at = close + 1;
    }
  }
}

// env(1) says whether there is such a program.
Words filled(const Template& words, const Values& values) {
  Words argv{"env"};
  for (const auto& word : words) argv.push_back(filled(word, values));
  return argv;
}

// A word that is nothing but this placeholder becomes these words.
Words with(Words argv, std::string_view placeholder, const Words& words) {
  const auto at = std::ranges::find(argv, placeholder);
  if (at == argv.end()) return argv;
  const auto next = argv.erase(at);
  argv.insert(next, words.begin(), words.end());
  return argv;
}

std::string written(WallTime time, const std::string& format) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  std::tm parts{};
  std::array<char, 128> text{};
  if (localtime_r(&seconds, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), format.c_str(), &parts)};
}

class Generic final : public Launcher {
 public:
  explicit Generic(GenericSetup setup) : setup_(std::move(setup)) {}

  SubmitAnswer submit(const Submission& submission) override {
    const Definition& d = setup_.definition;
    std::string name = job_name(d, submission.intent);
    if (!is_intent(submission.intent) || !submission.script.is_absolute())
      return refusal("torc: this is not a name, or no path, to submit by");
    if (!submission.shared_name.empty()) {
      if (!d.queue.fields.intent)
        return refusal(
            fmt::format("torc: {} cannot tell allocations of one name apart", d.launcher));
      name = submission.shared_name;
    }
    if (!slurm::is_plain(name) || (d.longest != 0 && name.size() > d.longest))
      return refusal(fmt::format("torc: {} has no jobs of such a name: {}", d.launcher, name));
    const Values values{
        {"name", name}, {"intent", submission.intent}, {"script", submission.script.string()}};
    slurm::Command command{
        with(filled(d.submit, values), "{exclude}", excluded(submission.exclude_nodes)),
        {"TORC_INTENT=" + submission.intent},
        kSubmitLimit};
    for (const auto& [key, value] : submission.environment)
      command.environment.push_back(fmt::format("{}={}", key, value));
    const auto output = setup_.run(command);
    if (output.ok()) {
      SubmitAnswer answer = read_submission(d, *output);
      if (answer.what == Submitted::accepted) answer.cluster = cluster_;
      return answer;
    }
    SubmitAnswer answer = refusal(output.error().what);
    answer.what = Submitted::later;
    return answer;
  }

  Listing list(const Looking& looking) override {
    const Definition& d = setup_.definition;
    Listing listing;
    listing.cluster = cluster_;
    if (!slurm::is_plain(setup_.user)) {
      listing.failure = "the name of the user is not known";
      return listing;
    }
    Told queue = ask(d.queue, {{"user", setup_.user}});
    listing.whole = queue.whole;
    listing.failure = std::move(queue.failure);
    const std::set<std::string> intents(looking.intents.begin(), looking.intents.end());
    const std::set<std::string> shared(looking.shared_names.begin(), looking.shared_names.end());
    const std::set<std::string> ids(looking.ids.begin(), looking.ids.end());
    std::set<std::string> seen;
    const auto take = [&](Listed& one) {
      const bool is_one =
          intents.contains(one.intent) || shared.contains(one.name) || ids.contains(one.id);
      if (!is_one || !seen.insert(one.id).second) return;
      one.cluster = cluster_;
      listing.allocations.push_back(std::move(one));
    };
    std::ranges::for_each(queue.allocations, take);
    if (!looking.ended_too || !d.accounting) return listing;
    // No time zone is as far from another as that.
    const WallTime from = std::max<WallTime>(looking.since - kClocksApart, 48h);
    Told ended = ask(*d.accounting, {{"user", setup_.user}, {"since", written(from, d.since)}});
    listing.accounting = ended.whole;
    std::ranges::for_each(ended.allocations, take);
    return listing;
  }

  bool cancel(const std::vector<std::string>& ids) override {
    Words good;
    std::ranges::copy_if(ids, std::back_inserter(good), slurm::is_plain);
    bool all = good.size() == ids.size();
    for (std::size_t at = 0; at < good.size(); at += kIdsOfOneCommand) {
      const auto end = std::min(good.size(), at + kIdsOfOneCommand);
      const Words some(good.begin() + static_cast<std::ptrdiff_t>(at),
                       good.begin() + static_cast<std::ptrdiff_t>(end));
      const auto output =
          setup_.run({with(filled(setup_.definition.cancel, {}), "{ids}", some), {}, kAnswerLimit});
      all = all && output.ok() && is_done(*output);
    }
    return all;
  }

  [[nodiscard]] std::string name() const override { return setup_.definition.launcher; }

  [[nodiscard]] std::string cluster() override {
    const Definition& d = setup_.definition;
    if (!cluster_.empty() || d.cluster.empty() || !d.cluster_name) return cluster_;
    const auto output = setup_.run({filled(d.cluster, {}), {}, kAnswerLimit});
    if (!output.ok() || output->exit_code != 0) return {};
    std::string found;
    if (RE2::PartialMatch(output->out, *d.cluster_name, &found) && slurm::is_plain(found))
      cluster_ = found;
    return cluster_;
  }

 private:
  static SubmitAnswer refusal(const std::string& why) {
    SubmitAnswer answer;
    answer.what = Submitted::refused;
    answer.words = slurm::words_for_people({why});
    return answer;
  }
  Words excluded(const Words& nodes) const {
    const auto& exclude = setup_.definition.exclude;
    if (!exclude) return {};
    std::string all;
    for (const auto& node : nodes) {
      if (slurm::is_plain(node))
        all += (all.empty() ? "" : exclude->join) + filled(exclude->each, {{"node", node}});
    }
    if (all.empty()) return {};
    Words words;
    for (const auto& word : exclude->words) words.push_back(filled(word, {{"nodes", all}}));
    return words;
  }
  Told ask(const Answer& answer, const Values& values) const {
    const auto output = setup_.run({filled(answer.command, values), {}, kAnswerLimit, kMostAnswer});
    if (!output.ok()) return {{}, false, output.error().what};
    return read_answer(setup_.definition, answer, *output, setup_.user);
  }
  // Of all lines that it printed each says that one has ended already.
  bool is_done(const slurm::SbatchOutput& output) const {
    if (output.exit_code == 0) return true;
    const auto lines = split(trimmed(output.err.empty() ? output.out : output.err), '\n');
    return output.exit_code > 0 && !lines.empty() && std::ranges::all_of(lines, [&](auto line) {
             return std::ranges::any_of(setup_.definition.past, [&](const auto& one) {
               return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *one);
             });
           });
  }

  GenericSetup setup_;
  std::string cluster_;
};

}  // namespace

std::unique_ptr<Launcher> generic_launcher(GenericSetup setup) {
  return std::make_unique<Generic>(std::move(setup));
}

}  // namespace torc::launcher
