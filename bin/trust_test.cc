#include "bin/trust.h"

#include <unistd.h>

#include <filesystem>

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

// It could lead to any other store of the user's own.
TEST_F(Trust, a_found_link_that_another_user_made_is_not_followed) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  const Path store = directory_ / "mine.torc";
  const Path found = directory_ / "found.torc";
  std::filesystem::create_directory(store);
  std::filesystem::create_directory_symlink(store, found);
  EXPECT_TRUE(check_found_store(app_, found).ok()) << "a link of one's own";
  ASSERT_EQ(::lchown(found.c_str(), 65534, 65534), 0);
  const auto theirs = check_found_store(app_, found);
  ASSERT_FALSE(theirs.ok());
  EXPECT_EQ(theirs.error().kind, ErrorKind::permission);
  EXPECT_EQ(theirs.error().remedy, "remove the link, or name the store that you mean");
  EXPECT_TRUE(check_found_store(app_, store).ok());
}

}  // namespace
}  // namespace torc::cli
