// Which files, and which user data, each job takes and makes, and so which job precedes which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/expand/reference.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/range.h"
#include "lib/spec/text/reference_text.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Files of the jobs of one entry: for each reference the files by the job's index. Those that the
// command names come first, in its order.
struct EntryFiles {
  std::vector<RangeMap> inputs;
  std::vector<RangeMap> outputs;
};

// Where a job names what it takes and makes: the same for files and for user data.
struct JobFileKeys {
  using List = std::vector<std::string> JobEntry::*;
  struct Keyed {
    std::string_view key;
    List list;
  };
  ReferenceText::Section section;  // of references in the command
  std::string_view kind;           // "file": as a message has it
  Keyed inputs, input_regexes, outputs, output_regexes;
};
extern const JobFileKeys kFileKeys;
extern const JobFileKeys kUserDataKeys;

// Who makes the files that the workflow in the store has.
class OtherMakers {
 public:
  virtual ~OtherMakers() = default;
  [[nodiscard]] virtual std::uint64_t maker_of(std::uint64_t file) = 0;  // a job; 0: none
  // Whether `job` of the file at hand is that very job.
  [[nodiscard]] virtual bool is_same(std::uint64_t job, std::uint64_t maker) = 0;
  [[nodiscard]] virtual std::string name_of(std::uint64_t maker) = 0;
};

class JobFiles {
 public:
  // All must outlive this.
  JobFiles(const JobFileKeys& keys, const Families& jobs, const Families& files, Resolver& resolver,
           Report& report)
      : keys_(keys), jobs_(jobs), files_(files), resolver_(resolver), report_(report) {}

  // Entry `family` of the jobs. To be called for every entry in order, before makers().
  void add(const JobEntry& entry, const Family& family);

  [[nodiscard]] const EntryFiles& of(std::size_t entry) const { return entries_[entry]; }
  // Outlives this.
  void ask_also(OtherMakers& others) { others_ = &others; }

  // Calls visit(file, job) for each file that a job of these makes, by file.
  template <class Visit>
  void each_made(const Visit& visit) const {
    for (std::uint64_t f = 1; f < makers_.size(); ++f) {
      if (makers_[f] != 0) visit(f, makers_[f]);
    }
  }

  // From what a reference takes to the jobs that make it.
  [[nodiscard]] RangeMap makers(const RangeMap& inputs) const;
  // The job that makes a file; 0: none does.
  [[nodiscard]] std::uint64_t maker(std::uint64_t file) const {
    return file < makers_.size() ? makers_[file] : 0;
  }

 private:
  void add_lists(const JobEntry& entry, const Family& family, EntryFiles& files);
  // One of the texts of its command, the value of `key`.
  void add_command(const JobEntry& entry, const std::string& key, const std::string& text,
                   const Family& family, EntryFiles& files);
  [[nodiscard]] std::string remedy() const;  // of what two jobs make
  void claim(const Family& family, const RangeMap& outputs, Place place);

  [[nodiscard]] std::uint64_t maker_of(std::uint64_t file) const;
  bool is_made_elsewhere(std::uint64_t file, std::uint64_t job, Place place);

  const JobFileKeys& keys_;
  OtherMakers* others_ = nullptr;
  const Families& jobs_;
  const Families& files_;
  Resolver& resolver_;
  Report& report_;
  std::vector<EntryFiles> entries_;
  std::vector<std::uint32_t> makers_;  // by file; 0: no job makes it
};

}  // namespace torc::spec
