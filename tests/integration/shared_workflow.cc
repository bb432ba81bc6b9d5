#include "tests/integration/shared_workflow.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace torc::itest {

namespace fs = std::filesystem;
using nlohmann::json;
using torture::Violation;
using namespace std::chrono_literals;

SharedWorkflow::SharedWorkflow() : random_(test_seed()) {}
SharedWorkflow::~SharedWorkflow() = default;

void SharedWorkflow::set_up(const Path& scratch, Terms terms) {
  scratch_ = scratch;
  terms_ = std::move(terms);
}

Ended SharedWorkflow::run(int node, const std::string& command) const {
  return itest::run(on(node, command), terms_.patience);
}

void SharedWorkflow::init(const std::string& spec) {
  workers_.clear();
  name_ = fmt::format("{:x}", random_());
  directory_ = scratch_ / name_;
  fs::create_directories(directory_);
  write_text(directory_ / "wf.yaml", spec);
  const Ended init =
      run(1, fmt::format("mkdir {0} && cd {0} && {1} init {2} --store wf.torc", shared(1).string(),
                         terms_.torc, seen(directory_ / "wf.yaml").string()));
  ASSERT_EQ(init.exit_code, 0) << init;
  ASSERT_TRUE(init.says("engine journal")) << init;
}

void SharedWorkflow::begin(std::size_t jobs, const Nodes& nodes) {
  plan_ = torture::random_plan(jobs, random_);
  record_ = scratch_ / fmt::format("runs-{:x}", random_());
  fs::create_directories(record_);
  init(torture::spec_of(plan_, terms_.job, seen(record_), "wall"));
  if (HasFatalFailure()) return;
  events_ = std::make_unique<torture::Events>(record_);
  for (const int node : nodes) start_worker(node);
  while (workers_at_work() < nodes.size() && !is_finished()) {
    replace_leavers();
    ASSERT_TRUE(see_lines(1) || is_finished()) << printed();
  }
}

void SharedWorkflow::start_worker(int node) {
  const std::string command =
      fmt::format("cd {} && exec {} worker wf.torc --lease-ttl {}s --max-parallel-jobs 2",
                  shared(node).string(), terms_.torc, terms_.lease.count());
  workers_.push_back({node, std::make_unique<Process>(on(node, command))});
}

void SharedWorkflow::forget_workers_of(int node) {
  std::erase_if(workers_, [node](const Worker& worker) { return worker.node == node; });
}

void SharedWorkflow::kill_workers() {
  for (auto& worker : workers_) worker.process->kill(SIGKILL);
}

std::vector<Source*> SharedWorkflow::sources() {
  std::vector<Source*> all;
  if (events_) all.push_back(events_.get());
  for (auto& worker : workers_) all.push_back(worker.process.get());
  return all;
}

bool SharedWorkflow::see_lines(std::uint64_t count) {
  std::uint64_t seen = 0;
  const auto end = Clock::now() + terms_.patience;
  while (Clock::now() < end) {
    if (wait_until(
            sources(), [&] { return (seen += events_->take()) >= count; }, 10s))
      return true;
    if (is_finished()) return false;  // no more will come
  }
  return false;
}

void SharedWorkflow::let_pass(std::chrono::seconds time) {
  (void)wait_until(
      sources(), [] { return false; }, time);
}

void SharedWorkflow::struck() {
  ++faults_;
  for (Worker& worker : workers_) worker.heard = worker.process->out().size();
}

bool SharedWorkflow::superseded(int node) {
  return wait_until(
      sources(),
      [&] {
        return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
          const Process& process = *worker.process;
          return worker.node == node &&
                 (!process.running() ||
                  process.out().find("lease", worker.heard) != std::string::npos);
        });
      },
      terms_.patience);
}

std::string SharedWorkflow::printed() {
  std::string all;
  for (const auto& worker : workers_)
    all += fmt::format("--- on node{}\n{}{}", worker.node, worker.process->out(),
                       worker.process->err());
  return all;
}

namespace {

// A shell says 128 + n of a command that signal n ended.
bool crashed(const Ended& ended) {
  const int signal = ended.signal != 0 ? ended.signal : ended.exit_code - 128;
  const auto crashes = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
  return std::find(crashes.begin(), crashes.end(), signal) != crashes.end();
}

}  // namespace

void SharedWorkflow::replace_leavers() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].process->running()) continue;
    const int node = workers_[i].node;
    const Ended left = workers_[i].process->wait();
    EXPECT_FALSE(crashed(left)) << left;
    last_words_ += left.out + left.err;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i--));
    if (!is_finished()) start_worker(node);
  }
}

void SharedWorkflow::finish() {
  const auto end = Clock::now() + terms_.patience;
  for (bool done = false; !done; done = is_finished()) {
    ASSERT_LT(Clock::now(), end) << "the workflow does not end\n" << printed();
    (void)wait_until(
        sources(),
        [&] {
          return std::any_of(workers_.begin(), workers_.end(),
                             [](const Worker& worker) { return !worker.process->running(); });
        },
        10s);
    replace_leavers();
  }
  for (auto& worker : workers_) {
    const Ended left = worker.process->wait(120s);
    EXPECT_EQ(left.exit_code, 0) << left;
  }
}

json SharedWorkflow::status() {
  const Ended asked =
      run(1, fmt::format("{} status {}/wf.torc --json", terms_.torc, shared(1).string()));
  json parsed = json::parse(asked.out, nullptr, false);
  return asked.exit_code == 0 && !parsed.is_discarded() ? parsed : json();
}

std::size_t SharedWorkflow::workers_at_work() {
  const json now = status();
  return now.is_null() ? 0 : now.at("workers").size();
}

bool SharedWorkflow::is_finished() {
  const json now = status();
  return !now.is_null() && (now.at("state") == "completed" || now.at("state") == "failed");
}

void SharedWorkflow::audit() {
  for (const int node : {1, 2}) {
    const Ended verified =
        run(node, fmt::format("{} verify {}/wf.torc", terms_.torc, shared(node).string()));
    EXPECT_EQ(verified.exit_code, 0) << "on node " << node << ": " << verified;
  }
  fetch_store();
  if (HasFatalFailure()) return;
  const Path store = directory_ / "wf.torc";
  const auto ask = [&](const char* command) {
    const Ended answer =
        itest::run({{TORC_PROGRAM, command, store.string(), "--json"}, {}, directory_, {}, {}});
    if (answer.exit_code != 0)
      throw Violation{command + std::string(": ") + answer.out + answer.err};
    return json::parse(answer.out);
  };
  try {
    const json jobs = ask("jobs");
    EXPECT_EQ(ask("verify").at("clean"), true);
    torture::audit_counts(jobs, ask("status"));
    torture::audit_files(plan_, record_, jobs, terms_.clocks_apart, account_);
    torture::audit_chain(plan_, store, jobs, {}, account_);
    EXPECT_EQ(account_.given_up, 0U) << "a job lost five workers";
  } catch (const Violation& violation) {
    ADD_FAILURE() << "VIOLATION: " << violation.what << '\n' << all_printed();
  }
}

void SharedWorkflow::finish_and_audit() {
  if (HasFatalFailure()) return;
  finish();
  if (!HasFatalFailure()) audit();
}

void SharedWorkflow::tell_figures() const {
  std::cout << fmt::format(
      "{:.0f} s; {} faults, {} attempts, {} jobs ran twice, {} commits, {} leases expired\n",
      std::chrono::duration<double>(Clock::now() - begun_).count(), faults_, account_.attempts,
      account_.ran_twice, account_.commits, account_.expired);
}

int SharedWorkflow::rounds(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

std::size_t SharedWorkflow::jobs_for(int rounds) {
  // While one fault lasts the other machine does some 600.
  return rounds == 1 ? 300 : 1000 * static_cast<std::size_t>(rounds);
}

}  // namespace torc::itest
