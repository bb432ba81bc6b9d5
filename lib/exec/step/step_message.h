// What a worker and the keeper of a step say to each other. A keeper is this program once more,
// within a step of Slurm on the worker's own node: it runs the command of a job there. They have a
// socket that keeps messages apart (SOCK_SEQPACKET), with a name that is no file. Values, and the
// system calls that carry them.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/result.h"
#include "lib/exec/run/process_host.h"

namespace torc::exec {

using StepKey = std::uint64_t;  // of one step, within the worker that asked for it; never 0

// Of the keeper, first of all.
struct StepHello {
  StepKey key = 0;
};
// Of the worker, once. The environment is the keeper's own, which srun has handed on and Slurm has
// added to. Open files go with it: those of stdout_fd and stderr_fd, in this order, where these are
// not -1.
struct StepBegin {
  Command command;
  pid_t launcher = 0;  // its srun: when that has gone, the worker has, or wants the end
};
// Of the keeper, before it lets the command begin: who has not heard it knows that the command has
// not begun, and will not once the socket is closed.
struct StepBegun {};
struct StepStop {
  std::chrono::nanoseconds lead{};
};
struct StepKill {};
// Of the keeper, the last word.
struct StepEnded {
  Ended how;
};
struct StepSample {
  Sample sample;
};

// Longer ones could not be executed.
inline constexpr std::size_t kLongestStepLine = 100 << 10;

[[nodiscard]] std::string encode(const StepHello& m);
[[nodiscard]] std::string encode(const StepBegin& m);
[[nodiscard]] std::string encode(const StepBegun& m);
[[nodiscard]] std::string encode(const StepStop& m);
[[nodiscard]] std::string encode(const StepKill& m);
[[nodiscard]] std::string encode(const StepEnded& m);
[[nodiscard]] std::string encode(const StepSample& m);
// nullopt: it is no such message. `id` of what is decoded is 0.
[[nodiscard]] std::optional<StepHello> decode_hello(std::string_view bytes);
[[nodiscard]] std::optional<StepBegin> decode_begin(std::string_view bytes);
[[nodiscard]] bool is_begun(std::string_view bytes);
[[nodiscard]] std::optional<StepStop> decode_stop(std::string_view bytes);
[[nodiscard]] bool is_kill(std::string_view bytes);
[[nodiscard]] std::optional<StepEnded> decode_ended(std::string_view bytes);
[[nodiscard]] std::optional<StepSample> decode_sample(std::string_view bytes);

// The worker's end, which listens. Nobody else can take the name; other users are sent away.
Result<Descriptor> listen_for_steps(const std::string& name);
// The next that came of this user; none: nobody, or very many of other users, who were sent away.
[[nodiscard]] Descriptor accept_step(int listener);
// The keeper's end. Error: nobody listens, or another user does.
Result<Descriptor> connect_to_worker(const std::string& name);

// Nobody waits for an end that does not read, since that may be stopped, and may never go on.
enum class Sent : std::uint8_t {
  yes,
  full,  // it has no room: the other end has not read what was said before
  gone   // the other end has
};
Sent send_message(int socket, const std::string& bytes, const std::vector<int>& files = {});
struct Received {
  enum class What : std::uint8_t { message, nothing, end } what = What::nothing;
  std::string bytes;
  std::vector<Descriptor> files;
};
// Does not wait.
[[nodiscard]] Received receive_message(int socket);
// What the other end says from now on does not arrive, as it is told; what it has said can still be
// received.
void hear_no_more(int socket);

}  // namespace torc::exec
