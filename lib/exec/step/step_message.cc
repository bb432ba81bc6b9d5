#include "lib/exec/step/step_message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "lib/base/codec.h"

namespace torc::exec {
namespace {

constexpr char kHello = 'h';
constexpr char kBegin = 'b';
constexpr char kBegun = 'r';
constexpr char kStop = 's';
constexpr char kKill = 'k';
constexpr char kEnded = 'e';
constexpr char kSample = 'p';
constexpr std::size_t kLongest = 160 << 10;  // beyond any message
constexpr std::size_t kMostFiles = 2;
constexpr int kBacklog = 1024;
constexpr int kMostStrangers = 64;  // who are sent away at a time

void put(Encoder& out, const std::optional<Traffic>& traffic) {
  out.u8(traffic ? 1 : 0);
  if (traffic) out.varint(traffic->read.value).varint(traffic->written.value);
}

std::optional<Traffic> traffic_in(Decoder& in) {
  if (in.u8() == 0) return std::nullopt;
  Traffic traffic;
  traffic.read = {in.varint()};
  traffic.written = {in.varint()};
  return traffic;
}

// The first byte of a message says what it is.
std::optional<Decoder> body(std::string_view bytes, char kind) {
  if (bytes.empty() || bytes.front() != kind) return std::nullopt;
  return Decoder(bytes.substr(1));
}

// In the kernel's table of names, not in a directory: a step may have a /tmp of its own.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(&address.sun_path[1], name.data(), size);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

bool is_of_this_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

}  // namespace

std::string encode(const StepHello& m) {
  return Encoder(kHello).varint(m.key).bytes();
}

std::string encode(const StepBegin& m) {
  Encoder out(kBegin);
  const Command& c = m.command;
  out.text(c.line).text(c.directory).text(c.stdout_path).text(c.stderr_path);
  out.u8(c.stdout_fd >= 0 ? 1 : 0).u8(c.stderr_fd >= 0 ? 1 : 0);
  out.varint(static_cast<std::uint64_t>(c.stdout_errno));
  out.varint(static_cast<std::uint64_t>(c.stderr_errno));
  out.varint(c.umask ? *c.umask + 1 : 0);
  out.svarint(c.time_limit.count()).varint(c.memory_limit.value).svarint(c.sample_every.count());
  out.svarint(c.termination_signal).svarint(c.termination_lead.count()).svarint(m.launcher);
  return std::move(out).bytes();
}

std::string encode(const StepBegun& /*m*/) {
  return Encoder(kBegun).bytes();
}

std::string encode(const StepStop& m) {
  return Encoder(kStop).svarint(m.lead.count()).bytes();
}

std::string encode(const StepKill& /*m*/) {
  return Encoder(kKill).bytes();
}

std::string encode(const StepEnded& m) {
  Encoder out(kEnded);
  const Ended& e = m.how;
  out.u8(static_cast<std::uint8_t>(e.how)).svarint(e.exit_code).svarint(e.signal);
  out.svarint(e.os_errno).u8(static_cast<std::uint8_t>(e.failed_at));
  out.svarint(e.started_at.count()).svarint(e.ended_at.count());
  out.varint(e.max_rss.value).svarint(e.cpu_time.count());
  put(out, e.activity.io);
  put(out, e.activity.storage);
  out.varint(e.activity.voluntary_switches).varint(e.activity.involuntary_switches);
  return std::move(out).bytes();
}

std::string encode(const StepSample& m) {
  Encoder out(kSample);
  const Sample& s = m.sample;
  out.svarint(s.at.count()).varint(s.memory.value).svarint(s.cpu_time.count());
  put(out, s.io);
  out.varint(s.processes);
  return std::move(out).bytes();
}

std::optional<StepHello> decode_hello(std::string_view bytes) {
  auto in = body(bytes, kHello);
  if (!in) return std::nullopt;
  const StepHello m{in->varint()};
  return in->whole(m);
}

std::optional<StepBegin> decode_begin(std::string_view bytes) {
  auto in = body(bytes, kBegin);
  if (!in) return std::nullopt;
  StepBegin m;
  Command& c = m.command;
  c.line = in->text();
  c.directory = in->text();
  c.stdout_path = in->text();
  c.stderr_path = in->text();
  c.stdout_fd = in->u8() != 0 ? 0 : -1;
  c.stderr_fd = in->u8() != 0 ? 0 : -1;
  c.stdout_errno = static_cast<int>(in->u32());
  c.stderr_errno = static_cast<int>(in->u32());
  if (const std::uint32_t mask = in->u32(); mask != 0) c.umask = mask - 1;
  c.time_limit = std::chrono::nanoseconds(in->svarint());
  c.memory_limit = {in->varint()};
  c.sample_every = std::chrono::nanoseconds(in->svarint());
  c.termination_signal = in->i32();
  c.termination_lead = std::chrono::nanoseconds(in->svarint());
  m.launcher = in->i32();
  return in->whole(std::move(m));
}

bool is_begun(std::string_view bytes) {
  return bytes == std::string_view(&kBegun, 1);
}

std::optional<StepStop> decode_stop(std::string_view bytes) {
  auto in = body(bytes, kStop);
  if (!in) return std::nullopt;
  const StepStop m{std::chrono::nanoseconds(in->svarint())};
  return in->whole(m);
}

bool is_kill(std::string_view bytes) {
  return bytes == std::string_view(&kKill, 1);
}

std::optional<StepEnded> decode_ended(std::string_view bytes) {
  auto in = body(bytes, kEnded);
  if (!in) return std::nullopt;
  StepEnded m;
  Ended& e = m.how;
  const std::uint8_t how = in->u8();
  e.exit_code = in->i32();
  e.signal = in->i32();
  e.os_errno = in->i32();
  const std::uint8_t failed_at = in->u8();
  e.started_at = WallTime(in->svarint());
  e.ended_at = WallTime(in->svarint());
  e.max_rss = {in->varint()};
  e.cpu_time = std::chrono::microseconds(in->svarint());
  e.activity.io = traffic_in(*in);
  e.activity.storage = traffic_in(*in).value_or(Traffic{});
  e.activity.voluntary_switches = in->varint();
  e.activity.involuntary_switches = in->varint();
  if (how > static_cast<std::uint8_t>(Ending::out_of_memory) ||
      failed_at > static_cast<std::uint8_t>(StartStep::execute))
    return std::nullopt;
  e.how = static_cast<Ending>(how);
  e.failed_at = static_cast<StartStep>(failed_at);
  return in->whole(m);
}

std::optional<StepSample> decode_sample(std::string_view bytes) {
  auto in = body(bytes, kSample);
  if (!in) return std::nullopt;
  StepSample m;
  Sample& s = m.sample;
  s.at = WallTime(in->svarint());
  s.memory = {in->varint()};
  s.cpu_time = std::chrono::microseconds(in->svarint());
  s.io = traffic_in(*in);
  s.processes = in->u32();
  return in->whole(m);
}

Result<Descriptor> listen_for_steps(const std::string& name) {
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto [address, size] = address_of(name);
  const auto* at = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: what the call takes
  if (!listener || bind(listener.get(), at, size) != 0 || listen(listener.get(), kBacklog) != 0)
    return os_error(errno, "cannot listen for the steps of jobs");
  return listener;
}

Descriptor accept_step(int listener) {
  // Not without an end: others may call as fast as they are sent away.
  for (int strangers = 0; strangers < kMostStrangers; ++strangers) {
    Descriptor one(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!one || is_of_this_user(one.get())) return one;
  }
  return {};
}

Result<Descriptor> connect_to_worker(const std::string& name) {
  Descriptor one(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto [address, size] = address_of(name);
  const auto* at = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: what the call takes
  if (!one || connect(one.get(), at, size) != 0)
    return os_error(errno, "the worker that asked for this step has gone");
  if (!is_of_this_user(one.get()))
    return Error{ErrorKind::permission, "another user listens in place of the worker", ""};
  return one;
}

Sent send_message(int socket, const std::string& bytes, const std::vector<int>& files) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> control{};
  const std::size_t size = std::min(files.size(), kMostFiles) * sizeof(int);
  if (size > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(head), files.data(), size);
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return Sent::yes;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Sent::full;
    if (errno != EINTR) return Sent::gone;
  }
}

void hear_no_more(int socket) {
  (void)shutdown(socket, SHUT_RD);
}

Received receive_message(int socket) {
  Received received;
  received.bytes.resize(kLongest);
  iovec part{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    received.bytes.clear();
    const bool nothing = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    received.what = nothing ? Received::What::nothing : Received::What::end;
    return received;
  }
  received.what = Received::What::message;
  received.bytes.resize(static_cast<std::size_t>(got));
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(head) + i * sizeof(int), sizeof file);
      // 3 or higher, as a command wants it.
      const int high = file > 2 ? file : fcntl(file, F_DUPFD_CLOEXEC, 3);
      if (file <= 2) close(file);
      received.files.emplace_back(high);
    }
  }
  return received;
}

}  // namespace torc::exec
