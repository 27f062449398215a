import time, numpy as np, cProfile, pstats
from tellapart.curve.composed import ComposedCurve
from tellapart.curve.losses import *
def job():
    c=ComposedCurve(((MixtureLoss(1.,(.99,.01)),1000),)); return c.epsilon(1e-5)
job()
pr=cProfile.Profile(); pr.enable()
for _ in range(20): job()
pr.disable(); pstats.Stats(pr).sort_stats('tottime').print_stats(14)
