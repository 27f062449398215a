import numpy as np, math
from tellapart.curve.losses import *
m=1.3; L=LaplaceLoss(m)
x=np.linspace(-60,60+m,4000001); h=x[1]-x[0]
l=np.clip(2*x-m,-m,m); p=np.exp(-np.abs(x))/2*h
for c in (-3.,0.,.2,.5,.5000001,1.,4.):
    w=p*np.exp(c*l); M=w.sum(); mean=(w*l).sum()/M; var=(w*(l-mean)**2).sum()/M
    r=L.cumulants(np.array([c])); print(c, r[0][0]-math.log(M), r[1][0]-mean, r[2][0]-var)
    for y in (0.,.5,7.):
        M=(p*np.exp((c+1j*y)*l)).sum(); print('   ',y,abs(np.exp(L.along(c,np.array([y]))[0])-M))
