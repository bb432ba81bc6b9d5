// The bell of one worker: UDP ports of its own for as long as this lives, and the thread that hears
// them. Whatever comes that is no bell for this worker is dropped there, and of a flood of it only
// a part is looked at.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/worker.h"
#include "lib/worker/bell/message.h"
#include "lib/worker/bell/ringer.h"
#include "lib/worker/bell/udp_sender.h"

namespace torc::worker {

class UdpBell final : public Datagrams {
 public:
  // On the interface, or the address, of that name; empty: on what the name of this host stands
  // for. The key is drawn from `entropy`. Error: there is no address on which it can be heard.
  static Result<std::unique_ptr<UdpBell>> open(const std::string& interface, Entropy& entropy);
  ~UdpBell() override;
  UdpBell(const UdpBell&) = delete;
  UdpBell& operator=(const UdpBell&) = delete;

  // What others are to know.
  [[nodiscard]] const claim::BellPlace& place() const { return place_; }
  // Hears from now on. Once.
  void listen(const StoreInstance& store);
  // Readable when something was heard.
  [[nodiscard]] int fd() const { return heard_fd_; }
  // What was heard since the last call, the newest commits, a few at most.
  std::vector<BellMessage> take();

  // From any thread.
  void send(const claim::BellAddress& to, std::string_view bytes) override {
    sender_.send(to, bytes);
  }

 private:
  UdpBell() = default;
  bool bind_to(claim::BellAddress address);
  void serve(const StoreInstance& store);
  // Whether all that was there was read.
  bool hear(int fd, const StoreInstance& store);

  claim::BellPlace place_;
  std::vector<int> ports_;
  UdpSender sender_;
  int heard_fd_ = -1;
  int stop_fd_ = -1;
  std::mutex mutex_;  // guards the next
  std::vector<BellMessage> heard_;
  std::thread thread_;
};

}  // namespace torc::worker
