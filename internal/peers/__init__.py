"""ppal beside PyTorch, JAX, numpy, Cooper and other optimisers: the same problem, data, start, precision and threads, in one run.

``make bench-peers`` runs it; README.md explains what is measured and how. The modules, bottom up:

    cases        the compared problems
    data         the pixels: IDX and CIFAR-10 files, or random pixels of the same shape
    problem      the multi-class Neyman-Pearson problem and its gradient in numpy: the reference
    ppal         the binary: its runs and its bench
    *_peer       the contenders, each in its own process (worker, client)
    timing       turns and medians
    settings     the settings of the optimisers that ppal is compared with
    choose       the best point of a run, and when a run meets a target
    search       the best settings: a coarse grid, then neighbours of the best
    suite        an augmented Lagrangian, IPOPT and Cooper on any problem, also through ppal's oracle
    check, speed, convergence, headline   the four parts
    results, report, table                the saved results and the printed tables
"""
