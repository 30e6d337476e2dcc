// BudgetPrune (Nan, Wang, Saligrama 2016): which subtrees of a forest to cut off, by dual decomposition.
//
// A purchase is a (row, item) that some tree pays for; an item is a feature or a shared step. It is paid once, whichever
// trees read it. The dual splits its price among the trees that read it: shares >= 0 that add up to 1. For given shares
// every tree is pruned by itself, in one pass from its leaves to its root, and what that leaves is a lower bound of the
// objective, whatever the shares. Trees that read an item pay more of it in the next round, the others less.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"
#include "parallel.hpp"

namespace frugal {
namespace {

constexpr size_t kMostChunks = 16, kEntriesPerChunk = 1 << 14;  // fixed, so that sums do not depend on threads
constexpr size_t kThresholds = 256;                             // tried when averages are rounded
constexpr size_t kRoundsPerLook = 10;                           // between two looks for a better pruning
constexpr double kNewest = 0.1;      // weight of the last pruning in the average; 0.05 and 0.3 do about as well
constexpr size_t kPatience = 20;     // rounds without a better bound before steps get shorter
constexpr double kTimider = 0.7;     // by this factor
constexpr double kRounding = 1e-12;  // losses add up to at most 1: differences below this are none
constexpr double kLongestStep = 1;   // takes an item from the trees that do not read it, at once

struct Trees {
    size_t n_nodes;
    const int32_t* feature;
    const int32_t* right;

    bool is_leaf(size_t node) const { return feature[node] < 0; }
    size_t left_of(size_t node) const { return node + 1; }
    size_t right_of(size_t node) const { return static_cast<size_t>(right[node]); }
};

struct ItemsOfFeature {
    const int64_t* offsets;
    const int32_t* ids;
};

struct FirstReading {
    int32_t item, node;
};

// The items that each leaf has on its way, with the node that reads an item first: (leaf, item) -> node.
class FirstReadings {
  public:
    FirstReadings(const Trees& trees, const int64_t* roots, size_t n_trees, size_t n_leaves, const ItemsOfFeature& items, size_t n_items)
        : trees_(trees), items_(items), of_leaf(n_leaves), seen_(n_items, 0) {
        for (size_t t = 0; t < n_trees; ++t) walk(static_cast<size_t>(roots[t]));
    }

  private:
    struct Frame {
        size_t node, n_before;  // readings on the way to the node
    };

    void walk(size_t root) {
        std::vector<Frame> open{{root, 0}};
        way_.clear();
        while (!open.empty()) {
            const Frame frame = open.back();
            open.pop_back();
            leave(frame.n_before);
            if (trees_.is_leaf(frame.node)) {
                of_leaf[trees_.right_of(frame.node)] = way_;
                continue;
            }
            read(frame.node);
            open.push_back({trees_.right_of(frame.node), way_.size()});
            open.push_back({trees_.left_of(frame.node), way_.size()});
        }
        leave(0);
    }

    void leave(size_t n_left) {
        for (; way_.size() > n_left; way_.pop_back()) seen_[static_cast<size_t>(way_.back().item)] = 0;
    }

    void read(size_t node) {
        const int32_t f = trees_.feature[node];
        for (int64_t i = items_.offsets[f]; i < items_.offsets[f + 1]; ++i) {
            uint8_t& seen = seen_[static_cast<size_t>(items_.ids[i])];
            if (!seen) way_.push_back({items_.ids[i], static_cast<int32_t>(node)});
            seen = 1;
        }
    }

    const Trees& trees_;
    const ItemsOfFeature& items_;

  public:
    std::vector<std::vector<FirstReading>> of_leaf;

  private:
    std::vector<uint8_t> seen_;
    std::vector<FirstReading> way_;
};

class PruningProblem {
  public:
    // leaves: (n_rows, n_trees), the leaf that each row reaches; node_loss: (n_nodes,), the loss of all rows in a node if
    // it is made a leaf; items of feature f: item_ids[item_offsets[f] .. item_offsets[f + 1]).
    PruningProblem(Vector<int32_t> feature, Vector<int32_t> right, Vector<int64_t> node_offsets, Vector<double> node_loss,
                   Matrix<int32_t> leaves, Vector<int64_t> item_offsets, Vector<int32_t> item_ids, size_t n_items)
        : n_trees_(node_offsets.shape(0) - 1), feature_(feature.data(), feature.data() + feature.shape(0)),
          right_(right.data(), right.data() + right.shape(0)), roots_(node_offsets.data(), node_offsets.data() + n_trees_),
          loss_(node_loss.data(), node_loss.data() + node_loss.shape(0)), n_items_(n_items) {
        if (right_.size() != feature_.size() || loss_.size() != feature_.size() || leaves.shape(1) != n_trees_)
            throw std::invalid_argument("PruningProblem: arrays of different sizes");
        const size_t n_leaves = static_cast<size_t>(std::count_if(feature_.begin(), feature_.end(), [](int32_t f) { return f < 0; }));
        nb::gil_scoped_release release;
        const Trees own = trees();
        const ItemsOfFeature items{item_offsets.data(), item_ids.data()};
        const FirstReadings readings(own, node_offsets.data(), n_trees_, n_leaves, items, n_items);
        list_purchases(readings, leaves.data(), leaves.shape(0));
        cut_into_chunks();
        share_equally();
    }

    size_t n_purchases() const { return item_.size(); }
    size_t n_entries() const { return node_.size(); }

    // -> which splits stay (n_nodes,), objective of that pruning, lower bound, number of rounds
    nb::tuple solve(Vector<double> prices, double gap, size_t most_rounds, int n_threads) {
        if (prices.shape(0) != n_items_) throw std::invalid_argument("PruningProblem: one price for each item");
        Outcome found;
        {
            nb::gil_scoped_release release;
            found = ascend(prices.data(), gap, most_rounds, n_threads);
        }
        return nb::make_tuple(to_numpy(std::move(found.stays)), found.objective, found.bound, found.n_rounds);
    }

    // The objective of any pruning: stays (n_nodes,), whether the split of a node stays.
    double objective(Vector<double> prices, Vector<uint8_t> stays, int n_threads) const {
        if (prices.shape(0) != n_items_ || stays.shape(0) != feature_.size())
            throw std::invalid_argument("PruningProblem: arrays of different sizes");
        std::vector<uint8_t> closed(stays.data(), stays.data() + stays.shape(0));
        cut_below(closed);
        return loss_of(closed) + bill_of(closed, prices.data(), n_threads);
    }

  private:
    struct Outcome {
        std::vector<uint8_t> stays;
        double objective = std::numeric_limits<double>::infinity(), bound = -std::numeric_limits<double>::infinity();
        size_t n_rounds = 0;
    };

    Trees trees() const { return {feature_.size(), feature_.data(), right_.data()}; }

    // ---- what is bought

    // Row by row: what its trees read, sorted by item.
    void list_purchases(const FirstReadings& readings, const int32_t* leaves, size_t n_rows) {
        std::vector<std::vector<int32_t>> readers(n_items_);  // of each item: the node of each tree that reads it first
        offsets_.push_back(0);
        for (size_t row = 0; row < n_rows; ++row) {
            for (size_t t = 0; t < n_trees_; ++t)
                for (const FirstReading& r : readings.of_leaf[static_cast<size_t>(leaves[row * n_trees_ + t])])
                    readers[static_cast<size_t>(r.item)].push_back(r.node);
            for (size_t j = 0; j < n_items_; ++j) {
                if (readers[j].empty()) continue;
                node_.insert(node_.end(), readers[j].begin(), readers[j].end());
                item_.push_back(static_cast<int32_t>(j));
                offsets_.push_back(node_.size());
                readers[j].clear();
            }
        }
    }

    void cut_into_chunks() {
        const size_t n_chunks = std::clamp<size_t>(node_.size() / kEntriesPerChunk, 1, kMostChunks);
        chunks_.assign(1, 0);
        for (size_t c = 1; c < n_chunks; ++c) {
            const auto first = std::lower_bound(offsets_.begin(), offsets_.end(), c * node_.size() / n_chunks);
            chunks_.push_back(static_cast<size_t>(first - offsets_.begin()));
        }
        chunks_.push_back(item_.size());
    }

    void share_equally() {
        share_.resize(node_.size());
        for (size_t p = 0; p < item_.size(); ++p)
            std::fill(share_.begin() + static_cast<std::ptrdiff_t>(offsets_[p]), share_.begin() + static_cast<std::ptrdiff_t>(offsets_[p + 1]),
                      1.0 / static_cast<double>(offsets_[p + 1] - offsets_[p]));
    }

    size_t n_chunks() const { return chunks_.size() - 1; }

    // ---- one tree at a time: for given charges the best pruning of each

    // charge: (n_nodes,), what the rows of a node pay if its split stays -> the bound; stays: which splits do.
    double prune_trees(const std::vector<double>& charge, std::vector<double>& least, std::vector<uint8_t>& stays) const {
        for (size_t i = feature_.size(); i-- > 0;) {
            const double if_split = feature_[i] < 0 ? std::numeric_limits<double>::infinity()
                                                    : charge[i] + least[i + 1] + least[static_cast<size_t>(right_[i])];
            stays[i] = if_split < loss_[i];
            least[i] = stays[i] ? if_split : loss_[i];
        }
        cut_below(stays);
        double bound = 0;
        for (const int64_t root : roots_) bound += least[static_cast<size_t>(root)];
        return bound;
    }

    // A split stays only if all above it do.
    void cut_below(std::vector<uint8_t>& stays) const {
        std::vector<uint8_t> reached(feature_.size(), 0);
        for (const int64_t root : roots_) reached[static_cast<size_t>(root)] = 1;
        for (size_t i = 0; i < feature_.size(); ++i) {
            stays[i] = stays[i] && reached[i] && feature_[i] >= 0;
            if (stays[i]) reached[i + 1] = reached[static_cast<size_t>(right_[i])] = 1;
        }
    }

    // ---- the objective of a pruning

    double loss_of(const std::vector<uint8_t>& stays) const {
        double loss = 0;
        for (const int64_t root : roots_) loss += loss_[static_cast<size_t>(root)];
        for (size_t i = 0; i < feature_.size(); ++i)
            if (stays[i]) loss -= gain(i);
        return loss;
    }

    double gain(size_t node) const { return loss_[node] - loss_[node + 1] - loss_[static_cast<size_t>(right_[node])]; }

    double bill_of(const std::vector<uint8_t>& stays, const double* prices, int n_threads) const {
        std::vector<double> bill(n_chunks(), 0);
        parallel_for(n_chunks(), n_threads, [&](size_t c) {
            for (size_t p = chunks_[c]; p < chunks_[c + 1]; ++p) {
                bool bought = false;
                for (size_t e = offsets_[p]; e < offsets_[p + 1]; ++e) bought = bought || stays[static_cast<size_t>(node_[e])];
                if (bought) bill[c] += prices[item_[p]];
            }
        });
        return sum(bill);
    }

    static double sum(const std::vector<double>& values) {
        double total = 0;
        for (const double value : values) total += value;
        return total;
    }

    // ---- the ascent

    void charge_nodes(const double* prices, std::vector<std::vector<double>>& parts, std::vector<double>& charge, int n_threads) const {
        parallel_for(n_chunks(), n_threads, [&](size_t c) {
            parts[c].assign(feature_.size(), 0.0);
            for (size_t p = chunks_[c]; p < chunks_[c + 1]; ++p)
                for (size_t e = offsets_[p]; e < offsets_[p + 1]; ++e) parts[c][static_cast<size_t>(node_[e])] += prices[item_[p]] * share_[e];
        });
        for (size_t i = 0; i < charge.size(); ++i) {
            charge[i] = 0;
            for (const auto& part : parts) charge[i] += part[i];
        }
    }

    // Rounds averages of prunings: of all thresholds theta, the pruning {average > theta} of the least objective. The
    // objective of the averages is its mean over theta, so the best one is at least as good.
    double best_threshold(const std::vector<double>& average, const double* prices, int n_threads) const {
        const auto bin_of = [](double a) { return static_cast<size_t>(std::min<double>(kThresholds, std::ceil(a * kThresholds - 1e-9))); };
        std::vector<std::vector<double>> bills(n_chunks());
        parallel_for(n_chunks(), n_threads, [&](size_t c) {
            bills[c].assign(kThresholds + 1, 0);
            for (size_t p = chunks_[c]; p < chunks_[c + 1]; ++p) {
                double most = 0;
                for (size_t e = offsets_[p]; e < offsets_[p + 1]; ++e) most = std::max(most, average[static_cast<size_t>(node_[e])]);
                bills[c][bin_of(most)] += prices[item_[p]];
            }
        });
        std::vector<double> worth(kThresholds + 1, 0);  // of bin b: what is added when the threshold falls below b / kThresholds
        for (const auto& part : bills)
            for (size_t b = 0; b <= kThresholds; ++b) worth[b] += part[b];
        for (size_t i = 0; i < feature_.size(); ++i)
            if (feature_[i] >= 0) worth[bin_of(average[i])] -= gain(i);
        double value = 0, least = 0, best = 2;
        for (size_t b = kThresholds; b > 0; --b) {
            value += worth[b];
            if (value < least) least = value, best = (static_cast<double>(b) - 1) / kThresholds;
        }
        return best;
    }

    void try_threshold(const std::vector<double>& average, const double* prices, int n_threads, Outcome& found) const {
        const double theta = best_threshold(average, prices, n_threads) + 1e-9 / kThresholds;
        std::vector<uint8_t> stays(feature_.size());
        for (size_t i = 0; i < stays.size(); ++i) stays[i] = average[i] > theta;
        keep_if_better(stays, prices, n_threads, found);
    }

    void keep_if_better(std::vector<uint8_t>& stays, const double* prices, int n_threads, Outcome& found) const {
        cut_below(stays);
        const double value = loss_of(stays) + bill_of(stays, prices, n_threads);
        if (value < found.objective) found.objective = value, found.stays = stays;
    }

    // Moves shares along the averages: sum over purchases of price * |direction|^2 first, then the step.
    double squared_length(const std::vector<double>& average, const double* prices, int n_threads) const {
        std::vector<double> parts(n_chunks(), 0);
        parallel_for(n_chunks(), n_threads, [&](size_t c) {
            for (size_t p = chunks_[c]; p < chunks_[c + 1]; ++p) {
                double total = 0, squares = 0;
                for (size_t e = offsets_[p]; e < offsets_[p + 1]; ++e) {
                    const double a = average[static_cast<size_t>(node_[e])];
                    total += a, squares += a * a;
                }
                parts[c] += prices[item_[p]] * std::max(0.0, squares - total * total / static_cast<double>(offsets_[p + 1] - offsets_[p]));
            }
        });
        return sum(parts);
    }

    void move_shares(const std::vector<double>& average, double step, int n_threads) {
        parallel_for(n_chunks(), n_threads, [&](size_t c) {
            for (size_t p = chunks_[c]; p < chunks_[c + 1]; ++p) {
                const size_t begin = offsets_[p], end = offsets_[p + 1];
                if (are_equal(average, begin, end)) continue;
                for (size_t e = begin; e < end; ++e) share_[e] += step * average[static_cast<size_t>(node_[e])];
                project(share_.data() + begin, end - begin);
            }
        });
    }

    // Whether a step along the averages would move nothing: all trees read the item, or none does.
    bool are_equal(const std::vector<double>& average, size_t begin, size_t end) const {
        const double first = average[static_cast<size_t>(node_[begin])];
        for (size_t e = begin + 1; e < end; ++e)
            if (average[static_cast<size_t>(node_[e])] != first) return false;
        return true;
    }

    // The nearest shares that are >= 0 and add up to 1.
    static void project(double* share, size_t n) {
        double total = 0;
        for (size_t i = 0; i < n; ++i) total += share[i];
        double shift = (total - 1) / static_cast<double>(n);
        for (size_t n_before = n;;) {
            double above = 0;
            size_t n_above = 0;
            for (size_t i = 0; i < n; ++i)
                if (share[i] > shift) above += share[i], ++n_above;
            if (n_above >= n_before) break;  // more only by rounding
            n_before = n_above;
            shift = (above - 1) / static_cast<double>(n_above);
        }
        for (size_t i = 0; i < n; ++i) share[i] = std::max(0.0, share[i] - shift);
    }

    Outcome ascend(const double* prices, double gap, size_t most_rounds, int n_threads) {
        Outcome found;
        const size_t n = feature_.size();
        std::vector<std::vector<double>> parts(n_chunks());
        std::vector<double> charge(n), least(n), average(n, 0.0);
        std::vector<uint8_t> stays(n, 0);
        keep_if_better(stays, prices, n_threads, found);
        double boldness = 1;
        size_t n_in_vain = 0;
        for (found.n_rounds = 1;; ++found.n_rounds) {
            charge_nodes(prices, parts, charge, n_threads);
            const double bound = prune_trees(charge, least, stays);
            const double weight = found.n_rounds == 1 ? 1.0 : kNewest;
            for (size_t i = 0; i < n; ++i) average[i] += weight * (stays[i] - average[i]);
            n_in_vain = bound > found.bound ? 0 : n_in_vain + 1;
            found.bound = std::max(found.bound, bound);
            if (n_in_vain == kPatience) boldness *= kTimider, n_in_vain = 0;
            if (found.n_rounds % kRoundsPerLook == 1) {
                check_interrupt();
                keep_if_better(stays, prices, n_threads, found);
                try_threshold(average, prices, n_threads, found);
            }
            if (found.objective - found.bound <= gap * found.objective + kRounding || found.n_rounds >= most_rounds) return found;
            const double wanted = boldness * (found.objective - bound), length = squared_length(average, prices, n_threads);
            move_shares(average, wanted < kLongestStep * length ? wanted / length : kLongestStep, n_threads);
        }
    }

    static void check_interrupt() {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

    size_t n_trees_;
    std::vector<int32_t> feature_, right_;
    std::vector<int64_t> roots_;
    std::vector<double> loss_;
    size_t n_items_;
    std::vector<size_t> offsets_;  // purchase p has the entries offsets_[p] .. offsets_[p + 1], one for each tree that reads it
    std::vector<int32_t> item_;    // of each purchase
    std::vector<int32_t> node_;    // of each entry: where the tree reads the item first
    std::vector<double> share_;    // of each entry: the part of the price that the tree pays
    std::vector<size_t> chunks_;   // of purchases, for threads
};

}  // namespace

void bind_pruning(nb::module_& m) {
    nb::class_<PruningProblem>(m, "PruningProblem")
        .def(nb::init<Vector<int32_t>, Vector<int32_t>, Vector<int64_t>, Vector<double>, Matrix<int32_t>, Vector<int64_t>,
                      Vector<int32_t>, size_t>(),
             nb::arg("feature"), nb::arg("right"), nb::arg("node_offsets"), nb::arg("node_loss"), nb::arg("leaves"),
             nb::arg("item_offsets"), nb::arg("item_ids"), nb::arg("n_items"))
        .def_prop_ro("n_purchases", &PruningProblem::n_purchases)
        .def_prop_ro("n_entries", &PruningProblem::n_entries)
        .def("solve", &PruningProblem::solve, nb::arg("prices"), nb::arg("gap"), nb::arg("most_rounds"), nb::arg("n_threads") = 1)
        .def("objective", &PruningProblem::objective, nb::arg("prices"), nb::arg("stays"), nb::arg("n_threads") = 1);
}

}  // namespace frugal
