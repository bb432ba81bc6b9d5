#include "lib/report/slurm_answer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "lib/base/codec.h"
#include "lib/base/file/beneath.h"
#include "lib/report/prospect.h"

namespace torc::report {
namespace {

constexpr std::string_view kFormat = "torc slurm answer 2";
constexpr std::size_t kMostText = 200;       // bytes of each
constexpr std::uint64_t kMostRecords = 100;  // allocations, and nodes

void put(Encoder& out, std::string_view text) {
  out.text(text.substr(0, kMostText));
}

void put(Encoder& out, WallTime at) {
  out.svarint(in_reach(at).count());
}

std::string take(Decoder& in) {
  return std::string(in.text().substr(0, kMostText));
}

}  // namespace

std::string encode(const SlurmAnswer& answer, std::string_view store_id) {
  Encoder out;
  out.text(kFormat).text(store_id);
  put(out, answer.asked_at);
  put(out, answer.answered_at);
  const std::uint64_t allocations =
      std::min(kMostRecords, std::uint64_t{answer.allocations.size()});
  out.u8(answer.whole && allocations == answer.allocations.size() ? 1 : 0);
  put(out, answer.failure);
  out.varint(answer.workers);
  out.varint(allocations);
  for (std::uint64_t i = 0; i < allocations; ++i) {
    const slurm::ShownAllocation& a = answer.allocations[i];
    for (const std::string* text :
         {&a.id, &a.cluster, &a.name, &a.state, &a.reason, &a.script, &a.canceled_by})
      put(out, *text);
    out.varint(a.uid ? std::uint64_t{*a.uid} + 1 : 0);
    for (const WallTime at : {a.submitted, a.start, a.end}) put(out, at);
  }
  const std::uint64_t nodes = std::min(kMostRecords, std::uint64_t{answer.nodes.size()});
  out.varint(nodes);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const slurm::ShownNode& n = answer.nodes[i];
    for (const std::string* text : {&n.node, &n.state, &n.reason}) put(out, *text);
  }
  return std::move(out).bytes();
}

std::optional<SlurmAnswer> decode_answer(std::string_view bytes, std::string_view store_id) {
  Decoder in(bytes);
  if (in.text() != kFormat || in.text() != store_id) return std::nullopt;
  SlurmAnswer answer;
  answer.asked_at = in.wall_time();
  answer.answered_at = in.wall_time();
  answer.whole = in.u8() == 1;
  answer.failure = take(in);
  answer.workers = in.varint();
  for (std::uint64_t left = in.up_to(kMostRecords); left > 0 && in.ok(); --left) {
    slurm::ShownAllocation& a = answer.allocations.emplace_back();
    for (std::string* text :
         {&a.id, &a.cluster, &a.name, &a.state, &a.reason, &a.script, &a.canceled_by})
      *text = take(in);
    const std::uint64_t uid = in.up_to(std::uint64_t{UINT32_MAX} + 1);
    if (uid > 0) a.uid = static_cast<std::uint32_t>(uid - 1);
    for (WallTime* at : {&a.submitted, &a.start, &a.end}) *at = in.wall_time();
  }
  for (std::uint64_t left = in.up_to(kMostRecords); left > 0 && in.ok(); --left) {
    slurm::ShownNode& n = answer.nodes.emplace_back();
    for (std::string* text : {&n.node, &n.state, &n.reason}) *text = take(in);
  }
  return in.whole(std::move(answer));
}

Path answer_file(const workflow::Context& context) {
  return fmt::format(".slurm-answer.{}", context.world.uid);
}

std::optional<std::string> read_answer(const workflow::Context& context, const Path& store) {
  const beneath::Root root(store);
  const auto file = beneath::open_file(root, answer_file(context), O_RDONLY | O_CLOEXEC);
  if (!file.ok()) return std::nullopt;
  struct stat is {};
  if (::fstat(file->get(), &is) != 0 || is.st_uid != context.world.uid || is.st_nlink != 1 ||
      (is.st_mode & (S_IWGRP | S_IWOTH)) != 0 || is.st_size < 0 ||
      static_cast<std::size_t>(is.st_size) > kMostOfAnswer)
    return std::nullopt;
  std::string bytes(static_cast<std::size_t>(is.st_size), '\0');
  const ssize_t got = ::pread(file->get(), bytes.data(), bytes.size(), 0);
  if (got != is.st_size) return std::nullopt;
  return bytes;
}

Result<void> write_answer(const workflow::Context& context, const Path& store,
                          std::string_view bytes) {
  const beneath::Root root(store);
  const Path name = answer_file(context);
  const std::string aside = fmt::format("{}.{:016x}", name.string(), context.world.entropy.next());
  TORC_ASSIGN(const beneath::Entry there, beneath::entry(root, aside));
  TORC_ASSIGN(const Descriptor file,
              beneath::open_file(root, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const int at = there.directory.get();
  const bool written =
      ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::renameat(at, aside.c_str(), at, name.c_str()) == 0;
  if (written) return {};
  const int os_errno = errno;
  (void)::unlinkat(at, aside.c_str(), 0);
  return os_error(os_errno, "cannot write " + (store / name).string());
}

std::chrono::seconds kept_for(const SlurmAnswer& known, std::uint64_t workers) {
  if (!known.failure.empty()) return kAskInterval;
  const bool in_doubt =
      known.workers != workers || std::ranges::none_of(known.allocations, goes_on);
  return in_doubt ? kDoubtInterval : kAskInterval;
}

SlurmAnswer ask_once(const workflow::Context& context, const Path& store, std::string_view store_id,
                     std::uint64_t workers, const std::function<SlurmAnswer()>& ask) {
  const WallTime now = context.clock.wall_now();
  const auto bytes = read_answer(context, store);
  SlurmAnswer known =
      bytes ? decode_answer(*bytes, store_id).value_or(SlurmAnswer{}) : SlurmAnswer{};
  // One from the future is of a clock that is wrong, or was.
  if (known.asked_at <= now && now - known.asked_at < kept_for(known, workers)) return known;
  known.asked_at = now;
  if (known.answered_at.count() == 0) known.failure = "another command is asking it just now";
  (void)write_answer(context, store, encode(known, store_id));
  SlurmAnswer answer = ask();
  answer.asked_at = now;
  answer.workers = workers;
  (void)write_answer(context, store, encode(answer, store_id));
  return answer;
}

}  // namespace torc::report
