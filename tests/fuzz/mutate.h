/* Seeded damage to a file: what a broken disk, a cut download, and somebody with bad intent do. C and C++. */
#ifndef LITH_MUTATE_H
#define LITH_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t mutate_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static inline size_t mutate_below(uint64_t *state, size_t limit) {
    return limit > 0 ? mutate_random(state) % limit : 0;
}

/* A place in the file; mostly in the first `head` bytes, which are worth more than weights. */
static inline size_t mutate_place(uint64_t *state, size_t size, size_t head, size_t width) {
    size_t range = mutate_below(state, 8) != 0 && head < size ? head : size;
    return range >= width ? mutate_below(state, range - width + 1) : 0;
}

/* Damages `data` of `size` bytes (at most `capacity`) in place; returns the new size. `other` is another file to take
 * pieces from. */
static inline size_t mutate(uint64_t *state, uint8_t *data, size_t size, size_t capacity, size_t head,
                            const uint8_t *other, size_t other_size) {
    static const uint32_t interesting[] = {
        0,     1,     2,          3,          4,          5,          7,          8,          16,
        64,    127,   128,        255,        256,        1000,       4096,       32767,      32768,
        65535, 65536, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xfffffff0, 0xfffffffc, 0xfffffffe, 0xffffffff};
    size_t times = 1 + mutate_below(state, 4);
    for (size_t i = 0; i < times && size >= 16; i++) {
        size_t place = mutate_place(state, size, head, 4);
        uint32_t word;
        memcpy(&word, data + place, 4);
        switch (mutate_below(state, 12)) {
        case 0:
        case 1:
            data[place] ^= (uint8_t)(1u << mutate_below(state, 8));
            break;
        case 2:
            data[place] = (uint8_t)mutate_random(state);
            break;
        case 3:
        case 4: /* a small change of a number: offsets and sizes that are nearly right */
            place &= ~(size_t)3;
            memcpy(&word, data + place, 4);
            word += (uint32_t)mutate_below(state, 33) - 16u;
            memcpy(data + place, &word, 4);
            break;
        case 5:
        case 6:
        case 7:
            place &= ~(size_t)3;
            word = interesting[mutate_below(state, sizeof interesting / sizeof interesting[0])];
            memcpy(data + place, &word, 4);
            break;
        case 8: { /* two bytes: vtables */
            uint16_t half = (uint16_t)mutate_below(state, 80);
            place &= ~(size_t)1;
            memcpy(data + place, &half, 2);
            break;
        }
        case 9: /* a number from elsewhere in the file */
            place &= ~(size_t)3;
            memmove(data + place, data + (mutate_place(state, size, head, 4) & ~(size_t)3), 4);
            break;
        case 10: { /* a piece of another file */
            size_t length = 1 + mutate_below(state, 64);
            size_t from = mutate_place(state, other_size, other_size, length);
            if (from + length <= other_size && place + length <= size) {
                memcpy(data + place, other + from, length);
            }
            break;
        }
        default: /* cut, or longer by zeros */
            if (mutate_below(state, 2) == 0) {
                size = 16 + mutate_below(state, size - 15);
            } else if (size + 64 <= capacity) {
                memset(data + size, 0, 64);
                size += 64;
            }
        }
    }
    return size;
}

#endif
