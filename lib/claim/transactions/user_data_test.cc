#include "lib/claim/transactions/user_data.h"

#include <gtest/gtest.h>

#include "lib/base/limits.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/claim/transactions/reset.h"

namespace torc::claim {
namespace {

UserDatum datum(std::string name, std::string initial, std::uint64_t maker = 0,
                bool ephemeral = false) {
  UserDatum d;
  d.name = std::move(name);
  d.initial = std::move(initial);
  d.maker = JobId{maker};
  d.is_ephemeral = ephemeral;
  return d;
}

// Job 2 waits for job 1, which makes "made" and "passing".
class UserData : public ::testing::Test {
 protected:
  UserData() {
    const auto written = write_user_data(
        wf.tx, {datum("given", "1"), datum("made", "", 1), datum("passing", "0", 1, true)});
    EXPECT_TRUE(written.ok());
    wf.check();
  }
  static Plan plan() {
    Plan plan = plan_of({{1, 0}, {1, 0}});
    plan.dependencies.push_back({{range(1, 1)}, {range(2, 1)}});
    return plan;
  }
  std::string value(std::string_view name) {
    const auto d = read_user_datum(wf.tx, name);
    return d.ok() && d->has_value() ? (*d)->value : "?";
  }
  Result<bool> set(std::string_view name, std::string_view value, Setter setter = {},
                   Create create = Create::no) {
    ++wf.tx.number;
    auto done = set_user_datum(wf.tx, name, value, setter, create);
    wf.check();
    return done;
  }

  TestWorkflow wf{plan()};
};

TEST_F(UserData, holds_at_first_what_the_workflow_file_says) {
  EXPECT_EQ(value("given"), "1");
  EXPECT_EQ(value("made"), "");
  EXPECT_EQ(value("nobody"), "?");
}

TEST_F(UserData, of_an_addition_is_new_or_the_same) {
  EXPECT_FALSE(add_user_data(wf.tx, {datum("given", "2")}).ok());
  EXPECT_FALSE(add_user_data(wf.tx, {datum("given", "1", 0, true)}).ok());
  UserDatum maker_alone = datum("given", "", 2);
  maker_alone.is_declared = false;
  EXPECT_TRUE(*set("own", "7", {}, Create::yes));
  ASSERT_TRUE(add_user_data(wf.tx, {datum("new", "3", 2, true), datum("passing", "", 2),
                                    datum("own", "8", 1), maker_alone})
                  .ok());
  wf.check();
  EXPECT_EQ(value("new"), "3");
  EXPECT_EQ(value("own"), "7") << "what somebody set stays";
  EXPECT_EQ((*read_user_datum(wf.tx, "own"))->initial, "8");
  EXPECT_EQ(raw((*read_user_datum(wf.tx, "given"))->maker), 2U);
  EXPECT_EQ(raw((*read_user_datum(wf.tx, "passing"))->maker), 1U) << "it had one";
}

TEST_F(UserData, set_to_what_it_holds_changes_nothing) {
  EXPECT_TRUE(*set("given", "2"));
  EXPECT_FALSE(*set("given", "2"));
  EXPECT_EQ((*read_user_datum(wf.tx, "given"))->changed, wf.tx.number - 1);
}

TEST_F(UserData, a_name_that_nobody_declared_is_refused_unless_it_is_to_be_made) {
  EXPECT_EQ(set("other", "2").error().kind, ErrorKind::invalid);
  EXPECT_TRUE(*set("other", "2", {}, Create::yes));
  EXPECT_TRUE(*delete_user_datum(wf.tx, "other"));
  wf.check();
  EXPECT_EQ(value("other"), "?");
}

TEST_F(UserData, a_declared_one_that_is_deleted_stays_and_holds_nothing) {
  EXPECT_TRUE(*delete_user_datum(wf.tx, "given"));
  EXPECT_FALSE(*delete_user_datum(wf.tx, "given"));
  wf.check();
  EXPECT_EQ(value("given"), "");
}

TEST_F(UserData, values_beyond_the_limit_are_refused) {
  EXPECT_TRUE(set("given", std::string(kMaxUserDataBytes, '1')).ok());
  EXPECT_EQ(set("given", std::string(kMaxUserDataBytes + 1, '1')).error().kind, ErrorKind::invalid);
}

TEST_F(UserData, an_attempt_that_lost_its_job_sets_nothing) {
  const WorkerEpoch w = wf.join();
  const ClaimToken token = wf.claim(w, 1)[0].token;
  EXPECT_TRUE(*set("made", "1", {token}));
  EXPECT_EQ(set("made", "2", {{JobId{1}, token.attempt + 1, token.claim}}).error().kind,
            ErrorKind::fenced);
  EXPECT_TRUE(wf.finish(w, token).ok());
  EXPECT_EQ(set("made", "2", {token}).error().kind, ErrorKind::fenced);
  EXPECT_EQ(value("made"), "1");
}

TEST_F(UserData, an_attempt_is_known_by_its_claim_not_by_its_number_alone) {
  const WorkerEpoch w = wf.join();
  const ClaimToken before = wf.claim(w, 1)[0].token;
  Exchange back;
  back.worker = w;
  back.now = kNoon;
  back.returns = {before};
  EXPECT_TRUE(wf.say(back).ok());
  const ClaimToken token = wf.claim(w, 1)[0].token;
  ASSERT_EQ(token.attempt, before.attempt) << "as if the first claim had never been";
  EXPECT_FALSE(is_held_by(wf.tx, before));
  EXPECT_TRUE(is_held_by(wf.tx, token));
  EXPECT_EQ(set("made", "1", {before}).error().kind, ErrorKind::fenced);
  EXPECT_TRUE(*set("made", "1", {token}));
}

TEST_F(UserData, ephemeral_values_go_back_with_the_job_that_makes_them_and_others_stay) {
  const WorkerEpoch w = wf.join();
  const ClaimToken token = wf.claim(w, 1)[0].token;
  EXPECT_TRUE(*set("made", "1", {token}));
  EXPECT_TRUE(*set("passing", "1", {token}));
  EXPECT_TRUE(wf.finish(w, token).ok());
  ++wf.tx.number;
  const JobRange second[] = {range(2, 1)};
  EXPECT_TRUE(reset_jobs(wf.tx, second, Force::no, kNoon).ok());
  EXPECT_EQ(value("passing"), "1") << "its job did not go back";
  const JobRange first[] = {range(1, 1)};
  EXPECT_TRUE(reset_jobs(wf.tx, first, Force::no, kNoon).ok());
  wf.check();
  EXPECT_EQ(value("passing"), "0");
  EXPECT_EQ(value("made"), "1");
}

TEST_F(UserData, another_initial_value_counts_at_once_and_the_same_one_leaves_what_was_set) {
  EXPECT_TRUE(*set("given", "5"));
  EXPECT_TRUE(update_user_data(wf.tx, {datum("given", "1"), datum("made", "", 1),
                                       datum("passing", "0", 1, true), datum("new", "9")})
                  .ok());
  wf.check();
  EXPECT_EQ(value("given"), "5");
  EXPECT_EQ(value("new"), "9");
  EXPECT_TRUE(update_user_data(wf.tx, {datum("given", "7"), datum("passing", "0", 2, true)}).ok());
  wf.check();
  EXPECT_EQ(value("given"), "7");
}

TEST_F(UserData, verify_misses_nothing_that_is_lost) {
  const auto whole = wf.tx.entries;
  for (const auto& [key, lost] : whole) {
    if (key[0] != 'U' && key[0] != 'u') continue;
    wf.tx.entries.erase(key);
    EXPECT_FALSE(verify_state(wf.tx).ok()) << key;
    wf.tx.entries = whole;
  }
}

TEST(Signatures, come_back_as_they_were) {
  const Signature s{{{true, 5, -7, 0}, {}}, {{true, 1, 1'800'000'000'000'000'000, 99}}, {0, 42}};
  EXPECT_EQ(decode_signature(encode(s)), s);
  EXPECT_EQ(decode_signature(encode(s) + "x"), std::nullopt);
  EXPECT_EQ(decode_signature(""), std::nullopt);
}

TEST(Signatures, sums_decide_where_both_sides_have_one) {
  const FileFingerprint a{true, 5, 1, 10};
  EXPECT_TRUE(looks_alike(a, {true, 5, 2, 10}));
  EXPECT_FALSE(looks_alike(a, {true, 5, 1, 11}));
  EXPECT_FALSE(looks_alike(a, {true, 5, 2, 0}));
  EXPECT_TRUE(looks_alike(a, {true, 5, 1, 0}));
  EXPECT_FALSE(looks_alike(a, {true, 6, 1, 10}));
  EXPECT_FALSE(looks_alike(a, {}));
}

TEST(Signatures, many_files_are_kept_as_one_in_which_each_counts) {
  std::vector<FileFingerprint> many(1000, FileFingerprint{true, 5, 1, 0});
  const auto before = folded(many);
  EXPECT_LT(encode(Signature{many, {}, {}}).size(), 100U);
  many[700].mtime = 2;
  EXPECT_FALSE(looks_alike(before.at(0), folded(many).at(0)));
  many[700].mtime = 1;
  EXPECT_TRUE(looks_alike(before.at(0), folded(many).at(0)));
  many[700] = {};
  const auto lacking = folded(many);
  EXPECT_FALSE(looks_alike(before.at(0), lacking.at(0)));
  many[3].mtime = 2;
  EXPECT_FALSE(looks_alike(lacking.at(0), folded(many).at(0))) << "also where one is missing";
}

TEST(Signatures, of_many_files_contents_decide_where_they_are_known) {
  std::vector<FileFingerprint> many(100, FileFingerprint{true, 5, 1, 10});
  const auto before = folded(many);
  many[70].mtime = 2;
  EXPECT_TRUE(looks_alike(before.at(0), folded(many).at(0))) << "it was only touched";
  many[70].sum = 11;
  EXPECT_FALSE(looks_alike(before.at(0), folded(many).at(0)));
  std::vector<FileFingerprint> unread(100, FileFingerprint{true, 5, 1, 0});
  EXPECT_TRUE(looks_alike(before.at(0), folded(unread).at(0))) << "their times are the same";
  unread[70].mtime = 2;
  EXPECT_FALSE(looks_alike(before.at(0), folded(unread).at(0)));
}

TEST(Signatures, only_a_result_that_counts_leaves_one) {
  TestWorkflow wf(plan_of({{2, 0}}));
  const WorkerEpoch w = wf.join();
  const auto grants = wf.claim(w, 2);
  const Signature s{{{true, 5, 1, 0}}, {}, {}};
  Exchange request;
  request.worker = w;
  Finished finished;
  finished.signature = encode(s);
  finished.token = grants[0].token;
  request.finishes.push_back(finished);
  ClaimToken stale = grants[1].token;
  ++stale.attempt;
  finished.token = stale;
  request.finishes.push_back(finished);
  EXPECT_TRUE(wf.say(request).ok());
  EXPECT_EQ(*read_signature(wf.tx, JobId{1}), s);
  EXPECT_EQ(*read_signature(wf.tx, JobId{2}), std::nullopt);
  wf.tx.put(Key(Table::signature, 1), "x");
  const auto damaged = read_signature(wf.tx, JobId{1});
  ASSERT_FALSE(damaged.ok()) << "what cannot be read is not taken for none";
  EXPECT_EQ(damaged.error().kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace torc::claim
