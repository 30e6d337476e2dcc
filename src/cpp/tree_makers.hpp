// From the name of an impurity to the engine that grows trees with it: one maker of trees for each thread.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "dispatch.hpp"
#include "histogram.hpp"
#include "impurity.hpp"
#include "minimax.hpp"
#include "training_set.hpp"

namespace frugal {

// A user's own impurity: a function from counts (n_sets, k) to values (n_sets).
struct Callback {
    nb::callable function;

    double operator()(const double* n, int k) const {
        double value, unused;
        many(n, 1, k, &value, &unused);
        return value;
    }

    void many(const double* n, size_t capacity, int k, double* value, double*) const {
        nb::gil_scoped_acquire gil;
        std::vector<double> counts(capacity * static_cast<size_t>(k));
        for (size_t s = 0; s < capacity; ++s)
            for (size_t c = 0; c < static_cast<size_t>(k); ++c) counts[s * static_cast<size_t>(k) + c] = n[c * capacity + s];
        const nb::object result = function(to_numpy(std::move(counts), {capacity, static_cast<size_t>(k)}));
        const auto values = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(result);
        if (values.shape(0) != capacity) throw std::invalid_argument("the impurity must return one value per set");
        std::copy_n(values.data(), capacity, value);
    }
};

template <>
constexpr bool takes_padding<Callback> = false;

struct ImpuritySpec {
    std::string name;
    double alpha = 0, offset = 0;
    int power = 2;
    std::vector<double> coefficients;
    std::vector<int> exponents;
    nb::object function;
};

// Makes draws[row] for a tree: how often the bootstrap takes each row.
inline std::vector<uint16_t> bootstrap_draws(uint64_t seed, size_t n_rows, const double* cumulative) {
    std::vector<uint16_t> draws(n_rows, 0);
    Stream stream = bootstrap_stream(seed);
    for (size_t i = 0; i < n_rows; ++i) {
        size_t row;
        if (cumulative) {
            const double u = stream.uniform() * cumulative[n_rows - 1];
            row = std::min<size_t>(n_rows - 1, static_cast<size_t>(std::upper_bound(cumulative, cumulative + n_rows, u) - cumulative));
        } else {
            row = stream.below(static_cast<uint32_t>(n_rows));
        }
        if (draws[row] < 0xFFFF) ++draws[row];
    }
    return draws;
}

// What it returns is valid until it is called again.
using TreeMaker = std::function<const Tree&(uint64_t seed, const std::vector<uint16_t>& draws)>;

struct Job {
    TrainingSet& set;
    const GrowParams& params;
    const CostTable& costs;
    const Kernels& kernels;
    bool by_bisection;
};

// A maker owns the workspace of one thread.
template <class Impurity>
TreeMaker histogram_maker(const Job& job, const Impurity& impurity) {
    const auto make = [&](auto accumulator, auto n_classes) -> TreeMaker {
        using Grower = HistogramGrower<Impurity, decltype(accumulator), decltype(n_classes)::value>;
        auto grower = std::make_shared<Grower>(job.set.data, job.set.row_major(), job.params, job.costs, impurity,
                                               job.kernels.instruction_set);
        return [grower](uint64_t seed, const std::vector<uint16_t>& draws) -> const Tree& { return grower->grow(seed, draws); };
    };
    constexpr std::integral_constant<int, 0> any;
    constexpr std::integral_constant<int, 2> two;
    if constexpr (keeps_moments<Impurity>) {
        return make(Moments{job.set.data}, two);
    } else {
        const bool binary = job.set.data.n_counts == 2;
        if (job.set.data.weights) return binary ? make(ClassWeights{job.set.data}, two) : make(ClassWeights{job.set.data}, any);
        return binary ? make(ClassCounts{job.set.data}, two) : make(ClassCounts{job.set.data}, any);
    }
}

template <class Impurity>
TreeMaker minimax_maker(const Job& job, const Impurity& impurity) {
    const auto make = [&](auto n_classes) -> TreeMaker {
        using Grower = MinimaxGrower<Impurity, decltype(n_classes)::value>;
        auto grower = std::make_shared<Grower>(job.set.data, job.set.class_order(), job.params, job.costs, impurity, job.kernels);
        return [grower](uint64_t seed, const std::vector<uint16_t>& draws) -> const Tree& { return grower->grow(seed, draws); };
    };
    if (job.set.data.n_counts == 2) return make(std::integral_constant<int, 2>());
    return make(std::integral_constant<int, 0>());
}

// Bisection needs F(left) to rise and F(right) to fall with the threshold.
template <class Impurity>
constexpr bool is_monotone = std::is_same_v<Impurity, PlainPairs> || std::is_same_v<Impurity, Pairs> ||
                             std::is_same_v<Impurity, PowerSum> || std::is_same_v<Impurity, PolynomialSum>;

template <class Impurity>
std::vector<TreeMaker> make_workers(const Job& job, const Impurity& impurity, int n_threads) {
    std::vector<TreeMaker> workers;
    for (int i = 0; i < n_threads; ++i) {
        if constexpr (is_monotone<Impurity>)
            if (job.by_bisection) {
                workers.push_back(minimax_maker(job, impurity));
                continue;
            }
        workers.push_back(histogram_maker(job, impurity));
    }
    return workers;
}

// Impurities live as long as the workers that refer to them.
struct Impurities {
    PlainPairs plain_pairs;
    Pairs pairs;
    PowerSum powers;
    PolynomialSum polynomial;
    GiniIndex gini;
    EntropyBits entropy;
    NegativeSquaredMean variance;
    std::unique_ptr<Callback> callback;
};

// Whether products of counts are whole numbers, so that pairs may be added in any order.
inline bool sums_are_exact(const TrainingData& data) {
    const auto is_one = [](double weight) { return weight == 1; };
    return data.n_counts == 2 || (!data.weights && std::all_of(data.class_weight, data.class_weight + data.n_counts, is_one));
}

inline std::vector<TreeMaker> workers_for(const Job& job, const ImpuritySpec& spec, Impurities& impurities, int n_threads) {
    if (spec.name == "pairs" && spec.alpha == 0 && sums_are_exact(job.set.data)) return make_workers(job, impurities.plain_pairs, n_threads);
    if (spec.name == "pairs") {
        impurities.pairs = {spec.alpha, spec.offset};
        return make_workers(job, impurities.pairs, n_threads);
    }
    if (spec.name == "powers") {
        impurities.powers = {spec.power};
        return make_workers(job, impurities.powers, n_threads);
    }
    if (spec.name == "polynomial") {
        impurities.polynomial = {spec.coefficients, spec.exponents};
        return make_workers(job, impurities.polynomial, n_threads);
    }
    if (spec.name == "gini") return make_workers(job, impurities.gini, n_threads);
    if (spec.name == "entropy") return make_workers(job, impurities.entropy, n_threads);
    if (spec.name == "variance") return make_workers(job, impurities.variance, n_threads);
    if (spec.name == "callback") {
        impurities.callback = std::make_unique<Callback>(Callback{nb::borrow<nb::callable>(spec.function)});
        return make_workers(job, *impurities.callback, 1);
    }
    throw std::invalid_argument("unknown impurity " + spec.name);
}

// Whether the prices, weights and splits asked for are such that the bisection engine may be used.
inline bool can_bisect(const TrainingData& data, const GrowParams& params, const CostTable& costs) {
    return params.splitting == Splitting::minimax && params.objective == Objective::risk && !data.weights && data.labels &&
           costs.charge != Charge::forest;
}

}  // namespace frugal
