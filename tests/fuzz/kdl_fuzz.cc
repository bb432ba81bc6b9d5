// A spec in KDL, from text to jobs.
#include "tests/fuzz/spec_checks.h"

TORC_FUZZ_TARGET(kdl) {
  torc::fuzz::check_spec(input, "spec.kdl");
}
