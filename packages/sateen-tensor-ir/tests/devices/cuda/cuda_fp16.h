/* What generated kernels use of CUDA's header for float16, in C++14 for a processor. */
#pragma once

typedef _Float16 __half;
inline __half __float2half_rn(float x) { return __half(x); }
inline float __half2float(__half x) { return float(x); }
inline unsigned short __half_as_ushort(__half x) { return blocks::bits_of<unsigned short>(x); }
inline __half __ushort_as_half(unsigned short x) { return blocks::bits_of<__half>(x); }
