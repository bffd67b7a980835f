#include "collectives/lane_worker.hpp"

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include <pthread.h>
#include <signal.h>

#include "collectives/trace/recorder.hpp"

namespace muster::collectives {

/// A queued call, and the handle of whoever waits for it. Deleting the handle gives it back to the
/// worker, which owns it.
class LaneWorker::Job final : public Pending::Work {
 public:
  explicit Job(LaneWorker& worker) : worker_(worker) {}

  void operator delete(Job* job, std::destroying_delete_t /*tag*/) { job->worker_.give_back(*job); }

  void wait() override {
    std::unique_lock lock(worker_.mutex_);
    worker_.changed_.wait(lock, [this] { return is_done_; });
    if (error != nullptr) std::rethrow_exception(std::exchange(error, nullptr));
  }
  bool is_done() noexcept override {
    const std::scoped_lock lock(worker_.mutex_);
    return is_done_;
  }

  void begin(const Call& with_call) {
    call = with_call;
    deadline = deadline_of(with_call.options);
    is_done_ = false;
    next = nullptr;
  }
  void finish(std::exception_ptr with_error) {
    error = std::move(with_error);
    is_done_ = true;
  }

  Call call;
  Deadline deadline = Deadline::never();
  Job* next = nullptr;
  std::exception_ptr error;

 private:
  LaneWorker& worker_;
  bool is_done_ = false;
};

LaneWorker::LaneWorker(Run run) : run_(std::move(run)) {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LaneWorker::~LaneWorker() = default;

Pending LaneWorker::enqueue(const Call& call) {
  const std::scoped_lock lock(mutex_);
  Job& job = take_free_job();
  job.begin(call);
  (first_ == nullptr ? first_ : last_->next) = &job;
  last_ = &job;
  changed_.notify_all();
  return Pending(std::unique_ptr<Pending::Work>(&job));
}

LaneWorker::Job& LaneWorker::take_free_job() {
  if (free_ == nullptr) return jobs_.emplace_back(*this);
  return *std::exchange(free_, free_->next);
}

void LaneWorker::give_back(Job& job) noexcept {
  const std::scoped_lock lock(mutex_);
  job.next = std::exchange(free_, &job);
}

void LaneWorker::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return first_ != nullptr; })) {
    Job& job = *std::exchange(first_, first_->next);
    lock.unlock();
    std::exception_ptr error;
    try {
      trace::record_until_end(job.call.ticket, [&] { run_(job.call, job.deadline); });
    } catch (...) {
      error = std::current_exception();  // for whoever waits
    }
    lock.lock();
    job.finish(std::move(error));
    changed_.notify_all();
  }
}

}  // namespace muster::collectives
