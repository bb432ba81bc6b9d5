// Jobs that somebody canceled while this worker had them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/worker/worker_session.h"

namespace torc::worker {

void Session::end_revoked(std::vector<claim::ClaimToken> tokens) {
  tokens.insert(tokens.end(), unplaced_.begin(), unplaced_.end());
  unplaced_.clear();
  if (tokens.empty() || end_ == WorkerEnd::lease_lost) return;
  std::set<claim::ClaimToken> told(tokens.begin(), tokens.end());
  recall();
  std::erase_if(queue_, [&](const PreparedJob& job) {
    if (told.erase(job.grant.token) == 0) return false;
    returns_.push_back(job.grant.token);
    return true;
  });
  for (auto& [id, job] : running_) {
    if (told.erase(job.token) == 0 || job.revoked) continue;
    job.revoked = true;
    host_.stop(exec::RunId{id}, term_lead());
    notice(fmt::format("'{}' was canceled: ending it", job.name));
  }
  for (auto& [id, armed] : armed_) {  // begun just now
    if (told.erase(armed.job.grant.token) == 0) continue;
    armed.beginning.revoked = true;
    host_.stop(exec::RunId{id}, term_lead());
  }
  // What is about to be reported anyway.
  for (const claim::Finished& f : in_flight_.finishes) told.erase(f.token);
  for (const claim::ClaimToken& t : in_flight_.returns) told.erase(t);
  for (const claim::ClaimToken& t : in_flight_.spares) told.erase(t);  // its answer tells again
  for (const claim::Finished& f : finishes_) told.erase(f.token);
  for (const claim::ClaimToken& t : returns_) told.erase(t);
  // A job that the answer under way grants is not known here yet: to say that it never ran, and to
  // start it then, would let it run beside its next attempt.
  if (committer_->busy()) {
    unplaced_.assign(told.begin(), told.end());
    return;
  }
  // Nothing of these is here: say so.
  returns_.insert(returns_.end(), told.begin(), told.end());
}

}  // namespace torc::worker
