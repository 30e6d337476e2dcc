// Runs task(i) for i in [0, n_tasks) on up to n_threads threads; each thread takes the next open task.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace frugal {

template <class Task>
void parallel_for(size_t n_tasks, int n_threads, Task&& task) {
    if (n_threads <= 1 || n_tasks <= 1) {
        for (size_t i = 0; i < n_tasks; ++i) task(i);
        return;
    }
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    auto work = [&] {
        try {
            for (size_t i = next++; i < n_tasks; i = next++) task(i);
        } catch (...) {
            std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
            next = n_tasks;
        }
    };
    std::vector<std::thread> threads;
    const size_t n_helpers = std::min(static_cast<size_t>(n_threads), n_tasks) - 1;
    threads.reserve(n_helpers);
    try {
        for (size_t t = 0; t < n_helpers; ++t) threads.emplace_back(work);
    } catch (const std::system_error&) {
        // No more threads to be had: those there are do all of it.
    }
    work();
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace frugal
