// Threads that stay: a booster hands out thousands of small jobs, and starting threads for each would take longer.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace frugal {

class Team {
  public:
    explicit Team(int n_threads) {
        try {
            for (int t = 1; t < n_threads; ++t) helpers_.emplace_back([this] { help(); });
        } catch (const std::system_error&) {
            // No more threads to be had: those there are do all of it.
        }
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    ~Team() {
        {
            std::lock_guard<std::mutex> guard(lock_);
            ended_ = true;
        }
        wake_.notify_all();
        for (auto& helper : helpers_) helper.join();
    }

    size_t size() const { return helpers_.size() + 1; }

    // Runs task(i) for i in [0, n_tasks); each thread takes the next open task. One job at a time.
    void run(size_t n_tasks, const std::function<void(size_t)>& task) {
        if (helpers_.empty() || n_tasks <= 1) {
            for (size_t i = 0; i < n_tasks; ++i) task(i);
            return;
        }
        open(n_tasks, task);
        work(task);
        close();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

  private:
    void open(size_t n_tasks, const std::function<void(size_t)>& task) {
        {
            std::lock_guard<std::mutex> guard(lock_);
            task_ = &task;
            n_tasks_ = n_tasks;
            next_ = 0;
            ++job_;
        }
        wake_.notify_all();
    }

    // A helper that has not woken up yet finds the job closed, and nobody waits for it; one at work has the task in hand.
    void close() {
        std::unique_lock<std::mutex> guard(lock_);
        task_ = nullptr;
        done_.wait(guard, [this] { return n_working_ == 0; });
    }

    void work(const std::function<void(size_t)>& task) {
        try {
            for (size_t i = next_++; i < n_tasks_; i = next_++) task(i);
        } catch (...) {
            std::lock_guard<std::mutex> guard(lock_);
            if (!failure_) failure_ = std::current_exception();
            next_ = n_tasks_;
        }
    }

    void help() {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [&] { return ended_ || job_ != seen; });
            if (ended_) return;
            seen = job_;
            if (!task_) continue;
            ++n_working_;
            const auto& task = *task_;
            guard.unlock();
            work(task);
            guard.lock();
            if (--n_working_ == 0) done_.notify_one();
        }
    }

    std::vector<std::thread> helpers_;
    std::mutex lock_;
    std::condition_variable wake_, done_;
    const std::function<void(size_t)>* task_ = nullptr;
    size_t n_tasks_ = 0;
    std::atomic<size_t> next_{0};
    uint64_t job_ = 0;
    int n_working_ = 0;
    bool ended_ = false;
    std::exception_ptr failure_;
};

}  // namespace frugal
