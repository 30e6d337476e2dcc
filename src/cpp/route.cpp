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

constexpr size_t kMostBlockRows = 16384;  // rows that walk one tree after the other, so that a tree is fetched once for all
constexpr size_t kLanes = 8;        // rows walked side by side: one waits for memory while the others go on

// A value is compared as the number of the feature's own thresholds below it, so that x <= threshold[j] iff code(x) <= j. Codes
// are small, and a block of rows and a tree fit the cache together: this is three times as fast as comparing doubles.
using Code = uint16_t;
constexpr Code kMissingCode = 0xFFFF;  // larger than every limit, and + 1 wraps to 0

// 8 bytes, since deep forests are larger than the cache. A row goes left, to the next node, if Code(code + shift) <= limit, with
// shift 1 where missing goes left; else it goes `right` nodes ahead. A leaf has right 0.
struct Node {
    uint64_t right : 24, feature : 20, limit : 18, missing_left : 1, is_categorical : 1;
};
static_assert(sizeof(Node) == 8);
constexpr size_t kMostFeatures = size_t{1} << 20, kMostNodes = size_t{1} << 24;  // of a tree

// Codes of a block of rows, one row behind the other.
struct Block {
    size_t n_features;
    std::vector<Code> codes;
    Block(size_t n_rows, size_t m) : n_features(m), codes(n_rows * m, 0) {}
    const Code* row(size_t i) const { return codes.data() + i * n_features; }
};

// Values of leaves (n_leaves, k). Most leaves of deep trees are pure: their row is one 1 among zeros, and adding it means
// counting one vote, without reading the row. `as_float` rounds every sum to float32, as XGBoost adds (rounding an exact double
// sum of two floats once more is harmless: 53 >= 2 * 24 + 2 bits).
class LeafValues {
  public:
    explicit LeafValues(const Matrix<double>& values, bool as_float = false)
        : values_(values.data()), k_(values.shape(1)), as_float_(as_float), vote_(values.shape(0), -1) {
        for (size_t leaf = 0; leaf < vote_.size(); ++leaf) {
            const double* row = values_ + leaf * k_;
            const auto zeros = static_cast<size_t>(std::count(row, row + k_, 0.0));
            const double* one = std::find(row, row + k_, 1.0);
            if (k_ > 0 && zeros + 1 == k_ && one < row + k_) vote_[leaf] = static_cast<int32_t>(one - row);
        }
    }

    void add(int32_t leaf, double* sums) const {
        const int32_t vote = vote_[static_cast<size_t>(leaf)];
        if (vote >= 0) {
            sums[vote] += 1;
            return;
        }
        const double* row = values_ + static_cast<size_t>(leaf) * k_;
        if (as_float_)
            for (size_t c = 0; c < k_; ++c) sums[c] = static_cast<double>(static_cast<float>(sums[c] + row[c]));
        else
            for (size_t c = 0; c < k_; ++c) sums[c] += row[c];
    }

  private:
    const double* values_;
    size_t k_;
    bool as_float_;
    std::vector<int32_t> vote_;
};

class Router {
  public:
    Router(Vector<int64_t> node_offsets, Vector<int32_t> feature, Vector<double> threshold, Vector<uint8_t> missing_left,
           Vector<int32_t> right, Vector<int32_t> category_set, Matrix<uint64_t> category_sets, int64_t n_leaves, size_t n_features)
        : n_features_(n_features), n_words_((n_features + 63) / 64), n_leaves_(static_cast<size_t>(n_leaves)) {
        const size_t n_nodes = feature.shape(0), n_offsets = node_offsets.shape(0);
        if (n_offsets == 0 || node_offsets.data()[0] != 0 || node_offsets.data()[n_offsets - 1] != static_cast<int64_t>(n_nodes) ||
            threshold.shape(0) != n_nodes || missing_left.shape(0) != n_nodes || right.shape(0) != n_nodes ||
            category_set.shape(0) != n_nodes || category_sets.shape(1) >= kMissingCode / 64 || n_features >= kMostFeatures)
            throw std::invalid_argument("Router: arrays of different sizes");
        set_words_ = category_sets.shape(1);
        roots_.assign(node_offsets.data(), node_offsets.data() + n_offsets - 1);
        sets_.assign(category_sets.data(), category_sets.data() + category_sets.size());
        nodes_.reserve(n_nodes);
        leaf_of_.assign(n_nodes, -1);
        set_of_.assign(category_set.data(), category_set.data() + n_nodes);
        for (size_t i = 0; i < n_nodes; ++i) add_node(i, feature.data()[i], threshold.data()[i], missing_left.data()[i],
                                                      right.data()[i], category_set.data()[i]);
        check_structure(node_offsets.data());
        number_thresholds(feature.data(), threshold.data(), category_set.data());
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

    // Sums over the first n_trees trees of the reached leaves' values (n_leaves, k), in tree order from `base` (k) or 0 on, and the
    // features read (n_rows, m).
    // in_bag (n_trees, n_rows): trees to leave out for a row, for out-of-bag estimates.      -> (sums, mask or None)
    nb::tuple evaluate(AnyMatrix x_array, Matrix<double> values, size_t n_trees_used, bool with_mask,
                       std::optional<Matrix<uint8_t>> in_bag, int n_threads, std::optional<Vector<double>> base, bool as_float) const {
        const StridedMatrix x = checked(x_array);
        const size_t k = values.shape(1), n_used = std::min(n_trees_used, n_trees());
        if (values.shape(0) != n_leaves_ || (in_bag && (in_bag->shape(0) < n_used || in_bag->shape(1) != x.n_rows)) ||
            (base && base->shape(0) != k))
            throw std::invalid_argument("evaluate: arrays of different sizes");
        const LeafValues value(values, as_float);
        const uint8_t* skip = in_bag ? in_bag->data() : nullptr;
        std::vector<double> sums(x.n_rows * k, 0);
        if (base)
            for (size_t i = 0; i < sums.size(); ++i) sums[i] = base->data()[i % k];
        std::vector<uint64_t> read(with_mask ? x.n_rows * n_words_ : 0, 0);
        std::vector<uint8_t> mask(with_mask ? x.n_rows * n_features_ : 0, 0);
        {
            nb::gil_scoped_release release;
            for_blocks(x, n_used, n_threads, [&](size_t, size_t row, size_t tree, int32_t leaf) {
                if (skip && skip[tree * x.n_rows + row]) return;
                value.add(leaf, sums.data() + row * k);
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
        const LeafValues value(values);
        const int32_t* label = y.data();
        const double* weight = weights.data();
        const size_t n_parts = count_workers(n, n_threads);
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
                value.add(leaf, sum);
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
            nodes_.push_back({});
            return;
        }
        const int64_t ahead = right - static_cast<int64_t>(i);  // check_structure() has the last word
        if (ahead < 2 || ahead >= static_cast<int64_t>(kMostNodes)) throw std::invalid_argument("Router: a node whose child is not in its tree");
        Node node{};
        node.right = static_cast<uint64_t>(ahead);
        node.feature = static_cast<uint64_t>(feature);
        node.missing_left = missing_left;
        if (category_set >= 0) {
            if ((static_cast<size_t>(category_set) + 1) * set_words_ > sets_.size()) throw std::invalid_argument("Router: a set of categories that does not exist");
            node.is_categorical = 1;
            has_categories_ = true;
        } else if (std::isnan(threshold)) {
            throw std::invalid_argument("Router: a threshold that is not a number");
        }
        nodes_.push_back(node);
    }

    // Sorts the thresholds of each feature and gives every node the number of its own.
    void number_thresholds(const int32_t* feature, const double* threshold, const int32_t* category_set) {
        thresholds_.resize(n_features_);
        is_category_.assign(n_features_, 0);
        for (size_t i = 0; i < nodes_.size(); ++i) {
            if (feature[i] < 0) continue;
            if (category_set[i] >= 0)
                is_category_[static_cast<size_t>(feature[i])] = 1;
            else
                thresholds_[static_cast<size_t>(feature[i])].push_back(threshold[i]);
        }
        for (size_t f = 0; f < n_features_; ++f) {
            std::vector<double>& own = thresholds_[f];
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            if (own.size() >= kMissingCode - 1) throw std::length_error("Router: a feature has more than 65,533 thresholds");
            if (is_category_[f] && !own.empty()) throw std::invalid_argument("Router: a feature that is numeric and categorical");
            own.resize(padded_size(own.size()), std::numeric_limits<double>::infinity());
        }
        for (size_t i = 0; i < nodes_.size(); ++i) {
            if (feature[i] < 0 || category_set[i] >= 0) continue;
            const std::vector<double>& own = thresholds_[static_cast<size_t>(feature[i])];
            const auto place = std::lower_bound(own.begin(), own.end(), threshold[i]) - own.begin();
            nodes_[i].limit = static_cast<uint64_t>(place) + nodes_[i].missing_left;
        }
    }

    // The least 2^b - 1 that is not smaller: a search of b halvings then needs no bounds.
    static size_t padded_size(size_t n) {
        size_t size = 0;
        while (size < n) size = 2 * size + 1;
        return size;
    }

    // Every walk ends: children lie behind their parent and in the same tree.
    void check_structure(const int64_t* offsets) const {
        for (size_t t = 0; t < n_trees(); ++t) {
            if (offsets[t] >= offsets[t + 1] || offsets[t + 1] > static_cast<int64_t>(nodes_.size()))
                throw std::invalid_argument("Router: a tree without nodes");
            for (int64_t i = offsets[t]; i < offsets[t + 1]; ++i) {
                const int64_t right = i + static_cast<int64_t>(nodes_[static_cast<size_t>(i)].right);
                if (leaf_of_[static_cast<size_t>(i)] < 0 && right >= offsets[t + 1])
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
                const size_t f = nodes_[i].feature;
                for (const size_t child : {i + 1, i + static_cast<size_t>(nodes_[i].right)}) {
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

    // Codes of a block: the number of thresholds below each value, several rows at a time so that searches overlap.
    template <class T>
    void read_block(const StridedMatrix& x, size_t begin, size_t end, Block& block /* OUT */) const {
        for (size_t f = 0; f < n_features_; ++f) {
            if (is_category_[f])
                read_categories<T>(x, begin, end, f, block);
            else if (!thresholds_[f].empty())
                read_numbers<T>(x, begin, end, f, block);
        }
    }

    template <class T>
    void read_numbers(const StridedMatrix& x, size_t begin, size_t end, size_t f, Block& block) const {
        const double* own = thresholds_[f].data();
        double value[kLanes] = {};
        for (size_t i = begin; i < end; i += kLanes) {
            const size_t n = std::min(kLanes, end - i);
            for (size_t j = 0; j < n; ++j) value[j] = static_cast<double>(x.at<T>(i + j, f));
            uint32_t found[kLanes] = {};
            for (uint32_t half = (static_cast<uint32_t>(thresholds_[f].size()) + 1) / 2; half; half /= 2)
                for (size_t j = 0; j < kLanes; ++j) found[j] += own[found[j] + half - 1] < value[j] ? half : 0;
            for (size_t j = 0; j < n; ++j)
                block.codes[(i + j - begin) * n_features_ + f] = value[j] == value[j] ? static_cast<Code>(found[j]) : kMissingCode;
        }
    }

    template <class T>
    void read_categories(const StridedMatrix& x, size_t begin, size_t end, size_t f, Block& block) const {
        for (size_t i = begin; i < end; ++i) {
            const auto value = static_cast<double>(x.at<T>(i, f));
            const bool known = value >= 0 && value < static_cast<double>(64 * set_words_);  // anything else is missing
            block.codes[(i - begin) * n_features_ + f] = known ? static_cast<Code>(value) : kMissingCode;
        }
    }

    bool in_set(size_t node, Code category) const {
        return (sets_[static_cast<size_t>(set_of_[node]) * set_words_ + (category >> 6)] >> (category & 63)) & 1;
    }

    template <bool categories>
    uint32_t step(uint32_t at, Node node, const Code* row) const {
        const Code code = row[node.feature];
        bool left = static_cast<Code>(code + node.missing_left) <= node.limit;
        if (categories && node.is_categorical) left = code == kMissingCode ? node.missing_left : in_set(at, code);
        return at + (left ? 1 : static_cast<uint32_t>(node.right));
    }

    // Walks n rows through one tree, several at a time; one that arrives makes room for the next.   OUT leaves (n)
    template <bool categories>
    void walk(const Block& block, size_t n, uint32_t root, int32_t* leaves) const {
        struct Walker {
            const Code* row;
            uint32_t at, number;
        };
        Walker walkers[kLanes];
        size_t n_walking = std::min(n, kLanes);
        for (uint32_t i = 0; i < n_walking; ++i) walkers[i] = {block.row(i), root, i};
        auto next = static_cast<uint32_t>(n_walking);
        while (n_walking > 0)
            for (size_t j = 0; j < n_walking; ++j) {
                Walker& walker = walkers[j];
                const Node node = nodes_[walker.at];
                if (node.right) {
                    walker.at = step<categories>(walker.at, node, walker.row);
                    continue;
                }
                leaves[walker.number] = leaf_of_[walker.at];
                if (next < n) {
                    walker = {block.row(next), root, next};
                    ++next;
                } else {
                    walker = walkers[--n_walking];
                }
            }
    }

    static size_t rows_of_a_block(size_t n_rows, int n_threads) {
        const auto threads = static_cast<size_t>(std::max(1, n_threads));
        return std::clamp<size_t>((n_rows + threads - 1) / threads, 1, kMostBlockRows);
    }

    static size_t count_workers(size_t n_rows, int n_threads) {
        const size_t rows = rows_of_a_block(n_rows, n_threads);
        return std::min((n_rows + rows - 1) / rows, static_cast<size_t>(std::max(1, n_threads)));
    }

    // Calls arrive(worker, row, tree, leaf) for every row and tree; all calls for one row come from one worker, in tree order.
    template <class Arrive>
    void for_blocks(const StridedMatrix& x, size_t n_used, int n_threads, Arrive&& arrive) const {
        const size_t block_rows = rows_of_a_block(x.n_rows, n_threads);
        const size_t n_blocks = (x.n_rows + block_rows - 1) / block_rows, n_workers = count_workers(x.n_rows, n_threads);
        std::atomic<size_t> next{0};
        parallel_for(n_workers, static_cast<int>(n_workers), [&](size_t worker) {
            Block block(block_rows, n_features_);
            std::vector<int32_t> leaves(block_rows);
            for (size_t b = next++; b < n_blocks; b = next++) {
                const size_t begin = b * block_rows, n = std::min(x.n_rows - begin, block_rows);
                x.with_type([&](auto type) { read_block<decltype(type)>(x, begin, begin + n, block); });
                for (size_t tree = 0; tree < n_used; ++tree) {
                    if (has_categories_)
                        walk<true>(block, n, static_cast<uint32_t>(roots_[tree]), leaves.data());
                    else
                        walk<false>(block, n, static_cast<uint32_t>(roots_[tree]), leaves.data());
                    for (size_t i = 0; i < n; ++i) arrive(worker, begin + i, tree, leaves[i]);
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

    size_t n_features_, n_words_, n_leaves_, set_words_ = 0;
    std::vector<int64_t> roots_;
    std::vector<uint64_t> sets_;
    std::vector<Node> nodes_;
    std::vector<int32_t> leaf_of_, set_of_;  // of each node: its leaf or its set of categories, or -1
    std::vector<uint64_t> paths_;  // (n_leaves, n_words)
    std::vector<std::vector<double>> thresholds_;  // of each feature, sorted, padded with infinity to 2^b - 1
    std::vector<uint8_t> is_category_;
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
             nb::arg("in_bag").none() = nb::none(), nb::arg("n_threads") = 1, nb::arg("base").none() = nb::none(),
             nb::arg("as_float") = false)
        .def("by_tree", &Router::by_tree, nb::arg("x"), nb::arg("y"), nb::arg("weights"), nb::arg("values"), nb::arg("group_offsets"),
             nb::arg("group_ids"), nb::arg("n_groups"), nb::arg("n_threads") = 1);
}

}  // namespace frugal
