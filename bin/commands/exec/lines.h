// What torc exec makes jobs of, one after the other, without holding all of it: lines of a file or
// of stdin, words of the command line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bin/app.h"

namespace torc::cli {

class ExecLines {
 public:
  // "-": stdin. `separator` ends a line.
  static Result<ExecLines> open(const App& app, const std::string& file, char separator);
  static ExecLines of(std::vector<std::string> words);

  // Puts the next one that is not blank into `line`, without its end (also that of DOS); false:
  // there is no more. Errors (invalid), with the number of the line: longer than Linux would take
  // in a command, or with a NUL byte.
  Result<bool> next(std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) (void)std::fclose(file);
    }
  };
  Result<bool> read(std::string& line);

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  char separator_ = '\n';
  std::vector<std::string> words_;
  std::uint64_t number_ = 0;  // of the line or word that was read last
};

}  // namespace torc::cli
