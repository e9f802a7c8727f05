"""The contenders of ``ppal reproduce decisions``: other libraries on constraints that hold on decisions.

ppal writes the rows of a table (rows.py), starts a worker for each library and asks it to fit a problem with a setting. A
worker answers with the accepted rows of every cell (split, group, label), the seconds and the number of models; ppal
computes all rates and draws the tables. The modules:

    rows         the rows, and the accepted rows of a decision
    peer         the common base: time, and the answer
    fairness     fairlearn: ExponentiatedGradient, GridSearch, ThresholdOptimizer
    trees        scikit-learn: the scores of gradient-boosted trees, for problems with given scores
    thresholds   scikit-learn: logistic regression with a moved threshold
    games        the proxy-Lagrangian game of TensorFlow Constrained Optimization, in NumPy
    proxies      Cooper with proxy constraints
"""
