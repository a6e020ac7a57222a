/* SPDX-License-Identifier: Apache-2.0 */
#include "Arduino.h"

extern "C" void semihosting_print(const char *text);

StubSerial Serial;

unsigned long micros() {
    static unsigned long now;
    return now += 10;
}

void delay(unsigned long) {}

void StubSerial::print(const char *text) {
    semihosting_print(text);
}

void StubSerial::print(long number) {
    char text[12];
    int at = 11;
    unsigned long left = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;

    text[at] = '\0';
    do {
        text[--at] = (char)('0' + (int)(left % 10));
        left /= 10;
    } while (left != 0);
    if (number < 0) {
        text[--at] = '-';
    }
    print(text + at);
}

void StubSerial::print(double number) {
    print((long)number);
}

void StubSerial::println(const char *text) {
    print(text);
    print("\n");
}

void StubSerial::println(unsigned long number) {
    print((long)number);
    println();
}

int main(int, char **) {
    setup();
    loop();
    return 0;
}
