#include "bin/trust.h"

#include "lib/worker/loop/session_fixture.h"

namespace torc::cli {
namespace {

class Trust : public worker::SessionTest {
 protected:
  App app_{context_, stdout, stderr};
};

// Another user may have a link there for the moment in which it is looked at.
TEST_F(Trust, a_found_store_that_cannot_be_looked_at_is_not_taken_for_ones_own) {
  const Path found = directory_ / "found.torc";
  std::filesystem::create_symlink("nowhere", found);
  EXPECT_FALSE(check_found_store(app_, found).ok());
  std::filesystem::remove(found);
  std::filesystem::create_directory(found);
  EXPECT_TRUE(check_found_store(app_, found).ok()) << "a directory of one's own without a META";
}

}  // namespace
}  // namespace torc::cli
