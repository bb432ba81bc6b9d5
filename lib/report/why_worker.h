// Why no worker takes a ready job: nobody works, an allocation is waited for, none of those that
// work could ever take it, or all that could are busy. A part of why.h.
#pragma once

#include <string>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/why.h"
#include "lib/workflow/context/context.h"

namespace torc::report {

class WorkerInquiry {
 public:
  // All but the strings outlive this. `store`, `job`: as words of the commands that are
  // recommended.
  WorkerInquiry(const workflow::Context& context, const claim::Reader& reader,
                const Situation& situation, std::string store, std::string job, JobId id)
      : context_(context),
        reader_(reader),
        situation_(situation),
        store_(std::move(store)),
        job_(std::move(job)),
        id_(id) {}

  // `held_back`: something else keeps the job waiting, so that workers with room are no wonder.
  std::vector<Reason> look(const claim::JobClass& job_class, std::int32_t priority, bool held_back);

 private:
  void nobody(const claim::JobClass& job_class);
  // That one waits whose workers may take it: whether any does; tells it then.
  bool allocation(const claim::JobClass& job_class, const std::string& so_far);
  // Of each alternative, where it has some.
  void mismatches(const claim::JobClass& job_class, const std::vector<claim::Worker>& workers);
  // Of one; `alternative`: as people number them, 0: the job has no others. `what_for`: "run it".
  void mismatches_of(const claim::JobClass& job_class, const std::vector<claim::Worker>& workers,
                     std::uint32_t alternative, std::string_view what_for);
  // What keeps workers from being nodes of a job of several nodes.
  void nodes_lack(const claim::JobClass& job_class, const std::vector<claim::Worker>& workers);
  void queue(const claim::JobClass& job_class, std::int32_t priority,
             const std::vector<claim::Worker>& fitting, std::size_t all, bool held_back);
  // Of workers that have nothing to do: whether all wait for others of this node; tells it then.
  bool starved(const std::vector<claim::Worker>& idle);
  void add(std::string_view kind, std::string text, std::string remedy) {
    reasons_.push_back({kind, std::move(text), std::move(remedy)});
  }

  const workflow::Context& context_;
  const claim::Reader& reader_;
  const Situation& situation_;
  std::string store_;
  std::string job_;
  JobId id_;
  std::vector<Reason> reasons_;
};

}  // namespace torc::report
