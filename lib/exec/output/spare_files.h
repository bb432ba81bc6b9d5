// Output files of jobs that are kept only where something was written.
//
// A job's files are there while it runs, so that a person can watch them. One that is still empty
// at the end stays open, and becomes the file of another job by a new name: that costs less than to
// delete it and make the next. What is left empty by the last jobs is deleted by remove_all();
// after a SIGKILL it stays.
#pragma once

#include <vector>

#include "lib/base/result.h"
#include "lib/exec/output/output_disk.h"

namespace torc::exec {

// One thread.
class SpareFiles {
 public:
  explicit SpareFiles(OutputDisk& disk) : disk_(disk) {}
  ~SpareFiles();
  SpareFiles(const SpareFiles&) = delete;
  SpareFiles& operator=(const SpareFiles&) = delete;

  // An empty file of this name. The caller gives it back.
  Result<int> open(const std::filesystem::path& path);
  // Nobody writes to it any more.
  void give_back(int fd, std::filesystem::path path);
  void remove_all();

 private:
  struct Spare {
    int fd = -1;
    std::filesystem::path path;
  };
  OutputDisk& disk_;
  std::vector<Spare> spares_;
};

}  // namespace torc::exec
