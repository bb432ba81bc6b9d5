// One pass over the ledger of allocations: what the batch system says of them is noted, what the
// jobs need is reckoned, what is wanted is submitted, what nobody needs is canceled. Whoever makes
// it may die at any point: the next one goes on from what the store says.
//
// Any worker makes passes (one at a time, at most one in kPassInterval), and any command for which
// it is due; there is no service. All that the batch system is asked is asked here, for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/launcher/launcher.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/context/context.h"

namespace torc::allocate {

// No two passes that nobody asked for begin within this.
inline constexpr std::chrono::seconds kPassInterval{30};
// Workers that leave together each may be the last: one pass is enough for them.
inline constexpr std::chrono::seconds kLastPassInterval{5};
// A pass submits no more than this.
inline constexpr std::uint32_t kMostSubmissions = 100;

// By which the workers of an allocation know as which try it was submitted.
inline constexpr const char* kIntentVariable = "TORC_INTENT";

enum class Turn : std::uint8_t {
  if_due,  // not where somebody began one less than kPassInterval ago
  soon,    // nobody is left who would make the next one; not where another who left did just now
  now,     // a person waits for it
  taken    // the caller has begun it
};
struct PassTerms {
  Turn turn = Turn::if_due;
  bool on_login_node = false;  // it may submit what only a login node may
  std::string who;             // who asks, for people: "user@host"
};

struct PassReport {
  bool was_made = false;        // false: it was not due, or there is nothing to do
  std::string unanswered = {};  // why the batch system said nothing: a clause; else empty
  std::uint32_t wanted = 0;     // allocations that were newly asked for
  std::uint32_t submitted = 0;
  std::uint32_t canceled = 0;
  std::uint32_t refused = 0;           // for good: their schedulers are stopped
  std::uint32_t left = 0;              // wanted ones that were not submitted, also of these
  bool waits_for_login = false;        // some of them, since this host may not submit
  std::vector<std::string> said = {};  // what went wrong, a sentence each
};

// Errors: those of the store.
[[nodiscard]] Result<PassReport> make_pass(const workflow::Context& context, store::Store& store,
                                           launcher::Launcher& launcher, const PassTerms& terms);

// For a person who looks: what the batch system says is noted, where nobody has asked it within
// kPassInterval. Nothing is asked for or canceled, and it is nobody's turn. Why the batch system
// said nothing: a clause; else empty. Errors: those of the store.
[[nodiscard]] Result<std::string> ask_queue(const workflow::Context& context, store::Store& store,
                                            launcher::Launcher& launcher);

// That tells this store's intents apart from those of others, also of its copies.
[[nodiscard]] std::string mark_of(const store::Store& store);

}  // namespace torc::allocate
