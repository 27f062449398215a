"""Functions for processes of a pool: quick, endless, greedy, and wrong."""

import math
import os
import time

factorial, length, sleep, pid = math.factorial, len, time.sleep, os.getpid
endless_sum = sum  # stays in C and lets no other thread run
take = bytearray
priority = os.nice


def slept(seconds, value):
    time.sleep(seconds)
    return value
