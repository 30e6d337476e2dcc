// Sends rows through a forest: leaves, sums over leaves, what each row reads, and how all of it grows tree by tree.
#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "block_sums.hpp"
#include "coded_trees.hpp"
#include "columns.hpp"
#include "growing_array.hpp"
#include "kernels.hpp"
#include "leaf_values.hpp"
#include "parallel.hpp"

namespace frugal {
namespace {

// Codes, sums and bits of a block's rows best stay in the second-level cache while they go through all trees; but visiting a
// node for a handful of rows costs more than a cache miss.
constexpr size_t kBlockBytes = size_t{1} << 19, kRowsPerNode = 3;

// What a worker does with the rows of its blocks. All calls for one row come from one worker, in tree order.
struct BlockVisitor {
    size_t begin = 0;  // the block's first row
    void start(size_t first, size_t /* n */) { begin = first; }
    void end_tree(size_t /* tree */) {}
    void finish() {}
};

class Router {
  public:
    Router(Vector<int64_t> node_offsets, Vector<int32_t> feature, Vector<double> threshold, Vector<uint8_t> missing_left,
           Vector<int32_t> right, std::optional<Vector<int32_t>> category_set, Matrix<uint64_t> category_sets, int64_t n_leaves, size_t n_features,
           const std::string& isa)
        : kernels_(find_kernels(isa.c_str())), n_features_(n_features), n_words_((n_features + 63) / 64), n_leaves_(static_cast<size_t>(n_leaves)), n_nodes_(feature.shape(0)) {
        if (!kernels_) throw std::invalid_argument("this machine cannot run the instruction set '" + isa + "'");
        const size_t n_nodes = feature.shape(0), n_offsets = node_offsets.shape(0);
        if (n_offsets == 0 || node_offsets.data()[0] != 0 || node_offsets.data()[n_offsets - 1] != static_cast<int64_t>(n_nodes) ||
            threshold.shape(0) != n_nodes || missing_left.shape(0) != n_nodes || right.shape(0) != n_nodes ||
            (category_set && category_set->shape(0) != n_nodes) || category_sets.shape(1) >= kMostSetWords || n_features >= kMostFeatures)
            throw std::invalid_argument("Router: arrays of different sizes");
        const TreeArrays trees{n_nodes,           n_features,          feature.data(),          threshold.data(),
                               missing_left.data(), right.data(),        category_set ? category_set->data() : nullptr, category_sets.data(),
                               category_sets.shape(0), category_sets.shape(1)};
        check_trees(trees, node_offsets.data(), n_offsets - 1);
        check_kinds(trees);
        roots_.assign(node_offsets.data(), node_offsets.data() + n_offsets - 1);
        choose_codes(trees);
    }

    size_t n_trees() const { return roots_.size(); }

    // (n_rows, n_trees): the leaf each row reaches in each tree.
    nb::ndarray<nb::numpy, int32_t> apply(AnyMatrix x_array, int n_threads) const {
        const StridedMatrix x = checked(x_array);
        std::vector<int32_t> leaves(x.n_rows * n_trees());
        struct Visitor : BlockVisitor {
            int32_t* leaves;
            size_t n_trees;
            void arrive(size_t tree, int32_t leaf, const BlockRow* rows, size_t n, const uint64_t*) {
                for (size_t i = 0; i < n; ++i) leaves[(begin + rows[i]) * n_trees + tree] = leaf;
            }
        };
        {
            nb::gil_scoped_release release;
            const Work work = plan_work(x.n_rows, 4 * n_trees(), n_threads);
            for_blocks(x, n_trees(), work, [&](size_t) { return Visitor{{}, leaves.data(), n_trees()}; });
        }
        return to_numpy(std::move(leaves), {x.n_rows, n_trees()});
    }

    // Sums over the first n_trees trees of the reached leaves' values (n_leaves, k), in tree order from `base` (k) or 0 on, and the
    // features read (n_rows, m). as_votes: a leaf adds 1 to the class of its largest value, the first of equals.
    // in_bag (n_trees, n_rows): trees to leave out for a row, for out-of-bag estimates.      -> (sums, mask or None)
    nb::tuple evaluate(AnyMatrix x_array, Matrix<double> values, size_t n_trees_used, bool with_mask,
                       std::optional<Matrix<uint8_t>> in_bag, int n_threads, std::optional<Vector<double>> base, bool as_float,
                       bool as_votes) const {
        const StridedMatrix x = checked(x_array);
        const size_t k = values.shape(1), n_used = std::min(n_trees_used, n_trees());
        if (values.shape(0) != n_leaves_ || (in_bag && (in_bag->shape(0) < n_used || in_bag->shape(1) != x.n_rows)) ||
            (base && base->shape(0) != k))
            throw std::invalid_argument("evaluate: arrays of different sizes");
        const LeafValues value(values, as_votes ? Adding::votes : as_float ? Adding::floats : Adding::values, x.n_rows * n_used);
        GrowingArray<double> sums;
        GrowingArray<uint8_t> mask;
        const RowSums asked{value,
                            base ? base->data() : nullptr,
                            in_bag ? in_bag->data() : nullptr,
                            x.n_rows,
                            n_features_,
                            n_used,
                            sums.extend(x.n_rows * k),
                            with_mask ? mask.extend(x.n_rows * n_features_) : nullptr};
        {
            nb::gil_scoped_release release;
            const Work work = plan_work(x.n_rows, 8 * (k + n_words_), n_threads);
            for_blocks(x, n_used, work, [&](size_t) { return BlockSums(asked, work.block_rows, n_words_); });
        }
        nb::object mask_object = nb::none();
        if (with_mask) mask_object = nb::cast(std::move(mask).to_numpy({x.n_rows, n_features_}));
        return nb::make_tuple(std::move(sums).to_numpy({x.n_rows, k}), mask_object);
    }

    // What happens as trees are added, over all rows: weight of the rows with a wrong label after each tree (label:
    // largest sum, the first of equals), and how many rows each tree makes buy a feature or touch a group for the first time.
    //      -> (wrong (n_trees), bought (n_trees, m), touched (n_trees, n_groups))
    nb::tuple by_tree(AnyMatrix x_array, Vector<int32_t> y, Vector<double> weights, Matrix<double> values, Vector<int64_t> group_offsets,
                      Vector<int32_t> group_ids, size_t n_groups, int n_threads, bool as_votes) const {
        const StridedMatrix x = checked(x_array);
        const size_t k = values.shape(1), n = x.n_rows;
        if (values.shape(0) != n_leaves_ || y.shape(0) != n || weights.shape(0) != n || group_offsets.shape(0) != n_features_ + 1)
            throw std::invalid_argument("by_tree: arrays of different sizes");
        const int64_t* offsets = group_offsets.data();
        const int32_t* ids = group_ids.data();
        const LeafValues value(values, as_votes ? Adding::votes : Adding::values, n * n_trees());
        const int32_t* label = y.data();
        const double* weight = weights.data();
        const Work work = plan_work(n, 8 * (k + n_words_) + n_groups, n_threads);
        struct Totals {
            std::vector<double> wrong;
            std::vector<int64_t> bought, touched;
        };
        std::vector<Totals> parts(std::max<size_t>(1, work.n_workers));
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
            const auto buy = [&](Totals& total, size_t tree, size_t row, size_t f) {
                ++total.bought[tree * n_features_ + f];
                for (int64_t i = offsets[f]; i < offsets[f + 1]; ++i) {
                    uint8_t& has = has_group[row * n_groups + static_cast<size_t>(ids[i])];
                    total.touched[tree * n_groups + static_cast<size_t>(ids[i])] += !has;
                    has = 1;
                }
            };
            const auto pass = [&](Totals& total, size_t tree, size_t row, int32_t leaf, const uint64_t* path) {
                double* sum = sums.data() + row * k;
                value.add_vote_or_values(leaf, sum);
                if (std::max_element(sum, sum + k) - sum != label[row]) total.wrong[tree] += weight[row];
                for (size_t w = 0; w < n_words_; ++w) {
                    uint64_t fresh = path[w] & ~read[row * n_words_ + w];
                    read[row * n_words_ + w] |= fresh;
                    for (; fresh; fresh &= fresh - 1) buy(total, tree, row, 64 * w + static_cast<size_t>(__builtin_ctzll(fresh)));
                }
            };
            struct Visitor : BlockVisitor {
                Totals& total;
                const decltype(pass)& pass_on;
                void arrive(size_t tree, int32_t leaf, const BlockRow* rows, size_t n_arrived, const uint64_t* path) {
                    for (size_t i = 0; i < n_arrived; ++i) pass_on(total, tree, begin + rows[i], leaf, path);
                }
            };
            for_blocks(x, n_trees(), work, [&](size_t worker) { return Visitor{{}, parts[worker], pass}; });
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
    static constexpr size_t kMostFeatures = (size_t{1} << 30) - 1, kMostSetWords = 1023;

    // Every walk ends, and at a leaf that exists: children lie behind their parent and in the same tree.
    void check_trees(const TreeArrays& trees, const int64_t* offsets, size_t n_trees) const {
        for (size_t t = 0; t < n_trees; ++t) {
            if (offsets[t] >= offsets[t + 1] || offsets[t + 1] > static_cast<int64_t>(trees.n_nodes))
                throw std::invalid_argument("Router: a tree without nodes");
            for (int64_t i = offsets[t]; i < offsets[t + 1]; ++i) check_node(trees, i, offsets[t + 1]);
        }
    }

    void check_node(const TreeArrays& trees, int64_t i, int64_t tree_end) const {
        const int64_t feature = trees.feature[i], right = trees.right[i];
        if (feature < 0) {
            if (right < 0 || right >= static_cast<int64_t>(n_leaves_)) throw std::invalid_argument("Router: a leaf that does not exist");
            return;
        }
        if (feature >= static_cast<int64_t>(n_features_)) throw std::invalid_argument("Router: a node reads a feature that does not exist");
        if (right < i + 2 || right >= tree_end) throw std::invalid_argument("Router: a node whose child is not in its tree");
        if (trees.set_of(static_cast<size_t>(i)) >= static_cast<int64_t>(trees.n_sets))
            throw std::invalid_argument("Router: a set of categories that does not exist");
        if (trees.set_of(static_cast<size_t>(i)) < 0 && std::isnan(trees.threshold[i]))
            throw std::invalid_argument("Router: a threshold that is not a number");
    }

    void check_kinds(const TreeArrays& trees) const {
        std::vector<uint8_t> kinds(n_features_, 0);  // bit 0: some node compares it, bit 1: some node looks it up
        for (size_t i = 0; i < trees.n_nodes; ++i)
            if (trees.feature[i] >= 0) kinds[static_cast<size_t>(trees.feature[i])] |= trees.set_of(i) < 0 ? 1 : 2;
        if (std::find(kinds.begin(), kinds.end(), 3) != kinds.end())
            throw std::invalid_argument("Router: a feature that is numeric and categorical");
    }

    // Forests grown from bins fit bytes; those of other libraries may have a threshold for every value.
    void choose_codes(const TreeArrays& trees) {
        std::vector<ThresholdRanks> ranks = collect_thresholds(trees);
        Thresholds thresholds(n_features_);
        for (size_t f = 0; f < n_features_; ++f) thresholds[f] = ranks[f].sort();
        const size_t largest = largest_code(trees, thresholds);
        if (CodedTrees<uint8_t>::can_hold(largest))
            trees_.emplace<CodedTrees<uint8_t>>(trees, ranks, std::move(thresholds));
        else if (CodedTrees<uint16_t>::can_hold(largest))
            trees_.emplace<CodedTrees<uint16_t>>(trees, ranks, std::move(thresholds));
        else
            trees_.emplace<CodedTrees<uint32_t>>(trees, ranks, std::move(thresholds));
    }

    StridedMatrix checked(const AnyMatrix& x) const {
        StridedMatrix matrix(x);
        if (matrix.n_columns != n_features_) throw std::invalid_argument("Router: X has another number of features");
        return matrix;
    }

    // How rows are dealt out.
    struct Work {
        size_t n_rows, block_rows, n_blocks, n_workers;
    };

    // row_bytes: what is kept per row besides its codes. Every worker gets as many blocks as the others.
    Work plan_work(size_t n_rows, size_t row_bytes, int n_threads) const {
        const auto threads = static_cast<size_t>(std::max(1, n_threads));
        const size_t enough = std::max(kBlockBytes / (n_features_ + row_bytes + 1), kRowsPerNode * n_nodes_ / std::max<size_t>(1, n_trees()));
        const size_t most = std::clamp<size_t>(enough, 1024, kMostBlockRows);
        const size_t rounds = (n_rows + threads * most - 1) / (threads * most);
        const size_t block_rows = std::max<size_t>(1, rounds ? (n_rows + threads * rounds - 1) / (threads * rounds) : 1);
        const size_t n_blocks = (n_rows + block_rows - 1) / block_rows;
        return {n_rows, block_rows, n_blocks, std::min(n_blocks, threads)};
    }

    // Sends every block through the trees. make_visitor(worker): whoever looks on (see BlockVisitor), and whose
    // arrive(tree, leaf, rows, n_rows, path) is called for every tree and leaf; path: bits of the features read on the way.
    template <class MakeVisitor>
    void for_blocks(const StridedMatrix& x, size_t n_used, const Work& work, MakeVisitor&& make_visitor) const {
        std::visit([&](const auto& trees) { send(trees, x, n_used, work, make_visitor); }, trees_);
    }

    template <class Trees, class MakeVisitor>
    void send(const Trees& trees, const StridedMatrix& x, size_t n_used, const Work& work, MakeVisitor& make_visitor) const {
        std::atomic<size_t> next{0};
        parallel_for(work.n_workers, static_cast<int>(work.n_workers), [&](size_t worker) {
            typename Trees::Workspace block(work.block_rows, n_features_, n_words_);
            auto visitor = make_visitor(worker);
            for (size_t b = next++; b < work.n_blocks; b = next++) {
                const size_t begin = b * work.block_rows, n = std::min(work.n_rows - begin, work.block_rows);
                trees.read(x, begin, n, *kernels_, block);
                visitor.start(begin, n);
                for (size_t tree = 0; tree < n_used; ++tree) {
                    trees.walk(block, n, static_cast<uint32_t>(roots_[tree]), *kernels_,
                               [&](int32_t leaf, const BlockRow* rows, size_t n_arrived, const uint64_t* path) {
                                   visitor.arrive(tree, leaf, rows, n_arrived, path);
                               });
                    visitor.end_tree(tree);
                }
                visitor.finish();
            }
        });
    }

    template <class T>
    static void add_to(std::vector<T>& total, const std::vector<T>& part) {
        for (size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }

    const Kernels* kernels_;
    size_t n_features_, n_words_, n_leaves_, n_nodes_;
    std::vector<int64_t> roots_;
    std::variant<CodedTrees<uint8_t>, CodedTrees<uint16_t>, CodedTrees<uint32_t>> trees_;
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
        .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<uint8_t>, Vector<int32_t>,
                      std::optional<Vector<int32_t>>,
                      Matrix<uint64_t>, int64_t, size_t, const std::string&>(),
             nb::arg("node_offsets"), nb::arg("feature"), nb::arg("threshold"), nb::arg("missing_left"), nb::arg("right"),
             nb::arg("category_set").none(), nb::arg("category_sets"), nb::arg("n_leaves"), nb::arg("n_features"), nb::arg("isa") = "auto")
        .def("apply", &Router::apply, nb::arg("x"), nb::arg("n_threads") = 1)
        .def("evaluate", &Router::evaluate, nb::arg("x"), nb::arg("values"), nb::arg("n_trees"), nb::arg("with_mask"),
             nb::arg("in_bag").none() = nb::none(), nb::arg("n_threads") = 1, nb::arg("base").none() = nb::none(),
             nb::arg("as_float") = false, nb::arg("as_votes") = false)
        .def("by_tree", &Router::by_tree, nb::arg("x"), nb::arg("y"), nb::arg("weights"), nb::arg("values"), nb::arg("group_offsets"),
             nb::arg("group_ids"), nb::arg("n_groups"), nb::arg("n_threads") = 1, nb::arg("as_votes") = false);
}

}  // namespace frugal
