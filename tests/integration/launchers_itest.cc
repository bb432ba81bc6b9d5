// The built-in definitions of batch systems that are not here, against commands that behave as
// their documents say (launchers/fake.sh).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/text/text.h"
#include "lib/exec/start/run_program.h"
#include "lib/launcher/generic_launcher.h"
#include "lib/spec/text/source.h"
#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using launcher::Listing;
using launcher::Submitted;
using nlohmann::json;
using slurm::Stage;

using Words = std::vector<std::string>;

struct System {
  const char* name;
  Words commands;
  const char* runs;  // the system's word
  const char* over;
  bool shares_names;
  bool excludes;
  // Of a batch script that it runs: the variables with the id, as it has it, and the CPUs; and how
  // lines of options begin, and the one with ten minutes (empty: there is none).
  const char* id;
  const char* ending;
  const char* cpus;
  const char* directive;
  const char* walltime;
};

std::ostream& operator<<(std::ostream& out, const System& system) {
  return out << system.name;
}

launcher::Definition definition_of(std::string_view name) {
  const spec::Source source(launcher::built_in_definition(name), std::string(name));
  spec::Report report(source);
  auto definition = launcher::read_definition(source, report);
  EXPECT_TRUE(definition.has_value()) << spec::to_text(std::move(report).sorted());
  return definition.value_or(launcher::Definition());
}

class Launchers : public testing::TestWithParam<System> {
 protected:
  void SetUp() override {
    const fs::path fake = std::string(TORC_SOURCE_DIR) + "/tests/integration/launchers/fake.sh";
    bin_ = scratch_.path() / GetParam().name;
    fs::create_directory(bin_);
    path_ = bin_.string() + ":/usr/bin:/bin";
    for (const auto& command : GetParam().commands) fs::copy_file(fake, bin_ / command);
    write_text(scratch_.path() / "jobs", "");
    launcher_ = launcher::generic_launcher(
        {[this](const slurm::Command& command) { return run_there(command); }, "me",
         definition_of(GetParam().name)});
  }

  [[nodiscard]] Result<slurm::SbatchOutput> run_there(const slurm::Command& command) const {
    exec::ProgramRequest request;
    request.argv = command.argv;
    request.environment = command.environment;
    request.environment.push_back("PATH=" + path_);
    request.environment.push_back("FAKE=" + scratch_.path().string());
    request.time_limit = command.limit;
    TORC_ASSIGN(exec::ProgramOutput output, exec::run_program(request));
    return slurm::SbatchOutput{output.exit_code, output.signal,         output.timed_out,
                               output.truncated, std::move(output.out), std::move(output.err)};
  }
  void mode(const char* what) const { write_text(scratch_.path() / "mode", what); }
  [[nodiscard]] std::string calls() const { return read_text(scratch_.path() / "calls"); }
  void set_jobs(const std::string& text) const { write_text(scratch_.path() / "jobs", text); }
  [[nodiscard]] std::string row(const std::string& id, const std::string& intent,
                                const std::string& state, const std::string& user = "me") const {
    return id + "|t-" + intent + "|" + intent + "|" + user + "|" + state + "\n";
  }
  [[nodiscard]] launcher::Submission submission(const std::string& intent) const {
    launcher::Submission one;
    one.intent = intent;
    one.script = scratch_.path() / "a script's file.sh";
    write_text(one.script, "#!/bin/bash\ntrue\n");
    return one;
  }

  Scratch scratch_;
  fs::path bin_;
  std::string path_;
  std::unique_ptr<launcher::Launcher> launcher_;
};

TEST_P(Launchers, submits_finds_and_cancels) {
  EXPECT_EQ(launcher_->name(), GetParam().name);
  EXPECT_EQ(launcher_->cluster(), "srv");
  const Listing none = launcher_->list({.intents = {"7.a"}});
  EXPECT_TRUE(none.whole) << none.failure << ": an empty list is a list";
  EXPECT_TRUE(none.allocations.empty());

  const auto first = launcher_->submit(submission("7.a"));
  ASSERT_EQ(first.what, Submitted::accepted) << testing::PrintToString(first.words);
  const auto second = launcher_->submit(submission("7.b"));
  ASSERT_EQ(second.what, Submitted::accepted) << testing::PrintToString(second.words);
  const Listing both = launcher_->list({.intents = {"7.a", "7.b", "7.c"}});
  EXPECT_TRUE(both.whole) << both.failure;
  ASSERT_EQ(both.allocations.size(), 2U);
  EXPECT_EQ(both.allocations[0].id, first.id);
  EXPECT_EQ(both.allocations[0].intent, "7.a");
  EXPECT_EQ(both.allocations[0].stage, Stage::waits);
  EXPECT_EQ(both.allocations[1].intent, "7.b");
  EXPECT_EQ(both.cluster, "srv");
  EXPECT_EQ(launcher_->list({.ids = {second.id}}).allocations.size(), 1U);

  write_text(scratch_.path() / "calls", "");
  EXPECT_TRUE(launcher_->cancel({first.id, second.id}));
  EXPECT_EQ(std::ranges::count(calls(), '\n'), 1) << calls();
  for (const auto& one :
       launcher_->list({.intents = {"7.a", "7.b"}, .ended_too = true}).allocations)
    EXPECT_EQ(one.stage, Stage::over) << one.state;
  EXPECT_TRUE(launcher_->cancel({first.id})) << "what has ended counts";
}

TEST_P(Launchers, states_are_those_of_the_system) {
  set_jobs(row("1", "a", GetParam().runs) + row("2", "b", GetParam().over) + row("3", "c", "?1"));
  const Listing all = launcher_->list({.intents = {"a", "b"}, .ended_too = true});
  for (const auto& one : all.allocations)
    EXPECT_EQ(one.stage, one.intent == "a" ? Stage::runs : Stage::over) << one.intent;
  EXPECT_FALSE(all.allocations.empty());
}

TEST_P(Launchers, others_jobs_are_not_ours) {
  set_jobs(row("1", "a", GetParam().runs, "you") + row("2", "b", GetParam().runs));
  const Listing listing = launcher_->list({.intents = {"a", "b"}});
  EXPECT_TRUE(listing.whole) << listing.failure;
  ASSERT_EQ(listing.allocations.size(), 1U);
  EXPECT_EQ(listing.allocations[0].intent, "b");
}

TEST_P(Launchers, a_list_that_lost_its_end_or_a_system_that_is_down_says_nothing_of_the_rest) {
  set_jobs(row("1", "a", GetParam().runs) + row("2", "b", GetParam().runs) +
           row("3", "c", GetParam().over));
  for (const char* wrong : {"cut", "down"}) {
    mode(wrong);
    const Listing listing = launcher_->list({.intents = {"a", "b"}, .ended_too = true});
    EXPECT_FALSE(listing.whole) << wrong;
    EXPECT_FALSE(listing.accounting) << wrong;
  }
  fs::remove_all(bin_);
  const Listing gone = launcher_->list({.intents = {"a"}});
  EXPECT_FALSE(gone.whole);
  EXPECT_NE(gone.failure, "");
}

TEST_P(Launchers, what_a_failure_means_is_known_or_unclear) {
  struct {
    const char* mode;
    Submitted what;
    std::size_t jobs;  // that are there afterwards
  } const cases[] = {{"refuse", Submitted::refused, 0},
                     {"limit", Submitted::later, 0},
                     {"down", Submitted::later, 0},
                     {"late", Submitted::unclear, 1},
                     {"rubbish", Submitted::unclear, 1}};
  for (const auto& c : cases) {
    set_jobs("");
    mode(c.mode);
    const auto answer = launcher_->submit(submission("7.a"));
    EXPECT_EQ(answer.what, c.what) << c.mode << testing::PrintToString(answer.words);
    EXPECT_FALSE(answer.words.empty());
    mode("ok");
    EXPECT_EQ(launcher_->list({.intents = {"7.a"}}).allocations.size(),
              GetParam().name == std::string("lsf") && c.jobs == 1 ? 1U : c.jobs)
        << c.mode;
  }
  // A host without its programs.
  path_ = (scratch_.path() / "tools").string();
  fs::create_directory(path_);
  for (const char* tool : {"env", "sh", "sed"})
    fs::create_symlink(fs::path("/usr/bin") / tool, fs::path(path_) / tool);
  const auto missing = launcher_->submit(submission("7.a"));
  EXPECT_EQ(missing.what, Submitted::refused) << testing::PrintToString(missing.words);
  EXPECT_TRUE(missing.not_from_here);
}

TEST_P(Launchers, one_name_for_several_and_nodes_to_leave_out_where_the_system_can) {
  auto one = submission("7.a");
  one.shared_name = "chain";
  one.exclude_nodes = {"n1", "n2"};
  const auto answer = launcher_->submit(one);
  EXPECT_EQ(answer.what, GetParam().shares_names ? Submitted::accepted : Submitted::refused);
  if (!GetParam().shares_names) return;
  const Listing listing = launcher_->list({.shared_names = {"chain"}});
  ASSERT_EQ(listing.allocations.size(), 1U);
  EXPECT_EQ(listing.allocations[0].intent, "7.a");
  EXPECT_EQ(listing.allocations[0].name, "chain");
  if (GetParam().excludes) {
    EXPECT_NE(read_text(scratch_.path() / "script").find("Machine != \"n1\" && Machine != \"n2\""),
              std::string::npos);
  }
}

// torc as a user has it, with the commands of the system on PATH.
class Submitting {
 public:
  Submitting(const fs::path& root, std::string path) : path_(std::move(path)) {
    launch_.directory = root / "work";
    fs::create_directory(launch_.directory);
    launch_.env["PATH"] = path_;
    launch_.env["FAKE"] = root.string();
    launch_.env["FAKE_USER"] = getpwuid(getuid())->pw_name;
    launch_.env["XDG_CONFIG_HOME"] = root / "config";
  }
  [[nodiscard]] const fs::path& work() const { return launch_.directory; }
  void write(const std::string& launcher) const {
    write_text(work() / "wf.yaml", "name: wf\nlauncher: " + launcher +
                                       "\nschedulers: [{name: s, walltime: '00:10:00', "
                                       "options: [-x 1, -y 2]}]\n"
                                       "jobs: [{name: a, num_cpus: 3, command: 'true'}]\n");
  }
  [[nodiscard]] Ended run(Words argv, const std::map<std::string, std::string>& env = {}) const {
    Launch launch = launch_;
    launch.argv = std::move(argv);
    launch.env.insert(env.begin(), env.end());
    return itest::run(launch);
  }
  [[nodiscard]] Ended torc(Words arguments) const {
    arguments.insert(arguments.begin(), TORC_PROGRAM);
    return run(arguments);
  }
  [[nodiscard]] json of_json(const Words& arguments) const {
    const Ended ended = torc(arguments);
    json value = json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(value.is_discarded()) << ended;
    return value;
  }
  [[nodiscard]] json allocation() const {
    const json all = of_json({"allocations", "wf.torc", "--all", "--json"});
    return all.at("allocation_records").at(0);
  }

 private:
  std::string path_;
  Launch launch_;
};

TEST_P(Launchers, a_workflow_is_submitted_and_its_worker_known_by_the_id_of_its_allocation) {
  const System& system = GetParam();
  const Submitting user(scratch_.path(), path_);
  user.write(system.name);
  const Ended submitted = user.torc({"submit", "wf.yaml", "--engine", "journal"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted;
  EXPECT_TRUE(submitted.says("submitted 1 allocation")) << submitted;
  const std::string id = std::string("1") + system.ending;
  EXPECT_EQ(user.allocation().at("allocation"), id);
  EXPECT_EQ(user.allocation().at("allocation_stage"), "queued");
  const fs::path file = user.work() / "wf.torc/launcher/s.sh";
  const std::string script = read_text(file);
  for (const std::string option : {"-x 1", "-y 2", system.walltime}) {
    const std::string line = fmt::format("\n{} {}\n", system.directive, option);
    EXPECT_TRUE(option.empty() || script.find(line) != std::string::npos) << line << script;
  }

  // As the system does it, which says first that it runs.
  const std::string jobs = read_text(scratch_.path() / "jobs");
  const auto fields = split(jobs, '|');
  ASSERT_EQ(fields.size(), 5U) << jobs;
  const std::string name(fields[1]);
  set_jobs(jobs.substr(0, jobs.rfind('|') + 1) + system.runs + "\n");
  const std::string intent = name.substr(2);
  const auto start = [&](const std::string& as) {
    return user.run({file.string()},
                    {{"TORC_INTENT", intent}, {system.id, as}, {system.cpus, "3"}});
  };
  fs::permissions(file, fs::perms::owner_exec, fs::perm_options::add);
  const auto log = [&](const std::string& as) {
    return read_text(user.work() / "wf.torc/logs" / (std::string(system.name) + "-" + as + ".out"));
  };
  // Another allocation of the same try.
  EXPECT_EQ(start("7").exit_code, 0) << log("7");
  EXPECT_NE(log("7").find("was asked for by a try that was given up"), std::string::npos);
  EXPECT_EQ(user.of_json({"status", "wf.torc", "--json"}).at("state"), "waiting");

  const Ended worked = start(id);
  EXPECT_EQ(worked.exit_code, 0) << worked << log(id);
  EXPECT_NE(log(id).find("3 CPUs (--num-cpus)"), std::string::npos) << log(id);
  EXPECT_EQ(user.of_json({"status", "wf.torc", "--json"}).at("state"), "completed") << log(id);
  EXPECT_EQ(user.allocation().at("allocation_stage"), "running") << "the system says so yet";
  EXPECT_EQ(user.allocation().at("slurm_state"), system.runs);
}

INSTANTIATE_TEST_SUITE_P(AsDocumented, Launchers,
                         testing::Values(System{"pbs",
                                                {"qsub", "qstat", "qselect", "qdel"},
                                                "R",
                                                "F",
                                                true,
                                                false,
                                                "PBS_JOBID",
                                                ".srv",
                                                "NCPUS",
                                                "#PBS",
                                                "-l walltime=600"},
                                         System{"torque",
                                                {"qsub", "qstat", "qselect", "qdel"},
                                                "R",
                                                "C",
                                                true,
                                                false,
                                                "PBS_JOBID",
                                                ".srv",
                                                "PBS_NUM_PPN",
                                                "#PBS",
                                                "-l walltime=600"},
                                         System{"lsf",
                                                {"bsub", "bjobs", "bkill", "lsid"},
                                                "RUN",
                                                "DONE",
                                                false,
                                                true,
                                                "LSB_JOBID",
                                                "",
                                                "LSB_DJOB_NUMPROC",
                                                "#BSUB",
                                                "-W 10"},
                                         System{"htcondor",
                                                {"condor_submit", "condor_q", "condor_history",
                                                 "condor_rm", "condor_config_val"},
                                                "2",
                                                "4",
                                                true,
                                                true,
                                                "CONDOR_CLUSTER_ID",
                                                "",
                                                "CONDOR_REQUEST_CPUS",
                                                "#CONDOR",
                                                ""}),
                         [](const auto& one) { return std::string(one.param.name); });

class OwnDefinition : public testing::Test {
 protected:
  OwnDefinition() {
    fs::create_directory(bin());
    for (const char* command : {"qsub", "qstat", "qselect", "qdel"})
      fs::copy_file(std::string(TORC_SOURCE_DIR) + "/tests/integration/launchers/fake.sh",
                    bin() / command);
    write_text(scratch_.path() / "jobs", "");
    std::string text(launcher::built_in_definition("pbs"));
    write_text(user_.work() / "our-queue.yaml", text.replace(text.find("pbs"), 3, "ours"));
    user_.write("./our-queue.yaml");
  }
  // By whose name the commands know which system they are.
  [[nodiscard]] fs::path bin() const { return scratch_.path() / "pbs"; }

  Scratch scratch_;
  Submitting user_{scratch_.path(), (scratch_.path() / "pbs").string() + ":/usr/bin:/bin"};
};

TEST_F(OwnDefinition, is_kept_in_the_store_by_which_all_goes_on_without_the_file) {
  const Ended made = user_.torc({"init", "wf.yaml", "--engine", "journal"});
  ASSERT_EQ(made.exit_code, 0) << made;
  EXPECT_TRUE(made.says("torc submit wf.torc")) << made;
  EXPECT_FALSE(made.says("sbatch")) << made;
  fs::remove(user_.work() / "our-queue.yaml");
  const Ended submitted = user_.torc({"submit", "wf.torc"});
  EXPECT_TRUE(submitted.says("submitted 1 allocation")) << submitted;
  const Ended status = user_.torc({"status", "wf.torc"});
  EXPECT_TRUE(status.says("queued")) << status;

  // What cannot be read is not taken for Slurm.
  fs::rename(user_.work() / "wf.torc/launcher/definition.yaml", user_.work() / "away");
  const Ended without = user_.torc({"submit", "wf.torc"});
  EXPECT_NE(without.exit_code, 0);
  EXPECT_TRUE(without.says("the definition of the workflow's batch system cannot be read"))
      << without;
  EXPECT_TRUE(user_.torc({"allocations", "wf.torc"}).says("batch system cannot be read"));
  EXPECT_TRUE(user_.torc({"status", "wf.torc"}).says("queued")) << "what was known is shown";
  fs::rename(user_.work() / "away", user_.work() / "wf.torc/launcher/definition.yaml");
  EXPECT_EQ(user_.torc({"allocations", "cancel", "wf.torc", "1"}).exit_code, 0);
  EXPECT_NE(read_text(scratch_.path() / "calls").find("qdel 1.srv"), std::string::npos);
}

TEST_F(OwnDefinition, of_a_store_of_somebody_else_runs_nothing_for_who_looks) {
  constexpr uid_t kSomebody = 4711;
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(user_.torc({"submit", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const fs::path folder = user_.work() / "wf.torc/launcher";
  const auto look_later = [&] {
    write_text(scratch_.path() / "calls", "");
    Words words{"/usr/bin/env",    std::string("LD_PRELOAD=") + MOVED_CLOCK,
                "MOVED_CLOCK=600", TORC_PROGRAM,
                "allocations",     "wf.torc"};
    const Ended ended = user_.run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_TRUE(ended.says("queued")) << ended;
    return !read_text(scratch_.path() / "calls").empty();
  };
  ASSERT_EQ(::chown(folder.c_str(), kSomebody, kSomebody), 0);
  EXPECT_FALSE(look_later());
  ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
  fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(look_later());
  fs::permissions(folder, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(look_later());
}

TEST_F(OwnDefinition, with_mistakes_is_refused_with_their_places) {
  write_text(user_.work() / "our-queue.yaml", "launcher: ours\nsumbit: {}\n");
  const Ended wrong = user_.torc({"check", "wf.yaml"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(wrong.says("our-queue.yaml:2:1: error: unknown key 'sumbit'")) << wrong;
  EXPECT_TRUE(wrong.says("wf.yaml:2:11: error: the launcher './our-queue.yaml' has mistakes"))
      << wrong;
  user_.write("gridengine");
  const Ended with_template = user_.torc({"init", "wf.yaml", "--template", "worker"});
  EXPECT_TRUE(with_template.says("--template is for batch scripts of Slurm")) << with_template;
  user_.write("gridengin");
  const Ended unknown = user_.torc({"check", "wf.yaml"});
  EXPECT_TRUE(unknown.says("did you mean 'gridengine'?")) << unknown;
  user_.write("./nowhere.yaml");
  EXPECT_TRUE(user_.torc({"check", "wf.yaml"}).says("cannot be read")) << unknown;
}

}  // namespace
}  // namespace torc::itest
