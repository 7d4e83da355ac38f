#pragma once

#include <array>
#include <functional>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace fareway::stores_test {

/// A forked process that says one thing through a pipe, then waits to be killed. Fork before starting
/// threads.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void(const std::function<void(std::string)>& say)>& body) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no fork");
    if (pid_ == 0) run(body, ends[1]);
    ::close(ends[1]);
    from_child_ = ends[0];
  }
  ~ChildProcess() {
    kill();
    ::close(from_child_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Blocks until the child has spoken (or died: then what it managed to say).
  std::string hear() const {
    std::string heard;
    char letter = 0;
    while (::read(from_child_, &letter, 1) == 1 && letter != '\n') heard += letter;
    return heard;
  }
  /// As a crash would: no destructor runs in the child.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  int pid() const { return pid_; }

 private:
  [[noreturn]] static void run(const std::function<void(const std::function<void(std::string)>&)>& body,
                               int out) {
    try {
      body([out](std::string text) {
        text += '\n';
        if (::write(out, text.data(), text.size()) < 0) ::_exit(1);
        for (;;) ::pause();
      });
    } catch (...) {
      ::_exit(2);  // the parent hears nothing and fails its expectation
    }
    ::_exit(0);
  }

  int pid_{0};
  int from_child_{-1};
};

}  // namespace fareway::stores_test
