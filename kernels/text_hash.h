#pragma once

#include <stddef.h>
#include <stdint.h>

/* Hashes of bytes that are the same on every machine, because models are trained on them. s may be NULL if n is 0. */

/* FarmHash's Fingerprint64. */
uint64_t dfg_farm_hash(const void *s, size_t n);

/* MurmurHash64A with TensorFlow's seed. */
uint64_t dfg_murmur_hash(const void *s, size_t n);

/* SipHash-2-4 (Aumasson and Bernstein 2012) with the key first, second. */
uint64_t dfg_sip_hash(uint64_t first, uint64_t second, const void *s, size_t n);
