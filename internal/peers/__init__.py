"""ppal beside PyTorch, JAX, numpy and Cooper: the same problem, data, start, precision and threads, in one run.

``make bench-peers`` runs it; README.md says what is measured and how. The modules, from the ground up:

    cases        which problems are compared
    data         the pixels: IDX and CIFAR-10 files, or random ones of their shape
    safetensors  ppal's model files
    problem      the multi-class Neyman-Pearson problem and its gradient in numpy: the reference
    ppal         the binary: its runs and its bench
    *_peer       the contenders, each in a process of its own (worker, client)
    timing       turns and medians
    choose       which setting of a grid is the best, and when a target is met
    check, speed, convergence, headline   the four parts
    results, report, table                what is kept and what is shown
"""
