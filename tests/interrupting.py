"""Ctrl-C for tests: an interrupt that arrives while the code under test is busy, and never later."""

import _thread
import contextlib
import gc
import signal
import threading


@contextlib.contextmanager
def ctrl_c_after(seconds):
    """Interrupts the main thread while it is busy inside.

    No garbage is collected meanwhile: an interrupt that happens to arrive inside a callback of the collector (a test
    library has one) is printed and lost. What a shell runs in the background ignores interrupts, so they are heard here
    in any case.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, _thread.interrupt_main)
    gc.disable()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        gc.enable()
        signal.signal(signal.SIGINT, before)
