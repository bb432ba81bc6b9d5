// Whether a job has made its output files. Of a file that is not there nothing is believed at once
// where a filesystem shows late what another node has written.
#include <array>
#include <utility>

#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// Before each further look: 5 s in all.
constexpr std::array<std::chrono::nanoseconds, 4> kPauses{250ms, 750ms, 1500ms, 2500ms};

Unmade* find(State& w, Run run) {
  const auto found = std::ranges::find(w.unmade, run, &Unmade::run);
  return found == w.unmade.end() ? nullptr : &*found;
}

void look(const Step& s, Unmade& of) {
  const auto job = s.w.running.find(of.run);
  if (job == s.w.running.end()) return;
  of.looking = true;
  s.order(command::LookAtOutputs{of.run, job->second.job.load});
}

}  // namespace

bool await_outputs(const Step& s, const event::Ended& ended) {
  State& w = s.w;
  const auto found = w.running.find(ended.run);
  if (found == w.running.end() || found->second.revoked || found->second.job.on_each_node)
    return false;
  if (ended.outputs.missing == 0 || !ended.outputs.may_come) return false;
  w.unmade.push_back({ended.run, s.now + kPauses.front(), 0, false, ended});
  return true;
}

void look_for_outputs(const Step& s) {
  State& w = s.w;
  if (w.lease.paused) return;
  std::erase_if(w.unmade, [&](const Unmade& u) { return !w.running.contains(u.run); });
  for (Unmade& of : w.unmade) {
    if (!of.looking && s.now >= of.look_at) look(s, of);
  }
}

void see_outputs(const Step& s, const event::OutputsSeen& seen) {
  State& w = s.w;
  Unmade* of = find(w, seen.run);
  if (of == nullptr) return;
  const bool may_come = seen.outputs.missing != 0 && seen.outputs.may_come;
  if (may_come && of->looks < kPauses.size()) {
    of->looking = false;
    of->look_at = s.now + kPauses[of->looks++];
    return;
  }
  std::optional<event::Ended> ended = std::move(of->ended);
  w.unmade.erase(w.unmade.begin() + (of - w.unmade.data()));
  if (!ended) {
    if (w.gang) w.gang->outputs = seen.outputs;
    return;
  }
  ended->outputs = seen.outputs;
  ended->outputs.may_come = false;
  conclude(s, *ended);
}

std::optional<BootTime> next_output_look(const State& w) {
  std::optional<BootTime> next;
  for (const Unmade& of : w.unmade) {
    if (!of.looking && (!next || of.look_at < *next)) next = of.look_at;
  }
  return next;
}

void judge_outputs(claim::Finished& finished, const event::OutputsMade& outputs) {
  if (finished.state != claim::JobState::completed || outputs.missing == 0) return;
  finished.state = claim::JobState::failed;
  finished.outcome.cause = claim::EndCause::output_missing;
  finished.outcome.missing_output = outputs.missing;
}

bool judge_gang_outputs(const Step& s, Run kept, const Running& head, claim::Finished& whole) {
  State& w = s.w;
  OwnGang& g = *w.gang;
  const bool counts = whole.state == claim::JobState::completed && !head.revoked;
  if (!counts || !head.job.on_each_node || !head.job.must_make_files) return true;
  if (!g.outputs) {
    if (std::exchange(g.asked_outputs, true)) return false;
    w.unmade.push_back({kept, s.now});
    look(s, w.unmade.back());
    return false;
  }
  whole.signature = g.outputs->signature;
  judge_outputs(whole, *g.outputs);
  return true;
}

}  // namespace torc::worker
