/* SPDX-License-Identifier: Apache-2.0 */
/* As much of the Arduino API as generated sketches use, over semihosting. */
#ifndef STUB_ARDUINO_H
#define STUB_ARDUINO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus

unsigned long micros();
void delay(unsigned long milliseconds);
void setup();
void loop();

class StubSerial {
  public:
    void begin(unsigned long) {}
    explicit operator bool() const {
        return true;
    }
    void print(const char *text);
    void print(long number);
    void print(double number);
    void println(const char *text = "");
    void println(unsigned long number);
};

extern StubSerial Serial;

#endif

#endif
