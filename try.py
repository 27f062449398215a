import time, numpy as np, sys
from tellapart.curve.composed import ComposedCurve
from tellapart.curve.losses import *
for s,q,T,d in [(1,.01,1000,1e-5),(1,.01,10**4,1e-5),(1,.01,10**5,1e-5),(.6,.001,5*10**4,1e-5),(20,.5,100,1e-5),(.4,.1,10,1e-30),(.4,1e-5,10**7,1e-5),(5,.3,10**7,1e-5),(20,1e-5,10**7,1e-9),(.7,.5,2,1e-12)]:
    for sw in (0,1):
        law=MixtureLoss(1/s,(1-q,q)); law=law.swapped() if sw else law
        t0=time.process_time()
        try:
            c=ComposedCurve(((law,T),))
            e=c.epsilon(d); t1=time.process_time()
            print((s,q,T,d),sw,'%.11f'%e,'%.1f ms'%(1e3*(t1-t0)), len(c._atlas._lines), c.delta(e)/d-1)
        except Exception as ex: print((s,q,T,d),sw,type(ex).__name__,ex)
c=ComposedCurve(((MixtureLoss(1.,(.99,.01)),1000),))
a=np.logspace(-10,0,1000)
t0=time.process_time(); b=c.beta(a); print('beta 1000: %.1f ms'%(1e3*(time.process_time()-t0)), c.tpr(1e-5))
