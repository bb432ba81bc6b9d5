// What a person changed is kept with what was there before, and taken back as long as no job that
// it concerns was started or has ended since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/noted_transaction.h"

namespace torc::claim {

struct AskedChange {
  WallTime now{};
  WallTime asked_at{};  // when the command began
  std::string by;       // "user@host"
  std::string words;    // as it was typed
  // The copy of the workflow file in the store, which is no part of the state; no name: it stays.
  std::string file;
  std::string text_before;
  std::uint64_t text_after = 0;  // mark_of_text()
};
[[nodiscard]] std::uint64_t mark_of_text(std::string_view text);

// To be called at the end of the transaction. `noted`: all that was written in it. Nothing is kept
// where all is as it was. Costs what was written; the changes of at most kMostUndoable commands,
// and of these NotedTransaction::kMostBytes, can be taken back, the newest.
inline constexpr std::uint64_t kMostUndoable = 20;
void keep_change(Transaction& tx, const NotedTransaction& noted, const AskedChange& asked);

struct Undone {
  enum class Answer : std::uint8_t {
    done,
    gone_on,   // what it changed is another one now: `job`, or what belongs to no single job
    followed,  // workers that are registered go by it: they read it when they came
    not_kept,  // what was there before
    before     // it was taken back before
  };
  Answer answer = Answer::done;
  JobId job{};       // 0: none
  std::string file;  // as in AskedChange
  std::string text_before;
  std::uint64_t text_after = 0;
};

// Whether changes could be taken back one after the other, the newest first, as far as the keys
// tell that they wrote.
class UndoTrial {
 public:
  explicit UndoTrial(const Reader& reader) : reader_(reader) {}

  // Whether this one would be `done`, too. Error corrupt.
  Result<Undone> next(std::uint64_t number);

 private:
  const Reader& reader_;
  std::map<std::string, std::uint64_t> put_back_;  // marks of the values, by key
};

// Puts back what was there, if all that the change wrote is still as it left it, it ended no job at
// work, and no job was granted since by what it changed: a template, what jobs wait for, user data,
// the settings or the budget of all; nor was an action run that runs something else. Settings and
// actions stay while workers are registered, as when a file is applied. Counters go on from what
// they are; resource classes, failure handlers and limits that it brought stay where others have
// been numbered behind them. What belongs together is not looked at: whoever asks verifies the
// state before it is committed (audit/verify.h), and commits nothing else than `done`. Error
// corrupt.
Result<Undone> undo_change(Transaction& tx, std::uint64_t number, WallTime now,
                           const std::string& by);

}  // namespace torc::claim
