// Gradient boosting with feature costs: rounds of trees, what rows have paid, and rows that watch.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "boost_grow.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace frugal {
namespace {

// Binned rows. Arrays are kept alive, not copied; the codes by row are made when trees are first grown from them.
class BoostRows {
  public:
    BoostRows(Matrix<uint8_t> codes, Vector<int32_t> n_bins, Vector<uint8_t> is_categorical)
        : codes_(codes), n_bins_(n_bins), is_categorical_(is_categorical) {
        if (n_bins.shape(0) != codes.shape(0) || is_categorical.shape(0) != codes.shape(0) || codes.shape(1) >= 0xFFFFFFF0u)
            throw std::invalid_argument("BoostRows: arrays of different sizes");
        table = {codes.shape(1), codes.shape(0), codes.data(), n_bins.data(), is_categorical.data()};
    }

    const RowCodes& by_row(int n_threads) {
        if (!by_row_) by_row_ = std::make_unique<RowCodes>(table, n_threads);
        return *by_row_;
    }

    CodeTable table;

  private:
    Matrix<uint8_t> codes_;
    Vector<int32_t> n_bins_;
    Vector<uint8_t> is_categorical_;
    std::unique_ptr<RowCodes> by_row_;
};

// What features and groups cost, and which features belong to which groups, as growing/params.py lists them.
class PriceList {
  public:
    PriceList(Vector<double> own, Vector<double> shared, Vector<int64_t> offsets, Vector<int32_t> ids)
        : own_(own.data(), own.data() + own.shape(0)), shared_(shared.data(), shared.data() + shared.shape(0)),
          offsets_(offsets.data(), offsets.data() + offsets.shape(0)), ids_(ids.data(), ids.data() + ids.shape(0)) {
        if (offsets.shape(0) != own.shape(0) + 1) throw std::invalid_argument("PriceList: arrays of different sizes");
    }

    CostTable money() const { return table(own_.data(), shared_.data()); }

    // The same groups at other prices.
    CostTable table(const double* own, const double* shared) const {
        CostTable costs;
        costs.n_features = own_.size();
        costs.n_groups = shared_.size();
        costs.own = own;
        costs.shared = shared;
        costs.group_offsets = offsets_.data();
        costs.group_ids = ids_.data();
        return costs;
    }

  private:
    std::vector<double> own_, shared_;
    std::vector<int64_t> offsets_;
    std::vector<int32_t> ids_;
};

void copy_scores(Scored& rows, const std::optional<Matrix<double>>& scores) {
    if (!scores) return;
    if (scores->shape(0) != rows.n_outputs || scores->shape(1) != rows.n_rows)
        throw std::invalid_argument("boosting: scores of another size");
    std::copy_n(scores->data(), rows.scores.size(), rows.scores.begin());
}

void copy_paid(PaidSets& sets, const std::optional<Matrix<uint8_t>>& paid) {
    if (!paid) return;
    if (paid->shape(0) != sets.n_rows() || paid->shape(1) != sets.n_features())
        throw std::invalid_argument("boosting: paid sets of another size");
    for (size_t i = 0; i < sets.n_rows(); ++i)
        for (uint32_t f = 0; f < sets.n_features(); ++f)
            if (paid->data()[i * sets.n_features() + f]) sets.buy(i, f);
}

// Scores and paid sets as they were before the last round, so that it can be taken back.
struct Earlier {
    std::vector<double> scores;
    std::vector<uint64_t> paid;

    void remember(const Scored& rows, const PaidSets& sets) {
        scores = rows.scores;
        paid.assign(sets.bits(), sets.bits() + sets.n_rows() * sets.n_words());
    }

    void restore(Scored& rows, PaidSets& sets) {
        if (scores.empty()) throw std::invalid_argument("boosting: no round to take back");
        rows.scores = std::move(scores);
        sets.set_bits(std::move(paid));
        scores.clear();
    }
};

// Trees one behind the other, each in preorder, in the arrays that Python gets.
class PreorderTrees {
  public:
    void append(const BoostTree& tree) {
        std::vector<std::pair<int32_t, int32_t>> waiting{{0, -1}};  // node, and the place of the parent whose right child it is
        while (!waiting.empty()) {
            const auto [number, parent] = waiting.back();
            waiting.pop_back();
            if (parent >= 0) right_[static_cast<size_t>(parent)] = static_cast<int32_t>(feature_.size());
            const BoostNode& node = tree.nodes[static_cast<size_t>(number)];
            if (node.feature >= 0) {
                waiting.emplace_back(node.right, static_cast<int32_t>(feature_.size()));
                waiting.emplace_back(node.left, -1);
            }
            append(tree, node);
        }
        node_offsets_.push_back(static_cast<int64_t>(feature_.size()));
        leaf_offsets_.push_back(static_cast<int64_t>(value_.size()));
    }

    nb::dict arrays() && {
        const size_t n_sets = category_sets_.size() / 4;
        nb::dict arrays;
        arrays["node_offsets"] = to_numpy(std::move(node_offsets_));
        arrays["leaf_offsets"] = to_numpy(std::move(leaf_offsets_));
        arrays["feature"] = to_numpy(std::move(feature_));
        arrays["code"] = to_numpy(std::move(code_));
        arrays["missing_left"] = to_numpy(std::move(missing_left_));
        arrays["right"] = to_numpy(std::move(right_));
        arrays["category_set"] = to_numpy(std::move(category_set_));
        arrays["category_sets"] = to_numpy(std::move(category_sets_), {n_sets, 4});
        arrays["gain"] = to_numpy(std::move(gain_));
        arrays["charged"] = to_numpy(std::move(charged_));
        arrays["value"] = to_numpy(std::move(value_));
        arrays["n_rows"] = to_numpy(std::move(n_rows_));
        return arrays;
    }

  private:
    void append(const BoostTree& tree, const BoostNode& node) {
        const bool is_leaf = node.feature < 0;
        feature_.push_back(node.feature);
        code_.push_back(node.code);
        missing_left_.push_back(node.missing_left);
        right_.push_back(is_leaf ? static_cast<int32_t>(value_.size()) : -1);
        category_set_.push_back(node.category_set < 0 ? -1 : static_cast<int32_t>(category_sets_.size() / 4));
        if (node.category_set >= 0) {
            const CategorySet& words = tree.category_sets[static_cast<size_t>(node.category_set)];
            category_sets_.insert(category_sets_.end(), words.begin(), words.end());
            category_sets_.back() &= ~(uint64_t{1} << 63);  // missing, which has an array of its own
        }
        gain_.push_back(node.gain);
        charged_.push_back(node.charged);
        if (is_leaf) value_.push_back(node.value);
        if (is_leaf) n_rows_.push_back(node.n_rows);
    }

    std::vector<int64_t> node_offsets_{0}, leaf_offsets_{0};
    std::vector<int32_t> feature_, right_, category_set_;
    std::vector<uint8_t> code_, missing_left_;
    std::vector<uint64_t> category_sets_;
    std::vector<double> gain_, charged_, value_, n_rows_;
};

class Booster {
  public:
    Booster(BoostRows& rows, Vector<int32_t> labels, Vector<double> weights, std::optional<Vector<double>> charge_weights, size_t n_classes,
            Loss loss, const BoostParams& params, const PriceList& prices, std::optional<Vector<int8_t>> monotone,
            std::optional<Matrix<uint8_t>> interactions, uint64_t seed, uint32_t first_round, int n_threads)
        : rows_(rows.table), params_(params), prices_(prices), labels_(labels), weights_(weights), charge_weights_(charge_weights),
          scored_(loss, rows.table.n_rows, n_classes, labels.data(), weights.data()), gradients_(scored_),
          paid_(rows.table.n_rows, prices_.money()), seed_(seed), round_(first_round),
          team_(n_threads), codes_(rows.by_row(n_threads)), grower_(codes_, params_, constraints_, till_, team_), cells_(rows_.n_rows) {
        const size_t n = rows_.n_rows, m = rows_.n_features;
        if (labels.shape(0) != n || weights.shape(0) != n || (charge_weights && charge_weights->shape(0) != n) ||
            (monotone && monotone->shape(0) != m) || (interactions && interactions->shape(1) != m) || paid_.n_features() != m)
            throw std::invalid_argument("Booster: arrays of different sizes");
        if (monotone) constraints_.monotone.assign(monotone->data(), monotone->data() + m);
        for (size_t s = 0; interactions && s < interactions->shape(0); ++s)
            constraints_.interactions.emplace_back(interactions->data() + s * m, interactions->data() + (s + 1) * m);
    }

    void start(std::optional<Matrix<double>> scores, std::optional<Matrix<uint8_t>> paid, Vector<int32_t> used) {
        copy_scores(scored_, scores);
        copy_paid(paid_, paid);
        used_.assign(used.data(), used.data() + used.shape(0));
    }

    // One tree per output. own (n_features), shared (n_groups): prices times trade-off. purse: what all rows together may have
    // paid in the end, in money. -> number of splits
    size_t grow_round(BoostCharge charge, Vector<double> own, Vector<double> shared, double price_per_split, double purse,
                      bool can_undo) {
        if (own.shape(0) != rows_.n_features || shared.shape(0) != paid_.n_channels() - rows_.n_features)
            throw std::invalid_argument("grow_round: arrays of different sizes");
        nb::gil_scoped_release release;
        till_.charge = charge;
        till_.prices = prices_.table(own.data(), shared.data());
        till_.money = prices_.money();
        till_.paid = &paid_;
        till_.charge_weights = charge_weights_ ? charge_weights_->data() : nullptr;
        till_.price_per_split = price_per_split;
        Basket used(till_.prices);
        for (const uint32_t f : used_) used.add(f);
        till_.used = &used;
        if (can_undo) earlier_.remember(scored_, paid_);
        earlier_used_ = used_;
        gradients_.start_round(team_);
        size_t n_splits = 0;
        for (size_t k = 0; k < scored_.n_outputs; ++k) n_splits += grow_tree(k, purse);
        ++round_;
        return n_splits;
    }

    // Everything is as it was before the last round.
    void undo_round() {
        earlier_.restore(scored_, paid_);
        used_ = earlier_used_;
        trees_.resize(trees_.size() - scored_.n_outputs);
        --round_;
    }

    // Of each feature the most that a first split on it would gain, over all outputs, (n_features); prices aside.
    nb::ndarray<nb::numpy, double> root_gains() {
        std::vector<double> gains(rows_.n_features, 0.0);
        {
            nb::gil_scoped_release release;
            till_.charge = BoostCharge::none;
            gradients_.start_round(team_);
            for (size_t k = 0; k < scored_.n_outputs; ++k) {
                const Grid grid = gradients_.cells(k, team_, cells_);
                std::vector<uint32_t> rows = bag();
                grower_.root_gains(cells_, grid, rows, ColumnChoice(codes_, columns(k)), gains.data());
            }
        }
        return to_numpy(std::move(gains));
    }

    size_t n_trees() const { return trees_.size(); }
    size_t n_outputs() const { return scored_.n_outputs; }
    bool was_limited() const { return till_.refused; }

    nb::dict trees() const {
        PreorderTrees flat;
        for (const BoostTree& tree : trees_) flat.append(tree);
        return std::move(flat).arrays();
    }

    const BoostTree& last_tree(size_t k) const { return trees_[trees_.size() - scored_.n_outputs + k]; }

  private:
    size_t grow_tree(size_t k, double purse) {
        const Grid grid = gradients_.cells(k, team_, cells_);
        std::vector<uint32_t> rows = bag();
        till_.left = purse < kUnlimited ? left_of(purse, rows) : kUnlimited;
        const ColumnChoice choice(codes_, columns(k));
        trees_.push_back(grower_.grow(cells_, grid, rows, choice));
        const BoostTree& tree = trees_.back();
        remember_used(tree);
        if (!tree.has_splits()) return 0;
        add_values(tree, rows, k);
        return (tree.nodes.size() - 1) / 2;
    }

    // What the rows of a bag may still spend: their share of what all rows have left.
    double left_of(double purse, const std::vector<uint32_t>& bag) const {
        double all = 0, mine = 0;
        for (size_t row = 0; row < rows_.n_rows; ++row) all += weight(row);
        for (const uint32_t row : bag) mine += weight(row);
        return (purse - spent()) * (mine / all);
    }

    // What all rows have paid, by weight.
    double spent() const {
        double sum = 0;
        if (charge_weights_) {
            for (size_t row = 0; row < rows_.n_rows; ++row) sum += weight(row) * paid_.bill(row, till_.money);
            return sum;
        }
        const std::vector<int64_t> bought = paid_.count_all();
        for (size_t c = 0; c < bought.size(); ++c) sum += static_cast<double>(bought[c]) * paid_.price_of(c, till_.money);
        return sum;
    }

    double weight(size_t row) const { return charge_weights_ ? charge_weights_->data()[row] : 1; }

    // In the bag rows are sorted by leaf already. The others walk, and pay on their way: they will be predicted too.
    void add_values(const BoostTree& tree, const std::vector<uint32_t>& rows, size_t k) {
        double* scores = scored_.output(k);
        const auto& leaves = grower_.leaf_rows();
        team_.run(leaves.size(), [&](size_t i) {
            for (size_t at = leaves[i].begin; at < leaves[i].end; ++at) scores[rows[at]] += leaves[i].value;
        });
        if (rows.size() == rows_.n_rows) return;
        const bool pays = till_.charge == BoostCharge::row;
        for (size_t row = 0; row < rows_.n_rows; ++row)
            if (!is_in_bag(row))
                scores[row] += tree.leaf_of(rows_, row, [&](uint32_t f) { if (pays) paid_.buy(row, f); }).value;
    }

    void remember_used(const BoostTree& tree) {
        for (const BoostNode& node : tree.nodes)
            if (node.feature >= 0) used_.push_back(static_cast<uint32_t>(node.feature));
        std::sort(used_.begin(), used_.end());
        used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    }

    // ---- samples: a function of the seed, the round and the place

    uint64_t round_seed() const { return mix(seed_ ^ mix(round_)); }

    bool is_in_bag(size_t row) const {
        return params_.subsample >= 1 || Stream(mix(round_seed() ^ mix(row))).uniform() < params_.subsample;
    }

    std::vector<uint32_t> bag() const {
        std::vector<uint32_t> rows;
        rows.reserve(rows_.n_rows);
        for (uint32_t row = 0; row < rows_.n_rows; ++row)
            if (is_in_bag(row)) rows.push_back(row);
        return rows;
    }

    std::vector<uint32_t> columns(size_t k) const {
        std::vector<uint32_t> chosen(codes_.n_columns());
        for (uint32_t j = 0; j < chosen.size(); ++j) chosen[j] = j;
        if (params_.colsample >= 1) return chosen;
        const auto wanted = static_cast<size_t>(params_.colsample * static_cast<double>(chosen.size()) + 0.5);
        Stream stream(mix(round_seed() ^ mix(~uint64_t{k})));
        for (uint32_t i = 0; i + 1 < chosen.size(); ++i)
            std::swap(chosen[i], chosen[i + stream.below(static_cast<uint32_t>(chosen.size()) - i)]);
        chosen.resize(std::min(chosen.size(), std::max<size_t>(1, wanted)));
        std::sort(chosen.begin(), chosen.end());
        return chosen;
    }

    CodeTable rows_;
    BoostParams params_;
    PriceList prices_;
    Vector<int32_t> labels_;
    Vector<double> weights_;
    std::optional<Vector<double>> charge_weights_;
    Scored scored_;
    Gradients gradients_;
    PaidSets paid_;
    std::vector<uint32_t> used_, earlier_used_;
    Earlier earlier_;
    uint64_t seed_;
    uint32_t round_;
    Constraints constraints_;
    Till till_;
    Team team_;
    const RowCodes& codes_;
    BoostGrower grower_;
    std::vector<Cell> cells_;
    std::vector<BoostTree> trees_;
};

// Rows that no tree is grown from: how a booster does on them, and what they buy, round by round.
class Audience {
  public:
    Audience(BoostRows& rows, Vector<int32_t> labels, Vector<double> weights, size_t n_classes, Loss loss, const PriceList& prices,
             std::optional<Matrix<double>> scores, std::optional<Matrix<uint8_t>> paid)
        : rows_(rows.table), labels_(labels), weights_(weights), scored_(loss, rows_.n_rows, n_classes, labels.data(), weights.data()),
          paid_(rows_.n_rows, prices.money()) {
        if (labels.shape(0) != rows_.n_rows || weights.shape(0) != rows_.n_rows || paid_.n_features() != rows_.n_features)
            throw std::invalid_argument("Audience: arrays of different sizes");
        copy_scores(scored_, scores);
        copy_paid(paid_, paid);
    }

    // Takes in the last round.
    void follow(const Booster& booster, int n_threads, bool can_undo) {
        if (booster.n_trees() == 0 || booster.n_outputs() != scored_.n_outputs) throw std::invalid_argument("Audience: nothing to follow");
        nb::gil_scoped_release release;
        if (can_undo) earlier_.remember(scored_, paid_);
        for_blocks(n_threads, [&](size_t, size_t begin, size_t end) {
            for (size_t k = 0; k < scored_.n_outputs; ++k) {
                const BoostTree& tree = booster.last_tree(k);
                if (!tree.has_splits()) continue;
                for (size_t row = begin; row < end; ++row)
                    scored_.output(k)[row] += tree.leaf_of(rows_, row, [&](uint32_t f) { paid_.buy(row, f); }).value;
            }
        });
    }

    void undo() { earlier_.restore(scored_, paid_); }

    // Loss and weight of the wrong labels, and how many rows have bought each feature and group.
    nb::tuple standing(int n_threads) const {
        double loss = 0, wrong = 0;
        std::vector<int64_t> bought;
        {
            nb::gil_scoped_release release;
            const size_t n_blocks = (rows_.n_rows + kLossBlock - 1) / kLossBlock;
            std::vector<double> losses(n_blocks, 0), wrongs(n_blocks, 0);
            for_blocks(n_threads, [&](size_t b, size_t begin, size_t end) {
                for (size_t row = begin; row < end; ++row) {
                    losses[b] += weights_.data()[row] * scored_.loss_of(row);
                    wrongs[b] += scored_.label(row) == static_cast<size_t>(labels_.data()[row]) ? 0 : weights_.data()[row];
                }
            });
            for (size_t b = 0; b < n_blocks; ++b) {
                loss += losses[b];
                wrong += wrongs[b];
            }
            bought = paid_.count_all();
        }
        return nb::make_tuple(loss, wrong, to_numpy(std::move(bought)));
    }

  private:
    template <class Use>
    void for_blocks(int n_threads, Use&& use) const {
        const size_t n_blocks = (rows_.n_rows + kLossBlock - 1) / kLossBlock;
        parallel_for(n_blocks, n_threads, [&](size_t b) { use(b, b * kLossBlock, std::min(rows_.n_rows, (b + 1) * kLossBlock)); });
    }

    CodeTable rows_;
    Vector<int32_t> labels_;
    Vector<double> weights_;
    Scored scored_;
    PaidSets paid_;
    Earlier earlier_;
};

}  // namespace

void bind_boosting(nb::module_& m) {
    nb::enum_<Loss>(m, "Loss").value("logistic", Loss::logistic).value("multinomial", Loss::multinomial).value("squared", Loss::squared);
    nb::enum_<BoostCharge>(m, "BoostCharge")
        .value("none", BoostCharge::none)
        .value("row", BoostCharge::row)
        .value("forest", BoostCharge::forest);
    nb::class_<BoostParams>(m, "BoostParams")
        .def(nb::init<>())
        .def_rw("learning_rate", &BoostParams::learning_rate)
        .def_rw("max_leaves", &BoostParams::max_leaves)
        .def_rw("max_depth", &BoostParams::max_depth)
        .def_rw("min_samples_leaf", &BoostParams::min_samples_leaf)
        .def_rw("min_hessian", &BoostParams::min_hessian)
        .def_rw("l2", &BoostParams::l2)
        .def_rw("min_gain", &BoostParams::min_gain)
        .def_rw("category_smoothing", &BoostParams::category_smoothing)
        .def_rw("min_category_rows", &BoostParams::min_category_rows)
        .def_rw("subsample", &BoostParams::subsample)
        .def_rw("colsample", &BoostParams::colsample)
        .def_rw("histogram_bytes", &BoostParams::histogram_bytes);
    nb::class_<BoostRows>(m, "BoostRows")
        .def(nb::init<Matrix<uint8_t>, Vector<int32_t>, Vector<uint8_t>>(), nb::arg("codes"), nb::arg("n_bins"), nb::arg("is_categorical"));
    nb::class_<PriceList>(m, "PriceList")
        .def(nb::init<Vector<double>, Vector<double>, Vector<int64_t>, Vector<int32_t>>(), nb::arg("own"), nb::arg("shared"),
             nb::arg("group_offsets"), nb::arg("group_ids"));
    nb::class_<Booster>(m, "Booster")
        .def(nb::init<BoostRows&, Vector<int32_t>, Vector<double>, std::optional<Vector<double>>, size_t, Loss, const BoostParams&,
                      const PriceList&, std::optional<Vector<int8_t>>, std::optional<Matrix<uint8_t>>, uint64_t, uint32_t, int>(),
             nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("labels"), nb::arg("weights"), nb::arg("charge_weights").none(),
             nb::arg("n_classes"), nb::arg("loss"), nb::arg("params"), nb::arg("prices"), nb::arg("monotone").none(),
             nb::arg("interactions").none(), nb::arg("seed"), nb::arg("first_round") = 0, nb::arg("n_threads") = 1)
        .def("start", &Booster::start, nb::arg("scores").none(), nb::arg("paid").none(), nb::arg("used"),
             "Scores (n_outputs, n_rows) to start from, what rows have paid already (n_rows, n_features), and the features used.")
        .def("grow_round", &Booster::grow_round, nb::arg("charge"), nb::arg("own"), nb::arg("shared"), nb::arg("price_per_split") = 0.0,
             nb::arg("purse") = kUnlimited, nb::arg("can_undo") = false,
             "Grow one tree per output at these prices, in units of the loss; purse: money for all rows -> number of splits.")
        .def("undo_round", &Booster::undo_round, "Take back the last round, if it was grown so that it can be.")
        .def("root_gains", &Booster::root_gains, "The most that a first split on each feature would gain -> (n_features,).")
        .def("trees", &Booster::trees, "All trees as flat arrays in preorder.")
        .def_prop_ro("n_trees", &Booster::n_trees)
        .def_prop_ro("n_outputs", &Booster::n_outputs)
        .def_prop_ro("was_limited", &Booster::was_limited, "Whether a split that was worth its price found the purse too small.");
    nb::class_<Audience>(m, "Audience")
        .def(nb::init<BoostRows&, Vector<int32_t>, Vector<double>, size_t, Loss, const PriceList&, std::optional<Matrix<double>>,
                      std::optional<Matrix<uint8_t>>>(),
             nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("labels"), nb::arg("weights"), nb::arg("n_classes"), nb::arg("loss"),
             nb::arg("prices"), nb::arg("scores").none(), nb::arg("paid").none())
        .def("follow", &Audience::follow, nb::arg("booster"), nb::arg("n_threads") = 1, nb::arg("can_undo") = false,
             "Take in the booster's last round.")
        .def("undo", &Audience::undo, "Take back the last round.")
        .def("standing", &Audience::standing, nb::arg("n_threads") = 1,
             "-> (loss, weight of wrong labels, purchases (n_features + n_groups)), all summed over rows.");
}

}  // namespace frugal
