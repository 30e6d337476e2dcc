// One row in progress: which feature to buy next, and when the label is settled.
//
// Trees advance together, each until it waits for a feature that is not known yet. For the leading class k and a rival j
// a tree can still contribute between its least and its largest (v_k - v_j) over the leaves it can reach; the label is
// settled when the least sum over all trees is beyond the tolerance, for every rival. docs/on_demand.md has the rules.
#pragma once

#include <cmath>

#include "looks.hpp"
#include "purse.hpp"
#include "stops.hpp"
#include "waiting_trees.hpp"

namespace frugal {

enum class Stop { all, label, confidence, budget };

struct Policy {
    Stop stop = Stop::label;
    bool by_count = false;       // buy what most trees wait for; otherwise what narrows the open leads most (per price)
    bool deep = true;            // bounds follow what is known below a cursor; otherwise they take the whole subtree
    bool grouped = true;         // trees that wait for one feature are bounded together
    double range_weight = 0.2;   // how much the two-sided range counts beside the one-sided score
    uint32_t most_visits = 64;   // undecided nodes below one child of a cursor that are looked below, at most
    double hope = 0.5;           // look deep only once the estimated lead reaches this share of what can still be lost
    uint32_t most_boxes = 0;     // parts of the space of unread values that are tried for a proof, at most; 0: none
    double tolerance = 0;        // leads up to it count as ties: rounding could turn them
    double confidence = 0;       // Stop::confidence: lead over spread that is enough
    int64_t budget = 0;          // Stop::budget: ticks
};

class RowRun {
  public:
    RowRun(const Reachable& trees, const LeafSets* sets, const TickPrices& prices, const Policy& policy)
        : trees_(&trees),
          policy_(&policy),
          purse_(prices),
          knowledge_(trees),
          looks_(trees, sets, policy.deep ? policy.most_visits : 0),
          n_slots_(trees.n_channels),
          waiting_(trees.n_trees, trees.n_features),
          cursor_(trees.n_trees),
          sums_(3 * trees.width(), 0),
          gain_(trees.n_features, 0),
          rivals_(n_slots_) {
        lead_by(0);
        for (size_t t = 0; t < trees.n_trees; ++t) {
            cursor_[t] = static_cast<int32_t>(trees.roots[t]);
            count_first(t);
            wait(static_cast<int32_t>(t));
        }
        assess();
    }

    // Makes this run, of the same trees, the same as one that has just started; cheaper than a copy.
    void restart(const RowRun& start) {
        purse_ = start.purse_;
        knowledge_ = start.knowledge_;
        waiting_ = start.waiting_;
        cursor_ = start.cursor_;
        sums_ = start.sums_;
        open_ = start.open_;
        gain_ = start.gain_;
        rivals_ = start.rivals_;
        leader_ = start.leader_;
        is_hopeful_ = start.is_hopeful_;
        looks_.restart(leader_);
        stops_ = nullptr;
    }

    // The leaves that the row would end in are known: a tree goes from stop to stop instead of from node to node. What the run
    // does depends on a stop only after the features were bought that lead to it.
    void foresee(const Stops& stops, const int32_t* leaves /* (n_trees) */) {
        stops_ = &stops;
        stop_.resize(trees_->n_trees);
        for (size_t t = 0; t < stop_.size(); ++t) {
            stop_[t] = stops.first(leaves[t]);
            stops.prefetch(stop_[t]);
        }
    }

    // The feature to buy now, or -1 when the run is over.
    int32_t next() const {
        if (is_over()) return -1;
        return policy_->by_count || is_closed() || !is_hopeful_ ? best_by_count() : best_by_gain();
    }

    void buy(int32_t f, ValueCode code) {
        purse_.buy(static_cast<size_t>(f));
        learn(f, code);
    }

    // Buys several features, whatever the first of them tell.
    void buy_together(const std::vector<int32_t>& features, const std::vector<ValueCode>& codes) {
        if (features.empty()) return;
        for (size_t a = 0; a < features.size(); ++a) {
            purse_.buy(static_cast<size_t>(features[a]));
            knowledge_.learn(features[a], codes[a]);
        }
        for (const int32_t f : features) advance(f);
        assess();
    }

    // Takes a value that costs nothing: known before, or refused and so missing.
    void learn(int32_t f, ValueCode code) {
        knowledge_.learn(f, code);
        take(f);
    }

    // Buys a feature whose value is made up.
    void imagine(int32_t f, float rank) {
        purse_.buy(static_cast<size_t>(f));
        knowledge_.imagine(f, rank);
        take(f);
    }

    bool knows(int32_t f) const { return knowledge_.knows(f); }
    bool has_waiting_trees() const { return !waiting_.empty(); }
    int32_t leader() const { return leader_; }
    // The label is proven: no completion of the row can change it.
    bool is_closed() const { return open_.empty(); }
    const Purse& purse() const { return purse_; }

    // How sure is the lead? Its share of the spread of what is open; infinite once it is proven, 0 while that is far.
    double confidence() const {
        if (is_closed()) return kInfinity;
        if (!is_hopeful_) return 0;
        const std::vector<double> means = cursor_means();
        double found = kInfinity;
        for (const size_t slot : open_) {
            const double spread = std::sqrt(rivals_[slot].spread);
            found = std::min(found, spread > 0 ? lead(means.data(), slot) / spread : 0);
        }
        return found;
    }

    bool is_over() const {
        if (waiting_.empty()) return true;
        switch (policy_->stop) {
            case Stop::all: return false;
            case Stop::label: return is_closed();
            case Stop::confidence: return is_closed() || confidence() >= policy_->confidence;
            case Stop::budget: return is_closed() || !any_affordable();
        }
        return true;
    }

    // Estimated scores by channel: of each tree the mean over the leaves that can still be reached.
    std::vector<double> estimate() const {
        std::vector<double> scores = trees_->base;
        for (const int32_t cursor : cursor_) add_mean(cursor, 1, scores.data());
        return scores;
    }

    // The label: proven, or the best guess.
    int32_t answer() const { return is_closed() ? leader_ : best_class(estimate().data()); }

    // Least and largest score each class can still reach, tree by tree.   OUT (n_classes) each
    void bounds(const double* base, double* low, double* high) const {
        std::vector<double> least(trees_->n_classes), largest(trees_->n_classes);
        std::copy_n(base, trees_->n_classes, low);
        std::copy_n(base, trees_->n_classes, high);
        for (const int32_t cursor : cursor_) {
            std::fill(least.begin(), least.end(), kInfinity);
            std::fill(largest.begin(), largest.end(), -kInfinity);
            for_leaves(cursor, [&](const double* values) {
                for (size_t c = 0; c < trees_->n_classes; ++c) {
                    least[c] = std::min(least[c], values[c]);
                    largest[c] = std::max(largest[c], values[c]);
                }
            });
            for (size_t c = 0; c < trees_->n_classes; ++c) {
                low[c] += least[c];
                high[c] += largest[c];
            }
        }
    }

  private:
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    static constexpr double kNear = 0.7;      // branching is tried once bounds cover this share of the lead at risk
    static constexpr size_t kTreesAtOnce = 32;  // looked at before it is tried whether that is enough

    void take(int32_t f) {
        advance(f);
        assess();
    }

    // Moves the trees that wait for a feature which is known now.
    void advance(int32_t f) {
        moving_.resize(waiting_.n_trees(f));
        Moving* end = moving_.data();
        waiting_.for_trees(f, [&](int32_t t) { *end++ = {t, cursor_[static_cast<size_t>(t)]}; });
        waiting_.remove_all(f);
        looks_.take(f);
        if (stops_)
            advance_by_stops();
        else
            advance_all();
    }

    // ---- trees

    struct Moving {
        int32_t tree, from;
    };

    // Moves the trees side by side, a step each, so that they wait for memory together.
    void advance_all() {
        going_ = moving_;
        while (!going_.empty()) {
            size_t n_left = 0;
            for (const Moving& moving : going_) {
                int32_t& cursor = cursor_[static_cast<size_t>(moving.tree)];
                if (const int32_t following = knowledge_.child(cursor); following >= 0) {
                    cursor = following;
                    trees_->prefetch_node(cursor);
                    going_[n_left++] = moving;
                } else {
                    wait(moving.tree);
                }
            }
            going_.resize(n_left);
        }
        count_all();
    }

    // Adds what is below the cursors of the trees that moved to the sums, instead of what was below the nodes they come from.
    void count_all() {
        trees_->with_size([&](auto is_small) {
            if (trees_->is_narrow())
                count_narrow<is_small>();
            else
                for (size_t first = 0; first < sums_.size(); first += 8) count_wide<is_small>(first);
        });
    }

    void advance_by_stops() {
        stops_->with_table([&](const auto* table) {
            for (const Moving& moving : moving_) {
                const auto t = static_cast<size_t>(moving.tree);
                const auto* stop = Stops::following(table + stop_[t], knowledge_);
                stop_[t] = static_cast<size_t>(stop - table);
                cursor_[t] = static_cast<int32_t>(trees_->roots[t]) + static_cast<int32_t>(stop->node);
                trees_->prefetch_reach(cursor_[t]);
                waiting_.add(moving.tree, static_cast<int32_t>(stop->feature) - 1);
                looks_.forget(moving.tree);
            }
        });
        count_all();
    }

    template <bool is_small>
    void count_narrow() {
        const size_t width = trees_->width();
        for (const Moving& moving : moving_) {
            const auto t = static_cast<size_t>(moving.tree);
            const Reachable::Range is = trees_->range<is_small>(cursor_[t]), was = trees_->range<is_small>(moving.from);
            int32_t* own = sums_.data() + trees_->channel_of(t);
            own[0] += is.low - was.low;
            own[width] += is.high - was.high;
            own[2 * width] += is.mean - was.mean;
        }
    }

    // Eight of the sums. Differences of so many small numbers fit 16 bits together.
    template <bool is_small>
    void count_wide(size_t first) {
        constexpr size_t kTogether = is_small ? 128 : 1;
        for (size_t a = 0; a < moving_.size(); a += kTogether) {
            Eight sum{};
            for (size_t b = a; b < std::min(moving_.size(), a + kTogether); ++b) {
                const Moving& moving = moving_[b];
                sum += trees_->eight<is_small>(cursor_[static_cast<size_t>(moving.tree)], first) - trees_->eight<is_small>(moving.from, first);
            }
            for (size_t c = 0; c < 8; ++c) sums_[first + c] += sum[c];
        }
    }

    void count_first(size_t t) {
        if (!trees_->is_narrow()) {
            for (size_t c = 0; c < sums_.size(); ++c) sums_[c] += trees_->steps(cursor_[t], c);
            return;
        }
        const Reachable::Range range = trees_->range(cursor_[t]);
        const int32_t parts[3] = {range.low, range.high, range.mean};
        for (size_t part = 0; part < 3; ++part) sums_[part * trees_->width() + static_cast<size_t>(trees_->channel_of(t))] += parts[part];
    }

    void wait(int32_t t) {
        waiting_.add(t, trees_->node(cursor_[static_cast<size_t>(t)]).feature);
        looks_.forget(t);
    }

    // Calls visit(values) for every leaf that the row can still reach below a node.
    template <class Visit>
    void for_leaves(int32_t i, Visit&& visit) const {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) return visit(trees_->leaf_values(node.right));
        if (const int32_t following = knowledge_.child(i); following >= 0) return for_leaves(following, visit);
        for_leaves(i + 1, visit);
        for_leaves(node.right, visit);
    }

    void add_mean(int32_t i, double share, double* scores) const {
        const Reachable::Node& node = trees_->node(i);
        if (!(trees_->below(i) & knowledge_.bits())) {
            for (size_t c = 0; c < n_slots_; ++c) scores[c] += share * static_cast<double>(trees_->mean(i)[c]);
            return;
        }
        if (const int32_t following = knowledge_.child(i); following >= 0) return add_mean(following, share, scores);
        const auto left = static_cast<double>(node.left_share);
        add_mean(i + 1, share * left, scores);
        add_mean(node.right, share * (1 - left), scores);
    }

    // ---- leads over a rival; slot: the rival's class, or 0 with two classes

    template <class Number>
    double lead(const Number* scores, size_t slot) const {
        if (n_slots_ == 1) return leader_ == 1 ? scores[0] : -scores[0];
        return scores[leader_] - scores[slot];
    }

    double in_scores(int64_t steps, size_t slot) const { return lead(trees_->base.data(), slot) + trees_->step() * static_cast<double>(steps); }

    // The least lead with every tree bounded at its cursor, in steps.
    int64_t cursor_steps(size_t slot) const {
        const int32_t *low = sums_.data(), *high = low + trees_->width();
        if (n_slots_ == 1) return leader_ == 1 ? low[0] : -high[0];
        return low[leader_] - high[slot];
    }

    double mean_lead(size_t slot) const { return in_scores(static_cast<int64_t>(lead(sums_.data() + 2 * trees_->width(), slot)), slot); }

    int32_t best_class(const double* scores) const {
        if (n_slots_ == 1) return scores[0] > 0 ? 1 : 0;
        return static_cast<int32_t>(std::max_element(scores, scores + n_slots_) - scores);
    }

    // The class with the largest mean below all cursors, on the grid.
    int32_t leader_on_grid() {
        scores_ = trees_->base;
        const int32_t* means = sums_.data() + 2 * trees_->width();
        for (size_t c = 0; c < n_slots_; ++c) scores_[c] += trees_->step() * means[c];
        return best_class(scores_.data());
    }

    std::vector<double> cursor_means() const {
        std::vector<double> scores = trees_->base;
        for (const int32_t cursor : cursor_)
            for (size_t c = 0; c < n_slots_; ++c) scores[c] += static_cast<double>(trees_->mean(cursor)[c]);
        return scores;
    }

    // ---- who leads, against whom it is open, and what each feature would tell

    void lead_by(int32_t leader) {
        leader_ = leader;
        looks_.lead_by(leader);
        open_.clear();
        for (size_t slot = 0; slot < n_slots_; ++slot)
            if (n_slots_ == 1 || slot != static_cast<size_t>(leader)) open_.push_back(slot);
    }

    void assess() {
        if (is_closed()) return;  // proven, whatever the estimates say
        if (const int32_t leader = is_box_ ? leader_ : leader_on_grid(); leader != leader_) lead_by(leader);
        is_hopeful_ = is_box_ || std::all_of(open_.begin(), open_.end(), [&](size_t slot) {
            const double mean = mean_lead(slot);
            return mean >= policy_->hope * (mean - in_scores(cursor_steps(slot), slot));
        });
        if (!is_hopeful_) return;  // far from settled: a closer look would be in vain
        trees_->with_form([&](auto form) { look_closely<decltype(form)>(); });
        if (!is_closed() && policy_->most_boxes > 0 && !is_box_ && is_near() && is_settled_in_boxes()) open_.clear();
    }

    template <class Form>
    void look_closely() {
        look_until_closed<Form>();
        if (is_closed()) return;
        add_up_by_feature<Form>();
        close_rivals([&](const Rival& rival) { return rival.least; });
        if (policy_->grouped && could_be_closed_together()) {
            bound_together<Form>();
            close_rivals([&](const Rival& rival) { return rival.together; });
        }
        if (!is_closed()) weigh<Form>();
    }

    // Looks below waiting trees, some at a time, until that is enough or all are done.
    template <class Form>
    void look_until_closed() {
        for (const size_t slot : open_) rivals_[slot].least = cursor_steps(slot);
        close_rivals([&](const Rival& rival) { return rival.least; });
        looks_.look_for(open_);
        stale_.clear();
        waiting_.for_features([&](int32_t f) {
            waiting_.for_trees(f, [&](int32_t t) {
                if (!looks_.template matters<Form>(t)) return;
                if (looks_.is_stale(t))
                    stale_.push_back(t);
                else
                    tighten<Form>(t);
            });
        });
        for (size_t first = 0; first < stale_.size() && !is_closed(); first += kTreesAtOnce) {
            const size_t n = std::min(kTreesAtOnce, stale_.size() - first);
            looks_.look(knowledge_, stale_.data() + first, n, cursor_);
            for (size_t a = first; a < first + n; ++a) tighten<Form>(stale_[a]);
            close_rivals([&](const Rival& rival) { return rival.least; });
        }
    }

    // Exchanges the bound of a tree at its cursor by that of its look.
    template <class Form>
    void tighten(int32_t t) {
        for (const size_t slot : open_)
            rivals_[slot].least += std::min(looks_.template below<Form>(t, 0, slot).least, looks_.template below<Form>(t, 1, slot).least) - looks_.template whole<Form>(t, cursor_[static_cast<size_t>(t)], slot).least;
    }

    template <class Bound>
    void close_rivals(Bound&& bound) {
        open_.erase(std::remove_if(open_.begin(), open_.end(), [&](size_t slot) { return in_scores(bound(rivals_[slot]), slot) > policy_->tolerance; }), open_.end());
    }

    // What is at most possible with trees of one feature bounded together: that "all go left" or "all go right" is the least.
    template <class Form>
    void add_up_by_feature() {
        for (const size_t slot : open_) {
            Rival& rival = rivals_[slot];
            rival.done = cursor_steps(slot);
            int64_t ends = 0;
            waiting_.for_features([&](int32_t f) {
                int64_t all_left = 0, all_right = 0;
                waiting_.for_trees(f, [&](int32_t t) {
                    if (!looks_.template matters<Form>(t)) return;
                    rival.done -= looks_.template whole<Form>(t, cursor_[static_cast<size_t>(t)], slot).least;
                    all_left += looks_.template below<Form>(t, 0, slot).least;
                    all_right += looks_.template below<Form>(t, 1, slot).least;
                });
                ends += std::min(all_left, all_right);
            });
            rival.at_most = rival.done + ends;
        }
    }

    bool could_be_closed_together() const {
        return !open_.empty() && std::all_of(open_.begin(), open_.end(), [&](size_t slot) { return in_scores(rivals_[slot].at_most, slot) > policy_->tolerance; });
    }

    // Trees that wait for the same feature share one unknown: the least sum over the intervals between their thresholds.
    template <class Form>
    void bound_together() {
        for (const size_t slot : open_) rivals_[slot].together = rivals_[slot].done;
        waiting_.for_features([&](int32_t f) {
            together_.clear();
            waiting_.for_trees(f, [&](int32_t t) {
                if (looks_.template matters<Form>(t)) together_.push_back(t);
            });
            if (trees_->is_categorical(static_cast<size_t>(f))) {
                for (const size_t slot : open_)
                    for (const int32_t t : together_) rivals_[slot].together += std::min(looks_.template below<Form>(t, 0, slot).least, looks_.template below<Form>(t, 1, slot).least);
                return;
            }
            const auto limit = [&](int32_t t) { return trees_->node(cursor_[static_cast<size_t>(t)]).limit; };
            std::sort(together_.begin(), together_.end(), [&](int32_t a, int32_t b) { return limit(a) < limit(b); });
            for (const size_t slot : open_) rivals_[slot].together += least_together<Form>(slot, !knows(f), limit);
        });
    }

    template <class Form, class Limit>
    int64_t least_together(size_t slot, bool can_be_missing, Limit&& limit) {
        int64_t sum = 0, missing = 0;
        for (const int32_t t : together_) {
            sum += looks_.template below<Form>(t, 0, slot).least;
            missing += looks_.template below<Form>(t, trees_->node(cursor_[static_cast<size_t>(t)]).missing_left ? 0 : 1, slot).least;
        }
        int64_t least = can_be_missing ? std::min(sum, missing) : sum;
        for (size_t a = 0; a < together_.size(); ++a) {  // the value rises beyond one threshold after the other
            const int32_t t = together_[a];
            sum += looks_.template below<Form>(t, 1, slot).least - looks_.template below<Form>(t, 0, slot).least;
            if (a + 1 == together_.size() || limit(together_[a + 1]) != limit(t)) least = std::min(least, sum);
        }
        return least;
    }

    // The gain of each feature, and the spread of what is open.
    template <class Form>
    void weigh() {
        for (const size_t slot : open_) rivals_[slot].spread = 0;
        waiting_.for_features([&](int32_t f) {
            double gain = 0;
            waiting_.for_trees(f, [&](int32_t t) {
                if (looks_.template matters<Form>(t)) gain += weigh_tree<Form>(t);
            });
            gain_[static_cast<size_t>(f)] = gain;
        });
    }

    template <class Form>
    double weigh_tree(int32_t t) {
        const auto share = static_cast<double>(trees_->node(cursor_[static_cast<size_t>(t)]).left_share);
        double gain = 0;
        for (const size_t slot : open_) {
            const Lead left = looks_.template below<Form>(t, 0, slot), right = looks_.template below<Form>(t, 1, slot);
            const int32_t least = std::min(left.least, right.least);
            const double range = trees_->step() * (std::max(left.largest, right.largest) - least);
            gain += trees_->step() * (share * left.least + (1 - share) * right.least - least) + policy_->range_weight * range;
            rivals_[slot].spread += range * range;
        }
        return gain;
    }

    // ---- branch and bound: the label is settled if it is settled in every part of what the unread values can be

    bool is_near() const {
        return !open_.empty() && std::all_of(open_.begin(), open_.end(), [&](size_t slot) {
            const double lead = mean_lead(slot), bound = in_scores(rivals_[slot].least, slot);
            return lead > 0 && lead >= kNear * (lead - bound);
        });
    }

    bool is_settled_in_boxes() const {
        std::vector<RowRun> boxes(1, *this);
        boxes.back().is_box_ = true;
        boxes.back().stops_ = nullptr;
        uint32_t n_boxes = 0;
        while (!boxes.empty()) {
            const RowRun box = std::move(boxes.back());
            boxes.pop_back();
            const int32_t f = box.feature_to_halve();
            if (f < 0) return false;
            for (RowRun& part : box.parts(f)) {
                if (++n_boxes > policy_->most_boxes) return false;
                if (!part.is_closed()) boxes.push_back(std::move(part));
            }
        }
        return true;
    }

    // The one with most to tell, whatever it costs: nothing is bought.
    int32_t feature_to_halve() const {
        int32_t found = -1;
        waiting_.for_features([&](int32_t f) {
            const double gain = gain_[static_cast<size_t>(f)];
            if (gain > 0 && !trees_->is_categorical(static_cast<size_t>(f)) && (found < 0 || gain > gain_[static_cast<size_t>(found)])) found = f;
        });
        return found;
    }

    // Values up to the median threshold of the waiting trees, values beyond it, and a missing value.
    std::vector<RowRun> parts(int32_t f) const {
        std::vector<ValueCode> limits;
        waiting_.for_trees(f, [&](int32_t t) { limits.push_back(trees_->node(cursor_[static_cast<size_t>(t)]).limit); });
        std::nth_element(limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(limits.size() / 2), limits.end());
        const ValueCode middle = limits[limits.size() / 2];
        std::vector<RowRun> found(knows(f) ? 2 : 3, *this);
        found[0].narrow(f, knowledge_.first_code(f), middle);
        found[1].narrow(f, middle + 1, knowledge_.last_code(f));
        if (!knows(f)) found[2].learn(f, kMissingValue);
        return found;
    }

    void narrow(int32_t f, ValueCode first, ValueCode last) {
        knowledge_.narrow(f, first, last);
        take(f);
    }

    // ---- what to buy

    bool is_affordable(int32_t f) const {
        return policy_->stop != Stop::budget || purse_.spent() + purse_.price(static_cast<size_t>(f)) <= policy_->budget;
    }
    bool any_affordable() const {
        bool found = false;
        waiting_.for_features([&](int32_t f) { found |= is_affordable(f); });
        return found;
    }

    // The most waiting trees per price; free features first, of equals the first feature.
    int32_t best_by_count() const {
        if (purse_.is_flat() && policy_->stop != Stop::budget) return most_waited_for();
        int32_t found = -1;
        int64_t most = 0, its_price = 1;
        waiting_.for_features([&](int32_t f) {
            if (!is_affordable(f)) return;
            const int64_t n = waiting_.n_trees(f), price = purse_.price(static_cast<size_t>(f));
            const int64_t more = n * its_price - most * price;
            if (more > 0 || (more == 0 && f < found)) {
                found = f;
                most = n;
                its_price = price;
            }
        });
        return found;
    }

    // The same where all prices are equal: the number of trees before that of the feature, from the last on, in one word, so
    // that there is no branch to guess. Most purchases are of this kind.
    int32_t most_waited_for() const {
        uint64_t best = 0;
        waiting_.for_features([&](int32_t f) { best = std::max(best, uint64_t{waiting_.n_trees(f)} << 32 | ~static_cast<uint32_t>(f)); });
        return waiting_.empty() ? -1 : static_cast<int32_t>(~static_cast<uint32_t>(best));
    }

    // The most gain per price, in the same way; where nothing is left to gain (a tie that only the leaves can tell), by count.
    int32_t best_by_gain() const {
        int32_t found = -1;
        double most = 0;
        waiting_.for_features([&](int32_t f) {
            if (!is_affordable(f)) return;
            const double gain = gain_[static_cast<size_t>(f)];
            const auto price = static_cast<double>(purse_.price(static_cast<size_t>(f)));
            const double worth = gain <= 0 ? 0 : price > 0 ? gain / price : kInfinity;
            if (worth > most || (worth == most && worth > 0 && f < found)) {
                found = f;
                most = worth;
            }
        });
        return found < 0 ? best_by_count() : found;
    }

    struct Rival {
        int64_t least;     // least lead, tree by tree; in steps, as all of these
        int64_t done;      // that of finished trees
        int64_t together;  // least lead with trees of one feature bounded together
        int64_t at_most;   // `together` cannot exceed it
        double spread;     // squared ranges, in scores
    };

    const Reachable* trees_;
    const Policy* policy_;
    Purse purse_;
    Knowledge knowledge_;
    Looks looks_;
    size_t n_slots_;

    WaitingTrees waiting_;
    std::vector<int32_t> cursor_;     // (n_trees)

    const Stops* stops_ = nullptr;    // where the row could wait, if its whole way is known
    std::vector<size_t> stop_;        // (n_trees): where each tree is there

    std::vector<int32_t> sums_;       // (3, width): of all trees: least, largest and mean below their cursors, in steps
    int32_t leader_ = 0;
    std::vector<size_t> open_;        // slots of the rivals that could still win
    std::vector<double> gain_;        // (n_features)
    std::vector<Rival> rivals_;       // (n_slots)
    std::vector<double> scores_;      // (n_slots)
    std::vector<int32_t> stale_, together_;
    std::vector<Moving> moving_, going_;
    bool is_hopeful_ = false;
    bool is_box_ = false;             // imagined, to prove that the label is settled in it
};

}  // namespace frugal
