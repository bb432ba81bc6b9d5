// torc resources --apply: the workflow file gets the resources that its jobs have turned out to
// need.
#pragma once

#include <string>

#include "bin/app.h"
#include "lib/report/fitted_needs.h"

namespace torc::cli {

struct ApplyOptions {
  std::string spec;    // the workflow file
  std::string output;  // written instead; empty: the file itself
  report::FitRules rules;
  bool no_lower = false;
  bool dry_run = false;
  bool json = false;
};

// `store`: as on the command line.
Result<Exit> apply_resources(const App& app, const std::string& store, const ApplyOptions& options);

}  // namespace torc::cli
