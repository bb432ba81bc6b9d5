// The commands. Each is in a file of its name, in the folder of what it is for: its flags, its help
// and what it does, and one function that describes it. bin/cli.cc has the one table of them.
#pragma once

namespace torc::cli {

class Command;

void add_actions(Command& c);
void add_add(Command& c);
void add_adopt(Command& c);
void add_allocations(Command& c);
void add_apply(Command& c);
void add_backup(Command& c);
void add_bench(Command& c);
void add_cancel(Command& c);
void add_rm(Command& c);
void add_check(Command& c);
void add_clean(Command& c);
void add_cluster(Command& c);
void add_compact(Command& c);
void add_completion(Command& c);
void add_data(Command& c);
void add_doctor(Command& c);
void add_exec(Command& c);
void add_export(Command& c);
void add_graph(Command& c);
void add_history(Command& c);
void add_hold(Command& c);
void add_init(Command& c);
void add_job(Command& c);
void add_jobs(Command& c);
void add_list(Command& c);
void add_logs(Command& c);
void add_new(Command& c);
void add_node(Command& c);
void add_plan(Command& c);
void add_recover(Command& c);
void add_redo(Command& c);
void add_reinit(Command& c);
void add_release(Command& c);
void add_repair(Command& c);
void add_reset(Command& c);
void add_resources(Command& c);
void add_results(Command& c);
void add_retry(Command& c);
void add_run(Command& c);
void add_schedule_nodes(Command& c);
void add_schema(Command& c);
void add_set(Command& c);
void add_slurm(Command& c);
void add_spawn(Command& c);
void add_status(Command& c);
void add_submit(Command& c);
void add_supervise(Command& c);
void add_trust(Command& c);
void add_undo(Command& c);
void add_verify(Command& c);
void add_wait(Command& c);
void add_why(Command& c);
void add_worker(Command& c);

// Of `torc logs export`, which `torc logs` adds.
void add_logs_export(Command& c);

}  // namespace torc::cli
