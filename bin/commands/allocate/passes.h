// What the commands that see to allocations have in common: a pass over the ledger, made here, and
// what is said of it.
#pragma once

#include <memory>
#include <string>

#include "bin/app.h"
#include "lib/allocate/pass.h"
#include "lib/launcher/launcher.h"
#include "lib/report/allocation_list.h"

namespace torc::cli {

// The batch system that the store's allocations are asked of, by the definition that it keeps, or
// Slurm. Errors: unsupported, its programs are not on this host; what kept_definition() says.
Result<std::unique_ptr<launcher::Launcher>> find_launcher(const App& app, store::Store& store);
// Whether its programs are here; true also where it is not known which, as find_launcher() tells.
[[nodiscard]] bool has_batch_system(const App& app, store::Store& store);

// As has_batch_system(), for a command that only looks: false also where its programs would run by
// the word of somebody else.
[[nodiscard]] bool may_look_at_queue(const App& app, store::Store& store);

// Not within an allocation: where people log in, and may submit.
[[nodiscard]] bool is_login_node(const App& app);

// Allocations of other nodes are of use only to a store that these can open. Error unsupported: it
// is for one host.
Result<void> expect_shared(const App& app, const store::Store& store);

// Error unsupported, too: as find_launcher(), expect_shared().
Result<allocate::PassReport> pass_here(const App& app, store::Store& store, allocate::Turn turn);

// After a person changed what there is to do: allocations follow at once, where the workflow asks
// for some and there is a batch system. What goes wrong is said, and changes nothing.
enum class Telling : std::uint8_t { out_and_err, err_alone };
void settle_allocations(const App& app, store::Store& store, Telling telling);

// Why the batch system said nothing of its queue; empty: it did.
void print_unanswered(const App& app, const std::string& unanswered);
// What was done, in a line, and on stderr what went wrong.
void print_pass(const App& app, const allocate::PassReport& report);

// What a person asked for was tried by that pass: the ledger as it is now, and the exit status.
Result<Exit> tell_pass(const App& app, store::Store& store, const allocate::PassReport& pass,
                       bool json);

// The line of cron by which somebody makes passes where no worker lives.
void print_crontab(const App& app, const Path& store);

Result<report::AllocationList> read_list(store::Store& store, report::Which which);
void print_list(const App& app, const report::AllocationList& list);

}  // namespace torc::cli
