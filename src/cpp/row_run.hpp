// One row in progress: which feature to buy next, and when the label is settled.
//
// Trees advance together, each until it waits for a feature that is not known yet. For the leading class k and a rival j
// a tree can still contribute between its least and its largest (v_k - v_j) over the leaves it can reach; the label is
// settled when the least sum over all trees is beyond the tolerance, for every rival. docs/on_demand.md has the rules.
#pragma once

#include <cmath>

#include "purse.hpp"
#include "reachable.hpp"

namespace frugal {

enum class Stop { all, label, confidence, budget };

struct Policy {
    Stop stop = Stop::label;
    bool by_count = false;       // buy what most trees wait for; otherwise what narrows the open leads most (per price)
    bool deep = true;            // bounds follow what is known below a cursor; otherwise they take the whole subtree
    bool grouped = true;         // trees that wait for one feature are bounded together
    double range_weight = 0.2;   // how much the two-sided range counts beside the one-sided score
    uint32_t most_visits = 64;   // nodes looked at below one child of a cursor, at most
    double hope = 0.5;           // look deep only once the estimated lead reaches this share of what can still be lost
    uint32_t most_boxes = 0;     // parts of the space of unread values that are tried for a proof, at most; 0: none
    double tolerance = 0;        // leads up to it count as ties: rounding could turn them
    double confidence = 0;       // Stop::confidence: lead over spread that is enough
    int64_t budget = 0;          // Stop::budget: ticks
};

class RowRun {
  public:
    RowRun(const Reachable& trees, const TickPrices& prices, const Policy& policy)
        : trees_(&trees),
          policy_(&policy),
          purse_(prices),
          n_slots_(trees.n_channels),
          known_(trees.n_features, Known::no),
          code_(trees.n_features, 0),
          first_(trees.n_features, -1),
          n_waiting_(trees.n_features, 0),
          cursor_(trees.n_trees),
          next_(trees.n_trees, -1),
          is_stale_(trees.n_trees, 1),
          reads_(trees.n_trees, 0),
          looks_(trees.n_trees * 3 * n_slots_),
          done_low_(trees.base),
          done_high_(trees.base),
          sums_(3 * n_slots_),
          counted_(trees.n_trees * 3 * n_slots_, 0.0f),
          gain_(trees.n_features, 0),
          scratch_(n_slots_),
          far_top_(n_slots_) {
        for (size_t c = 0; c < 3 * n_slots_; ++c) sums_[c] = trees.base[c % n_slots_];
        lead_by(0);
        for (size_t t = 0; t < trees.n_trees; ++t) {
            cursor_[t] = static_cast<int32_t>(trees.roots[t]);
            count(static_cast<int32_t>(t));
            settle_or_wait(static_cast<int32_t>(t));
        }
        assess();
    }

    // The feature to buy now, or -1 when the run is over.
    int32_t next() const {
        if (is_over()) return -1;
        return best(policy_->by_count || is_closed() || !is_hopeful_);
    }

    void buy(int32_t f, ValueCode code) {
        purse_.buy(static_cast<size_t>(f));
        learn(f, code);
    }

    // Takes a value that costs nothing: known before, or refused and so missing.
    void learn(int32_t f, ValueCode code) {
        code_[static_cast<size_t>(f)] = code;
        take(f, Known::really);
    }

    // Buys a feature whose value is made up: at each of its nodes it goes left if `rank` is within the left child's share of
    // the training rows. One rank for all nodes keeps them nearly consistent.
    void imagine(int32_t f, float rank) {
        purse_.buy(static_cast<size_t>(f));
        rank_.resize(trees_->n_features);
        rank_[static_cast<size_t>(f)] = rank;
        take(f, Known::imagined);
    }

    bool knows(int32_t f) const { return known_[static_cast<size_t>(f)] != Known::no; }
    bool has_waiting_trees() const { return !active_.empty(); }
    int32_t leader() const { return leader_; }
    // The label is proven: no completion of the row can change it.
    bool is_closed() const { return open_.empty(); }
    double confidence() const { return confidence_; }
    const Purse& purse() const { return purse_; }

    bool is_over() const {
        if (active_.empty()) return true;
        switch (policy_->stop) {
            case Stop::all: return false;
            case Stop::label: return is_closed();
            case Stop::confidence: return is_closed() || confidence_ >= policy_->confidence;
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
    static constexpr double kNear = 0.7;  // branching is tried once bounds cover this share of the lead at risk

    enum class Known : uint8_t { no, really, imagined, between };

    void take(int32_t f, Known how) {
        const auto feature = static_cast<size_t>(f);
        known_[feature] = how;
        known_bits_ |= Reachable::bit(f);
        int32_t t = first_[feature];
        first_[feature] = -1;
        n_waiting_[feature] = 0;
        remove_active(f);
        mark_stale(f);
        moving_.clear();
        for (; t >= 0; t = next_[static_cast<size_t>(t)]) moving_.push_back(t);
        advance_all();
        assess();
    }

    // ---- trees

    // Moves the trees side by side, a step each, so that they wait for memory together.
    void advance_all() {
        while (!moving_.empty()) {
            size_t n_left = 0;
            for (const int32_t t : moving_) {
                int32_t& cursor = cursor_[static_cast<size_t>(t)];
                const int32_t following = child(cursor);
                if (following >= 0) {
                    cursor = following;
                    trees_->prefetch(cursor);
                    moving_[n_left++] = t;
                } else {
                    count(t);
                    settle_or_wait(t);
                }
            }
            moving_.resize(n_left);
        }
    }

    // Exchanges what the tree added to the sums before by what is below its cursor now.
    void count(int32_t t) {
        const float* now = trees_->low(cursor_[static_cast<size_t>(t)]);
        float* before = counted_.data() + static_cast<size_t>(t) * 3 * n_slots_;
        for (size_t c = 0; c < 3 * n_slots_; ++c) {
            sums_[c] += static_cast<double>(now[c]) - static_cast<double>(before[c]);
            before[c] = now[c];
        }
    }

    // The child the row goes to, or -1 at a leaf and where what is known does not tell.
    int32_t child(int32_t i) const {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) return -1;
        const auto f = static_cast<size_t>(node.feature);
        bool left = false;
        switch (known_[f]) {
            case Known::no: return -1;
            case Known::really: left = trees_->goes_left(node, code_[f]); break;
            case Known::imagined: left = rank_[f] <= node.left_share; break;
            case Known::between:
                left = node.limit >= last_code_[f];
                if (!left && node.limit >= code_[f]) return -1;
        }
        return left ? i + 1 : node.right;
    }

    void settle_or_wait(int32_t t) {
        const int32_t i = cursor_[static_cast<size_t>(t)];
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) {
            for (size_t c = 0; c < n_slots_; ++c) {
                done_low_[c] += static_cast<double>(trees_->low(i)[c]);
                done_high_[c] += static_cast<double>(trees_->high(i)[c]);
            }
            return;
        }
        const auto f = static_cast<size_t>(node.feature);
        if (n_waiting_[f]++ == 0) active_.push_back(node.feature);
        next_[static_cast<size_t>(t)] = first_[f];
        first_[f] = t;
        is_stale_[static_cast<size_t>(t)] = 1;
    }

    void remove_active(int32_t f) {
        const auto at = std::find(active_.begin(), active_.end(), f);
        if (at == active_.end()) return;
        *at = active_.back();
        active_.pop_back();
    }

    template <class Visit>
    void for_waiting(int32_t f, Visit&& visit) const {
        for (int32_t t = first_[static_cast<size_t>(f)]; t >= 0; t = next_[static_cast<size_t>(t)]) visit(t);
    }

    // Calls visit(values) for every leaf that the row can still reach below a node.
    template <class Visit>
    void for_leaves(int32_t i, Visit&& visit) const {
        const Reachable::Node& node = trees_->node(i);
        if (node.feature < 0) return visit(trees_->leaf_values(node.right));
        if (const int32_t following = child(i); following >= 0) return for_leaves(following, visit);
        for_leaves(i + 1, visit);
        for_leaves(node.right, visit);
    }

    void add_mean(int32_t i, double share, double* scores) const {
        if (!(trees_->below(i) & known_bits_)) {
            for (size_t c = 0; c < n_slots_; ++c) scores[c] += share * static_cast<double>(trees_->mean(i)[c]);
            return;
        }
        if (const int32_t following = child(i); following >= 0) return add_mean(following, share, scores);
        const auto left = static_cast<double>(trees_->node(i).left_share);
        add_mean(i + 1, share * left, scores);
        add_mean(trees_->node(i).right, share * (1 - left), scores);
    }

    // ---- bounds of (v_leader - v_rival) below a node; slot: the rival's class, or 0 with two classes

    float least_lead(int32_t i, size_t slot) const {
        if (n_slots_ == 1) return leader_ == 1 ? trees_->low(i)[0] : -trees_->high(i)[0];
        return rounded_down(static_cast<double>(trees_->low(i)[leader_]) - static_cast<double>(trees_->high(i)[slot]));
    }

    float largest_lead(int32_t i, size_t slot) const {
        if (n_slots_ == 1) return leader_ == 1 ? trees_->high(i)[0] : -trees_->low(i)[0];
        return rounded_up(static_cast<double>(trees_->high(i)[leader_]) - static_cast<double>(trees_->low(i)[slot]));
    }

    double done_lead(size_t slot) const {
        if (n_slots_ == 1) return leader_ == 1 ? done_low_[0] : -done_high_[0];
        return done_low_[static_cast<size_t>(leader_)] - done_high_[slot];
    }

    // The least lead with every tree bounded at its cursor.
    double cursor_lead(size_t slot) const {
        if (n_slots_ == 1) return leader_ == 1 ? sums_[0] : -sums_[1];
        return sums_[static_cast<size_t>(leader_)] - sums_[n_slots_ + slot];
    }

    double mean_lead(size_t slot) const {
        const double* mean = cursor_means();
        if (n_slots_ == 1) return leader_ == 1 ? mean[0] : -mean[0];
        return mean[leader_] - mean[slot];
    }

    // Of each waiting tree, by rival: least lead in the left and in the right child, and the largest in either.
    float* left_lead(int32_t t) { return looks_.data() + static_cast<size_t>(t) * 3 * n_slots_; }
    float* right_lead(int32_t t) { return left_lead(t) + n_slots_; }
    float* top_lead(int32_t t) { return left_lead(t) + 2 * n_slots_; }

    // Bounds from the leaves that the row can still reach below each child of the cursor.
    void look(int32_t t) {
        const int32_t left = cursor_[static_cast<size_t>(t)] + 1, right = trees_->node(left - 1).right;
        const uint64_t reads_left = look_below(left, left_lead(t), top_lead(t));
        for (const size_t slot : open_) far_top_[slot] = top_lead(t)[slot];
        const uint64_t reads_right = look_below(right, right_lead(t), top_lead(t));
        for (const size_t slot : open_) top_lead(t)[slot] = std::max(top_lead(t)[slot], far_top_[slot]);
        reads_[static_cast<size_t>(t)] = reads_left | reads_right;
        is_stale_[static_cast<size_t>(t)] = 0;
    }

    // OUT least and largest lead, by slot   -> the features whose purchase could narrow them, as bits
    uint64_t look_below(int32_t top, float* least, float* largest) {
        return n_slots_ == 1 ? look_two(top, least, largest) : look_many(top, least, largest);
    }

    uint64_t look_two(int32_t top, float* least, float* largest) {
        const float lowest = trees_->low(top)[0], highest = trees_->high(top)[0];
        float low = std::numeric_limits<float>::infinity(), high = -low;
        const uint64_t reads = for_reachable(top, [&](int32_t i) {
            low = std::min(low, trees_->low(i)[0]);
            high = std::max(high, trees_->high(i)[0]);
            return low > lowest || high < highest;
        });
        least[0] = leader_ == 1 ? low : -high;
        largest[0] = leader_ == 1 ? high : -low;
        return reads;
    }

    uint64_t look_many(int32_t top, float* least, float* largest) {
        for (const size_t slot : open_) {
            least[slot] = std::numeric_limits<float>::infinity();
            largest[slot] = -std::numeric_limits<float>::infinity();
        }
        return for_reachable(top, [&](int32_t i) {
            bool can_narrow = false;
            for (const size_t slot : open_) {
                least[slot] = std::min(least[slot], least_lead(i, slot));
                largest[slot] = std::max(largest[slot], largest_lead(i, slot));
                can_narrow |= least[slot] > least_lead(top, slot) || largest[slot] < largest_lead(top, slot);
            }
            return can_narrow;
        });
    }

    // Calls visit(i) for nodes that together hold all leaves that can be reached below `top`, as long as it says that more of
    // them could matter. Nothing is narrower than the whole subtree once its extremes are met: they stay reachable until a
    // feature on the way to them is bought.   -> features on the ways that were taken, as bits
    template <class Visit>
    uint64_t for_reachable(int32_t top, Visit&& visit) {
        uint32_t visits = policy_->deep ? policy_->most_visits : 0;
        uint64_t reads = 0;
        stack_.assign(1, top);
        while (!stack_.empty()) {
            int32_t i = stack_.back();
            stack_.pop_back();
            for (;; --visits) {
                // A leaf, a subtree of which nothing is known, or one too many: what the subtree holds at all is a bound too.
                if (!(trees_->below(i) & known_bits_) || visits == 0) break;
                const int32_t following = child(i);
                if (following >= 0) {
                    i = following;
                } else {
                    reads |= Reachable::bit(trees_->node(i).feature);
                    stack_.push_back(trees_->node(i).right);
                    ++i;
                }
            }
            reads |= trees_->below(i);
            if (!visit(i)) break;
        }
        return reads;
    }

    // The bounds of trees that could still read the feature are not the best any more.
    void mark_stale(int32_t f) {
        const uint64_t bit = Reachable::bit(f);
        for (size_t t = 0; t < is_stale_.size(); ++t) is_stale_[t] |= (reads_[t] & bit) != 0;
    }

    // ---- who leads, against whom it is open, and what each feature would tell

    void lead_by(int32_t leader) {
        leader_ = leader;
        open_.clear();
        if (n_slots_ == 1) {
            open_.push_back(0);
            return;
        }
        for (size_t j = 0; j < trees_->n_classes; ++j)
            if (j != static_cast<size_t>(leader)) open_.push_back(j);
    }

    // Of all trees, the mean below their cursors: cheaper than the estimate, since nothing is followed.
    const double* cursor_means() const { return sums_.data() + 2 * n_slots_; }

    int32_t best_class(const double* scores) const {
        if (n_slots_ == 1) return scores[0] > 0 ? 1 : 0;
        return static_cast<int32_t>(std::max_element(scores, scores + n_slots_) - scores);
    }

    void assess() {
        if (is_closed()) return;  // proven, whatever the estimates say
        const int32_t leader = is_box_ ? leader_ : best_class(cursor_means());
        if (leader != leader_) {
            lead_by(leader);
            std::fill(is_stale_.begin(), is_stale_.end(), 1);
        }
        is_hopeful_ = is_box_ || std::all_of(open_.begin(), open_.end(), [&](size_t slot) {
            return mean_lead(slot) >= policy_->hope * (mean_lead(slot) - cursor_lead(slot));
        });
        confidence_ = 0;
        if (!is_hopeful_) return;  // far from settled: a closer look would be in vain
        for (const int32_t f : active_)
            for_waiting(f, [&](int32_t t) {
                if (is_stale_[static_cast<size_t>(t)]) look(t);
            });
        add_up();
        close_rivals([&](size_t slot) { return scratch_[slot].alone; });
        if (policy_->grouped && could_be_closed_together()) {
            bound_together();
            close_rivals([&](size_t slot) { return scratch_[slot].together; });
        }
        if (policy_->most_boxes > 0 && !is_box_ && is_near() && is_settled_in_boxes()) open_.clear();
        judge();
    }

    // Sums over the waiting trees, for every open rival, and the gain of each feature.
    void add_up() {
        for (const size_t slot : open_) {
            const double done = done_lead(slot);
            scratch_[slot] = {done, done, done, 0, 0, 0};
        }
        for (const int32_t f : active_) {
            double gain = 0;
            for (const size_t slot : open_) scratch_[slot].start_feature();
            for_waiting(f, [&](int32_t t) {
                const Reachable::Node& node = trees_->node(cursor_[static_cast<size_t>(t)]);
                const float *in_left = left_lead(t), *in_right = right_lead(t), *top = top_lead(t);
                const float share = node.left_share;
                for (const size_t slot : open_) {
                    const float left = in_left[slot], right = in_right[slot], least = std::min(left, right);
                    const float range = top[slot] - least;
                    gain += static_cast<double>(share * left + (1 - share) * right - least) + policy_->range_weight * static_cast<double>(range);
                    Sums& sums = scratch_[slot];
                    sums.alone += static_cast<double>(least);
                    sums.all_left += static_cast<double>(left);
                    sums.all_right += static_cast<double>(right);
                    sums.spread += static_cast<double>(range) * static_cast<double>(range);
                }
            });
            gain_[static_cast<size_t>(f)] = gain;
            for (const size_t slot : open_) scratch_[slot].end_feature();
        }
    }

    template <class Bound>
    void close_rivals(Bound&& bound) {
        open_.erase(std::remove_if(open_.begin(), open_.end(), [&](size_t slot) { return bound(slot) > policy_->tolerance; }), open_.end());
    }

    // A joint bound is at most what "everything goes left" and "everything goes right" give.
    bool could_be_closed_together() const {
        return !open_.empty() && std::all_of(open_.begin(), open_.end(), [&](size_t slot) { return scratch_[slot].at_most > policy_->tolerance; });
    }

    // Trees that wait for the same feature share one unknown: the least sum over the intervals between their thresholds.
    void bound_together() {
        for (const size_t slot : open_) scratch_[slot].together = done_lead(slot);
        for (const int32_t f : active_) {
            waiting_.clear();
            for_waiting(f, [&](int32_t t) { waiting_.push_back(t); });
            if (trees_->is_categorical(static_cast<size_t>(f))) {
                for (const size_t slot : open_)
                    for (const int32_t t : waiting_) scratch_[slot].together += static_cast<double>(std::min(left_lead(t)[slot], right_lead(t)[slot]));
                continue;
            }
            const auto limit = [&](int32_t t) { return trees_->node(cursor_[static_cast<size_t>(t)]).limit; };
            std::sort(waiting_.begin(), waiting_.end(), [&](int32_t a, int32_t b) { return limit(a) < limit(b); });
            const bool can_be_missing = known_[static_cast<size_t>(f)] == Known::no;
            for (const size_t slot : open_) scratch_[slot].together += least_together(slot, can_be_missing, limit);
        }
    }

    template <class Limit>
    double least_together(size_t slot, bool can_be_missing, Limit&& limit) {
        double sum = 0, missing = 0;
        for (const int32_t t : waiting_) {
            sum += static_cast<double>(left_lead(t)[slot]);
            const bool missing_left = trees_->node(cursor_[static_cast<size_t>(t)]).missing_left;
            missing += static_cast<double>((missing_left ? left_lead(t) : right_lead(t))[slot]);
        }
        double least = can_be_missing ? std::min(sum, missing) : sum;
        for (size_t a = 0; a < waiting_.size(); ++a) {  // the value rises beyond one threshold after the other
            const int32_t t = waiting_[a];
            sum += static_cast<double>(right_lead(t)[slot]) - static_cast<double>(left_lead(t)[slot]);
            if (a + 1 == waiting_.size() || limit(waiting_[a + 1]) != limit(t)) least = std::min(least, sum);
        }
        return least;
    }

    // ---- branch and bound: the label is settled if it is settled in every part of what the unread values can be

    bool is_near() const {
        return !open_.empty() && std::all_of(open_.begin(), open_.end(), [&](size_t slot) {
            const double lead = mean_lead(slot), bound = std::max(scratch_[slot].alone, scratch_[slot].together);
            return lead > 0 && lead >= kNear * (lead - bound);
        });
    }

    bool is_settled_in_boxes() const {
        std::vector<RowRun> boxes(1, *this);
        boxes.back().is_box_ = true;
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
        for (const int32_t f : active_) {
            const double gain = gain_[static_cast<size_t>(f)];
            if (gain > 0 && !trees_->is_categorical(static_cast<size_t>(f)) && (found < 0 || gain > gain_[static_cast<size_t>(found)])) found = f;
        }
        return found;
    }

    // Values up to the median threshold of the waiting trees, values beyond it, and a missing value.
    std::vector<RowRun> parts(int32_t f) const {
        const auto feature = static_cast<size_t>(f);
        std::vector<ValueCode> limits;
        for_waiting(f, [&](int32_t t) { limits.push_back(trees_->node(cursor_[static_cast<size_t>(t)]).limit); });
        std::nth_element(limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(limits.size() / 2), limits.end());
        const ValueCode middle = limits[limits.size() / 2];
        const bool is_open = known_[feature] == Known::no;
        std::vector<RowRun> found(is_open ? 3 : 2, *this);
        found[0].narrow(f, is_open ? 0 : code_[feature], middle);
        found[1].narrow(f, middle + 1, is_open ? kMissingValue - 1 : last_code_[feature]);
        if (is_open) found[2].learn(f, kMissingValue);
        return found;
    }

    void narrow(int32_t f, ValueCode first, ValueCode last) {
        last_code_.resize(trees_->n_features);
        code_[static_cast<size_t>(f)] = first;
        last_code_[static_cast<size_t>(f)] = last;
        take(f, Known::between);
    }

    // How sure is the lead?
    void judge() {
        confidence_ = kInfinity;
        for (const size_t slot : open_) {
            const double spread = std::sqrt(scratch_[slot].spread);
            confidence_ = std::min(confidence_, spread > 0 ? mean_lead(slot) / spread : 0);
        }
    }

    // ---- what to buy

    bool is_affordable(int32_t f) const {
        return policy_->stop != Stop::budget || purse_.spent() + purse_.price(static_cast<size_t>(f)) <= policy_->budget;
    }
    bool any_affordable() const {
        return std::any_of(active_.begin(), active_.end(), [&](int32_t f) { return is_affordable(f); });
    }

    // The most gain, or the most waiting trees, per price; free features first, of equals the first feature.
    int32_t best(bool by_count) const {
        int32_t found = -1;
        double most = 0;
        for (const int32_t f : active_) {
            if (!is_affordable(f)) continue;
            const auto feature = static_cast<size_t>(f);
            const double gain = by_count ? n_waiting_[feature] : gain_[feature];
            const auto price = static_cast<double>(purse_.price(feature));
            const double worth = gain <= 0 ? 0 : price > 0 ? gain / price : kInfinity;
            if (worth > most || (worth == most && worth > 0 && f < found)) {
                found = f;
                most = worth;
            }
        }
        // Nothing left to gain: a tie that only the leaves can tell.
        return found < 0 && !by_count ? best(true) : found;
    }

    struct Sums {
        double alone;     // least lead, tree by tree
        double together;  // the same with trees of one feature bounded together
        double at_most;   // `together` cannot exceed it
        double spread;    // squared ranges
        double all_left, all_right;
        void start_feature() { all_left = all_right = 0; }
        void end_feature() { at_most += std::min(all_left, all_right); }
    };

    const Reachable* trees_;
    const Policy* policy_;
    Purse purse_;
    size_t n_slots_;

    std::vector<Known> known_;        // (n_features)
    std::vector<ValueCode> code_;     // (n_features)
    std::vector<float> rank_;         // (n_features), of imagined values
    std::vector<ValueCode> last_code_;  // (n_features), of values between code_ and this
    uint64_t known_bits_ = 0;

    std::vector<int32_t> first_;      // (n_features): first tree that waits for it, or -1
    std::vector<uint32_t> n_waiting_;
    std::vector<int32_t> active_;     // features that trees wait for
    std::vector<int32_t> cursor_;     // (n_trees)
    std::vector<int32_t> next_;       // (n_trees): next tree that waits for the same feature, or -1
    std::vector<uint8_t> is_stale_;   // (n_trees): something is known below the cursor that its bounds do not use
    std::vector<uint64_t> reads_;     // (n_trees): features that the part seen by the last look can still read, as bits
    std::vector<float> looks_;        // (n_trees, 3, n_slots)

    std::vector<double> done_low_, done_high_;    // (n_slots): base and finished trees
    std::vector<double> sums_;        // (3, n_slots): base and all trees: least, largest and mean below their cursors
    std::vector<float> counted_;      // (n_trees, 3, n_slots): what each tree has added to these
    int32_t leader_ = 0;
    std::vector<size_t> open_;        // slots of the rivals that could still win
    std::vector<double> gain_;        // (n_features)
    std::vector<Sums> scratch_;       // (n_slots)
    std::vector<float> far_top_;      // (n_slots)
    std::vector<int32_t> stack_, waiting_, moving_;
    bool is_hopeful_ = false;
    bool is_box_ = false;             // imagined, to prove that the label is settled in it
    double confidence_ = 0;
};

}  // namespace frugal
