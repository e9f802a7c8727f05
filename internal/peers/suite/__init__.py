"""Rivals of ppal on the problems of ``ppal reproduce suite``.

ppal defines every problem once and serves its numbers through an oracle. A rival asks the oracle for
f, g and gradients, and sees nothing else. The modules, bottom up:

    sets                 the ball or the box of a problem: projection, and the face at a point
    evaluations          a problem whose evaluations are counted and limited
    oracle               ppal's problem in another process
    augmented_lagrangian, ipopt, cooper_contender    the contenders
    grids                the settings of each contender, as data
    worker               many runs in one process
"""
