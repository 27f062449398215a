import time, numpy as np, sys, timeit
import tellapart as ta
from tellapart.mechanisms.combine import *
from tellapart import risk
print(ta.__file__)
def cpu(f,n=3):
    best=9
    for _ in range(n):
        t=time.process_time(); r=f(); best=min(best,time.process_time()-t)
    return r,'%.1f ms'%(1e3*best)
g=ta.Gaussian(0.8).sampled(0.01).repeated(2000)
print(g)
print(cpu(lambda: ta.Gaussian(0.8).sampled(0.01).repeated(2000).curve().epsilon(1e-6)))
print(cpu(lambda: ta.Gaussian(1).sampled(0.01).repeated(1000).curve().epsilon(1e-5)))
c=ta.Gaussian(1).sampled(0.01).repeated(1000).curve()
print(cpu(lambda: c.tpr(1e-5),1), cpu(lambda: c.delta(0.),1), cpu(lambda: risk.advantage(c),1))
a=np.logspace(-10,0,1000)
print(cpu(lambda: c.beta(a)[500],1))
o=ta.Gaussian(1).sampled(0.01).repeated(1000).curve(order=ta.Order.PRESENT)
print(cpu(lambda: o.beta(a)[500],1))
print(ta.Laplace.with_epsilon(1).sampled(0.1).curve().epsilon(delta=0.0))
print(ta.RandomizedResponse(1).repeated(100).curve().epsilon(1e-5))
print(ta.Laplace.with_epsilon(.1).then(ta.Gaussian(3)).curve().epsilon(1e-5))
print(cpu(lambda: ta.Laplace.with_epsilon(.1).repeated(1000).curve().epsilon(1e-5),1))
