#include "base/clock_text.h"

#include <stdio.h>
#include <string.h>

#define MS_PER_DAY INT64_C(86400000)

/* Days since 1970-01-01 of a civil date, and back. Proleptic Gregorian calendar; the year is
   taken to begin in March so that the leap day is its last. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, int *out_year, int *out_month, int *out_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    *out_day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    *out_month = (int)(month < 10 ? month + 3 : month - 9);
    *out_year = (int)(year_of_era + era * 400 + (*out_month <= 2));
}

struct civil {
    int64_t days; /* since 1970-01-01 */
    unsigned year, month, day, hour, minute, second, ms;
};

static struct civil civil_of(int64_t unix_ms)
{
    const int64_t lowest = days_from_civil(0, 1, 1) * MS_PER_DAY;
    const int64_t highest = days_from_civil(10000, 1, 1) * MS_PER_DAY - 1;
    int64_t clamped = unix_ms < lowest ? lowest : unix_ms > highest ? highest : unix_ms;
    int64_t days = clamped / MS_PER_DAY - (clamped % MS_PER_DAY < 0);
    int64_t rest = clamped - days * MS_PER_DAY;
    int year, month, day;
    civil_from_days(days, &year, &month, &day);
    return (struct civil){
        .days = days,
        .year = (unsigned)year % 10000,
        .month = (unsigned)month % 100,
        .day = (unsigned)day % 100,
        .hour = (unsigned)(rest / 3600000) % 100,
        .minute = (unsigned)(rest / 60000) % 60,
        .second = (unsigned)(rest / 1000) % 60,
        .ms = (unsigned)rest % 1000,
    };
}

void clock_text_format(int64_t unix_ms, char out_text[CLOCK_TEXT_SIZE])
{
    struct civil at = civil_of(unix_ms);
    char tail[8] = "Z";
    if (at.ms != 0) {
        snprintf(tail, sizeof tail, ".%03uZ", at.ms % 1000);
    }
    snprintf(out_text, CLOCK_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u%s", at.year, at.month,
             at.day, at.hour, at.minute, at.second, tail);
}

void clock_text_format_http(int64_t unix_ms, char out_text[CLOCK_TEXT_SIZE])
{
    static const char days[][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct civil at = civil_of(unix_ms);
    snprintf(out_text, CLOCK_TEXT_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT",
             days[(at.days % 7 + 7) % 7], at.day, months[(at.month + 11) % 12], at.year, at.hour,
             at.minute, at.second);
}

/* Reads exactly `digits` decimal digits and moves on. */
static bool number(const char **at, int digits, int max, int *out_value)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9') {
            return false;
        }
        value = value * 10 + (**at - '0');
    }
    *out_value = value;
    return value <= max;
}

static bool literal(const char **at, char c)
{
    return *(*at)++ == c;
}

static bool zone(const char **at, int64_t *out_offset_ms)
{
    int hours, minutes;
    char sign = *(*at)++;
    if (sign == 'Z') {
        *out_offset_ms = 0;
        return true;
    }
    if ((sign != '+' && sign != '-') || !number(at, 2, 23, &hours) || !literal(at, ':') ||
        !number(at, 2, 59, &minutes)) {
        return false;
    }
    int64_t offset = ((int64_t)hours * 60 + minutes) * 60000;
    *out_offset_ms = sign == '+' ? offset : -offset;
    return true;
}

/* ".123456": the first three digits count, the rest is read over. */
static bool fraction_ms(const char **at, int64_t *out_ms)
{
    int64_t ms = 0;
    int digits = 0;
    if (**at == '.') {
        for ((*at)++; **at >= '0' && **at <= '9'; (*at)++, digits++) {
            if (digits < 3) {
                ms = ms * 10 + (**at - '0');
            }
        }
        if (digits == 0) {
            return false;
        }
        for (int i = digits; i < 3; i++) {
            ms *= 10;
        }
    }
    *out_ms = ms;
    return true;
}

bool clock_text_parse(const char *text, int64_t *out_unix_ms)
{
    int year, month, day, hour, minute, second;
    int64_t ms, offset;
    const char *at = text;
    if (!number(&at, 4, 9999, &year) || !literal(&at, '-') || !number(&at, 2, 12, &month) ||
        !literal(&at, '-') || !number(&at, 2, 31, &day) || !literal(&at, 'T') ||
        !number(&at, 2, 23, &hour) || !literal(&at, ':') || !number(&at, 2, 59, &minute) ||
        !literal(&at, ':') || !number(&at, 2, 60, &second) || !fraction_ms(&at, &ms) ||
        !zone(&at, &offset) || *at != '\0' || month == 0 || day == 0) {
        return false;
    }
    int64_t days = days_from_civil(year, month, day);
    int back_year, back_month, back_day;
    civil_from_days(days, &back_year, &back_month, &back_day);
    if (back_day != day || back_month != month) {
        return false; /* 30 February */
    }
    *out_unix_ms =
        days * MS_PER_DAY + ((int64_t)hour * 3600 + minute * 60 + second) * 1000 + ms - offset;
    return true;
}
