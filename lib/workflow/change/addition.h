// Jobs that are added to a store while its workflow lives: what `torc add` and `torc spawn` have in
// common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/add.h"
#include "lib/spec/sweep/existing_workflow.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/change/trial.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

struct AdditionText {
  std::string file;  // as the user named it
  std::string text;
  Path directory;  // where files that it names are looked for
};
// "-" is stdin.
Result<AdditionText> read_addition(const Context& context, const std::string& file);

// What is asked of the workflow before anything is added to it, within the same transaction.
struct AdditionTerms {
  claim::Origin origin;
  std::uint64_t after = 0;               // a job that all of it waits for; 0: none
  spec::ResourceRequirements resources;  // of jobs that name none
  // Jobs that are there, the same, and were taken out of the workflow come back, with what they
  // wait for. Else they stay out.
  bool brings_back = false;
};
using AdmitAddition =
    std::function<Result<AdditionTerms>(const claim::Reader& reader, AdditionText& text)>;

struct Added {
  static constexpr std::size_t kNames = 1000;
  std::vector<spec::Diagnostic> diagnostics;
  bool good = false;  // no error among them
  std::uint64_t jobs = 0;
  std::vector<std::string> names;  // of the first
  std::uint64_t anew = 0;          // there already, and by what is said now from here on
  std::vector<std::string> anew_names;
  std::uint64_t there = 0;  // left alone
  std::vector<std::string> there_names;
  std::uint64_t returned = 0;  // that were taken out, and are back
  std::vector<std::string> returned_names;
  // Workers; nullopt: it could not be seen once the addition was there.
  std::optional<std::uint64_t> live_workers;
};

// One transaction, which `change` makes on the store. Errors are those of `admit` and of `change`.
Result<Added> add_to(const Context& context, store::Store& store, const AdditionText& text,
                     const AdmitAddition& admit, const MakeChange& change);

// "me@node5".
[[nodiscard]] std::string who_asks(const Context& context);

}  // namespace torc::workflow
