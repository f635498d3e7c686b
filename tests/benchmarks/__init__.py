"""The laws of cost, measured: `make bench`. Every figure is a ratio inside one run, against a peer or ourselves.

A sample is timed after a warm-up, with its rivals taking turns, the garbage collector run before it and off during it
(as `timeit` does; it favours the peers, which make more objects). Medians are shown. Nothing here fails a build.
"""
