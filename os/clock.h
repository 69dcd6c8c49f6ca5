#ifndef OS_CLOCK_H
#define OS_CLOCK_H

/* Two clocks. Wall time for stamps and daily times only; intervals by the clock that counts
   sleep and that nobody can set. */

#include <stdint.h>

int64_t os_clock_wall_ms(void);    /* Unix time */
uint64_t os_clock_steady_ms(void); /* since boot, sleep included */
uint64_t os_clock_steady_us(void); /* the same, finer, for measuring */
void os_clock_sleep_ms(uint32_t duration_ms);

#endif
