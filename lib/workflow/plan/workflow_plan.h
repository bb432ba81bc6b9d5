// Between the workflow language and the claims: what the spec's expansion becomes in the store, and
// how a job's name and command come back out of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/recovery.h"
#include "lib/claim/scheduling/retry.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/tables/user_datum.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/spec/load/load.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/context/file_fingerprints.h"
#include "lib/workflow/plan/working_directory.h"

namespace torc::workflow {

// A spec that was read, parsed and expanded, with everything that was wrong with it.
struct LoadedSpec {
  std::string file;  // as the user named it
  std::string text;
  std::string yaml;  // of a script: the same workflow in YAML; empty: it is none, or has errors
  std::optional<spec::Workflow> workflow;  // both present when there was no error
  std::optional<spec::Expansion> expansion;
  std::vector<spec::Diagnostic> diagnostics;
  // What its launcher stands for, see kept_launcher.h; empty: Slurm's, or only looked at from a
  // store.
  std::string launcher;
  std::vector<std::string> value_files;  // that it names and that were read, as it names them

  // What a store keeps of it. A script says where it lies, and its copy would lie elsewhere.
  [[nodiscard]] const std::string& kept_text() const { return yaml.empty() ? text : yaml; }
};

// What the spec is wanted for. Keys of the language that this version cannot run are notes to who
// looks, and errors to who would run it.
enum class Purpose : std::uint8_t { look, run };

// Error: the file itself cannot be read. `base`: where files that it names are looked for; empty:
// in its own directory. `mode`: as spec::load() has it.
Result<LoadedSpec> load_spec(const Context& context, const std::string& file,
                             Purpose purpose = Purpose::run, const Path& base = {},
                             std::optional<spec::StdioMode> mode = {});

// The same of a text that is to be written into that file: its place is what counts of it.
[[nodiscard]] LoadedSpec load_spec_text(const Context& context, const std::string& file,
                                        std::string text);

// Makes errors of the notes on what this version cannot run, for who would run it. Whether there
// were any.
bool refuse_what_cannot_run(std::vector<spec::Diagnostic>& all);

// What a job may be given at most: the largest that its scheduler offers, or, where it is bound to
// none, any of them. 0: there are none, or one of them does not say.
using claim::Ceilings;
[[nodiscard]] Ceilings ceilings_of(const spec::Workflow& workflow,
                                   const std::string& scheduler = {});

// What every worker needs of the workflow besides its jobs.
struct WorkflowSettings {
  WorkingDirectory directory;  // where jobs run: find_working_directory() says where that is now
  spec::RunSettings run;
  Sums sums = Sums::no;  // whether workers hash the files of jobs
};
[[nodiscard]] std::string encode(const WorkflowSettings& settings);
Result<WorkflowSettings> decode_workflow_settings(std::string_view bytes);
// The same, as the store has them.
Result<WorkflowSettings> read_settings(store::Store& store);

[[nodiscard]] claim::Plan make_plan(const LoadedSpec& loaded, const WorkingDirectory& directory,
                                    Sums sums = Sums::no);
// Beside the plan in the first commit of a store.
[[nodiscard]] std::vector<claim::UserDatum> user_data_of(const spec::Expansion& expansion);

// Puts an expansion's jobs into a plan: of a whole workflow, or of an addition to one that is
// there.
void add_expansion(claim::Plan& plan, const spec::Workflow& workflow,
                   const spec::Expansion& expansion);

// The recipe of a template in a store. Error corrupt: it cannot be read, or is not for as many jobs
// as the template has: texts beyond its own it must not be asked for.
[[nodiscard]] Result<spec::Recipe> recipe_of(const claim::Template& job_template);

// Recipes of templates, decoded once for each edition of them while they are in use; of many large
// ones (lists of values) only some are kept. For one store.
class RecipeBook {
 public:
  struct Page {
    claim::Template job_template;
    spec::Recipe recipe;
    std::shared_ptr<const claim::Handler> handler;  // null: none
    bool has_alternatives = false;                  // its jobs, of what they need
  };
  // nullptr: no such job, or a damaged recipe.
  std::shared_ptr<const Page> find(const claim::Reader& reader, JobId id);

 private:
  std::map<std::uint64_t, std::shared_ptr<const Page>>
      sweeps_;  // by first id; single jobs are not kept
  void look_at_edition(const claim::Reader& reader);

  static constexpr std::uint64_t kNone = UINT64_MAX;
  std::size_t kept_ = 0;  // bytes of their recipes as stored
  // Commit of which the edition is known: of a view, never of a transaction, of which nobody knows
  // whether it becomes that commit.
  std::uint64_t seen_ = kNone;
  std::uint64_t edition_ = kNone;  // of what is kept
};

// "?" when the job has no readable recipe.
[[nodiscard]] std::string job_name(RecipeBook& book, const claim::Reader& reader, JobId id);
// A job by its name, or by "#17" its number. nullopt: none.
[[nodiscard]] Result<std::optional<JobId>> find_job(RecipeBook& book, const claim::Reader& reader,
                                                    std::string_view name);

// The error of commands that were given a name nobody has.
// How a job is named to a command: its name, or '#number' where that would be taken for a flag.
[[nodiscard]] std::string job_word(std::string_view name, JobId id);

[[nodiscard]] Error no_such_job(std::string_view name);
// And of those that found the job of that name, and nothing about it that makes sense.
[[nodiscard]] Error damaged_job(std::string_view name);

}  // namespace torc::workflow
