// The last thing that a person changed in a workflow is taken back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/tables/change_record.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/change/trial.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

struct TakenBack {
  // Of one command, the newest first. Empty: there is nothing that was not taken back before.
  std::vector<claim::KeptChange> changes;
  std::string why_not;  // as a sentence; empty: it was taken back
  std::string advice;   // what to do then
  // The copy of the workflow file as it was, if that was another one; no name: it was not.
  std::string file;
  std::string text_before;
  std::uint64_t text_after = 0;  // claim::mark_of_text() of what it made of it
};

// Why the newest command that was not taken back cannot be, as far as is seen without trying;
// nullopt: it can, or there is none.
Result<std::optional<std::string>> what_hinders_taking_back(const claim::Reader& reader);

// Whoever shares a store does not take back by mistake what others did.
enum class Whose : std::uint8_t { own, anybodys };

// One commit, made by `change`: all of the command, or nothing. It is only made where the state is
// a sound one afterwards (claim::verify_state), which costs as much as there are jobs. Error
// invalid: with Whose::own, that somebody else made it.
Result<TakenBack> take_back(const Context& context, const MakeChange& change, Whose whose);

}  // namespace torc::workflow
