#include "bin/commands/job_completion.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "bin/commands/job_words.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

constexpr std::uint64_t kFew = 20;  // jobs of one entry, which are offered by their names

class Candidates {
 public:
  Candidates(std::string_view word, const Clock& clock)
      : word_(word), clock_(clock), until_(clock.boot_now() + kCompletionTime) {}

  // Whether there is room and time for more.
  [[nodiscard]] bool goes_on() const { return all_.size() < kMostCandidates && !late_; }

  void add(const std::string& name) {
    if (goes_on() && !name.empty() && name.starts_with(word_) && shell_word(name) == name &&
        is_name(name))
      all_.insert(name);
  }
  void add_names(const spec::Recipe& recipe, std::uint64_t jobs) {
    constexpr std::uint64_t kStep = 1'000;  // names between two looks at the clock
    for (std::uint64_t i = 0; i < jobs && goes_on(); ++i) {
      add(recipe.name(i));
      if (i % kStep == kStep - 1) late_ = clock_.boot_now() >= until_;
    }
  }
  void add_entry(const claim::Template& t, const spec::Recipe& recipe) {
    const std::string entry = recipe.entry_name();
    const std::string stage = stage_name(entry);
    if (t.count > 1 && !stage.empty()) add("stage:" + stage);
    const std::string fixed = entry.substr(0, entry.find('{'));
    const std::size_t both = std::min(fixed.size(), word_.size());
    if (fixed.substr(0, both) != word_.substr(0, both)) return;
    if (t.count > kFew && word_.size() < fixed.size()) {
      add(fixed);
    } else {
      add_names(recipe, t.count);
    }
  }

  [[nodiscard]] std::vector<std::string> all() const { return {all_.begin(), all_.end()}; }

 private:
  // Else a command reads a flag or a list in it.
  static bool is_name(const std::string& word) { return word[0] != '-' && word[0] != '@'; }

  std::string word_;
  const Clock& clock_;
  BootTime until_;
  bool late_ = false;
  std::set<std::string> all_;
};

}  // namespace

Result<std::vector<std::string>> job_candidates(const claim::Reader& reader, std::string_view word,
                                                const Clock& clock) {
  Candidates found(word, clock);
  Result<void> readable;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const auto recipe = workflow::recipe_of(t);
    if (recipe)
      found.add_entry(t, *recipe);
    else
      readable = recipe.error();
    return readable.ok() && found.goes_on();
  }));
  TORC_TRY(readable);
  return found.all();
}

}  // namespace torc::cli
