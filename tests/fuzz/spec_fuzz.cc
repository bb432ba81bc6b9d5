// A spec in YAML, from text to jobs.
#include "tests/fuzz/spec_checks.h"

TORC_FUZZ_TARGET(spec) {
  torc::fuzz::check_spec(input, "spec.yaml");
}
