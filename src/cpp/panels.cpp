// Out-of-bag votes of full forests on many subsets of the features, and what permuting a feature does to them.
//
// No tree is kept: it is grown, its out-of-bag rows vote, and the next one takes its room. A forest of 1000 trees on a
// few hundred rows then costs no more than the splits it looks at.
#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "candidate_forests.hpp"
#include "dispatch.hpp"
#include "parallel.hpp"
#include "training_set.hpp"
#include "tree_makers.hpp"

namespace frugal {
namespace {

constexpr size_t kTreesPerTask = 50;
constexpr size_t kChunksPerThread = 4;
constexpr size_t kRowsPerTask = 200000;  // drawn rows between two looks at Ctrl-C, about

// Some columns of a training set, copied, as a training set of their own that costs nothing.
class Panel {
  public:
    Panel(const TrainingData& all, const int32_t* features, size_t n_features)
        : codes_(n_features * all.n_rows), n_bins_(n_features), is_categorical_(n_features), own_(n_features, 0.0), group_offsets_(n_features + 1, 0) {
        for (size_t i = 0; i < n_features; ++i) {
            const auto f = static_cast<size_t>(features[i]);
            std::copy_n(all.column(f), all.n_rows, codes_.begin() + static_cast<std::ptrdiff_t>(i * all.n_rows));
            n_bins_[i] = all.n_bins[f];
            is_categorical_[i] = all.is_categorical[f];
        }
        data = all;
        data.n_features = n_features;
        data.codes = codes_.data();
        data.n_bins = n_bins_.data();
        data.is_categorical = is_categorical_.data();
        costs.n_features = n_features;
        costs.own = own_.data();
        costs.group_offsets = group_offsets_.data();
    }
    Panel(const Panel&) = delete;

    TrainingData data;
    CostTable costs;

  private:
    std::vector<uint8_t> codes_;
    std::vector<int32_t> n_bins_;
    std::vector<uint8_t> is_categorical_;
    std::vector<double> own_;
    std::vector<int64_t> group_offsets_;
};

// One tree and the codes it reads, for rows that walk through it.
struct Walk {
    const Tree& tree;
    const RowMajorCodes& codes;

    bool goes_left(uint32_t node, uint8_t code) const {
        if (tree.category_set[node] >= 0) return contains(tree.category_sets[static_cast<size_t>(tree.category_set[node])], code);
        return code == kMissing ? tree.missing_left[node] : code <= tree.code[node];
    }

    // The leaf of a row; code_of(feature) says what the row has there, visit(feature) is called for each one read.
    template <class CodeOf, class Visit>
    uint32_t leaf(CodeOf&& code_of, Visit&& visit) const {
        uint32_t node = 0;
        while (tree.feature[node] >= 0) {
            const auto f = static_cast<uint32_t>(tree.feature[node]);
            visit(f);
            node = goes_left(node, code_of(f)) ? node + 1 : static_cast<uint32_t>(tree.right[node]);
        }
        return node;
    }

    // The class of most weight in a leaf, the first of equals.
    size_t label(uint32_t leaf) const {
        const double* counts = tree.leaf_counts.data() + static_cast<size_t>(tree.right[leaf]) * static_cast<size_t>(tree.n_counts);
        return static_cast<size_t>(std::max_element(counts, counts + tree.n_counts) - counts);
    }

    size_t label_of_row(uint32_t row) const {
        const uint8_t* own = codes.row(row);
        return label(leaf([own](uint32_t f) { return own[f]; }, [](uint32_t) {}));
    }
};

// Ctrl-C is seen by the thread that Python called from, between two tasks.
class Interruption {
  public:
    void check() const {
        if (std::this_thread::get_id() != caller_) return;
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

  private:
    std::thread::id caller_ = std::this_thread::get_id();
};

size_t trees_per_task(size_t n_rows) { return std::clamp<size_t>(kRowsPerTask / std::max<size_t>(1, n_rows), 1, kTreesPerTask); }

const Kernels& kernels_for(const std::string& isa) {
    const Kernels* kernels = find_kernels(isa.c_str());
    if (!kernels) throw std::invalid_argument("this machine cannot run the instruction set '" + isa + "'");
    return *kernels;
}

// Calls grow(accumulator, number of classes if it is known when compiling, or 0).
template <class Grow>
void with_accumulator(const TrainingData& data, Grow&& grow) {
    constexpr std::integral_constant<int, 0> any;
    constexpr std::integral_constant<int, 2> two;
    const bool binary = data.n_counts == 2;
    if (data.weights) return binary ? grow(ClassWeights{data}, two) : grow(ClassWeights{data}, any);
    return binary ? grow(ClassCounts{data}, two) : grow(ClassCounts{data}, any);
}

// Calls use(tree, draws) for each of the trees of seeds[first .. last) of a forest with Gini splits.
template <class Use>
void for_trees(const Panel& panel, const RowMajorCodes& row_major, const GrowParams& params, const Kernels& kernels,
               const uint64_t* seeds, size_t first, size_t last, Use&& use) {
    const GiniIndex gini;
    const auto grow_all = [&](auto accumulator, auto n_classes) {
        HistogramGrower<GiniIndex, decltype(accumulator), decltype(n_classes)::value> grower(
            panel.data, row_major, params, panel.costs, gini, kernels.instruction_set);
        for (size_t t = first; t < last; ++t) {
            const std::vector<uint16_t> draws = bootstrap_draws(seeds[t], panel.data.n_rows, nullptr);
            use(grower.grow(seeds[t], draws), draws);
        }
    };
    with_accumulator(panel.data, grow_all);
}

// Out-of-bag votes of one forest for each panel: panel p has the features[offsets[p] .. offsets[p + 1]) and tries
// max_features[p] of them in a node. seeds: (1, n_trees) the same for all panels, or (n_panels, n_trees).
// -> (n_panels, n_rows, n_classes)
auto panel_votes(TrainingSet& set, GrowParams params, Matrix<uint64_t> seeds, Vector<int32_t> features, Vector<int64_t> offsets,
                 Vector<uint32_t> max_features, int n_threads, const std::string& isa) {
    const Kernels& kernels = kernels_for(isa);
    const size_t n_panels = max_features.shape(0), n_trees = seeds.shape(1), n_rows = set.data.n_rows;
    const auto k = static_cast<size_t>(set.data.n_counts);
    const bool own_seeds = seeds.shape(0) == n_panels && n_panels > 1;
    if (offsets.shape(0) != n_panels + 1 || (!own_seeds && seeds.shape(0) != 1))
        throw std::invalid_argument("panel_votes: arrays of different sizes");
    if (!set.data.labels || n_trees > 0xFFFF || params.random_thresholds)
        throw std::invalid_argument("panel_votes: needs labels, all thresholds, and at most 65535 trees");
    std::vector<uint16_t> votes(n_panels * n_rows * k, 0);
    const size_t chunk = trees_per_task(n_rows), n_chunks = (n_trees + chunk - 1) / chunk;
    const Interruption interruption;
    std::mutex votes_lock;
    const auto vote = [&](size_t task) {
        interruption.check();
        const size_t p = task / n_chunks, first = task % n_chunks * chunk, last = std::min(n_trees, first + chunk);
        const Panel panel(set.data, features.data() + offsets.data()[p], static_cast<size_t>(offsets.data()[p + 1] - offsets.data()[p]));
        const RowMajorCodes row_major(panel.data);
        GrowParams own = params;
        own.max_features = max_features.data()[p];
        std::vector<uint16_t> cast(n_rows * k, 0);
        for_trees(panel, row_major, own, kernels, seeds.data() + (own_seeds ? p * n_trees : 0), first, last, [&](const Tree& tree, const std::vector<uint16_t>& draws) {
            const Walk walk{tree, row_major};
            for (uint32_t row = 0; row < n_rows; ++row)
                if (!draws[row]) ++cast[row * k + walk.label_of_row(row)];
        });
        std::lock_guard<std::mutex> guard(votes_lock);
        uint16_t* of_panel = votes.data() + p * n_rows * k;
        for (size_t i = 0; i < cast.size(); ++i) of_panel[i] = static_cast<uint16_t>(of_panel[i] + cast[i]);
    };
    {
        nb::gil_scoped_release release;
        parallel_for(n_panels * n_chunks, n_threads, vote);
    }
    return to_numpy(std::move(votes), {n_panels, n_rows, k});
}

// The same for panels that differ in one feature: the common ones and each of the candidates, grown together.
// -> (n_candidates, n_rows, n_classes)
auto candidate_votes(TrainingSet& set, GrowParams params, Vector<uint64_t> seeds, Vector<int32_t> common, Vector<int32_t> candidates,
                     int n_threads, const std::string& isa) {
    const Kernels& kernels = kernels_for(isa);
    const size_t n_common = common.shape(0), n_candidates = candidates.shape(0), n_trees = seeds.shape(0), n_rows = set.data.n_rows;
    const auto k = static_cast<size_t>(set.data.n_counts);
    if (!set.data.labels || n_trees > 0xFFFF || params.random_thresholds)
        throw std::invalid_argument("candidate_votes: needs labels, all thresholds, and at most 65535 trees");
    std::vector<int32_t> features(common.data(), common.data() + n_common);
    features.insert(features.end(), candidates.data(), candidates.data() + n_candidates);
    const Panel panel(set.data, features.data(), features.size());
    const RowMajorCodes row_major(panel.data);
    const GiniIndex gini;
    std::vector<uint16_t> votes(n_candidates * n_rows * k, 0);
    const size_t n_chunks = std::min(n_trees, kChunksPerThread * static_cast<size_t>(std::max(1, n_threads)));
    const Interruption interruption;
    std::mutex votes_lock;
    const auto vote = [&](size_t task) {
        std::vector<uint16_t> cast(votes.size(), 0);
        const auto grow_all = [&](auto accumulator, auto n_classes) {
            CandidateGrower<decltype(accumulator), decltype(n_classes)::value> grower(panel.data, row_major, params, panel.costs, gini,
                                                                                      kernels.instruction_set, n_common);
            for (size_t t = task; t < n_trees; t += n_chunks) {
                interruption.check();
                grower.vote(seeds.data()[t], bootstrap_draws(seeds.data()[t], n_rows, nullptr), cast.data());
            }
        };
        with_accumulator(panel.data, grow_all);
        std::lock_guard<std::mutex> guard(votes_lock);
        for (size_t i = 0; i < cast.size(); ++i) votes[i] = static_cast<uint16_t>(votes[i] + cast[i]);
    };
    {
        nb::gil_scoped_release release;
        parallel_for(n_chunks, n_threads, vote);
    }
    return to_numpy(std::move(votes), {n_candidates, n_rows, k});
}

// What permuting one feature among the out-of-bag rows of a tree does to their votes.
class Permutations {
  public:
    Permutations(size_t n_features, const TrainingData& data, bool with_votes)
        : n_features_(n_features), k_(static_cast<size_t>(data.n_counts)), labels_(data.labels), n_rows_(data.n_rows),
          rise(n_features, 0.0), votes(n_rows_ * k_, 0), moved(with_votes ? n_features * n_rows_ * k_ : 0, 0) {}

    void add(const Walk& walk, const std::vector<uint16_t>& draws, uint64_t seed) {
        list_rows(walk, draws);
        if (rows_.empty()) return;
        for (uint32_t f = 0; f < n_features_; ++f)
            if (!readers_[f].empty()) permute(walk, f, Stream(mix(seed ^ mix(0x9E4D17ull + f))));
    }

  private:
    // The out-of-bag rows, their votes, and which of them read which feature.
    void list_rows(const Walk& walk, const std::vector<uint16_t>& draws) {
        readers_.assign(n_features_, {});
        rows_.clear();
        label_.clear();
        for (uint32_t row = 0; row < n_rows_; ++row) {
            if (draws[row]) continue;
            const auto place = static_cast<uint32_t>(rows_.size());
            const uint8_t* own = walk.codes.row(row);
            const uint32_t leaf = walk.leaf([own](uint32_t f) { return own[f]; }, [&](uint32_t f) {
                if (readers_[f].empty() || readers_[f].back() != place) readers_[f].push_back(place);
            });
            rows_.push_back(row);
            label_.push_back(walk.label(leaf));
            ++votes[row * k_ + label_.back()];
        }
    }

    // Only rows that read the feature can end in another leaf.
    void permute(const Walk& walk, uint32_t f, Stream stream) {
        order_ = rows_;
        for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[stream.below(static_cast<uint32_t>(i))]);
        int64_t more_errors = 0;
        for (const uint32_t place : readers_[f]) {
            const uint8_t* own = walk.codes.row(rows_[place]);
            const uint8_t other = walk.codes.row(order_[place])[f];
            const size_t before = label_[place];
            const size_t after = walk.label(walk.leaf([=](uint32_t g) { return g == f ? other : own[g]; }, [](uint32_t) {}));
            if (after == before) continue;
            const auto truth = static_cast<size_t>(labels_[rows_[place]]);
            more_errors += (before == truth) - (after == truth);
            if (!moved.empty()) {
                int32_t* row = moved.data() + (f * n_rows_ + rows_[place]) * k_;
                --row[before];
                ++row[after];
            }
        }
        rise[f] += static_cast<double>(more_errors) / static_cast<double>(rows_.size());
    }

    size_t n_features_, k_;
    const int32_t* labels_;
    size_t n_rows_;
    std::vector<std::vector<uint32_t>> readers_;  // of each feature: places in rows_
    std::vector<uint32_t> rows_, order_;
    std::vector<size_t> label_;

  public:
    std::vector<double> rise;     // (n_features): rise of the out-of-bag error of a tree, added over trees
    std::vector<int32_t> votes;   // (n_rows, k)
    std::vector<int32_t> moved;   // (n_features, n_rows, k): what permuting a feature adds to the votes
};

// -> (rise of the error by feature and task (n_tasks, n_features), votes (n_rows, k), moved votes (n_features, n_rows, k))
nb::tuple permutation_votes(TrainingSet& set, const GrowParams& params, Vector<uint64_t> seeds, bool with_votes, int n_threads,
                            const std::string& isa) {
    const Kernels& kernels = kernels_for(isa);
    const size_t n_trees = seeds.shape(0), m = set.data.n_features, n_rows = set.data.n_rows;
    const auto k = static_cast<size_t>(set.data.n_counts);
    if (!set.data.labels || params.random_thresholds) throw std::invalid_argument("permutation_votes: needs labels and all thresholds");
    std::vector<int32_t> all(m);
    for (size_t f = 0; f < m; ++f) all[f] = static_cast<int32_t>(f);
    const Panel panel(set.data, all.data(), m);
    const RowMajorCodes row_major(panel.data);
    const size_t chunk = trees_per_task(n_rows), n_chunks = (n_trees + chunk - 1) / chunk;
    std::vector<double> rise(n_chunks * m, 0.0);  // by task, so that the order of adding does not depend on threads
    std::vector<int32_t> votes(n_rows * k, 0), moved(with_votes ? m * n_rows * k : 0, 0);
    const Interruption interruption;
    std::mutex votes_lock;
    const auto measure = [&](size_t task) {
        interruption.check();
        Permutations permutations(m, set.data, with_votes);
        size_t t = task * chunk;
        for_trees(panel, row_major, params, kernels, seeds.data(), t, std::min(n_trees, t + chunk),
                  [&](const Tree& tree, const std::vector<uint16_t>& draws) { permutations.add({tree, row_major}, draws, seeds.data()[t++]); });
        std::copy(permutations.rise.begin(), permutations.rise.end(), rise.begin() + static_cast<std::ptrdiff_t>(task * m));
        std::lock_guard<std::mutex> guard(votes_lock);
        for (size_t i = 0; i < votes.size(); ++i) votes[i] += permutations.votes[i];
        for (size_t i = 0; i < moved.size(); ++i) moved[i] += permutations.moved[i];
    };
    {
        nb::gil_scoped_release release;
        parallel_for(n_chunks, n_threads, measure);
    }
    const size_t n_moved = with_votes ? m : 0;
    return nb::make_tuple(to_numpy(std::move(rise), {n_chunks, m}), to_numpy(std::move(votes), {n_rows, k}),
                          to_numpy(std::move(moved), {n_moved, n_rows, k}));
}

}  // namespace

void bind_panels(nb::module_& m) {
    m.def("panel_votes", &panel_votes, nb::arg("training_set"), nb::arg("params"), nb::arg("seeds"), nb::arg("features"),
          nb::arg("offsets"), nb::arg("max_features"), nb::arg("n_threads") = 1, nb::arg("isa") = "auto",
          "Out-of-bag votes of one Gini forest for each panel of features, (n_panels, n_rows, n_classes).");
    m.def("candidate_votes", &candidate_votes, nb::arg("training_set"), nb::arg("params"), nb::arg("seeds"), nb::arg("common"),
          nb::arg("candidates"), nb::arg("n_threads") = 1, nb::arg("isa") = "auto",
          "Out-of-bag votes of Gini forests on common features and one candidate each, (n_candidates, n_rows, n_classes).");
    m.def("permutation_votes", &permutation_votes, nb::arg("training_set"), nb::arg("params"), nb::arg("seeds"),
          nb::arg("with_votes") = false, nb::arg("n_threads") = 1, nb::arg("isa") = "auto",
          "What permuting each feature does to the out-of-bag errors and votes of a Gini forest.");
}

}  // namespace frugal
