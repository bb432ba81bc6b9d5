// The names of a workflow in a store beside those of an addition to it: which of these are there
// already, and where references lead that the addition itself does not resolve.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/expand/expansion.h"
#include "lib/spec/expand/job_files.h"
#include "lib/spec/expand/reference.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

class ExistingJobs : public Elsewhere {
 public:
  // Both outlive this. The first of `added` has the number existing.jobs() + 1.
  ExistingJobs(ExistingWorkflow& existing, const Families& added)
      : existing_(existing), added_(added) {}

  // Looks up all added names. To be called once, after Families::index().
  void look_up_added();
  // What the workflow calls an added job: the job of that name that is there, or the next number.
  // Others stay what they are. Precondition: look_up_added().
  [[nodiscard]] std::uint64_t number_of(std::uint64_t job) const;
  [[nodiscard]] bool is_there(std::uint64_t job) const;
  // Of those that are there: this one is said anew.
  void say_anew(std::uint64_t job) { anew_.insert(job); }
  [[nodiscard]] bool is_said_anew(std::uint64_t job) const { return anew_.contains(job); }
  [[nodiscard]] std::vector<Range> numbers_of(const std::vector<Range>& jobs) const;  // normalised
  [[nodiscard]] ExistingWorkflow& existing() { return existing_; }

  std::optional<std::uint64_t> find(std::string_view name) override;
  void find_open(std::string_view text, std::vector<Range>& out) override;
  void match(const re2::RE2& expression, std::vector<Range>& out) override;
  void add_names(std::vector<std::string>& out, std::size_t most) override;

 private:
  // Added jobs whose numbers in the workflow follow each other.
  struct Piece {
    Range added;
    std::uint64_t number = 0;
    bool there = false;
  };
  [[nodiscard]] const Piece& piece_of(std::uint64_t job) const;

  ExistingWorkflow& existing_;
  const Families& added_;
  std::vector<Piece> pieces_;
  std::set<std::uint64_t> anew_;
};

// Files or user data. Those of the workflow that are referred to become families beside the added
// ones.
class ExistingFiles : public Elsewhere, public OtherMakers {
 public:
  // All outlive this. `paths`: of each family.
  ExistingFiles(Kept kind, const ExistingJobs& jobs, ExistingWorkflow& existing, Families& files,
                std::vector<Pattern>& paths)
      : kind_(kind), jobs_(jobs), existing_(existing), files_(files), paths_(paths) {}

  // Looks up all added names; one that is there with another path is reported. To be called once,
  // after Families::index(). `entries`: of the families.
  template <class Entry>
  void look_up_added(const std::vector<Entry>& entries, Report& report) {
    own_ = files_.size();
    there_.assign(files_.total() + 1, 0);
    for (std::size_t f = 0; f < own_; ++f) {
      const std::string clash = look_up(f);
      if (clash.empty()) continue;
      report.error(entries[f].place, clash,
                   "give it another name, or the path that it has in the workflow");
    }
  }
  // What the workflow is to keep of the added ones, and of who makes which. `made`: of all.
  [[nodiscard]] std::vector<Definition> definitions(const JobFiles& made);

  // Those of the workflow without parameters that had no maker, and the job that is it now.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> newly_made(const JobFiles& made);

  std::optional<std::uint64_t> find(std::string_view name) override;
  void find_open(std::string_view text, std::vector<Range>& out) override;
  void match(const re2::RE2& expression, std::vector<Range>& out) override;
  void add_names(std::vector<std::string>& out, std::size_t most) override;

  std::uint64_t maker_of(std::uint64_t file) override;
  bool is_same(std::uint64_t job, std::uint64_t maker) override;
  std::string name_of(std::uint64_t maker) override;

 private:
  struct Known {
    KeptFiles kept;
    Pattern name;
    Sweep sweep;
    std::uint64_t first = 0;  // of its combinations among `files_`; 0: not yet among them
  };
  struct Place {
    Known* of = nullptr;
    std::uint64_t combination = 0;
  };

  void read_sweeps_once();
  Known& keep(KeptFiles kept);
  std::optional<Place> place_of(std::string_view name);
  std::uint64_t local(const Place& place);
  // The number that the workflow has for it; 0: none yet.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t file) const;
  // What is wrong; empty: nothing.
  std::string look_up(std::size_t family);
  [[nodiscard]] static std::string path_at(const Place& place);

  Kept kind_;
  const ExistingJobs& jobs_;
  ExistingWorkflow& existing_;
  Families& files_;
  std::vector<Pattern>& paths_;
  std::size_t own_ = 0;               // families of the addition
  std::vector<std::uint64_t> there_;  // by added file: its number in the workflow, or 0
  std::deque<Known> known_;
  std::map<std::string, Known*> singles_;
  std::vector<Known*> sweeps_;
  bool sweeps_read_ = false;
  std::map<std::size_t, Known*> by_family_;
};

// Compares each entry of `expansion` that is there with what the workflow has; the first difference
// of each is reported: a job that is there is left alone when nothing about it differs.
void compare_known(const Workflow& addition, const Expansion& expansion, ExistingJobs& jobs,
                   Report& report);
// Takes them out, and numbers the others as the workflow will.
void leave_known_out(Expansion& expansion, const ExistingJobs& jobs);

// Of a whole workflow: all its files, and who makes which.
[[nodiscard]] std::vector<Definition> define_files(Kept kind, const Families& files,
                                                   const JobFiles& made);

}  // namespace torc::spec
