// Grows many trees on several threads: progress, interruption, and the door for Python.
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "dispatch.hpp"
#include "flat_trees.hpp"
#include "parallel.hpp"
#include "training_set.hpp"
#include "tree_makers.hpp"

namespace frugal {
namespace {

// Trees grown side by side. Tasks are taken in order and a started tree is always finished, so that after an
// interruption the finished trees are the first ones. A tree is handed over as soon as all before it are.
class Crew {
  public:
    Crew(std::vector<TreeMaker> workers, std::vector<uint64_t> seeds, std::function<std::vector<uint16_t>(uint64_t)> draws,
         FlatTrees& grown)
        : workers_(std::move(workers)), seeds_(std::move(seeds)), draws_(std::move(draws)), grown_(grown) {}

    // Calls look(number of finished trees) from this thread every now and then; growing stops when it returns false.
    template <class Look>
    void run(Look&& look) {
        std::vector<std::thread> threads;
        threads.reserve(workers_.size());
        running_ = workers_.size();
        try {
            for (auto& worker : workers_) threads.emplace_back([this, &worker] { work(worker); });
        } catch (const std::system_error&) {
            if (threads.empty()) throw;
            std::lock_guard<std::mutex> guard(mutex_);  // no more threads to be had: those there are do all of it
            running_ -= workers_.size() - threads.size();
        }
        {
            std::unique_lock<std::mutex> lock(mutex_);
            while (!done_.wait_for(lock, std::chrono::milliseconds(50), [this] { return running_ == 0; })) {
                const size_t finished = n_finished_;
                lock.unlock();
                if (!look(finished)) next_ = seeds_.size();
                lock.lock();
            }
        }
        for (auto& thread : threads) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void work(TreeMaker& make_tree) {
        try {
            for (size_t i = next_++; i < seeds_.size(); i = next_++) {
                const Tree& tree = make_tree(seeds_[i], draws_(seeds_[i]));
                std::lock_guard<std::mutex> guard(mutex_);
                hand_over(i, tree);
            }
        } catch (...) {
            std::lock_guard<std::mutex> guard(mutex_);
            if (!failure_) failure_ = std::current_exception();
            next_ = seeds_.size();
        }
        std::lock_guard<std::mutex> guard(mutex_);
        if (--running_ == 0) done_.notify_all();
    }

    void hand_over(size_t number, const Tree& tree) {
        ++n_finished_;
        if (number != n_handed_over_) {
            early_.emplace(number, tree);
            return;
        }
        grown_.append(tree);
        for (auto next = early_.find(++n_handed_over_); next != early_.end(); next = early_.find(++n_handed_over_)) {
            grown_.append(next->second);
            early_.erase(next);
        }
    }

    std::vector<TreeMaker> workers_;
    std::vector<uint64_t> seeds_;
    std::function<std::vector<uint16_t>(uint64_t)> draws_;
    FlatTrees& grown_;
    std::map<size_t, Tree> early_;  // finished before one that comes before them
    std::atomic<size_t> next_{0};
    size_t n_finished_ = 0, n_handed_over_ = 0, running_ = 0;
    std::exception_ptr failure_;
    std::mutex mutex_;
    std::condition_variable done_;
};

// What threads have freed stays with the process otherwise: 100 MB after a fit on a million rows.
void give_back_memory() {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

// What rows are drawn by, or nullptr: all alike.
const double* cumulative_for(size_t n_rows, const std::optional<Vector<double>>& cumulative_draw_weights) {
    if (!cumulative_draw_weights) return nullptr;
    if (cumulative_draw_weights->shape(0) != n_rows) throw std::invalid_argument("draw weights and rows have different sizes");
    return cumulative_draw_weights->data();
}

// -> (arrays, interrupted)
nb::tuple grow_trees(TrainingSet& set, const GrowParams& params, const Costs& costs, const ImpuritySpec& impurity,
                     Vector<uint64_t> seeds, std::optional<Vector<double>> cumulative_draw_weights, int n_threads,
                     const std::string& isa, const std::string& engine, nb::object on_progress, bool with_gains) {
    const Kernels* kernels = find_kernels(isa.c_str());
    if (!kernels) throw std::invalid_argument("this machine cannot run the instruction set '" + isa + "'");
    const double* cumulative = cumulative_for(set.data.n_rows, cumulative_draw_weights);
    if (engine != "auto" && engine != "bisection" && engine != "histogram")
        throw std::invalid_argument("unknown engine '" + engine + "'; expected 'auto', 'bisection' or 'histogram'");
    const bool bisect = engine != "histogram" && can_bisect(set.data, params, costs.table);
    if (engine == "bisection" && (!bisect || impurity.name == "gini" || impurity.name == "entropy" || impurity.name == "callback"))
        throw std::invalid_argument("bisection needs an admissible impurity, minimax splits, unit weights and charges by path or always");
    Impurities impurities;
    const Job job{set, params, costs.table, *kernels, bisect};
    const auto draws = [&](uint64_t seed) {
        return params.bootstrap ? bootstrap_draws(seed, set.data.n_rows, cumulative)
                                : std::vector<uint16_t>(set.data.n_rows, 1);
    };
    const int n_workers = std::max(1, std::min<int>(n_threads, static_cast<int>(seeds.shape(0))));
    FlatTrees trees(set.data.n_counts, with_gains, seeds.shape(0) * set.data.n_rows / 4);
    auto crew = std::make_unique<Crew>(workers_for(job, impurity, impurities, n_workers),
                                       std::vector<uint64_t>(seeds.data(), seeds.data() + seeds.shape(0)), draws, trees);
    bool interrupted = false;
    std::exception_ptr failure;  // of on_progress; threads are stopped before it is passed on
    const auto look = [&](size_t finished) {
        nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!on_progress.is_none()) on_progress(finished);
        } catch (nb::python_error& error) {
            interrupted = error.matches(PyExc_KeyboardInterrupt);
            if (!interrupted) failure = std::current_exception();
            return false;
        }
        return true;
    };
    {
        nb::gil_scoped_release release;
        crew->run(look);
        crew.reset();  // the workspace of the threads goes before the arrays are completed
        give_back_memory();
    }
    if (failure) std::rethrow_exception(failure);
    return nb::make_tuple(std::move(trees).to_arrays(set.data), interrupted);
}

}  // namespace

void bind_growing(nb::module_& m) {
    nb::enum_<Splitting>(m, "Splitting").value("minimax", Splitting::minimax).value("expected", Splitting::expected);
    nb::enum_<Objective>(m, "Objective").value("risk", Objective::risk).value("penalized", Objective::penalized);
    nb::enum_<Charge>(m, "Charge")
        .value("always", Charge::always)
        .value("path", Charge::path)
        .value("forest", Charge::forest)
        .value("ledger", Charge::ledger);

    nb::class_<GrowParams>(m, "GrowParams")
        .def(nb::init<>())
        .def_rw("splitting", &GrowParams::splitting)
        .def_rw("objective", &GrowParams::objective)
        .def_rw("tradeoff", &GrowParams::tradeoff)
        .def_rw("at_a_loss", &GrowParams::at_a_loss)
        .def_rw("max_depth", &GrowParams::max_depth)
        .def_rw("max_features", &GrowParams::max_features)
        .def_rw("skip_constants", &GrowParams::skip_constants)
        .def_rw("min_samples_leaf", &GrowParams::min_samples_leaf)
        .def_rw("min_samples_split", &GrowParams::min_samples_split)
        .def_rw("random_thresholds", &GrowParams::random_thresholds)
        .def_rw("bootstrap", &GrowParams::bootstrap)
        .def_rw("seeds_by_path", &GrowParams::seeds_by_path);

    nb::class_<ImpuritySpec>(m, "ImpuritySpec")
        .def(nb::init<>())
        .def_rw("name", &ImpuritySpec::name)
        .def_rw("alpha", &ImpuritySpec::alpha)
        .def_rw("offset", &ImpuritySpec::offset)
        .def_rw("power", &ImpuritySpec::power)
        .def_rw("coefficients", &ImpuritySpec::coefficients)
        .def_rw("exponents", &ImpuritySpec::exponents)
        .def_rw("function", &ImpuritySpec::function);

    nb::class_<Costs>(m, "Costs")
        .def(nb::init<Vector<double>, Vector<double>, Vector<int64_t>, Vector<int32_t>>(), nb::arg("own"), nb::arg("shared"),
             nb::arg("group_offsets"), nb::arg("group_ids"))
        .def("set_paid", &Costs::set_paid, nb::arg("paid"), nb::arg("paid_groups"))
        .def("set_ledger", &Costs::set_ledger, nb::arg("ledger"))
        .def_prop_rw("charge", [](Costs& c) { return c.table.charge; }, [](Costs& c, Charge v) { c.table.charge = v; })
        .def_prop_rw("repeat_charge", [](Costs& c) { return c.table.repeat_charge; }, [](Costs& c, double v) { c.table.repeat_charge = v; })
        .def_prop_rw("max_tree_cost", [](Costs& c) { return c.table.max_tree_cost; }, [](Costs& c, double v) { c.table.max_tree_cost = v; })
        .def_prop_rw("max_distinct_features", [](Costs& c) { return c.table.max_distinct_features; },
                     [](Costs& c, uint32_t v) { c.table.max_distinct_features = v; });

    nb::class_<TrainingSet>(m, "TrainingSet")
        .def(nb::init<Matrix<uint8_t>, Vector<int32_t>, Vector<uint8_t>, Vector<double>, Vector<int64_t>, Vector<double>,
                      Vector<double>, Vector<int64_t>, std::optional<Vector<int32_t>>, std::optional<Vector<double>>,
                      std::optional<Vector<double>>, std::optional<Vector<double>>, Vector<double>>(),
             nb::arg("codes"), nb::arg("n_bins"), nb::arg("is_categorical"), nb::arg("edges"), nb::arg("edge_offsets"),
             nb::arg("bin_min"), nb::arg("bin_max"), nb::arg("bin_offsets"), nb::arg("labels").none(), nb::arg("targets").none(),
             nb::arg("weighted_targets").none(), nb::arg("weights").none(), nb::arg("class_weight"));

    m.def("grow_trees", &grow_trees, nb::arg("training_set"), nb::arg("params"), nb::arg("costs"), nb::arg("impurity"),
          nb::arg("seeds"), nb::arg("cumulative_draw_weights").none() = nb::none(), nb::arg("n_threads") = 1,
          nb::arg("isa") = "auto", nb::arg("engine") = "auto", nb::arg("on_progress").none() = nb::none(),
          nb::arg("with_gains") = false,
          "Grow one tree per seed -> (dict of arrays, whether Ctrl-C cut it short).");
    m.def("bootstrap_draws", [](uint64_t seed, size_t n_rows, std::optional<Vector<double>> cumulative_draw_weights) {
        return to_numpy(bootstrap_draws(seed, n_rows, cumulative_for(n_rows, cumulative_draw_weights)));
    }, nb::arg("seed"), nb::arg("n_rows"), nb::arg("cumulative_draw_weights").none() = nb::none(),
          "How often the bootstrap of a tree's seed draws each row.");
    m.def("in_bag", [](Vector<uint64_t> seeds, size_t n_rows, std::optional<Vector<double>> cumulative_draw_weights) {
        const double* cumulative = cumulative_for(n_rows, cumulative_draw_weights);
        std::vector<uint8_t> in_bag;
        in_bag.reserve(seeds.shape(0) * n_rows);
        for (size_t t = 0; t < seeds.shape(0); ++t)
            for (uint16_t draws : bootstrap_draws(seeds.data()[t], n_rows, cumulative)) in_bag.push_back(draws > 0);
        return to_numpy(std::move(in_bag), {seeds.shape(0), n_rows});
    }, nb::arg("seeds"), nb::arg("n_rows"), nb::arg("cumulative_draw_weights").none() = nb::none(),
          "Which rows the bootstrap of each tree has drawn, (n_trees, n_rows).");
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const char* name : {"portable", "baseline", "avx2", "avx512"})
            if (find_kernels(name)) names.emplace_back(name);
        return names;
    }, "The instruction sets this machine can run, slowest first.");
}

}  // namespace frugal
