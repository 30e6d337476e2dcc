// The Python module `frugalforest._core`: arrays in, arrays out. Each file binds its own functions.
#include "bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_core, m) {
    m.doc() = "Compiled core of frugalforest";
    nb::set_leak_warnings(false);  // models that a cache holds until Python ends are no leak
    frugal::bind_binning(m);
    frugal::bind_growing(m);
    frugal::bind_routing(m);
    frugal::bind_acquisition(m);
    frugal::bind_panels(m);
    frugal::bind_boosting(m);
    frugal::bind_pruning(m);
}
