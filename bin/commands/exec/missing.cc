#include "bin/commands/exec/missing.h"

namespace torc::cli {

const std::vector<std::pair<std::string, std::string>>& missing_flags() {
  static const char* const pieces =
      "jobs read nothing from stdin: make files of its parts with split(1), and then "
      "torc exec 'CMD < {}' ::: x*";
  static const char* const many = "-N N gives a job N values, and {} is all of them";
  static const char* const hosts =
      "a workflow file runs on many hosts: torc submit, or torc worker STORE on each of them";
  static const char* const whole =
      "each job's output comes whole when it has ended; torc logs -f shows that of one that runs";
  static const char* const header =
      "--param NAME=@FILE gives values a name, and tail -n +2 leaves a first line out";
  static const char* const bound = "-j N says how many run at a time";
  static const char* const needs =
      "a workflow file says how much memory each job needs, and none is started without";
  static const char* const order = "shuf or sort puts lines in order before torc exec reads them";
  static const char* const progress = "--progress shows how far it is, and how long it will take";
  static const char* const reads = "tr or sed makes lines of it before torc exec reads them";
  static const char* const cwd = "write cd DIR && before the command";
  static const char* const form = "{.} {/} {//} {/.} and {2.} are there; the shell can do the rest";
  static const char* const needless = "leave it out: torc exec does so without it";
  static const std::vector<std::pair<std::string, std::string>> all{
      {"--pipe", pieces},
      {"--spreadstdin", pieces},
      {"--pipepart", pieces},
      {"--pipe-part", pieces},
      {"--block", pieces},
      {"--cat", pieces},
      {"--fifo", pieces},
      {"--tee", pieces},
      {"--round-robin", pieces},
      {"-X", many},
      {"-m", many},
      {"-L", many},
      {"-l", many},
      {"--xargs", many},
      {"--max-lines", many},
      {"--max-replace-args", many},
      {"-s", many},
      {"--max-chars", many},
      {"-S", hosts},
      {"--sshlogin", hosts},
      {"--slf", hosts},
      {"--sshloginfile", hosts},
      {"--onall", hosts},
      {"--nonall", hosts},
      {"--transfer", hosts},
      {"--transferfile", hosts},
      {"--return", hosts},
      {"--cleanup", hosts},
      {"--basefile", hosts},
      {"--trc", hosts},
      {"-u", whole},
      {"--ungroup", whole},
      {"--lb", whole},
      {"--line-buffer", whole},
      {"--linebuffer", whole},
      {"--header", header},
      {"--skip-first-line", header},
      {"--rpl", form},
      {"--plus", form},
      {"--extensionreplace", form},
      {"--delay", bound},
      {"--load", bound},
      {"--limit", bound},
      {"--memfree", needs},
      {"--memsuspend", needs},
      {"--noswap", needs},
      {"--shuf", order},
      {"--shuffle", order},
      {"--eta", progress},
      {"-d", reads},
      {"--delimiter", reads},
      {"-E", reads},
      {"--trim", reads},
      {"--wd", cwd},
      {"--workdir", cwd},
      {"--work-dir", cwd},
      {"--tagstring", "--tag puts the value before each line"},
      {"--retry-failed", "--resume-failed runs again what failed, and what has not run"},
      {"--dryrun", "--dry-run prints the commands"},
      {"--xapply", ":::+ goes with the values before it: ::: a b :::+ 1 2"},
      {"-t", "--dry-run prints the commands, and --joblog FILE those that have run"},
      {"-v", "--dry-run prints the commands, and --joblog FILE those that have run"},
      {"--verbose", "--dry-run prints the commands, and --joblog FILE those that have run"},
      {"-p", "--dry-run prints the commands before you run them"},
      {"--interactive", "--dry-run prints the commands before you run them"},
      {"--env", "jobs have the environment of torc exec; shell functions go into a script"},
      {"--nice", "write nice before the command, or before torc exec"},
      {"--sqlandworker", "the store is the database: torc worker STORE"},
      {"--sqlmaster", "the store is the database: torc worker STORE"},
      {"--sqlworker", "the store is the database: torc worker STORE"},
      {"--semaphore", "flock(1) waits for others; limits of a workflow file do so for jobs"},
      {"--sem", "flock(1) waits for others; limits of a workflow file do so for jobs"},
      {"--fg", "flock(1) waits for others; limits of a workflow file do so for jobs"},
      {"--bg", "flock(1) waits for others; limits of a workflow file do so for jobs"},
      {"--files", "--results DIR writes the output into files"},
      {"--tmux", whole},
      {"--termseq", needless},
      {"--group", needless},
      {"--will-cite", needless},
      {"--no-notice", needless},
      {"--gnu", needless},
      {"--plain", needless},
      {"-r", needless},
      {"--no-run-if-empty", needless},
      {"--max-procs", bound},
      {"--max-args", many},
  };
  return all;
}

}  // namespace torc::cli
