// From one entry of the spec to its ExpandedEntries, each with an encoded recipe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/spec/expand/expansion.h"
#include "lib/spec/expand/job_files.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/sweep/recipe_writer.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

class EntryWriter {
 public:
  // Recipes of a workflow together; more is reported. Only jobs that each list thousands of single
  // files come near.
  static constexpr std::uint64_t kMaxRecipeBytes = std::uint64_t{512} << 20;

  static constexpr std::uint64_t kMaxNameBytes = 1'024;
  // Linux takes no longer argument and no longer environment variable: 32 pages, with the NUL.
  static constexpr std::uint64_t kMaxArgumentBytes = 131'071;

  // `paths` of the file families, in their order. All must outlive the writer.
  EntryWriter(const Workflow& workflow, const Families& files, const std::vector<Pattern>& paths,
              const Families& user_data, Report& report);

  // What follows is added to a workflow in a store. `resources`: of jobs that name none;
  // `is_there`: whether the workflow has the job of this number.
  void begin_addition(const ResourceRequirements& resources,
                      std::function<bool(std::uint64_t)> is_there) {
    default_ = resources;
    is_there_ = std::move(is_there);
  }

  // Of jobs for which the file says none.
  void set_usual_mode(StdioMode mode) { usual_mode_ = mode; }

  // Appends the entry's runs of jobs with equal resources, scheduler and labels.
  void write(const JobEntry& entry, const Family& family, const EntryFiles& files,
             const EntryFiles& user_data, std::vector<ExpandedEntry>& out);

 private:
  // The patterns of one entry.
  struct Texts {
    Pattern invocation_script, command, resources, scheduler, was;
    std::vector<Pattern> commands;  // of alternatives; empty patterns: that of the job
    std::vector<Pattern> labels;
    std::vector<std::pair<std::string_view, Pattern>> env;
  };
  // What all jobs of a run share.
  struct Terms {
    std::string resources, scheduler, labels;
    bool there = false;
    bool operator==(const Terms&) const = default;
  };
  // What the jobs of an entry take and make: files, or user data.
  struct Things {
    const EntryFiles& files;
    const EntryFiles& user_data;
  };
  // Files (or user data) of one family that some recipe needs: numbers lowest .. end - 1 become
  // local .. in it.
  struct Needed {
    std::size_t family = 0;
    std::uint64_t lowest = 0;
    std::uint64_t end = 0;
    std::uint64_t local = 1;
  };

  // What the system refuses to start, or no list of jobs could show.
  void check_lengths(const JobEntry& entry, const Family& family, const Texts& texts,
                     const Things& things);
  bool compile(const JobEntry& entry, Texts& texts);
  [[nodiscard]] Terms terms_of(const JobEntry& entry, const Texts& texts, const Family& family,
                               std::uint64_t k) const;
  [[nodiscard]] std::string labels_of(const JobEntry& entry, const Texts& texts,
                                      const Family& family, std::uint64_t k) const;
  void check_nodes(const JobEntry& entry, const ResourceRequirements& needs);
  const ResourceRequirements* resources_of(const JobEntry& entry, const Texts& texts,
                                           const Terms& terms);
  // Those of the run. `narrowed` is what the answer refers to.
  static Window window(const JobEntry& entry, const Family& family, Range run,
                       NarrowSweep& narrowed);
  static std::string former_names(const JobEntry& entry, const Family& family, const Texts& texts,
                                  Range run);
  [[nodiscard]] std::string recipe(const JobEntry& entry, const Family& family, const Texts& texts,
                                   const Things& things, Range run) const;
  // What a part of the recipe refers to, kept until it is encoded.
  struct Kept {
    std::vector<RangeMap> maps;
    std::vector<NarrowSweep> sweeps;
  };
  // `mode` and `text` of a family by its position.
  template <class Mode, class Text>
  static void keep(const EntryFiles& of, const Families& families, const Mode& mode,
                   const Text& text, Range run, std::uint64_t whole, Kept& kept, TakenAndMade& out);
  [[nodiscard]] static std::vector<Needed> needed(const Families& families,
                                                  const std::vector<RangeMap>& maps);

  const Workflow& workflow_;
  StdioMode usual_mode_ = StdioMode::separate;
  const Families& files_;
  const std::vector<Pattern>& paths_;
  const Families& user_data_;
  Report& report_;
  ResourceRequirements default_;
  std::function<bool(std::uint64_t)> is_there_;
  std::map<std::string_view, const ResourceRequirements*> resources_;
  std::set<std::string_view> schedulers_;
  std::uint64_t longest_path_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace torc::spec
