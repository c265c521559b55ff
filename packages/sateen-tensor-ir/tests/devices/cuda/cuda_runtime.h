/* What generated kernels use of CUDA's language, which needs no header there, in C++14 for a processor. */
#pragma once
#include "blocks.h"

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static

#define blockIdx (blocks::block)
#define threadIdx (blocks::thread)
inline void __syncthreads() { blocks::barrier(); }
template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
  return blocks::shuffle(value, mask == 0xffffffffu ? unsigned(lane) : ~0u);
}

VECTORS(signed char, char)
VECTORS(unsigned char, uchar)
VECTORS(short, short)
VECTORS(unsigned short, ushort)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(long long, longlong)
VECTORS(unsigned long long, ulonglong)
VECTORS(float, float)
VECTORS(double, double)

inline int __float_as_int(float x) { return blocks::bits_of<int>(x); }
inline unsigned __float_as_uint(float x) { return blocks::bits_of<unsigned>(x); }
inline float __int_as_float(int x) { return blocks::bits_of<float>(x); }
inline float __uint_as_float(unsigned x) { return blocks::bits_of<float>(x); }
inline long long __double_as_longlong(double x) { return blocks::bits_of<long long>(x); }
inline double __longlong_as_double(long long x) { return blocks::bits_of<double>(x); }
