#include "lib/workflow/change/take_back.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/transactions/undo.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::KeptChange;
using claim::Undone;

// What does by another way what taking back would have done.
std::string advice_for(std::string_view words) {
  struct Other {
    std::string_view command;
    std::string_view advice;
  };
  static constexpr std::string_view kRunsAgain =
      "results that were thrown away are not put back any more: what waits runs again";
  static constexpr std::string_view kEditBack =
      "if the workflow file was edited, edit it back and say `torc run FILE`: of what it made "
      "before, what has not run since counts again";
  static constexpr std::array kOtherWays = {
      Other{"cancel", "`torc retry --canceled` lets canceled jobs run after all"},
      Other{"hold", "`torc release NAME…` lets them run"},
      Other{"release", "`torc hold NAME…` keeps them from being started"},
      Other{"rm", "`torc rm --undo NAME…` puts removed jobs back"},
      Other{"set", "`torc set` sets what has not completed to what it was"},
      Other{"add", "`torc rm NAME…` takes jobs out of the workflow"},
      Other{"redo", kRunsAgain},
      Other{"reset", kRunsAgain},
      Other{"retry", "`torc cancel NAME…` ends those that run"},
      Other{"apply", kEditBack},
      Other{"run", kEditBack},
  };
  constexpr std::string_view kProgram = "torc ";
  if (!words.starts_with(kProgram)) return "";
  words.remove_prefix(kProgram.size());
  const std::string_view command = words.substr(0, words.find(' '));
  if (command == "run" && words.find(" --force") != words.npos) return std::string(kRunsAgain);
  for (const Other& other : kOtherWays) {
    if (command == other.command) return std::string(other.advice);
  }
  return "";
}

std::string job_gone_on(const claim::Reader& reader, JobId id) {
  RecipeBook book;
  const auto job = claim::read_job(reader, id);
  if (job && job->state == claim::JobState::canceled)
    return fmt::format("job {} was at work, and has been ended",
                       printable(job_name(book, reader, id)));
  return fmt::format("job {} has gone on since, and is {} now",
                     printable(job_name(book, reader, id)),
                     claim::to_string(job ? job->state : claim::JobState::ready));
}

std::string why_not(const claim::Reader& reader, const Undone& undone) {
  switch (undone.answer) {
    case Undone::Answer::done:
      return "";
    case Undone::Answer::gone_on:
      return raw(undone.job) == 0
                 ? "what it changed is not as it left it: jobs were started or ended since, or it "
                   "was changed again"
                 : job_gone_on(reader, undone.job);
    case Undone::Answer::followed:
      return "workers are registered that have read it, and would go on with it";
    case Undone::Answer::not_kept:
      return fmt::format(
          "what was there before is not kept: only of the last {} commands, and "
          "where these are not too large",
          claim::kMostUndoable);
    case Undone::Answer::before:
      return "it was taken back before";
  }
  return "";
}

// Those of the newest command that was not taken back.
Result<std::vector<KeptChange>> newest_command(const claim::Reader& reader) {
  std::vector<KeptChange> found;
  TORC_TRY(claim::scan_changes(reader, [&](const KeptChange& change) {
    // Others may have come between its commits.
    if (change.undone_at != WallTime{}) return true;
    if (found.empty() || change.is_of_the_same_command(found.front())) found.push_back(change);
    return true;
  }));
  return found;
}

// "anna" of "anna@node7".
std::string user_of(const std::string& by) {
  return by.substr(0, by.find('@'));
}

Error not_yours(const KeptChange& change) {
  return Error{ErrorKind::invalid,
               fmt::format("the last change is not yours: `{}` of {} by {}",
                           printable(change.words), show_time(change.at), printable(change.by)),
               "--yes takes it back all the same"};
}

}  // namespace

Result<std::optional<std::string>> what_hinders_taking_back(const claim::Reader& reader) {
  TORC_ASSIGN(const std::vector<KeptChange> changes, newest_command(reader));
  claim::UndoTrial trial(reader);
  for (const KeptChange& kept : changes) {
    TORC_ASSIGN(const Undone undone, trial.next(kept.number));
    if (undone.answer != Undone::Answer::done) return std::optional(why_not(reader, undone));
  }
  return std::optional<std::string>();
}

Result<TakenBack> take_back(const Context& context, const MakeChange& change, Whose whose) {
  TakenBack taken;
  bool given_up = false;
  const auto give_up = [&](std::string why) {
    given_up = true;
    taken.why_not = std::move(why);
    taken.advice = advice_for(taken.changes.empty() ? "" : taken.changes.front().words);
    return Error{ErrorKind::busy, "it cannot be taken back", ""};
  };
  const auto made = change([&](store::Transaction& tx) -> Result<void> {
    taken = {};
    given_up = false;
    TORC_ASSIGN(taken.changes, newest_command(tx));
    if (taken.changes.empty()) return give_up("");
    const std::string by = who_asks(context);
    if (whose == Whose::own && user_of(taken.changes.front().by) != user_of(by))
      return not_yours(taken.changes.front());
    for (const KeptChange& kept : taken.changes) {
      TORC_ASSIGN(const Undone undone,
                  claim::undo_change(tx, kept.number, context.clock.wall_now(), by));
      if (undone.answer != Undone::Answer::done) return give_up(why_not(tx, undone));
      if (undone.file.empty()) continue;
      taken.file = undone.file;
      taken.text_before = undone.text_before;
      if (taken.text_after == 0) taken.text_after = undone.text_after;
    }
    if (const auto sound = claim::verify_state(tx); !sound)
      return give_up("what was there before does not fit any more: " + sound.error().what);
    return {};
  });
  if (!made && !given_up) return made.error();
  return taken;
}

}  // namespace torc::workflow
