// Sends rows through a forest: leaves, sums over leaves, what each row reads, and how all of it grows tree by tree.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "columns.hpp"
#include "parallel.hpp"

namespace frugal {
namespace {

constexpr size_t kBlockRows = 128;  // rows whose values stay in the cache while one tree after the other is walked
constexpr size_t kLanes = 8;        // rows walked side by side: one waits for memory while the others go on

// 16 bytes. A leaf sends every value to itself, so that rows which arrive early can wait without a branch.
struct Node {
    double threshold;
    int32_t right;  // a leaf's own number
    uint32_t feature_and_flags;
};

constexpr uint32_t kMissingLeft = 1u << 31, kCategorical = 1u << 30, kFeature = kCategorical - 1;

// Values of a block of rows, one row behind the other.
struct Block {
    size_t n_features;
    std::vector<double> values;
    bool has_missing = false;

    explicit Block(size_t m) : n_features(m), values(kBlockRows * m, 0) {}

    void read(const StridedMatrix& x, size_t begin, size_t end) {
        has_missing = false;
        x.with_type([&](auto type) { read_as<decltype(type)>(x, begin, end); });
    }

    const double* row(size_t i) const { return values.data() + i * n_features; }

  private:
    template <class T>
    void read_as(const StridedMatrix& x, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            double* to = values.data() + (i - begin) * n_features;
            bool missing = false;
            for (size_t f = 0; f < n_features; ++f) {
                to[f] = static_cast<double>(x.at<T>(i, f));
                missing |= to[f] != to[f];
            }
            has_missing |= missing;
        }
    }
};

class Router {
  public:
    Router(Vector<int64_t> node_offsets, Vector<int32_t> feature, Vector<double> threshold, Vector<uint8_t> missing_left,
           Vector<int32_t> right, Vector<int32_t> category_set, Matrix<uint64_t> category_sets, int64_t n_leaves, size_t n_features)
        : n_features_(n_features), n_words_((n_features + 63) / 64), n_leaves_(static_cast<size_t>(n_leaves)) {
        const size_t n_nodes = feature.shape(0), n_offsets = node_offsets.shape(0);
        if (n_offsets == 0 || node_offsets.data()[0] != 0 || node_offsets.data()[n_offsets - 1] != static_cast<int64_t>(n_nodes) ||
            threshold.shape(0) != n_nodes || missing_left.shape(0) != n_nodes || right.shape(0) != n_nodes ||
            category_set.shape(0) != n_nodes || category_sets.shape(1) != 4 || n_features >= kCategorical)
            throw std::invalid_argument("Router: arrays of different sizes");
        roots_.assign(node_offsets.data(), node_offsets.data() + n_offsets - 1);
        sets_.assign(category_sets.data(), category_sets.data() + category_sets.size());
        nodes_.reserve(n_nodes);
        leaf_of_.assign(n_nodes, -1);
        for (size_t i = 0; i < n_nodes; ++i) add_node(i, feature.data()[i], threshold.data()[i], missing_left.data()[i],
                                                      right.data()[i], category_set.data()[i]);
        check_structure(node_offsets.data());
        collect_paths(node_offsets.data());
    }

    size_t n_trees() const { return roots_.size(); }

    // (n_rows, n_trees): the leaf each row reaches in each tree.
    nb::ndarray<nb::numpy, int32_t> apply(AnyMatrix x_array, int n_threads) const {
        const StridedMatrix x = checked(x_array);
        std::vector<int32_t> leaves(x.n_rows * n_trees());
        {
            nb::gil_scoped_release release;
            for_blocks(x, n_trees(), n_threads, [&](size_t, size_t row, size_t tree, int32_t leaf) {
                leaves[row * n_trees() + tree] = leaf;
            });
        }
        return to_numpy(std::move(leaves), {x.n_rows, n_trees()});
    }

    // Sums over the first n_trees trees of the reached leaves' values (n_leaves, k), and the features read (n_rows, m).
    // in_bag (n_trees, n_rows): trees to leave out for a row, for out-of-bag estimates.      -> (sums, mask or None)
    nb::tuple evaluate(AnyMatrix x_array, Matrix<double> values, size_t n_trees_used, bool with_mask,
                       std::optional<Matrix<uint8_t>> in_bag, int n_threads) const {
        const StridedMatrix x = checked(x_array);
        const size_t k = values.shape(1), n_used = std::min(n_trees_used, n_trees());
        if (values.shape(0) != n_leaves_ || (in_bag && (in_bag->shape(0) < n_used || in_bag->shape(1) != x.n_rows)))
            throw std::invalid_argument("evaluate: arrays of different sizes");
        const double* value = values.data();
        const uint8_t* skip = in_bag ? in_bag->data() : nullptr;
        std::vector<double> sums(x.n_rows * k, 0);
        std::vector<uint64_t> read(with_mask ? x.n_rows * n_words_ : 0, 0);
        std::vector<uint8_t> mask(with_mask ? x.n_rows * n_features_ : 0, 0);
        {
            nb::gil_scoped_release release;
            for_blocks(x, n_used, n_threads, [&](size_t, size_t row, size_t tree, int32_t leaf) {
                if (skip && skip[tree * x.n_rows + row]) return;
                for (size_t c = 0; c < k; ++c) sums[row * k + c] += value[static_cast<size_t>(leaf) * k + c];
                if (with_mask)
                    for (size_t w = 0; w < n_words_; ++w) read[row * n_words_ + w] |= path(leaf)[w];
            });
            if (with_mask) unpack(read, x.n_rows, n_threads, mask);
        }
        nb::object mask_object = nb::none();
        if (with_mask) mask_object = nb::cast(to_numpy(std::move(mask), {x.n_rows, n_features_}));
        return nb::make_tuple(to_numpy(std::move(sums), {x.n_rows, k}), mask_object);
    }

    // What happens as trees are added, over all rows: weight of the rows with a wrong label after each tree (label:
    // largest sum, the first of equals), and how many rows each tree makes buy a feature or touch a group for the first time.
    //      -> (wrong (n_trees), bought (n_trees, m), touched (n_trees, n_groups))
    nb::tuple by_tree(AnyMatrix x_array, Vector<int32_t> y, Vector<double> weights, Matrix<double> values, Vector<int64_t> group_offsets,
                      Vector<int32_t> group_ids, size_t n_groups, int n_threads) const {
        const StridedMatrix x = checked(x_array);
        const size_t k = values.shape(1), n = x.n_rows;
        if (values.shape(0) != n_leaves_ || y.shape(0) != n || weights.shape(0) != n || group_offsets.shape(0) != n_features_ + 1)
            throw std::invalid_argument("by_tree: arrays of different sizes");
        const int64_t* offsets = group_offsets.data();
        const int32_t* ids = group_ids.data();
        const double* value = values.data();
        const int32_t* label = y.data();
        const double* weight = weights.data();
        const size_t n_blocks = (n + kBlockRows - 1) / kBlockRows, n_parts = std::min<size_t>(n_blocks, static_cast<size_t>(std::max(1, n_threads)));
        struct Totals {
            std::vector<double> wrong;
            std::vector<int64_t> bought, touched;
        };
        std::vector<Totals> parts(std::max<size_t>(1, n_parts));
        {
            nb::gil_scoped_release release;
            std::vector<double> sums(n * k, 0);
            std::vector<uint64_t> read(n * n_words_, 0);
            std::vector<uint8_t> has_group(n * n_groups, 0);
            for (Totals& part : parts) {
                part.wrong.assign(n_trees(), 0);
                part.bought.assign(n_trees() * n_features_, 0);
                part.touched.assign(n_trees() * n_groups, 0);
            }
            for_blocks(x, n_trees(), n_threads, [&](size_t worker, size_t row, size_t tree, int32_t leaf) {
                Totals& total = parts[worker];
                double* sum = sums.data() + row * k;
                for (size_t c = 0; c < k; ++c) sum[c] += value[static_cast<size_t>(leaf) * k + c];
                if (std::max_element(sum, sum + k) - sum != label[row]) total.wrong[tree] += weight[row];
                for (size_t w = 0; w < n_words_; ++w) {
                    uint64_t fresh = path(leaf)[w] & ~read[row * n_words_ + w];
                    read[row * n_words_ + w] |= fresh;
                    for (; fresh; fresh &= fresh - 1) {
                        const size_t f = 64 * w + static_cast<size_t>(__builtin_ctzll(fresh));
                        ++total.bought[tree * n_features_ + f];
                        for (int64_t i = offsets[f]; i < offsets[f + 1]; ++i) {
                            uint8_t& has = has_group[row * n_groups + static_cast<size_t>(ids[i])];
                            total.touched[tree * n_groups + static_cast<size_t>(ids[i])] += !has;
                            has = 1;
                        }
                    }
                }
            });
            for (size_t p = 1; p < parts.size(); ++p) {
                add_to(parts[0].wrong, parts[p].wrong);
                add_to(parts[0].bought, parts[p].bought);
                add_to(parts[0].touched, parts[p].touched);
            }
        }
        return nb::make_tuple(to_numpy(std::move(parts[0].wrong)), to_numpy(std::move(parts[0].bought), {n_trees(), n_features_}),
                              to_numpy(std::move(parts[0].touched), {n_trees(), n_groups}));
    }

  private:
    void add_node(size_t i, int32_t feature, double threshold, bool missing_left, int32_t right, int32_t category_set) {
        if (feature >= static_cast<int32_t>(n_features_)) throw std::invalid_argument("Router: a node reads a feature that does not exist");
        if (feature < 0) {
            if (right < 0 || static_cast<size_t>(right) >= n_leaves_) throw std::invalid_argument("Router: a leaf that does not exist");
            leaf_of_[i] = right;
            nodes_.push_back({std::numeric_limits<double>::quiet_NaN(), static_cast<int32_t>(i), 0});
            return;
        }
        uint32_t packed = static_cast<uint32_t>(feature) | (missing_left ? kMissingLeft : 0);
        if (category_set >= 0) {
            if (static_cast<size_t>(category_set) * 4 + 4 > sets_.size()) throw std::invalid_argument("Router: a set of categories that does not exist");
            packed |= kCategorical;
            threshold = category_set;
            has_categories_ = true;
        }
        nodes_.push_back({threshold, right, packed});
    }

    // Every walk ends: children lie behind their parent and in the same tree.
    void check_structure(const int64_t* offsets) const {
        for (size_t t = 0; t < n_trees(); ++t) {
            if (offsets[t] >= offsets[t + 1] || offsets[t + 1] > static_cast<int64_t>(nodes_.size()))
                throw std::invalid_argument("Router: a tree without nodes");
            for (int64_t i = offsets[t]; i < offsets[t + 1]; ++i) {
                const int64_t right = nodes_[static_cast<size_t>(i)].right;
                if (leaf_of_[static_cast<size_t>(i)] < 0 && (right <= i + 1 || right >= offsets[t + 1]))
                    throw std::invalid_argument("Router: a node whose child is not in its tree");
            }
        }
    }

    // For each leaf the features on the way to it, as bits.
    void collect_paths(const int64_t* offsets) {
        paths_.assign(n_leaves_ * n_words_, 0);
        std::vector<uint64_t> on_path(nodes_.size() * n_words_, 0);
        for (size_t t = 0; t < n_trees(); ++t)
            for (auto i = static_cast<size_t>(offsets[t]); i < static_cast<size_t>(offsets[t + 1]); ++i) {
                const uint64_t* here = on_path.data() + i * n_words_;
                if (leaf_of_[i] >= 0) {
                    std::copy_n(here, n_words_, paths_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(leaf_of_[i]) * n_words_));
                    continue;
                }
                const uint32_t f = nodes_[i].feature_and_flags & kFeature;
                for (const size_t child : {i + 1, static_cast<size_t>(nodes_[i].right)}) {
                    std::copy_n(here, n_words_, on_path.begin() + static_cast<std::ptrdiff_t>(child * n_words_));
                    on_path[child * n_words_ + f / 64] |= uint64_t{1} << (f % 64);
                }
            }
    }

    const uint64_t* path(int32_t leaf) const { return paths_.data() + static_cast<size_t>(leaf) * n_words_; }

    StridedMatrix checked(const AnyMatrix& x) const {
        StridedMatrix matrix(x);
        if (matrix.n_columns != n_features_) throw std::invalid_argument("Router: X has another number of features");
        return matrix;
    }

    bool in_set(double set, double category) const {
        const auto code = static_cast<uint8_t>(category);
        return (sets_[static_cast<size_t>(set) * 4 + (code >> 6)] >> (code & 63)) & 1;
    }

    template <bool missing, bool categories>
    int32_t step(int32_t at, const double* row) const {
        const Node node = nodes_[static_cast<size_t>(at)];
        const double value = row[node.feature_and_flags & kFeature];
        bool left = value <= node.threshold;
        if (categories && (node.feature_and_flags & kCategorical)) left = value == value && in_set(node.threshold, value);
        if (missing) left |= value != value && (node.feature_and_flags & kMissingLeft);
        return left ? at + 1 : node.right;
    }

    template <bool missing, bool categories>
    void walk(const Block& block, size_t first, int32_t root, int32_t (&at)[kLanes] /* OUT */) const {
        for (size_t j = 0; j < kLanes; ++j) at[j] = root;
        for (bool moved = true; moved;) {
            int32_t change = 0;
            for (size_t j = 0; j < kLanes; ++j) {
                const int32_t next = step<missing, categories>(at[j], block.row(first + j));
                change |= next ^ at[j];
                at[j] = next;
            }
            moved = change != 0;
        }
    }

    void walk(const Block& block, size_t first, int32_t root, int32_t (&at)[kLanes]) const {
        if (has_categories_)
            walk<true, true>(block, first, root, at);
        else if (block.has_missing)
            walk<true, false>(block, first, root, at);
        else
            walk<false, false>(block, first, root, at);
    }

    // Calls arrive(worker, row, tree, leaf) for every row and tree; all calls for one row come from one worker, in tree order.
    template <class Arrive>
    void for_blocks(const StridedMatrix& x, size_t n_used, int n_threads, Arrive&& arrive) const {
        const size_t n_blocks = (x.n_rows + kBlockRows - 1) / kBlockRows;
        const size_t n_workers = std::min(n_blocks, static_cast<size_t>(std::max(1, n_threads)));
        std::atomic<size_t> next{0};
        parallel_for(n_workers, static_cast<int>(n_workers), [&](size_t worker) {
            Block block(n_features_);
            int32_t at[kLanes];
            for (size_t b = next++; b < n_blocks; b = next++) {
                const size_t begin = b * kBlockRows, end = std::min(x.n_rows, begin + kBlockRows);
                block.read(x, begin, end);
                for (size_t tree = 0; tree < n_used; ++tree)
                    for (size_t i = 0; i < end - begin; i += kLanes) {
                        walk(block, i, static_cast<int32_t>(roots_[tree]), at);
                        for (size_t j = 0; j < std::min(kLanes, end - begin - i); ++j)
                            arrive(worker, begin + i + j, tree, leaf_of_[static_cast<size_t>(at[j])]);
                    }
            }
        });
    }

    void unpack(const std::vector<uint64_t>& read, size_t n_rows, int n_threads, std::vector<uint8_t>& mask) const {
        constexpr size_t rows_per_task = 4096;
        parallel_for((n_rows + rows_per_task - 1) / rows_per_task, n_threads, [&](size_t task) {
            for (size_t row = task * rows_per_task; row < std::min(n_rows, (task + 1) * rows_per_task); ++row)
                for (size_t f = 0; f < n_features_; ++f)
                    mask[row * n_features_ + f] = (read[row * n_words_ + f / 64] >> (f % 64)) & 1;
        });
    }

    template <class T>
    static void add_to(std::vector<T>& total, const std::vector<T>& part) {
        for (size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }

    size_t n_features_, n_words_, n_leaves_;
    std::vector<int64_t> roots_;
    std::vector<uint64_t> sets_;
    std::vector<Node> nodes_;
    std::vector<int32_t> leaf_of_;
    std::vector<uint64_t> paths_;  // (n_leaves, n_words)
    bool has_categories_ = false;
};

// Counts of every node: of a leaf as given, of an inner node the sum over its children, which lie behind it.
nb::ndarray<nb::numpy, double> node_counts(Vector<int32_t> feature, Vector<int32_t> right, Matrix<double> leaf_counts) {
    const size_t n = feature.shape(0), k = leaf_counts.shape(1);
    std::vector<double> counts(n * k);
    for (size_t i = n; i-- > 0;) {
        const auto other = static_cast<size_t>(right.data()[i]);
        for (size_t c = 0; c < k; ++c)
            counts[i * k + c] = feature.data()[i] < 0 ? leaf_counts.data()[other * k + c] : counts[(i + 1) * k + c] + counts[other * k + c];
    }
    return to_numpy(std::move(counts), {n, k});
}

}  // namespace

void bind_routing(nb::module_& m) {
    m.def("node_counts", &node_counts, nb::arg("feature"), nb::arg("right"), nb::arg("leaf_counts"));
    nb::class_<Router>(m, "Router")
        .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<uint8_t>, Vector<int32_t>, Vector<int32_t>,
                      Matrix<uint64_t>, int64_t, size_t>(),
             nb::arg("node_offsets"), nb::arg("feature"), nb::arg("threshold"), nb::arg("missing_left"), nb::arg("right"),
             nb::arg("category_set"), nb::arg("category_sets"), nb::arg("n_leaves"), nb::arg("n_features"))
        .def("apply", &Router::apply, nb::arg("x"), nb::arg("n_threads") = 1)
        .def("evaluate", &Router::evaluate, nb::arg("x"), nb::arg("values"), nb::arg("n_trees"), nb::arg("with_mask"),
             nb::arg("in_bag").none() = nb::none(), nb::arg("n_threads") = 1)
        .def("by_tree", &Router::by_tree, nb::arg("x"), nb::arg("y"), nb::arg("weights"), nb::arg("values"), nb::arg("group_offsets"),
             nb::arg("group_ids"), nb::arg("n_groups"), nb::arg("n_threads") = 1);
}

}  // namespace frugal
