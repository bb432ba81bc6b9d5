// Which jobs wait for which, by the names that an entry gives and by its files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/spec/expand/dependency_sets.h"
#include "lib/spec/expand/expansion.h"
#include "lib/spec/expand/job_files.h"
#include "lib/spec/expand/reference.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

class JobDependencies {
 public:
  // `names` looks among `jobs`, the families of workflow.jobs; `files` and `user_data` are theirs.
  // All must outlive this.
  JobDependencies(const Workflow& workflow, const Families& jobs, Resolver& names,
                  const JobFiles& files, const JobFiles& user_data, Report& report)
      : workflow_(workflow),
        jobs_(jobs),
        names_(names),
        files_(files),
        user_data_(user_data),
        report_(report) {}

  // A job of the workflow that is added to, which all jobs wait for.
  void begin_after(std::uint64_t job) { after_ = job; }

  // What the jobs of entry `e` wait for. To be called for every entry in order, after the files and
  // user data of all of them are known.
  void add(std::size_t e);

  void take(Expansion& expansion) &&;

 private:
  // What an entry's jobs wait for, by one of its references.
  struct Upstream {
    RangeMap jobs;
    Place place;
    bool by_name = false;
    Condition condition = Condition::afterok;
  };
  static constexpr std::size_t kConditions = 4;

  std::vector<Upstream> upstreams_of(std::size_t e);
  // Of a dataset, the jobs of this workflow that write into it; null: none.
  const RangeMap* writers_of(const std::string& dataset);
  void report_self(const Family& family, const Upstream& upstream);
  void warn_of_both(const Family& family, const std::vector<Upstream>& all);
  void add_sets(const Family& family, const std::vector<Upstream>& all, Condition condition);

  const Workflow& workflow_;
  const Families& jobs_;
  Resolver& names_;
  const JobFiles& files_;
  const JobFiles& user_data_;
  Report& report_;
  std::uint64_t after_ = 0;                                 // 0: none
  std::optional<std::map<std::string, RangeMap>> writers_;  // of datasets, once one is read
  std::array<DependencySetBuilder, kConditions> sets_;
};

}  // namespace torc::spec
