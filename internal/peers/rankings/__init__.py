"""ppal beside other libraries on the ranking of MQ2008's documents with a bound on the gap of the pair errors.

    rows         documents, pairs and the measures that judge all contenders
    tfco_rank    TensorFlow Constrained Optimization itself, in its own environment
    torch_rank   PyTorch with all pairs in memory: gradient descent and ascent
    trees        LightGBM's lambdarank, without a bound
    __main__     the comparison: grids on the first fold, then all folds
"""
